/* SPDX-License-Identifier: Apache-2.0 */
/* Rings stand one after the other behind the control region. */
#define _GNU_SOURCE
#include "session_fixture.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "record.h"

static uint64_t now_ns(clockid_t which)
{
	struct timespec now;

	clock_gettime(which, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void session_fixture_init(struct session_fixture *session, uint32_t rings, uint32_t data_bytes)
{
	size_t ring_bytes = RING_HEADER_BYTES + (size_t)data_bytes;

	session->rings = rings;
	session->bytes = RING_CONTROL_BYTES + rings * ring_bytes;
	session->memfd = memfd_create("gputrace", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_true(session->memfd >= 0);
	assert_int_equal(ftruncate(session->memfd, (off_t)session->bytes), 0);
	assert_int_equal(fcntl(session->memfd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	session->control =
		mmap(NULL, session->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, session->memfd, 0);
	assert_true(session->control != MAP_FAILED);
	*session->control = (struct ring_control){
		.magic = RING_MAGIC,
		.version_major = RING_VERSION_MAJOR,
		.version_minor = RING_VERSION_MINOR,
		.control_bytes = RING_CONTROL_BYTES,
		.slot_count = RING_SLOT_COUNT,
		.clock_kind = RING_CLOCK_MONOTONIC,
		.process_id = (uint32_t)getpid(),
		.clock_hz = 1000000000,
		.start_ticks = now_ns(CLOCK_MONOTONIC),
		.start_realtime_ns = now_ns(CLOCK_REALTIME),
		.shim_build = "test shim",
	};
	for (uint32_t i = 0; i < rings; i++) {
		struct ring_slot *slot = &ring_slots(session->control)[i];

		slot->offset = RING_CONTROL_BYTES + i * ring_bytes;
		slot->data_bytes = data_bytes;
	}
}

void session_fixture_fini(struct session_fixture *session)
{
	munmap(session->control, session->bytes);
	close(session->memfd);
}

void session_ring_claim(struct session_fixture *session, struct session_ring *ring, uint32_t index,
			uint32_t thread_id, uint64_t claimed_ticks)
{
	ring->slot = &ring_slots(session->control)[index];
	ring->header = (struct ring_header *)((char *)session->control + ring->slot->offset);
	ring->data = (uint8_t *)ring->header + RING_HEADER_BYTES;
	ring->head = atomic_load(&ring->header->head);
	ring->slot->thread_id = thread_id;
	ring->slot->generation++;
	ring->slot->claimed_ticks = claimed_ticks;
	/* Pairs with ring_reader_drain(). */
	atomic_store_explicit(&ring->slot->state, RING_SLOT_LIVE, memory_order_release);
}

void session_ring_retire(struct session_ring *ring)
{
	atomic_store_explicit(&ring->slot->state, RING_SLOT_RETIRED, memory_order_release);
}

bool session_ring_put(struct session_ring *ring, const void *record)
{
	const struct record_head *head = record;
	uint64_t size = ring->slot->data_bytes;
	uint64_t place = ring->head & (size - 1);
	uint64_t pad = place + head->size_bytes > size ? size - place : 0;
	uint64_t tail = atomic_load_explicit(&ring->header->tail, memory_order_acquire);

	if (ring->head + pad + head->size_bytes - tail > size)
		return false;
	if (pad > 0) {
		struct record_head padding = {.kind = RECORD_PAD, .size_bytes = (uint16_t)pad};

		memcpy(ring->data + place, &padding, sizeof(padding));
		ring->head += pad;
		place = 0;
	}
	memcpy(ring->data + place, record, head->size_bytes);
	ring->head += head->size_bytes;
	atomic_store_explicit(&ring->header->head, ring->head, memory_order_release);
	return true;
}

bool session_ring_put_call(struct session_ring *ring, uint32_t call_id)
{
	const struct record_call call = {
		.call = {.head = {.kind = RECORD_KIND_call,
				  .size_bytes = sizeof(struct record_call)},
			 .call_id = call_id},
	};

	return session_ring_put(ring, &call);
}

bool session_ring_take_over(struct session_ring *ring, uint32_t thread_id, uint64_t claimed_ticks)
{
	const struct ring_owner owner = {
		.kind = RECORD_PAD,
		.size_bytes = sizeof(owner),
		.pad_kind = RING_PAD_OWNER,
		.thread_id = thread_id,
		.claimed_ticks = claimed_ticks,
	};
	uint32_t retired = RING_SLOT_RETIRED;

	if (!atomic_compare_exchange_strong(&ring->slot->state, &retired, RING_SLOT_LIVE))
		return false;
	while (!session_ring_put(ring, &owner))
		sched_yield();
	return true;
}

void session_ring_drop(struct session_ring *ring, uint16_t kind)
{
	atomic_fetch_add_explicit(&ring->header->dropped[kind], 1, memory_order_relaxed);
}

uint64_t session_file_limit;

pid_t session_start_collector(const struct session_fixture *session, const char *program, pid_t pid,
			      const char *out_dir, const char *name)
{
	char memfd_text[16], pid_text[16];
	pid_t child = fork();

	assert_true(child >= 0);
	if (child > 0)
		return child;
	fcntl(session->memfd, F_SETFD, 0);
	if (session_file_limit > 0) {
		const struct rlimit limit = {session_file_limit, session_file_limit};

		setrlimit(RLIMIT_FSIZE, &limit);
	}
	snprintf(memfd_text, sizeof(memfd_text), "%d", session->memfd);
	snprintf(pid_text, sizeof(pid_text), "%d", (int)pid);
	execl(program, program, "--memfd", memfd_text, "--pid", pid_text, "--out", out_dir,
	      "--name", name, (char *)NULL);
	_exit(127);
}

bool session_wait_state(const struct session_fixture *session, uint32_t wanted)
{
	for (int i = 0; i < 10000; i++) {
		uint32_t state = atomic_load_explicit(&session->control->collector_state,
						      memory_order_acquire);

		if (state == wanted ||
		    (wanted == RING_COLLECTOR_READY && state == RING_COLLECTOR_DONE))
			return true;
		usleep(1000);
	}
	return false;
}

const char *session_make_dir(void)
{
	static char path[512];
	const char *base = getenv("TMPDIR");

	/* Some tests write files thousands of times: memory is kinder than a disk. */
	if (!base)
		base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
	snprintf(path, sizeof(path), "%s/gputrace-test-XXXXXX", base);
	assert_non_null(mkdtemp(path));
	return path;
}

void session_find_trace(const char *dir, char *path, size_t size)
{
	DIR *stream = opendir(dir);
	const struct dirent *entry;
	int found = 0;

	assert_non_null(stream);
	while ((entry = readdir(stream))) {
		if (strstr(entry->d_name, ".gtrace")) {
			snprintf(path, size, "%s/%s", dir, entry->d_name);
			found++;
		}
	}
	closedir(stream);
	if (found != 1)
		path[0] = '\0';
}

void session_remove_dir(const char *dir)
{
	DIR *stream = opendir(dir);
	const struct dirent *entry;
	char path[1024];

	while (stream && (entry = readdir(stream))) {
		snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
		unlink(path);
	}
	if (stream)
		closedir(stream);
	rmdir(dir);
}
