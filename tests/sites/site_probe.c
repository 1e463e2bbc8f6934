// SPDX-License-Identifier: Apache-2.0
/*
 * A stand-in for the shim around site_capture(): per-thread state, a sink for records that keeps
 * them in memory, and access from Python. Built once, loaded by every interpreter of the machine.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "site_probe.h"
#include "site_capture.h"
#include "site_python.h"
#include "format/record.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define RECORD_LIMIT 20000
#define EXPORT	     __attribute__((visibility("default")))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *records[RECORD_LIMIT];
static size_t record_count;
static int refusals;
static __thread struct site_thread *this_thread __attribute__((tls_model("initial-exec")));

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool keep_record(void *context, const void *record, uint32_t size_bytes)
{
	bool is_kept = false;

	(void)context;
	pthread_mutex_lock(&lock);
	if (refusals > 0) {
		refusals--;
	} else if (record_count < RECORD_LIMIT) {
		records[record_count] = malloc(size_bytes);
		if (records[record_count]) {
			memcpy(records[record_count++], record, size_bytes);
			is_kept = true;
		}
	}
	pthread_mutex_unlock(&lock);
	return is_kept;
}

static struct site_thread *thread_state(void)
{
	if (!this_thread) {
		void *memory = mmap(NULL, site_thread_bytes(), PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (memory == MAP_FAILED)
			abort();
		this_thread = memory;
	}
	return this_thread;
}

EXPORT int probe_begin(const char *stacks)
{
	int parsed = site_stacks_parse(stacks);
	struct site_settings settings = {(enum site_stacks)parsed, keep_record, 1000, NULL};

	if (parsed < 0)
		return -1;
	pthread_mutex_lock(&lock);
	while (record_count > 0)
		free(records[--record_count]);
	pthread_mutex_unlock(&lock);
	site_capture_begin(&settings);
	return 0;
}

static uint64_t capture(int event, const void *frame)
{
	struct site_call call = {.event = (enum site_event)event,
				 .may_ask_python = true,
				 .frame = frame,
				 .now_ticks = now_ns()};

	return site_capture(thread_state(), &call);
}

EXPORT uint64_t probe_call(int event)
{
	return capture(event, __builtin_frame_address(0));
}

static void *call_on_thread(void *event)
{
	uint64_t *site = malloc(sizeof(*site));

	if (site)
		*site = probe_call(*(int *)event);
	if (this_thread) {
		site_thread_end(this_thread);
		munmap(this_thread, site_thread_bytes());
	}
	return site;
}

EXPORT uint64_t probe_call_on_native_thread(int event)
{
	pthread_t thread;
	void *result = NULL;
	uint64_t site = 0;

	if (pthread_create(&thread, NULL, call_on_thread, &event) != 0)
		return 0;
	pthread_join(thread, &result);
	if (result)
		site = *(uint64_t *)result;
	free(result);
	return site;
}

EXPORT __attribute__((noinline)) uint64_t probe_call_deep(int event, int depth)
{
	volatile char *space = __builtin_alloca((size_t)(depth % 7) * 48 + 16);
	uint64_t site;

	space[0] = (char)depth;
	site = depth > 0 ? probe_call_deep(event, depth - 1) : probe_call(event);
	return space[0] == (char)depth ? site : 0;
}

static const struct record_head *find(uint16_t kind, uint64_t id)
{
	for (size_t i = 0; i < record_count; i++) {
		const struct record_head *head = records[i];

		if (head->kind == kind && ((const struct record_name *)records[i])->id == id)
			return head;
	}
	return NULL;
}

static size_t format_frame(const struct site_frame *frame, char *text, size_t limit)
{
	const struct record_name *name;
	const char *separator;
	int function_bytes;

	if (frame->type == FRAME_NATIVE)
		return (size_t)snprintf(text, limit, "N\t%#llx\n",
					(unsigned long long)frame->value);
	if (frame->type != FRAME_PYTHON)
		return (size_t)snprintf(text, limit, "%s\n",
					frame->type == FRAME_WAITING ? "W" : "T");
	name = (const struct record_name *)find(RECORD_KIND_name, frame->value);
	separator = name ? memchr(name->text, 0x1f, name->text_bytes) : NULL;
	if (!separator || name->space != NAME_PYTHON)
		return (size_t)snprintf(text, limit, "P\t?\t?\t%u\n", frame->line);
	function_bytes = (int)(separator - name->text);
	return (size_t)snprintf(text, limit, "P\t%.*s\t%.*s\t%u\n", function_bytes, name->text,
				(int)name->text_bytes - function_bytes - 1, separator + 1,
				frame->line);
}

EXPORT size_t probe_site(uint64_t site, char *text, size_t limit)
{
	const struct record_site *record;
	size_t used = 0;

	pthread_mutex_lock(&lock);
	record = (const struct record_site *)find(RECORD_KIND_site, site);
	for (uint32_t i = 0; record && i < record->frame_count && used < limit; i++)
		used += format_frame(&record->frames[i], text + used, limit - used);
	pthread_mutex_unlock(&lock);
	return used < limit ? used : limit;
}

struct wanted_fact {
	const char *key;
	char *text;
	size_t limit, used;
};

static void take_fact(void *context, const char *key, const char *value)
{
	struct wanted_fact *wanted = context;

	if (strcmp(key, wanted->key) == 0)
		wanted->used = (size_t)snprintf(wanted->text, wanted->limit, "%s", value);
}

EXPORT size_t probe_fact(const char *key, char *text, size_t limit)
{
	struct wanted_fact wanted = {key, text, limit, 0};

	site_capture_facts(take_fact, &wanted);
	return wanted.used;
}

EXPORT void probe_refuse(int count)
{
	pthread_mutex_lock(&lock);
	refusals = count;
	pthread_mutex_unlock(&lock);
}

EXPORT uint64_t probe_records(void)
{
	uint64_t count;

	pthread_mutex_lock(&lock);
	count = record_count;
	pthread_mutex_unlock(&lock);
	return count;
}

EXPORT uint64_t probe_walk_rounds(uint64_t rounds)
{
	static __thread struct site_python_thread me;
	struct site_python_stack first, again;
	uint64_t differing = 0;

	if (!site_python_walk(&me, true, &first))
		return rounds;
	for (uint64_t i = 0; i < rounds; i++) {
		if (!site_python_walk(&me, true, &again) || again.hash != first.hash ||
		    again.frame_count != first.frame_count ||
		    memcmp(again.frames, first.frames,
			   first.frame_count * sizeof(first.frames[0])) != 0)
			differing++;
	}
	site_python_forget(&me);
	return differing;
}

static pthread_cond_t released = PTHREAD_COND_INITIALIZER;
static int waiting_count;
static int release_count;

EXPORT void probe_wait(void)
{
	int before;

	pthread_mutex_lock(&lock);
	before = release_count;
	waiting_count++;
	while (release_count == before)
		pthread_cond_wait(&released, &lock);
	waiting_count--;
	pthread_mutex_unlock(&lock);
}

EXPORT int probe_waiting(void)
{
	int count;

	pthread_mutex_lock(&lock);
	count = waiting_count;
	pthread_mutex_unlock(&lock);
	return count;
}

EXPORT void probe_release(void)
{
	pthread_mutex_lock(&lock);
	release_count++;
	pthread_cond_broadcast(&released);
	pthread_mutex_unlock(&lock);
}

EXPORT double probe_walk_ns(uint64_t rounds)
{
	uint64_t begin = now_ns();

	if (probe_walk_rounds(rounds) != 0)
		return -1;
	return (double)(now_ns() - begin) / (double)rounds;
}

EXPORT double probe_event_ns(int event, uint64_t rounds)
{
	struct site_call call = {.event = (enum site_event)event,
				 .may_ask_python = true,
				 .frame = __builtin_frame_address(0)};
	struct site_thread *me = thread_state();
	uint64_t begin, known = site_capture(me, &call);

	begin = now_ns();
	for (uint64_t i = 0; i < rounds; i++) {
		call.now_ticks += 10000000;
		if (site_capture(me, &call) != known)
			return -1;
	}
	return (double)(now_ns() - begin) / (double)rounds;
}

EXPORT double probe_launch_ns(uint64_t rounds, uint64_t apart_ns)
{
	struct site_call call = {.event = SITE_EVENT_LAUNCH,
				 .may_ask_python = true,
				 .frame = __builtin_frame_address(0)};
	static uint64_t now_ticks; /* runs on from one measurement to the next */
	struct site_thread *me = thread_state();
	uint64_t begin;

	now_ticks = now_ticks ? now_ticks + 10000000 : now_ns();
	call.now_ticks = now_ticks;
	site_capture(me, &call);
	begin = now_ns();
	for (uint64_t i = 0; i < rounds; i++) {
		call.now_ticks += apart_ns;
		site_capture(me, &call);
	}
	now_ticks = call.now_ticks;
	return (double)(now_ns() - begin) / (double)rounds;
}
