/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shim's own log lines, on standard error and only when GPUTRACE_LOG is set: the traced program
 * must look the same with and without the shim. errno is kept.
 */
#ifndef GPUTRACE_SHIM_LOG_H
#define GPUTRACE_SHIM_LOG_H

enum shim_log_level { SHIM_LOG_OFF, SHIM_LOG_ERROR, SHIM_LOG_WARN, SHIM_LOG_INFO, SHIM_LOG_DEBUG };
extern enum shim_log_level shim_log_level;

void shim_log_init(const char *word);
void shim_log_write(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define SHIM_LOG(level, ...)                                                                       \
	do {                                                                                       \
		if (__builtin_expect(SHIM_LOG_##level <= shim_log_level, 0))                       \
			shim_log_write(__VA_ARGS__);                                               \
	} while (0)

#endif
