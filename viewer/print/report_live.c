/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sums come from the model's changes. What a pool keeps for later no call tells, only CUPTI
 * where it was asked, or the driver where the program asked it: else it is named as not known,
 * never guessed.
 */
#include "report_live.h"

#include "memory_advice.h"
#include "memory_owner.h"
#include "printable.h"

struct live_figures {
	const struct memory_usage *usage;
	const struct driver_memory *driver;
	uint64_t at_peak[LIVE_KIND_COUNT]; /* when the device's own memory was at its peak */
	struct owner_sum owners[OWNER_SUMS];
	size_t owner_count;
	uint64_t reserved_last_bytes, reserved_most_bytes;
	bool has_any, has_owner, pools_told;
};

static struct live_figures figures_of(const struct device_report *device)
{
	const struct model *model = device->model;
	struct live_figures figures = {.usage = &model->devices[device->device].memory,
				       .driver = &model->devices[device->device].driver_memory};

	for (int kind = 0; kind < LIVE_KIND_COUNT; kind++)
		figures.has_any |= figures.usage->kind_peak_bytes[kind] > 0;
	figures.has_any |= figures.driver->has_pools || figures.driver->unseen > 0;
	if (!figures.has_any)
		return figures;
	memory_live_sums(model, device->device, figures.usage->peak_ns, figures.at_peak);
	figures.pools_told = memory_live_pools(model, device->device, &figures.reserved_last_bytes,
					       &figures.reserved_most_bytes);
	figures.owner_count =
		memory_owner_sums(model, device->device, figures.usage->peak_ns, figures.owners);
	for (size_t i = 0; i < figures.owner_count; i++)
		figures.has_owner |= figures.owners[i].owner != NULL;
	return figures;
}

static const char *owner_name(const struct owner_sum *sum)
{
	return sum->owner ? sum->owner->name : "the program itself, or not known";
}

static const char *owner_kind(const struct owner_sum *sum)
{
	return !sum->owner ? "unknown" : sum->owner->is_pool ? "pool" : "buffers";
}

static void report_pools_json(struct json *json, const struct live_figures *figures)
{
	const struct driver_memory *driver = figures->driver;

	if (driver->has_pools) {
		json_unsigned(json, "pool_reserved_bytes", driver->reserved_peak_bytes);
		json_unsigned(json, "pool_used_bytes", driver->used_peak_bytes);
		json_unsigned(json, "pool_reserved_end_bytes", driver->reserved_bytes);
		json_unsigned(json, "pool_used_end_bytes", driver->used_bytes);
	} else if (figures->pools_told) {
		json_unsigned(json, "pool_reserved_bytes", figures->reserved_most_bytes);
		json_unsigned(json, "pool_reserved_last_asked_bytes", figures->reserved_last_bytes);
	} else if (figures->usage->kind_peak_bytes[LIVE_POOL]) {
		json_null(json, "pool_reserved_bytes");
	}
	if (driver->allocations && driver->is_unseen_judged) {
		json_unsigned(json, "unseen_allocations", driver->unseen);
		json_unsigned(json, "unseen_peak_bytes", driver->unseen_peak_bytes);
		json_unsigned(json, "unseen_end_bytes", driver->unseen_bytes);
	} else {
		json_null(json, "unseen_allocations");
	}
}

void report_live_json(struct json *json, const struct device_report *device)
{
	struct live_figures figures = figures_of(device);

	if (!figures.has_any) {
		json_null(json, "live_memory");
		return;
	}
	json_object(json, "live_memory");
	json_array(json, "kinds");
	for (int kind = 0; kind < LIVE_KIND_COUNT; kind++) {
		if (!figures.usage->kind_peak_bytes[kind])
			continue;
		json_object(json, NULL);
		json_text(json, "kind", live_kind_key((enum live_kind)kind));
		json_unsigned(json, "at_device_peak_bytes", figures.at_peak[kind]);
		json_unsigned(json, "own_peak_bytes", figures.usage->kind_peak_bytes[kind]);
		json_unsigned(json, "end_bytes", figures.usage->kind_bytes[kind]);
		json_end_object(json);
	}
	json_end_array(json);
	report_pools_json(json, &figures);
	json_unsigned(json, "unknown_frees", figures.usage->unknown_frees);
	json_array(json, "owners");
	for (size_t i = 0; i < figures.owner_count; i++) {
		json_object(json, NULL);
		json_text(json, "owner", owner_name(&figures.owners[i]));
		json_text(json, "owner_kind", owner_kind(&figures.owners[i]));
		json_unsigned(json, "bytes", figures.owners[i].live_bytes);
		json_unsigned(json, "allocations", figures.owners[i].segments);
		json_unsigned(json, "largest_bytes", figures.owners[i].largest_bytes);
		json_end_object(json);
	}
	json_end_array(json);
	json_end_object(json);
}

/* One kind of plain allocations that are all freed needs no table: the peak says it. */
static bool is_worth_a_table(const struct live_figures *figures)
{
	int kinds = 0;

	for (int kind = 0; kind < LIVE_KIND_COUNT; kind++)
		kinds += figures->usage->kind_peak_bytes[kind] > 0;
	return figures->has_any && (kinds > 1 || figures->has_owner || figures->driver->has_pools ||
				    figures->driver->unseen > 0);
}

/* Memory that CUPTI saw and no recorded call asked for. */
static void add_unseen(struct text *text, const struct driver_memory *driver)
{
	if (!driver->is_unseen_judged) {
		text_add(text,
			 "calls about memory were lost, so what no call asked for is not known");
		return;
	}
	text_addf(text, "%llu allocation%s that no recorded call made: %s at most",
		  (unsigned long long)driver->unseen, driver->unseen == 1 ? "" : "s",
		  memory_amount(driver->unseen_peak_bytes).text);
	text_addf(text, ", %s at the end", memory_amount(driver->unseen_bytes).text);
}

void report_live_text(FILE *to, const struct device_report *device, const char *bold,
		      const char *plain)
{
	struct live_figures figures = figures_of(device);

	if (!is_worth_a_table(&figures))
		return;
	fprintf(to, "\n  %sMemory of this process%s%27s%14s%14s\n", bold, plain, "at the peak",
		"own peak", "at the end");
	for (int kind = 0; kind < LIVE_KIND_COUNT; kind++) {
		if (!figures.usage->kind_peak_bytes[kind])
			continue;
		fprintf(to, "    %-32s%13s%14s%14s\n", live_kind_label((enum live_kind)kind),
			memory_amount(figures.at_peak[kind]).text,
			memory_amount(figures.usage->kind_peak_bytes[kind]).text,
			memory_amount(figures.usage->kind_bytes[kind]).text);
	}
	if (figures.driver->has_pools)
		fprintf(to, "    %-32s%13s%14s%14s\n", "stream-ordered pools, reserved", "",
			memory_amount(figures.driver->reserved_peak_bytes).text,
			memory_amount(figures.driver->reserved_bytes).text);
	else if (figures.pools_told)
		fprintf(to, "    %-32s%13s when the program last asked, %s at most\n",
			"stream-ordered pools, reserved",
			memory_amount(figures.reserved_last_bytes).text,
			memory_amount(figures.reserved_most_bytes).text);
	else if (figures.usage->kind_peak_bytes[LIVE_POOL])
		fprintf(to, "    %-32s%13s\n", "stream-ordered pools, reserved", "not known");
	if (figures.driver->unseen > 0) {
		struct text line;

		text_init(&line);
		add_unseen(&line, figures.driver);
		fprintf(to, "    %s\n", text_string(&line));
		text_fini(&line);
	}
	for (size_t i = 0; figures.has_owner && i < figures.owner_count; i++) {
		const struct owner_sum *sum = &figures.owners[i];

		fprintf(to, "    allocated by %s%s: %s in %llu allocation%s, the largest %s\n",
			owner_name(sum), sum->owner && sum->owner->is_pool ? " (a pool)" : "",
			memory_amount(sum->live_bytes).text, (unsigned long long)sum->segments,
			sum->segments == 1 ? "" : "s", memory_amount(sum->largest_bytes).text);
	}
}

void report_live_html(struct text *page, const struct device_report *device)
{
	struct live_figures figures = figures_of(device);

	if (!is_worth_a_table(&figures))
		return;
	text_add(page, "<h3>Memory of this process</h3>\n<table>\n<tr><th></th>"
		       "<th class=\"number\">at the peak</th><th class=\"number\">own peak</th>"
		       "<th class=\"number\">at the end</th></tr>\n");
	for (int kind = 0; kind < LIVE_KIND_COUNT; kind++) {
		if (!figures.usage->kind_peak_bytes[kind])
			continue;
		text_add(page, "<tr><td>");
		text_add_html(page, live_kind_label((enum live_kind)kind));
		text_addf(page,
			  "</td><td class=\"number\">%s</td><td class=\"number\">%s</td>"
			  "<td class=\"number\">%s</td></tr>\n",
			  memory_amount(figures.at_peak[kind]).text,
			  memory_amount(figures.usage->kind_peak_bytes[kind]).text,
			  memory_amount(figures.usage->kind_bytes[kind]).text);
	}
	if (figures.driver->has_pools)
		text_addf(page,
			  "<tr><td>stream-ordered pools, reserved</td><td></td>"
			  "<td class=\"number\">%s</td><td class=\"number\">%s</td></tr>\n",
			  memory_amount(figures.driver->reserved_peak_bytes).text,
			  memory_amount(figures.driver->reserved_bytes).text);
	text_add(page, "</table>\n");
	if (figures.driver->unseen > 0) {
		text_add(page, "<p>");
		add_unseen(page, figures.driver);
		text_add(page, "</p>\n");
	}
	for (size_t i = 0; figures.has_owner && i < figures.owner_count; i++) {
		text_add(page, "<p>allocated by ");
		text_add_html(page, owner_name(&figures.owners[i]));
		text_addf(page, ": %s in %llu</p>\n",
			  memory_amount(figures.owners[i].live_bytes).text,
			  (unsigned long long)figures.owners[i].segments);
	}
}
