/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_codec [EVENTS [FILE]]: bytes per event and million events per second and core, written by
 * the trace writer and read by the trace reader, against raw records through zstd -1 in the same
 * run. The events are those of a training job: four templates of 1200 operations, 80 % launches,
 * lognormal gaps and durations (sigma 0.25), 1 % outliers, 2 % deviating arguments, 10 % skipped
 * correlation ids, 8.8 us apart, one tick per ns. FILE keeps the trace.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include "error.h"
#include "ring.h"
#include "trace_events.h"
#include "trace_file.h"
#include "trace_reader.h"
#include "trace_writer.h"

#define TEMPLATES  4
#define OPS	   1200
#define RING_BATCH (64u * 1024)
#define ROUNDS	   5

struct op {
	uint16_t kind;
	uint16_t api;
	uint64_t site, object, object2, size_bytes;
	uint32_t grid, block;
	double gap_ns, duration_ns;
};

static struct op ops[TEMPLATES][OPS];
static uint64_t random_state = 88172645463325252ull;

static uint64_t random_next(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static double random_unit(void)
{
	return ((double)(random_next() >> 11) + 0.5) / 9007199254740992.0;
}

static double random_lognormal(double sigma)
{
	return exp(sigma * sqrt(-2.0 * log(random_unit())) *
		   cos(6.283185307179586 * random_unit()));
}

static uint64_t pointer(uint64_t which)
{
	return 0x7f2000000000ull + which % 300 * 0x1240000ull;
}

static void make_ops(void)
{
	static const uint16_t others[] = {RECORD_KIND_copy,   RECORD_KIND_set,	RECORD_KIND_memory,
					  RECORD_KIND_memory, RECORD_KIND_call, RECORD_KIND_sync};

	for (int t = 0; t < TEMPLATES; t++) {
		for (int i = 0; i < OPS; i++) {
			struct op *op = &ops[t][i];
			uint64_t which = random_next() % 6;

			op->kind = random_unit() < 0.8 ? RECORD_KIND_launch : others[which];
			op->api = op->kind == RECORD_KIND_launch ? 1 : (uint16_t)(2 + which);
			op->site = (random_next() % 900 + 1) * 0x9e3779b97f4a7c15ull;
			op->object = op->kind == RECORD_KIND_launch ? 0x1000 + random_next() % 60
								    : pointer(random_next());
			op->object2 = pointer(random_next());
			op->size_bytes = 4096ull << random_next() % 12;
			op->grid = (uint32_t)(1 + random_next() % 40) * 27;
			op->block = 128u << random_next() % 3;
			op->gap_ns = 2000 * random_lognormal(0.8);
			op->duration_ns = 3500 * random_lognormal(0.6);
		}
	}
}

static size_t make_record(void *to, const struct op *op, const struct call_part *call, int deviates)
{
	uint64_t stream = 0x55810000;
	uint64_t object = deviates ? pointer(random_next()) : op->object;
	size_t size = 0;

	switch (op->kind) {
	case RECORD_KIND_launch: {
		struct record_launch r = {
			.call = *call,
			.kernel = op->object,
			.stream = stream,
			.grid = {deviates ? (uint32_t)(random_next() % 999) : op->grid, 1, 1},
			.block = {op->block, 1, 1}};
		size = sizeof(r);
		memcpy(to, &r, size);
		break;
	}
	case RECORD_KIND_copy: {
		struct record_copy r = {.call = *call,
					.destination = object,
					.source = op->object2,
					.size_bytes = op->size_bytes,
					.stream = stream,
					.direction = COPY_H2D,
					.source_kind = MEMORY_PINNED,
					.destination_kind = MEMORY_DEVICE,
					.peer_device = DEVICE_UNKNOWN};
		size = sizeof(r);
		memcpy(to, &r, size);
		break;
	}
	case RECORD_KIND_set: {
		struct record_set r = {.call = *call,
				       .destination = object,
				       .size_bytes = op->size_bytes,
				       .stream = stream};
		size = sizeof(r);
		memcpy(to, &r, size);
		break;
	}
	case RECORD_KIND_memory: {
		struct record_memory r = {.call = *call,
					  .address = object,
					  .size_bytes = op->size_bytes,
					  .op = op->api == 4 ? MEMORY_ALLOC : MEMORY_FREE,
					  .memory_kind = MEMORY_DEVICE};
		size = sizeof(r);
		memcpy(to, &r, size);
		break;
	}
	case RECORD_KIND_sync: {
		struct record_sync r = {.call = *call, .object = stream, .scope = SYNC_STREAM};
		size = sizeof(r);
		memcpy(to, &r, size);
		break;
	}
	default: {
		struct record_call r = {.call = *call, .object = object};
		size = sizeof(r);
		memcpy(to, &r, size);
		break;
	}
	}
	((struct record_head *)to)->kind = op->kind;
	((struct record_head *)to)->size_bytes = (uint16_t)size;
	return size;
}

static uint8_t *make_events(uint32_t count, size_t *bytes)
{
	uint8_t *events = malloc((size_t)count * 104);
	struct call_part call = {.flags = CALL_ASYNC};
	double now = 1e12;
	int template = 0;
	size_t used = 0;

	if (!events)
		exit(1);
	make_ops();
	for (uint32_t i = 0; i < count; i++) {
		const struct op *op;

		if (i % OPS == 0)
			template = (int)(random_next() % TEMPLATES);
		op = &ops[template][i % OPS];
		now += op->gap_ns * random_lognormal(0.25) * (random_unit() < 0.01 ? 20 : 1);
		call.begin_ticks = (uint64_t)now;
		now += op->duration_ns * random_lognormal(0.25) * (random_unit() < 0.01 ? 20 : 1);
		call.end_ticks = (uint64_t)now;
		call.call_id++;
		call.correlation += random_unit() < 0.1 ? 2 + (uint32_t)(random_next() % 3) : 1;
		call.site = op->site;
		call.api = op->api;
		used += make_record(events + used, op, &call, random_unit() < 0.02);
	}
	*bytes = used;
	return events;
}

static double seconds_of(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double seconds(void)
{
	return seconds_of(CLOCK_PROCESS_CPUTIME_ID);
}

static int die(const struct error *err)
{
	fprintf(stderr, "bench_codec: %s\n", err->text);
	exit(1);
}

static double write_trace(const char *path, const uint8_t *events, size_t bytes)
{
	const struct trace_writer_options options = {.compression_level = 1};
	struct trace_writer *writer;
	struct error err = {0};
	double begin;

	unlink(path);
	begin = seconds();
	if (trace_writer_create(AT_FDCWD, path, &options, &writer, &err) < 0)
		die(&err);
	for (size_t at = 0, size; at < bytes; at += size) {
		/* Whole records, about as much as one drain of a busy ring brings. */
		for (size = 0; size < RING_BATCH && at + size < bytes;)
			size += ((const struct record_head *)(events + at + size))->size_bytes;
		if (trace_writer_add(writer, 1, events + at, size, &err) < 0)
			die(&err);
	}
	if (trace_writer_finish(writer, SESSION_EXITED, &err) < 0)
		die(&err);
	return seconds() - begin;
}

static int count_rows(void *context, const struct trace_batch *batch)
{
	*(uint64_t *)context += batch->count;
	return 0;
}

static int count_events(void *context, const struct trace_events *events)
{
	*(uint64_t *)context += events->row_count;
	return 0;
}

/* As whole records, or as the rows that the model takes. CPU time; *wall_s is what a user waits. */
static double read_trace(const char *path, uint32_t expected, bool as_rows, double *wall_s)
{
	double wall_begin = seconds_of(CLOCK_MONOTONIC);
	struct error err = {0};
	struct trace *trace;
	uint64_t rows = 0;
	double begin = seconds();

	if (trace_open(path, &trace, &err) < 0 ||
	    trace_read_events(trace, UINT64_MAX, count_rows, as_rows ? count_events : NULL, &rows,
			      &err) < 0)
		die(&err);
	trace_close(trace);
	if (rows != expected) {
		fprintf(stderr, "bench_codec: %llu of %u events came back\n",
			(unsigned long long)rows, expected);
		exit(1);
	}
	*wall_s = fmin(*wall_s, seconds_of(CLOCK_MONOTONIC) - wall_begin);
	return seconds() - begin;
}

/* The reader decodes on all cores that it may use: here it may use one. */
static double read_on_one_core(const char *path, uint32_t expected, bool as_rows)
{
	cpu_set_t all, one;
	double unused = 1e9, used_s;

	sched_getaffinity(0, sizeof(all), &all);
	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	used_s = read_trace(path, expected, as_rows, &unused);
	sched_setaffinity(0, sizeof(all), &all);
	return used_s;
}

/* The same events as whole records through zstd -1, in blocks of about as many rows as a chunk. */
static double compress_raw(const uint8_t *events, size_t bytes, size_t *compressed)
{
	size_t block = 6u << 20, room = ZSTD_compressBound(block);
	void *out = malloc(room);
	double begin = seconds();

	*compressed = 0;
	for (size_t at = 0; at < bytes && out; at += block) {
		size_t size = bytes - at < block ? bytes - at : block;

		*compressed += ZSTD_compress(out, room, events + at, size, 1);
	}
	free(out);
	return seconds() - begin;
}

int main(int argc, char **argv)
{
	uint32_t count = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 2000000;
	double write_s = 1e9, read_s = 1e9, rows_s = 1e9, raw_s = 1e9, wall_s = 1e9;
	const char *path = argc > 2 ? argv[2] : "/dev/shm/gputrace-bench-codec.gtrace";
	size_t bytes, raw_bytes = 0;
	struct stat status;
	uint8_t *events = make_events(count, &bytes);

	for (int round = 0; round < ROUNDS; round++) {
		write_s = fmin(write_s, write_trace(path, events, bytes));
		read_s = fmin(read_s, read_on_one_core(path, count, false));
		rows_s = fmin(rows_s, read_on_one_core(path, count, true));
		read_trace(path, count, true, &wall_s);
		raw_s = fmin(raw_s, compress_raw(events, bytes, &raw_bytes));
	}
	if (stat(path, &status) < 0)
		return 1;
	if (argc <= 2)
		unlink(path);
	free(events);
	printf("%u events of %.1f bytes in the ring, best of %d rounds, CPU time of one core\n",
	       count, (double)bytes / count, ROUNDS);
	printf("trace file       %6.2f bytes/event  encode %6.1f M ev/s  decode %6.1f M ev/s\n",
	       (double)status.st_size / count, count / write_s * 1e-6, count / read_s * 1e-6);
	printf("  to rows        %6s             %6s                decode %6.1f M ev/s, %.1f on "
	       "all "
	       "cores\n",
	       "", "", count / rows_s * 1e-6, count / wall_s * 1e-6);
	printf("raw + zstd -1    %6.2f bytes/event  encode %6.1f M ev/s\n",
	       (double)raw_bytes / count, count / raw_s * 1e-6);
	printf("trace / raw      %6.3f of the bytes, %.1f times the speed\n",
	       (double)status.st_size / (double)raw_bytes, raw_s / write_s);
	return 0;
}
