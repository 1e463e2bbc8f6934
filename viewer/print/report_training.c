/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phases and framework memory as text and as JSON, from the same few numbers.
 */
#include "report_training.h"

#include "printable.h"
#include "site_text.h"
#include "text.h"

#define MIB 1048576.0

struct phase_figures {
	double busy_ms;	       /* of all phases and of what belongs to none, per step */
	double marks_percent;  /* of it, found by ranges */
	double frames_percent; /* of it, found by lines of Python */
};

static struct phase_figures phase_figures_of(const struct device_report *device)
{
	const struct model_device *of = &device->model->devices[device->device];
	double steps = (double)model_steady_count(device->model), busy_ns = 0;
	struct phase_figures figures = {0, 0, 0};

	for (int phase = 0; phase < PHASE_COUNT; phase++)
		busy_ns += (double)of->phases.gpu_ns[phase];
	if (busy_ns > 0) {
		figures.busy_ms = busy_ns / steps / 1e6;
		figures.marks_percent = 100 * (double)of->phases.by_marks_ns / busy_ns;
		figures.frames_percent = 100 * (double)of->phases.by_frames_ns / busy_ns;
	}
	return figures;
}

static const char *found_by(const struct phase_figures *figures)
{
	if (figures->marks_percent > 0 && figures->frames_percent > 0)
		return "ranges_and_python_frames";
	return figures->marks_percent > 0 ? "ranges" : "python_frames";
}

static bool is_row_shown(const struct phase_usage *phases, int phase)
{
	return phases->launches[phase] || phases->host_ns[phase];
}

static void add_phases_json(struct json *json, const struct device_report *device)
{
	const struct phase_usage *phases = &device->model->devices[device->device].phases;
	struct phase_figures figures = phase_figures_of(device);
	double steps = (double)model_steady_count(device->model);

	if (figures.marks_percent + figures.frames_percent <= 0) {
		json_null(json, "phases");
		return;
	}
	json_object(json, "phases");
	json_text(json, "found_by", found_by(&figures));
	json_number(json, "attributed_percent", figures.marks_percent + figures.frames_percent);
	json_array(json, "rows");
	for (int phase = 0; phase < PHASE_COUNT; phase++) {
		if (!is_row_shown(phases, phase))
			continue;
		json_object(json, NULL);
		json_text(json, "phase", phase_key((enum model_phase)phase));
		json_number(json, "gpu_ms", (double)phases->gpu_ns[phase] / steps / 1e6);
		json_number(json, "operations", (double)phases->launches[phase] / steps);
		if (phases->host_ns[phase])
			json_number(json, "host_ms", (double)phases->host_ns[phase] / steps / 1e6);
		json_end_object(json);
	}
	json_end_array(json);
	json_end_object(json);
}

static bool is_memory_known(const struct framework_memory *memory)
{
	return memory->allocations || memory->frees || memory->out_of_memory || memory->retries ||
	       memory->peak_reserved_bytes;
}

static void add_oom_json(struct json *json, const struct model *model, struct symbols *symbols,
			 const struct framework_oom *oom)
{
	struct text text;

	json_object(json, NULL);
	json_number(json, "at_s", (double)oom->time_ns / 1e9);
	json_unsigned(json, "wanted_bytes", oom->wanted_bytes);
	json_unsigned(json, "allocated_bytes", oom->allocated_bytes);
	json_unsigned(json, "reserved_bytes", oom->reserved_bytes);
	if (oom->site) {
		text_init(&text);
		site_text_add_frames(&text, model, symbols, model->sites[oom->site].record);
		json_text(json, "site", text_string(&text));
		text_fini(&text);
	}
	json_end_object(json);
}

static void add_memory_json(struct json *json, const struct device_report *device,
			    struct symbols *symbols)
{
	const struct framework_memory *memory = &device->model->devices[device->device].framework;

	if (!is_memory_known(memory)) {
		json_null(json, "framework_memory");
		return;
	}
	json_object(json, "framework_memory");
	json_unsigned(json, "allocations", memory->allocations);
	json_unsigned(json, "frees", memory->frees);
	json_unsigned(json, "peak_allocated_bytes", memory->peak_allocated_bytes);
	json_unsigned(json, "reserved_at_peak_bytes", memory->reserved_at_peak_bytes);
	json_unsigned(json, "peak_reserved_bytes", memory->peak_reserved_bytes);
	json_unsigned(json, "allocator_retries", memory->retries);
	json_unsigned(json, "out_of_memory", memory->out_of_memory);
	json_array(json, "out_of_memory_events");
	for (uint64_t i = 0; i < memory->out_of_memory && i < FRAMEWORK_OOMS; i++)
		add_oom_json(json, device->model, symbols, &memory->oom[i]);
	json_end_array(json);
	json_end_object(json);
}

void report_training_json(struct json *json, const struct device_report *device,
			  struct symbols *symbols)
{
	add_phases_json(json, device);
	add_memory_json(json, device, symbols);
}

/* ---- text ---- */

static void print_phases(FILE *to, const struct device_report *device, const char *bold,
			 const char *plain)
{
	const struct phase_usage *phases = &device->model->devices[device->device].phases;
	struct phase_figures figures = phase_figures_of(device);
	double steps = (double)model_steady_count(device->model);
	double attributed = figures.marks_percent + figures.frames_percent;

	if (attributed <= 0)
		return;
	fprintf(to, "\n  %sPhases%s by %s: %.0f %% of the GPU's time is attributed (%s)\n", bold,
		plain,
		figures.marks_percent > 0 && figures.frames_percent > 0
			? "ranges that the program named and lines of Python"
		: figures.marks_percent > 0 ? "ranges that the program named"
					    : "lines of Python",
		attributed,
		attributed >= 95   ? "sure"
		: attributed >= 70 ? "fairly sure"
				   : "not sure");
	for (int at = 1; at <= PHASE_COUNT; at++) {
		int phase = at % PHASE_COUNT; /* what belongs to none comes last */
		double gpu_ms = (double)phases->gpu_ns[phase] / steps / 1e6;

		if (!is_row_shown(phases, phase))
			continue;
		fprintf(to, "  %-40s %9.3f ms on the GPU  %5.1f %%  %6.4g operations",
			phase_label((enum model_phase)phase), gpu_ms,
			100 * gpu_ms / figures.busy_ms, (double)phases->launches[phase] / steps);
		if (phases->host_ns[phase])
			fprintf(to, "  %9.3f ms on the host",
				(double)phases->host_ns[phase] / steps / 1e6);
		fputc('\n', to);
	}
}

static void print_oom(FILE *to, const struct device_report *device, struct symbols *symbols,
		      const struct framework_oom *oom)
{
	struct text text;

	fprintf(to,
		"    out of memory at %.3f s: %.1f MiB asked for, %.1f MiB allocated of %.1f MiB "
		"reserved",
		(double)oom->time_ns / 1e9, (double)oom->wanted_bytes / MIB,
		(double)oom->allocated_bytes / MIB, (double)oom->reserved_bytes / MIB);
	text_init(&text);
	if (oom->site) {
		site_text_add_frames(&text, device->model, symbols,
				     device->model->sites[oom->site].record);
		fprintf(to, "; at %s", text_string(&text));
	}
	text_fini(&text);
	fputc('\n', to);
}

static void print_memory(FILE *to, const struct device_report *device, struct symbols *symbols,
			 const char *bold, const char *plain)
{
	const struct framework_memory *memory = &device->model->devices[device->device].framework;

	if (!is_memory_known(memory))
		return;
	fprintf(to, "\n  %sFramework's memory%s:", bold, plain);
	if (memory->peak_allocated_bytes)
		fprintf(to, " peak %.1f MiB allocated", (double)memory->peak_allocated_bytes / MIB);
	if (memory->peak_allocated_bytes && memory->reserved_at_peak_bytes)
		fprintf(to, " of %.1f MiB reserved (%.0f %% idle)",
			(double)memory->reserved_at_peak_bytes / MIB,
			memory->reserved_at_peak_bytes > memory->peak_allocated_bytes
				? 100 - 100 * (double)memory->peak_allocated_bytes /
						  (double)memory->reserved_at_peak_bytes
				: 0);
	if (memory->peak_reserved_bytes > memory->reserved_at_peak_bytes)
		fprintf(to, "; at most %.1f MiB reserved",
			(double)memory->peak_reserved_bytes / MIB);
	if (!memory->peak_allocated_bytes && !memory->peak_reserved_bytes)
		fprintf(to, " %llu %s and %llu %s, without totals",
			(unsigned long long)memory->allocations,
			text_noun((double)memory->allocations, "allocation", "allocations"),
			(unsigned long long)memory->frees,
			text_noun((double)memory->frees, "free", "frees"));
	if (memory->retries)
		fprintf(to, "; %llu allocator %s (cache given back, then it fitted)",
			(unsigned long long)memory->retries,
			memory->retries == 1 ? "retry" : "retries");
	fputc('\n', to);
	for (uint64_t i = 0; i < memory->out_of_memory && i < FRAMEWORK_OOMS; i++)
		print_oom(to, device, symbols, &memory->oom[i]);
	if (memory->out_of_memory > FRAMEWORK_OOMS)
		fprintf(to, "    and out of memory %llu times more\n",
			(unsigned long long)(memory->out_of_memory - FRAMEWORK_OOMS));
}

void report_training_text(FILE *to, const struct device_report *device, struct symbols *symbols,
			  const char *bold, const char *plain)
{
	print_phases(to, device, bold, plain);
	print_memory(to, device, symbols, bold, plain);
}
