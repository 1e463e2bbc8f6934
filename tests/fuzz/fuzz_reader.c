/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile trace files. With clang's -fsanitize=fuzzer this is a libFuzzer target; otherwise it is a
 * program that reads the files that it is given (directories: all files in them), and with --mutate
 * N each of them again with N small random changes whose checksums are made good, so that the
 * changes reach the code behind the checksums.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bytes.h"
#include "crc32c.h"
#include "error.h"
#include "trace_chunk.h"
#include "trace_events.h"
#include "trace_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static uint64_t sum; /* of all bytes that the reader gives, so that each of them is looked at */

static void look_at(const void *data, size_t bytes)
{
	const uint8_t *at = data;

	for (size_t i = 0; i < bytes; i++)
		sum += at[i];
}

static int look_at_batch(void *context, const struct trace_batch *batch)
{
	(void)context;
	look_at(batch->rows, (size_t)batch->count * batch->row_bytes);
	look_at(batch->thread, batch->count * sizeof(*batch->thread));
	return 0;
}

/* As rows, and each as its whole record. */
static int look_at_events(void *context, const struct trace_events *events)
{
	const struct trace_event *row = events->rows;
	uint64_t record[EVENT_RECORD_BYTES / 8];

	*(uint64_t *)context += events->row_count;
	look_at(events->runs, events->run_count * sizeof(*events->runs));
	for (uint32_t run = 0; run < events->run_count; run++) {
		for (uint32_t left = events->runs[run].rows; left > 0; left--, row++) {
			trace_events_fill(events, row, record);
			look_at(record, sizeof(record));
			sum += trace_events_kind(events, row->record);
		}
	}
	return 0;
}

static int count_batch(void *context, const struct trace_batch *batch)
{
	*(uint64_t *)context += batch->count;
	return look_at_batch(NULL, batch);
}

static int count_run(void *context, uint32_t thread, uint32_t rows)
{
	*(uint64_t *)context += rows;
	sum += thread;
	return 0;
}

/* Whoever makes room for what was counted must have enough. */
static void look_at_rows(struct trace *trace)
{
	uint64_t counted = 0, read = 0;

	trace_count_threads(trace, UINT64_MAX, count_batch, count_run, &counted, NULL);
	trace_read_events(trace, UINT64_MAX, count_batch, look_at_events, &read, NULL);
	if (read > counted)
		abort();
}

static void look_at_info(void *context, const char *key, const char *value)
{
	(void)context;
	look_at(key, strlen(key) + 1);
	look_at(value, strlen(value) + 1);
}

static void look_at_trace(struct trace *trace)
{
	trace_info_each(trace, look_at_info, NULL);
	for (size_t i = 0; i < trace_device_count(trace); i++)
		look_at(trace_device(trace, i)->name, strlen(trace_device(trace, i)->name) + 1);
	for (size_t i = 0; i < trace_thread_count(trace); i++)
		look_at(trace_thread(trace, i)->name, strlen(trace_thread(trace, i)->name) + 1);
	for (size_t i = 0; i < trace_library_count(trace); i++)
		look_at(trace_library(trace, i)->path, strlen(trace_library(trace, i)->path) + 1);
	for (uint64_t id = 0; id < 600; id++) {
		const char *name = trace_name(trace, (uint16_t)(1 + id % 5), id / 5);
		const struct record_site *site = trace_site(trace, id);

		if (name)
			look_at(name, strlen(name) + 1);
		if (site)
			look_at(site->frames, site->frame_count * sizeof(site->frames[0]));
	}
	sum += (uint64_t)trace_ticks_to_ns(trace, sum) + (uint64_t)trace_gpu_to_ns(trace, sum);
	look_at_rows(trace);
	trace_read(trace, UINT64_MAX, look_at_batch, NULL, NULL);
	look_at(trace_health(trace), sizeof(*trace_health(trace)));
}

static int read_memory(const uint8_t *data, size_t bytes)
{
	char path[64];
	struct trace *trace;
	struct error err = {0};
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	int rc;

	if (fd < 0 || write(fd, data, bytes) != (ssize_t)bytes)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	rc = trace_open(path, &trace, &err);
	if (rc == 0) {
		look_at_trace(trace);
		trace_close(trace);
	} else if (!err.text[0] || strchr(err.text, '\n')) {
		abort(); /* every refusal has one clear sentence */
	}
	close(fd);
	return rc;
}

/* Makes the checksums of all chunks that still look like chunks good again. */
static void mend(uint8_t *data, size_t bytes)
{
	for (size_t at = TRACE_HEAD_BYTES; at + CHUNK_HEADER_BYTES <= bytes; at += 8) {
		uint32_t payload = bytes_load32(data + at + 60);

		if (bytes_load32(data + at + 8) != CHUNK_MAGIC)
			continue;
		if (payload <= bytes - at - CHUNK_HEADER_BYTES)
			bytes_store32(data + at + 68,
				      crc32c(data + at + CHUNK_HEADER_BYTES, payload));
		bytes_store32(data + at + 84, crc32c(data + at, 84));
	}
	if (bytes >= TRACE_HEAD_BYTES)
		bytes_store32(data + 60, crc32c(data, 60));
}

/* Once as it is, once with good checksums: a fuzzer does not find those by itself. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	uint8_t *copy = malloc(bytes + 1);

	read_memory(data, bytes);
	if (copy) {
		memcpy(copy, data, bytes);
		mend(copy, bytes);
		read_memory(copy, bytes);
	}
	free(copy);
	return 0;
}

#ifndef GPUTRACE_LIBFUZZER

static uint64_t random_state = 1;

static uint64_t random_next(void)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return random_state >> 16;
}

static void mutate(const uint8_t *data, size_t bytes, unsigned long rounds)
{
	uint8_t *copy = malloc(bytes + 1);

	for (unsigned long round = 0; copy && bytes > 0 && round < rounds; round++) {
		size_t length = random_next() % 8 ? bytes : random_next() % (bytes + 1);

		memcpy(copy, data, bytes);
		for (uint64_t changes = 1 + random_next() % 4; changes > 0; changes--) {
			size_t at = random_next() % bytes;

			copy[at] = random_next() % 2
					   ? (uint8_t)random_next()
					   : (uint8_t)(copy[at] ^ 1u << random_next() % 8);
		}
		mend(copy, length);
		read_memory(copy, length);
	}
	free(copy);
}

static int read_path(const char *path, unsigned long rounds)
{
	struct stat status;
	uint8_t *data;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int failed = 1;

	if (fd < 0 || fstat(fd, &status) < 0 || !(data = malloc((size_t)status.st_size + 1))) {
		fprintf(stderr, "fuzz_reader: cannot read %s\n", path);
		return 1;
	}
	if (read(fd, data, (size_t)status.st_size) == status.st_size) {
		int rc = read_memory(data, (size_t)status.st_size);

		printf("%s: %s\n", path, rc ? "refused" : "read");
		mutate(data, (size_t)status.st_size, rounds);
		failed = 0;
	}
	free(data);
	close(fd);
	return failed;
}

static int read_directory(DIR *stream, const char *path, unsigned long rounds)
{
	const struct dirent *entry;
	char file[4096];
	int failed = 0;

	while ((entry = readdir(stream))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(file, sizeof(file), "%s/%s", path, entry->d_name);
		failed |= read_path(file, rounds);
	}
	closedir(stream);
	return failed;
}

int main(int argc, char **argv)
{
	unsigned long rounds = 0;
	int failed = 0, first = 1;

	if (argc > 2 && strcmp(argv[1], "--mutate") == 0) {
		rounds = strtoul(argv[2], NULL, 10);
		first = 3;
	}
	if (first >= argc) {
		fputs("usage: fuzz_reader [--mutate N] FILE|DIRECTORY...\n", stderr);
		return 2;
	}
	for (int i = first; i < argc; i++) {
		DIR *stream = opendir(argv[i]);

		failed |= stream ? read_directory(stream, argv[i], rounds)
				 : read_path(argv[i], rounds);
	}
	return failed;
}

#endif
