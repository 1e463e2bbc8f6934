/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small texts of /proc and /sys, and numbers in them. Nothing here allocates, and nothing uses
 * functions of the C library that are younger than the collector's glibc floor (stat, strtoul).
 */
#ifndef GPUTRACE_SMALL_FILE_H
#define GPUTRACE_SMALL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* The whole file, cut to `size` - 1 bytes, NUL-terminated; its length or -errno. */
long small_file_read(const char *path, char *text, size_t size);
/* The first line, without its newline; false when there is none. */
bool small_file_line(const char *path, char *text, size_t size);
/* A number of base 10 or 16 (lower case, no prefix) at *at, which moves behind it. */
bool small_file_number(const char **at, unsigned int base, uint64_t *value);
/* What fstat() does; its name in glibc is younger than the floor. */
int small_file_stat(int fd, struct stat *status);

#endif
