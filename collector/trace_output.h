/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a trace file on disk: what is final, and the tail behind it that will be replaced.
 * Every step leaves a file from which a reader gets everything, whenever the process is killed.
 */
#ifndef GPUTRACE_TRACE_OUTPUT_H
#define GPUTRACE_TRACE_OUTPUT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct error;

struct trace_output {
	int fd;
	int dir_fd;	   /* of the directory it is in, and */
	char name[256];	   /* its name there */
	uint64_t end;	   /* final bytes */
	uint64_t tail_end; /* and the tail behind them */
};

/* O_EXCL|O_NOFOLLOW, 0600, locked with flock where the file system has it. */
int trace_output_create(struct trace_output *output, int dir_fd, const char *name,
			struct error *err);
/* Adds to the tail. On failure the file is as before, as far as the file system lets us. */
int trace_output_add_tail(struct trace_output *output, const void *data, size_t bytes,
			  struct error *err);
/* Puts final bytes in the place of the whole tail; *offset says where they stand. */
int trace_output_replace_tail(struct trace_output *output, const void *data, size_t bytes,
			      uint64_t *offset, struct error *err);
/*
 * A second file, which later takes the name of this one in one step: a kill at any moment leaves
 * one of the two, whole. It is unnamed where the file system can do that.
 */
int trace_output_open_spare(const struct trace_output *output, struct trace_output *spare,
			    struct error *err);
/* Appends bytes [begin, end) of the final part to the other file. */
int trace_output_copy(const struct trace_output *from, uint64_t begin, uint64_t end,
		      struct trace_output *to, struct error *err);
/* The tail must be empty. On failure the output is as before. */
int trace_output_take_spare(struct trace_output *output, struct trace_output *spare,
			    struct error *err);
void trace_output_drop_spare(const struct trace_output *output, struct trace_output *spare);
/* Gives final bytes from `end` on back (disk full); the tail must be empty. */
void trace_output_cut(struct trace_output *output, uint64_t end);
void trace_output_close(struct trace_output *output);

/* The system call behind every write; tests put one in its place that fails or dies on demand. */
extern ssize_t (*trace_output_pwrite)(int fd, const void *data, size_t bytes, off_t offset);

#endif
