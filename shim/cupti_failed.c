/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A row per call: how often it failed and what CUPTI said first. Only atomic words, since CUPTI is
 * also called on the program's threads, which write no facts.
 */
#include "cupti_failed.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cupti_kinds.h"
#include "session.h"

static const char *const texts[CUPTI_FAILED_COUNT] = {
#define CUPTI_FAILED_TEXT(name, what) what,
	CUPTI_FAILED_CALLS(CUPTI_FAILED_TEXT)
#undef CUPTI_FAILED_TEXT
};

static struct {
	_Atomic int first_result;
	_Atomic uint32_t count;
} rows[CUPTI_FAILED_COUNT];
static uint64_t told_count;
static unsigned int told_rows;

int cupti_failed_note(enum cupti_failed_call call, int result)
{
	int none = 0;
	if (!result)
		return 0;
	atomic_compare_exchange_strong(&rows[call].first_result, &none, result);
	atomic_fetch_add(&rows[call].count, 1);
	return result;
}

void cupti_failed_unsubscribe(const struct cupti *cupti, void *subscriber)
{
	cupti_failed_note(CUPTI_FAILED_UNSUBSCRIBE, cupti->Unsubscribe(subscriber));
}

void cupti_failed_tell(const struct cupti *cupti, bool is_last)
{
	char text[1024] = "", one[160];
	uint64_t total = 0;
	unsigned int failed = 0;
	for (int call = 0; call < CUPTI_FAILED_COUNT; call++) {
		uint32_t count = atomic_load(&rows[call].count);
		size_t used = strlen(text);
		if (!count)
			continue;
		total += count;
		snprintf(text + used, sizeof(text) - used, "%s%s, %u %s", failed++ ? "; " : "",
			 cupti_kinds_result(cupti, atomic_load(&rows[call].first_result), one,
					    sizeof(one), texts[call]),
			 count, count == 1 ? "time" : "times");
	}
	if (failed == told_rows && (!is_last || total == told_count))
		return;
	told_rows = failed;
	told_count = total;
	session_info("gpu_times.failed", text);
}

void cupti_failed_forget(void)
{
	for (int call = 0; call < CUPTI_FAILED_COUNT; call++) {
		atomic_store(&rows[call].first_result, 0);
		atomic_store(&rows[call].count, 0);
	}
	told_rows = 0;
	told_count = 0;
}
