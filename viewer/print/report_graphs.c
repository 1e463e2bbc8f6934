/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUDA graphs as text and as JSON, from the same few numbers.
 */
#include "report_graphs.h"

#include <stdlib.h>

#include "graph_use.h"
#include "printable.h"
#include "site_text.h"
#include "text.h"

enum { ROWS_SHOWN = 8 };

static void add_capture_site(struct text *text, const struct model *model, struct symbols *symbols,
			     const struct model_kernel *graph)
{
	const struct record_site *site = model->sites[graph->capture_site].record;

	if (site)
		site_text_add_frames(text, model, symbols, site);
	else
		text_add(text, "unknown");
}

void report_graphs_json(struct json *json, const struct device_report *device,
			struct symbols *symbols)
{
	const struct model *model = device->model;
	double steps = (double)model_steady_count(model);
	size_t count;
	struct graph_use *uses = graph_use_build(model, device->device, &count);

	json_array(json, "graphs");
	for (size_t i = 0; i < count; i++) {
		const struct model_kernel *graph = &model->kernels[uses[i].kernel];
		struct text text;

		json_object(json, NULL);
		json_number(json, "launches_per_step", (double)uses[i].launches / steps);
		json_number(json, "gpu_ms_per_step", (double)uses[i].gpu_ns / 1e6 / steps);
		json_flag(json, "has_nodes", uses[i].has_nodes);
		if (graph->nodes) {
			json_unsigned(json, "nodes", graph->nodes);
			json_unsigned(json, "kernel_nodes", graph->kernel_nodes);
		} else {
			json_null(json, "nodes");
			json_null(json, "kernel_nodes");
		}
		json_number(json, "linked_nodes_per_step", (double)uses[i].linked_nodes / steps);
		text_init(&text);
		site_text_add(&text, model, symbols, uses[i].call);
		json_text(json, "launched_at", text_string(&text));
		text_clear(&text);
		add_capture_site(&text, model, symbols, graph);
		json_text(json, "captured_at", text_string(&text));
		text_fini(&text);
		json_end_object(json);
	}
	json_end_array(json);
	free(uses);
}

void report_graphs_text(FILE *to, const struct device_report *device, struct symbols *symbols,
			const char *bold, const char *plain)
{
	const struct model *model = device->model;
	const char *unit = model->steps.source == STEPS_NONE ? "run" : "step";
	double steps = (double)model_steady_count(model);
	size_t count;
	struct graph_use *uses = graph_use_build(model, device->device, &count);

	if (count)
		fprintf(to, "\n  %sCUDA graphs%s, per %s\n", bold, plain, unit);
	for (size_t i = 0; i < count && i < ROWS_SHOWN; i++) {
		const struct model_kernel *graph = &model->kernels[uses[i].kernel];
		struct text text;

		fprintf(to, "    %s %s, %.3f ms on the GPU",
			text_count((double)uses[i].launches / steps).text,
			text_noun((double)uses[i].launches / steps, "launch", "launches"),
			(double)uses[i].gpu_ns / 1e6 / steps);
		if (graph->nodes)
			fprintf(to, ", %u nodes (%u kernels)", graph->nodes, graph->kernel_nodes);
		fputs(uses[i].has_nodes ? "; the nodes have times\n" : "; nodes not recorded\n",
		      to);
		text_init(&text);
		site_text_add(&text, model, symbols, uses[i].call);
		fprintf(to, "      at %s\n", text_string(&text));
		text_fini(&text);
	}
	if (count > ROWS_SHOWN)
		fprintf(to, "    and %zu more\n", count - ROWS_SHOWN);
	free(uses);
}

void report_graphs_html(struct text *page, const struct device_report *device,
			struct symbols *symbols)
{
	const struct model *model = device->model;
	double steps = (double)model_steady_count(model);
	size_t count;
	struct graph_use *uses = graph_use_build(model, device->device, &count);

	if (count)
		text_addf(page,
			  "<h3>CUDA graphs, per %s</h3>\n<table>\n<tr><th>launched at</th>"
			  "<th>launches</th><th>ms on the GPU</th>"
			  "<th>nodes</th><th>kernels</th><th>times of nodes</th></tr>\n",
			  model->steps.source == STEPS_NONE ? "run" : "step");
	for (size_t i = 0; i < count && i < ROWS_SHOWN; i++) {
		const struct model_kernel *graph = &model->kernels[uses[i].kernel];
		struct text text;

		text_init(&text);
		site_text_add(&text, model, symbols, uses[i].call);
		text_add(page, "<tr><td>");
		text_add_html(page, text_string(&text));
		text_fini(&text);
		text_addf(page, "</td><td>%s</td><td>%.3f</td>",
			  text_count((double)uses[i].launches / steps).text,
			  (double)uses[i].gpu_ns / 1e6 / steps);
		if (graph->nodes)
			text_addf(page, "<td>%u</td><td>%u</td>", graph->nodes,
				  graph->kernel_nodes);
		else
			text_add(page, "<td>unknown</td><td>unknown</td>");
		text_addf(page, "<td>%s</td></tr>\n", uses[i].has_nodes ? "yes" : "not recorded");
	}
	if (count)
		text_add(page, "</table>\n");
	if (count > ROWS_SHOWN)
		text_addf(page, "<p class=\"dim\">and %zu more</p>\n", count - ROWS_SHOWN);
	free(uses);
}
