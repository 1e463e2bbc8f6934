/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulated GPU's own thread, started when first needed. Times are computed when work is
 * enqueued (sim_stream.c), so the thread has only the effects: bytes of asynchronous copies and
 * sets, host functions, and records for log and tool whose time has come.
 *
 * Jobs have increasing numbers and every stream knows its place: the newest job and the newest host
 * function that its work comes after. Moving bytes in the order of the calls is always right,
 * except behind a host function, which runs at its modelled time; so a move waits only for host
 * functions among its predecessors, and a host function for all of them. A move may run earlier
 * than modelled: nobody may look before that.
 */
#include "sim_internal.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { DELIVERY_PERIOD_NS = 1000000, ZERO_BY_PAGES_BYTES = 1 << 20 };

static struct sim_job *first_job, **last_link = &first_job;
static uint64_t last_id;
static pthread_cond_t job_added, job_done;
static bool is_started, is_waiting, delivers_soon;

bool sim_worker_is_idle(void)
{
	return first_job == NULL;
}

struct sim_after sim_worker_join(struct sim_after a, struct sim_after b)
{
	return (struct sim_after){.job = a.job > b.job ? a.job : b.job,
				  .host = a.host > b.host ? a.host : b.host};
}

/*
 * Whether all that the place comes after is done. What waits for a newer host function cannot be
 * among it; other streams' older moves may be taken for part of it, which only waits for bytes.
 */
bool sim_worker_is_done(struct sim_after after)
{
	for (const struct sim_job *job = first_job; job && job->id <= after.job; job = job->next) {
		uint64_t behind = job->type == JOB_HOST ? job->id : job->after.host;

		if (behind <= after.host)
			return false;
	}
	return true;
}

static void set_bytes(const struct sim_job *job, char *to, size_t bytes)
{
	if (job->value == 0 && job->is_device_memory && bytes >= ZERO_BY_PAGES_BYTES) {
		uintptr_t first = ((uintptr_t)to + 4095) / 4096 * 4096;
		uintptr_t end = ((uintptr_t)to + bytes) / 4096 * 4096;

		/* Anonymous private pages come back as zeros, without being touched now. */
		if (madvise((void *)first, end - first, MADV_DONTNEED) == 0) {
			memset(to, 0, first - (uintptr_t)to);
			memset((void *)end, 0, (uintptr_t)to + bytes - end);
			return;
		}
	}
	if (job->width == 1) {
		memset(to, (int)job->value, bytes);
		return;
	}
	for (size_t i = 0; i < bytes; i += job->width)
		memcpy(to + i, &job->value, job->width);
}

/* Row by row where the job has a box, else all bytes at once. */
static void run_rows(const struct sim_job *job)
{
	struct sim_box box = job->box.rows > 0 ? job->box : sim_box_of_bytes(job->bytes);

	for (size_t slice = 0; slice < box.slices; slice++) {
		for (size_t row = 0; row < box.rows; row++) {
			char *to = (char *)job->to + slice * box.to_slice + row * box.to_pitch;

			if (job->type == JOB_SET)
				set_bytes(job, to, box.width);
			else
				memmove(to,
					(const char *)job->from + slice * box.from_slice +
						row * box.from_pitch,
					box.width);
		}
	}
}

void sim_worker_run_now(const struct sim_job *job)
{
	struct sim_thread *thread;

	switch (job->type) {
	case JOB_MOVE:
	case JOB_SET:
		run_rows(job);
		break;
	case JOB_HOST:
		thread = sim_call_thread();
		thread->is_in_host_function = true;
		if (job->callback)
			job->callback(job->handle, CUDA_SUCCESS, job->data);
		else
			job->function(job->data);
		thread->is_in_host_function = false;
		break;
	}
}

/* The first job that can run now; else when the next host function is due, 0 for never. */
static struct sim_job *find_ready(uint64_t *next_ns)
{
	uint64_t first_host_id = UINT64_MAX;

	*next_ns = 0;
	for (struct sim_job *job = first_job; job; job = job->next) {
		if (job->type != JOB_HOST) {
			if (job->after.host < first_host_id)
				return job;
			continue;
		}
		if (sim_worker_is_done(job->after)) {
			if (sim_clock_is_over(job->when_ns))
				return job;
			if (*next_ns == 0 || job->when_ns < *next_ns)
				*next_ns = job->when_ns;
		}
		if (first_host_id == UINT64_MAX)
			first_host_id = job->id;
	}
	return NULL;
}

static void remove_job(struct sim_job *job)
{
	struct sim_job **link = &first_job;

	while (*link != job)
		link = &(*link)->next;
	*link = job->next;
	if (last_link == &job->next)
		last_link = link;
	free(job->owned);
	free(job);
}

static void sleep_until_needed(uint64_t next_host_ns)
{
	uint64_t deadline = next_host_ns ? sim_clock_wall_deadline_ns(next_host_ns) : 0;
	uint64_t rest_ns = sim_link_is_described() ? sim_link_rest(sim_clock_now_ns(), false) : 0;

	/* Links fall asleep by the wall clock even where modelled work takes no time. */
	if (rest_ns > 0) {
		uint64_t left_ns = rest_ns - sim_clock_now_ns();
		uint64_t rest = sim_clock_monotonic_ns() + left_ns;

		if (deadline == 0 || rest < deadline)
			deadline = rest;
	}
	delivers_soon = sim_activity_is_pending();
	if (delivers_soon) {
		uint64_t soon = sim_clock_monotonic_ns() + DELIVERY_PERIOD_NS;

		if (deadline == 0 || soon < deadline)
			deadline = soon;
	}
	is_waiting = true;
	sim_lock_wait(&job_added, deadline);
	is_waiting = delivers_soon = false;
}

static void *work(void *unused)
{
	bool has_delivered = false;
	uint64_t next_host_ns;

	(void)unused;
	sim_lock();
	for (;;) {
		struct sim_job *job = find_ready(&next_host_ns);

		if (job) {
			sim_unlock();
			sim_worker_run_now(job);
			sim_lock();
			remove_job(job);
			pthread_cond_broadcast(&job_done);
		} else if (!has_delivered && sim_activity_is_pending()) {
			/* Jobs may come while the lock is free, so look for them once more. */
			sim_unlock();
			sim_activity_deliver(true);
			sim_lock();
			has_delivered = true;
		} else {
			sleep_until_needed(next_host_ns);
			has_delivered = false;
		}
	}
	return NULL;
}

static void init_conditions(void)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&job_added, &attributes);
	pthread_cond_init(&job_done, &attributes);
	pthread_condattr_destroy(&attributes);
}

/* The thread takes no signals of the application. */
static bool start_thread(void)
{
	sigset_t all, before;
	pthread_t thread;
	int error;

	if (is_started)
		return true;
	init_conditions();
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&thread, NULL, work, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error)
		return false;
	pthread_setname_np(thread, "simcuda-gpu");
	pthread_detach(thread);
	is_started = true;
	return true;
}

bool sim_worker_add(struct sim_stream *stream, const struct sim_job *job)
{
	struct sim_job *added = malloc(sizeof(*added));
	struct sim_after behind;

	if (!added || !start_thread()) {
		free(added);
		return false;
	}
	*added = *job;
	added->next = NULL;
	added->id = ++last_id;
	added->after = sim_stream_after(stream);
	*last_link = added;
	last_link = &added->next;
	if (is_waiting)
		pthread_cond_signal(&job_added);
	behind = (struct sim_after){
		.job = added->id, .host = added->type == JOB_HOST ? added->id : added->after.host};
	sim_stream_advance(stream, 0, behind);
	return true;
}

void sim_worker_wait(struct sim_after after)
{
	sim_lock();
	while (!sim_worker_is_done(after))
		sim_lock_wait(&job_done, 0);
	sim_unlock();
}

struct sim_after sim_worker_everything(void)
{
	return (struct sim_after){.job = last_id, .host = last_id};
}

void sim_worker_deliver_soon(void)
{
	if (start_thread() && is_waiting && !delivers_soon) {
		delivers_soon = true;
		pthread_cond_signal(&job_added);
	}
}

void sim_worker_reset_after_fork(void)
{
	is_started = is_waiting = delivers_soon = false;
	first_job = NULL;
	last_link = &first_job;
}
