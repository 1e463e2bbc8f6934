/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns recordings of other tools into .gtrace files: one input, one output. The format is told
 * from the content, never from the name. Everything in a recording is hostile input.
 */
#ifndef GPUTRACE_IMPORT_H
#define GPUTRACE_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

struct import_options {
	bool keep_partial; /* keep what was read when the recording is cut short */
	bool replace;	   /* write over an existing output */
	int64_t process;   /* of a recording of several, the only one to import; 0 all into one */
	/* Called now and then with bytes of the file taken and its size; may be NULL. */
	void (*progress)(void *context, uint64_t taken_bytes, uint64_t file_bytes);
	void *progress_context;
};

struct import_report {
	const char *format; /* "PyTorch profiler", ... */
	uint64_t records;   /* events written */
	uint64_t gpu_records;
	uint64_t calls; /* of CUDA functions */
	uint64_t lost;	/* events that could not be kept; by reason in the file */
	uint64_t lost_bad_time;
	int rank;    /* -1 unknown */
	bool is_cut; /* the recording was cut short and keep_partial was set */
	bool is_amd;
	bool output_failed; /* the output, not the recording, is what went wrong */
};

/*
 * The processes with GPU work in a recording that keeps several apart (nsys exports), ascending;
 * their number, 0 for a recording of one process and for anything that is no such recording. *out
 * is to be freed.
 */
size_t import_processes(const char *path, int64_t **out);

/*
 * Reads `path` and writes `name` in the directory `dir_fd`. The output appears under its name only
 * when it is complete; an existing file stays (-EEXIST) unless the options say otherwise.
 */
int import_file(const char *path, int dir_fd, const char *name,
		const struct import_options *options, struct import_report *report,
		struct error *err);

#endif
