/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread is woken when something long begins, which is some thirty times a second at most, and
 * looks every two milliseconds whether that still goes on: most of it is over by then.
 */
#define _GNU_SOURCE
#include "ring_relief.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "ring_reader.h"

#define ROOM_BYTES  (32u * 1024 * 1024) /* what waits in memory at most */
#define LOOK_NS	    2000000
#define STACK_BYTES (64u * 1024)
/* Encoding is over before this many looks; who takes a ring before it must gains nothing by it.
 * What takes longer is a write, and may take much longer. */
#define LONG_LOOKS  6u
#define FIRST_SHARE 2u
#define LATER_SHARE 8u

struct ring_relief_thread {
	struct ring_reader *reader;
	pthread_t thread;
	int wake_fd;
	_Atomic bool is_busy; /* the other one */
	_Atomic bool is_over;
};

static void wake(struct ring_relief_thread *thread)
{
	const uint64_t one = 1;

	while (write(thread->wake_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

static void wait_for_work(struct ring_relief_thread *thread)
{
	uint64_t woken;

	while (read(thread->wake_fd, &woken, sizeof(woken)) < 0 && errno == EINTR)
		;
}

static void *relieve(void *argument)
{
	const struct timespec pause = {0, LOOK_NS};
	struct ring_relief_thread *thread = argument;

	while (!atomic_load_explicit(&thread->is_over, memory_order_acquire)) {
		wait_for_work(thread);
		nanosleep(&pause, NULL);
		for (uint32_t look = 1;
		     atomic_load_explicit(&thread->is_busy, memory_order_relaxed); look++) {
			ring_reader_relieve(thread->reader,
					    look < LONG_LOOKS ? FIRST_SHARE : LATER_SHARE);
			nanosleep(&pause, NULL);
		}
	}
	return NULL;
}

static int start_thread(struct ring_relief_thread *thread)
{
	pthread_attr_t attributes;
	int rc;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	rc = pthread_create(&thread->thread, &attributes, relieve, thread);
	pthread_attr_destroy(&attributes);
	return rc;
}

static struct ring_relief_thread *start(struct ring_reader *reader)
{
	struct ring_relief_thread *thread = calloc(1, sizeof(*thread));

	if (!thread)
		return NULL;
	thread->reader = reader;
	thread->wake_fd = eventfd(0, EFD_CLOEXEC);
	if (thread->wake_fd < 0)
		goto free_thread;
	if (ring_reader_set_room(reader, ROOM_BYTES) < 0)
		goto close_wake;
	if (start_thread(thread) != 0)
		goto close_wake;
	return thread;
close_wake:
	close(thread->wake_fd);
free_thread:
	free(thread);
	return NULL;
}

static void begin(struct ring_relief_thread *thread)
{
	if (!thread)
		return;
	atomic_store_explicit(&thread->is_busy, true, memory_order_relaxed);
	wake(thread);
}

static void end(struct ring_relief_thread *thread)
{
	if (thread)
		atomic_store_explicit(&thread->is_busy, false, memory_order_relaxed);
}

static void stop(struct ring_relief_thread *thread)
{
	if (!thread)
		return;
	end(thread);
	/* Pairs with the acquire load of the thread, which the wake-up lets come by. */
	atomic_store_explicit(&thread->is_over, true, memory_order_release);
	wake(thread);
	pthread_join(thread->thread, NULL);
	close(thread->wake_fd);
	free(thread);
}

const struct ring_relief ring_relief = {start, begin, end, stop};
