/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log lines on stderr for collector and viewer. Levels go by frequency: error once per run, warn
 * per odd input, info per object, debug per record. Off until log_set_level(), since the same code
 * runs inside traced processes, which must stay silent. Define LOG_TAG before including this.
 */
#ifndef GPUTRACE_BASE_LOG_H
#define GPUTRACE_BASE_LOG_H

enum log_level { LOG_OFF = 0, LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

void log_set_level(enum log_level level);
/* "off", "error", "warn", "info", "debug"; other texts mean warn, NULL means off. */
enum log_level log_level_from_text(const char *text);

extern enum log_level log_level_now;
void log_write(enum log_level level, const char *tag, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#define LOG_AT(level, ...)                                                                         \
	do {                                                                                       \
		if (__builtin_expect((level) <= log_level_now, 0))                                 \
			log_write(level, LOG_TAG, __VA_ARGS__);                                    \
	} while (0)
#define log_error(...) LOG_AT(LOG_ERROR, __VA_ARGS__)
#define log_warn(...)  LOG_AT(LOG_WARN, __VA_ARGS__)
#define log_info(...)  LOG_AT(LOG_INFO, __VA_ARGS__)
#define log_debug(...) LOG_AT(LOG_DEBUG, __VA_ARGS__)

#endif
