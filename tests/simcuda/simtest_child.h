/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of the simulated stack run each case in a child process: the driver reads its environment
 * once, and a fault or a sticky error must not reach the next case. A case checks with
 * SIMTEST_CHECK; the log that the driver wrote is there afterwards.
 */
#ifndef GPUTRACE_SIMTEST_CHILD_H
#define GPUTRACE_SIMTEST_CHILD_H

#include <stddef.h>

/* Runs `body` in a child with the settings ("NAME=value", NULL at the end) and SIMCUDA_LOG in its
 * environment, and the time scale 0 unless set. Returns its exit status; 0: all checks held. */
int simtest_child_run(void (*body)(void), const char *const settings[]);
/* The same for a program. Its standard output goes to `output` (cut to size, ends with NUL). */
int simtest_child_exec(const char *program, const char *const settings[], char *output,
		       size_t output_bytes);

/* In a child: ends it, with the condition's text, if the condition does not hold. */
#define SIMTEST_CHECK(condition) simtest_child_check(!!(condition), #condition, __FILE__, __LINE__)
void simtest_child_check(int holds, const char *text, const char *file, int line);
/* Both sides are printed when they differ. */
#define SIMTEST_EQUAL(a, b)                                                                        \
	simtest_child_equal((long long)(a), (long long)(b), #a, #b, __FILE__, __LINE__)
void simtest_child_equal(long long a, long long b, const char *text_a, const char *text_b,
			 const char *file, int line);

/* The exact log of the last child, or in a child that of this process so far. */
struct simtest_line {
	char *text; /* the fields, each ending with NUL */
	int field_count;
	char *fields[24];
};
struct simtest_log {
	struct simtest_line *lines;
	size_t count;
};
struct simtest_log *simtest_log_read(void);
void simtest_log_free(struct simtest_log *log);
/* Field `index` from 0, "" when there are fewer. */
const char *simtest_log_field(const struct simtest_line *line, int index);
/* The value of "key=" in a line, "" when it is not there. */
const char *simtest_log_value(const struct simtest_line *line, const char *key);
/* The n-th line (from 0) with this tag and function, or NULL. */
const struct simtest_line *simtest_log_find(const struct simtest_log *log, const char *tag,
					    const char *function, size_t n);
size_t simtest_log_count(const struct simtest_log *log, const char *tag, const char *function);

#endif
