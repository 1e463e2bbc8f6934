/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words for people and XML for machines out of the same checks.
 */
#include "gate_report.h"

#include "printable.h"

void gate_add_check(struct text *text, const struct gate_result *result,
		    const struct gate_check *check)
{
	const char *unit = gate_metric_is_points(check->metric) ? " points" : " %";

	if (check->is_change)
		text_addf(text, "%.6g -> %.6g, %+.2f%s (99 %%: %+.2f to %+.2f), allowed %+.2f%s",
			  check->baseline_value, check->current.value, check->change.value, unit,
			  check->change.low, check->change.high, check->limit, unit);
	else
		text_addf(text, "%.6g (99 %%: %.6g to %.6g), limit %.6g", check->current.value,
			  check->current.low, check->current.high, check->limit);
	text_addf(text, ", n=%zu", check->current_count);
	if (check->is_change)
		text_addf(text, " against %zu", check->baseline_count);
	if (check->is_change && result->baseline.runs > 1)
		text_addf(text, " of %zu runs", result->baseline.runs);
}

static void add_case(struct text *xml, const struct gate_result *result,
		     const struct gate_check *check, const struct model *const *current)
{
	const struct model *model = current[check->run];
	const char *element = check->status == GATE_FAIL ? "failure" : "error";
	struct text words;

	text_add(xml, "    <testcase classname=\"gputrace.gate.");
	text_add(xml, check->is_change ? "change" : "limit");
	text_addf(xml, "\" name=\"%s GPU %u of ", step_metric_key(check->metric),
		  model->devices[check->device].ordinal);
	text_add_html(xml, model->source.path);
	text_add(xml, "\"");
	if (check->status == GATE_PASS) {
		text_add(xml, "/>\n");
		return;
	}
	text_init(&words);
	gate_add_check(&words, result, check);
	text_addf(xml, ">\n      <%s type=\"%s\" message=\"", element,
		  gate_status_word(check->status));
	text_add_html(xml, text_string(&words));
	text_add(xml, "\">");
	for (size_t i = 0; i < result->change_count; i++) {
		text_add_html(xml, result->changes[i].text);
		text_add(xml, "\n");
	}
	text_addf(xml, "</%s>\n    </testcase>\n", element);
	text_fini(&words);
}

/* What kept the traces from being judged at all is an error of its own. */
static size_t add_obstacle(struct text *xml, const char *name, const char *reason)
{
	if (!reason)
		return 0;
	text_addf(xml,
		  "    <testcase classname=\"gputrace.gate\" name=\"%s\">\n      <error "
		  "type=\"not_judged\" message=\"",
		  name);
	text_add_html(xml, reason);
	text_add(xml, "\"/>\n    </testcase>\n");
	return 1;
}

void gate_add_junit(struct text *xml, const struct gate_result *result,
		    const struct model *const *current)
{
	size_t failures = 0, errors = 0, obstacles = 0;
	struct text cases;

	text_init(&cases);
	/* A mismatch that was allowed is none: then there are checks. */
	if (!result->count)
		obstacles += add_obstacle(&cases, "comparable", result->baseline.mismatch);
	obstacles += add_obstacle(&cases, "steps", result->summed);
	if (!result->count && !obstacles)
		obstacles += add_obstacle(&cases, "GPUs", "there is no GPU in the traces");
	for (size_t i = 0; i < result->count; i++) {
		failures += result->checks[i].status == GATE_FAIL;
		errors += result->checks[i].status != GATE_FAIL &&
			  result->checks[i].status != GATE_PASS;
		add_case(&cases, result, &result->checks[i], current);
	}
	text_addf(xml,
		  "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite "
		  "name=\"gputrace gate\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\">\n",
		  result->count + obstacles, failures, errors + obstacles);
	text_add(xml, text_string(&cases));
	text_add(xml, "  </testsuite>\n</testsuites>\n");
	text_fini(&cases);
}
