/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a trace file for reading once its writer is done with it. */
#ifndef GPUTRACE_TRACE_FILE_OPEN_H
#define GPUTRACE_TRACE_FILE_OPEN_H

struct error;
struct trace_file;
struct trace_head;

#include <stdbool.h>

/*
 * With `waits`: up to 10 s while a collector holds the file's lock; then the file is read as it is.
 * 0, or a negative code with the reason in *err. file->fd is -1 or open in either case: the caller
 * closes.
 */
int trace_file_open(struct trace_file *file, const char *path, bool waits, struct error *err);

/* The head of a file that this program reads; else -EINVAL with the reason. */
int trace_file_read_head(const struct trace_file *file, struct trace_head *head, struct error *err);

#endif
