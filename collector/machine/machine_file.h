/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of the machine in /sys and /proc, below a root: "" is the machine itself, a folder is a
 * captured or a simulated one (GPUTRACE_ROOT). Never for files of the job: those are always real.
 */
#ifndef GPUTRACE_MACHINE_FILE_H
#define GPUTRACE_MACHINE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MACHINE_PATH_BYTES 1024

/* As small_file_read() and small_file_line(), of ROOT/<format>. */
__attribute__((format(printf, 4, 5))) long machine_file_read(const char *root, char *text,
							     size_t size, const char *format, ...);
__attribute__((format(printf, 4, 5))) bool machine_file_line(const char *root, char *text,
							     size_t size, const char *format, ...);
/* The decimal number at the start of the first line; false when there is none. */
__attribute__((format(printf, 3, 4))) bool machine_file_number(const char *root, uint64_t *value,
							       const char *format, ...);
/* What a symbolic link says; its length or -errno. */
__attribute__((format(printf, 4, 5))) long machine_file_link(const char *root, char *text,
							     size_t size, const char *format, ...);

/* Copies the value of the line that starts with `name`, blanks skipped; false when none does. */
bool machine_field(const char *text, const char *name, char *value, size_t size);
/* Likewise as a number. */
bool machine_field_number(const char *text, const char *name, uint64_t *value);

#endif
