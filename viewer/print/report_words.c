/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two decimals of milliseconds are what a reader can act on. What rounds to 0.00 there is not
 * called a gain, and a range whose ends look alike is not printed as one.
 */
#include "report_words.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "memory_advice.h"

static bool is_range(double low, double high, double precision)
{
	return low >= precision / 2 && high - low >= precision;
}

bool report_add_gain(struct text *text, double low_ms, double high_ms)
{
	if (!(high_ms >= REPORT_LEAST_MS))
		return false;
	if (is_range(low_ms, high_ms, 0.01))
		text_addf(text, "%.2f to %.2f ms", low_ms, high_ms);
	else
		text_addf(text, "up to %.2f ms", high_ms);
	return true;
}

void report_add_percent(struct text *text, double low_ms, double high_ms, double step_ms)
{
	if (is_range(low_ms, high_ms, 0.01))
		text_addf(text, "%.1f to ", 100 * low_ms / step_ms);
	text_addf(text, "%.1f %%", 100 * high_ms / step_ms);
}

char *report_price_text(const struct finding *finding, double step_ms)
{
	struct text text;

	text_init(&text);
	if (!(finding->cost_ms > 0) && !(finding->gain_high_ms > 0))
		return text_take(&text);
	/* A share of the mean step, which leaves the steps of such a finding out, would be one of
	 * another whole and may well be above 100 %. */
	if (finding->is_beside_step)
		text_addf(&text, "adds %.2f ms to a step on average", finding->cost_ms);
	else
		text_addf(&text, "costs %.2f ms", finding->cost_ms);
	/* Without GPU times there is no step to take a share of. */
	if (!finding->is_beside_step && step_ms > 0)
		text_addf(&text, " (%.1f %%)", 100 * finding->cost_ms / step_ms);
	if (!(step_ms > 0) || !(finding->gain_high_ms >= REPORT_LEAST_MS))
		return text_take(&text);
	text_add(&text, ", gain ");
	report_add_gain(&text, finding->gain_low_ms, finding->gain_high_ms);
	text_add(&text, " (");
	report_add_percent(&text, finding->gain_low_ms, finding->gain_high_ms, step_ms);
	text_add(&text, ")");
	return text_take(&text);
}

char *report_together_text(const struct device_report *device)
{
	struct text text;

	text_init(&text);
	if (device->combined_gain_ms >= REPORT_LEAST_MS) {
		text_add(&text, "together ");
		report_add_gain(&text, device->lower_gain_ms, device->combined_gain_ms);
	}
	return text_take(&text);
}

static void add_counted(struct text *text, double count, const char *one, const char *many)
{
	text_addf(text, "%s %s", text_count(count).text, text_noun(count, one, many));
}

char *report_work_text(const struct device_report *device)
{
	const struct memory_usage *memory = &device->model->devices[device->device].memory;
	struct text text;

	text_init(&text);
	text_add(&text, device->model->steps.source == STEPS_NONE ? "per run: " : "per step: ");
	add_counted(&text, device->launches_per_step, "launch", "launches");
	text_add(&text, ", ");
	add_counted(&text, device->kernels_per_step, "kernel", "kernels");
	text_add(&text, ", ");
	add_counted(&text, device->copies_per_step, "copy", "copies");
	text_addf(&text, " (%s to the GPU, %s back), ",
		  memory_amount((uint64_t)llround(device->h2d_bytes_per_step)).text,
		  memory_amount((uint64_t)llround(device->d2h_bytes_per_step)).text);
	add_counted(&text, device->syncs_per_step, "wait", "waits");
	if (memory->allocations)
		text_addf(&text, "; peak memory %s", memory_amount(memory->peak_bytes).text);
	return text_take(&text);
}

char *report_length_text(const struct device_report *device)
{
	size_t steps = device->model->devices[device->device].ledger.steady_count;

	if (device->model->steps.source == STEPS_NONE)
		return text_format("%.3f ms", device->step_ms);
	if (steps == 1)
		return text_format("1 of them, %.3f ms", device->step_ms);
	return text_format("%zu of them, mean %.3f ms, median %.3f, MAD %.3f, p95 %.3f", steps,
			   device->step_ms, device->steps_ms.median, device->steps_ms.mad,
			   device->steps_ms.p95);
}

bool report_has_place(const struct finding *finding)
{
	return finding->call != MODEL_NONE || finding->site;
}

const char *report_severity_word(enum severity severity)
{
	static const char *const words[] = {"info", "low", "medium", "high"};

	return words[severity];
}

void report_print_wrapped(FILE *to, const char *indent, const char *words)
{
	size_t column = strlen(indent), width = 100;

	fputs(indent, to);
	while (*words) {
		size_t length = strcspn(words, " ");

		if (column > strlen(indent) && column + 1 + length > width) {
			fprintf(to, "\n%s", indent);
			column = strlen(indent);
		} else if (column > strlen(indent)) {
			fputc(' ', to);
			column++;
		}
		fwrite(words, 1, length, to);
		column += length;
		words += length;
		while (*words == ' ')
			words++;
	}
	fputc('\n', to);
}
