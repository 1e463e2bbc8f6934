/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels whose end other processes decide: NCCL's. Such a kernel begins when its own stream is
 * ready and stays open; whoever next needs to know when its stream is ready settles it, which waits
 * for the other processes without the lock. So the launching call returns at once, as on a real
 * GPU. A stream has at most one open kernel, since the next launch settles the one before.
 */
#include "sim_internal.h"

#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

struct sim_meeting {
	struct sim_meeting *next;
	struct sim_stream *stream;
	struct simcuda_meeting given;
	struct simcuda_activity activity;
	bool is_busy; /* a thread is in finish() without the lock */
};

static struct sim_meeting *open_meetings;

static _Thread_local struct simcuda_meeting next_meeting;
static _Thread_local const void *next_kernel;

void simcuda_next_launch_meets(void *kernel, const struct simcuda_meeting *meeting)
{
	next_kernel = kernel;
	next_meeting = *meeting;
}

bool sim_meeting_is_next(const void *kernel)
{
	return next_kernel && next_kernel == kernel;
}

/* Copies bytes out of device memory in the stream's order, then says so. */
static bool send_out(struct sim_stream *stream, const struct simcuda_meeting *given)
{
	for (size_t i = 0; i < given->out_count; i++) {
		const struct simcuda_transfer *out = &given->out[i];
		struct sim_job move = {.type = JOB_MOVE, .to = out->memory, .bytes = out->bytes};
		struct sim_job flag = {.type = JOB_SET,
				       .to = out->flag,
				       .bytes = sizeof(*out->flag),
				       .width = sizeof(*out->flag),
				       .value = 1};
		struct sim_place place;

		if (out->bytes > 0) {
			if (!sim_memory_place(out->address, out->bytes, &place))
				return false;
			move.from = place.bytes;
			if (!sim_worker_add(stream, &move))
				return false;
		}
		if (!sim_worker_add(stream, &flag))
			return false;
	}
	return true;
}

CUresult sim_meeting_open(struct sim_stream *stream, const struct simcuda_activity *activity)
{
	struct sim_meeting *meeting = calloc(1, sizeof(*meeting));

	next_kernel = NULL;
	if (!meeting || !send_out(stream, &next_meeting)) {
		free(meeting);
		next_meeting.finish(next_meeting.data, 0, NULL);
		return CUDA_ERROR_INVALID_VALUE;
	}
	meeting->stream = stream;
	meeting->given = next_meeting;
	meeting->activity = *activity;
	meeting->next = open_meetings;
	open_meetings = meeting;
	sim_stream_advance(stream, activity->begin_ns, stream->after);
	next_meeting.arrive(next_meeting.data, activity->begin_ns);
	return CUDA_SUCCESS;
}

/* What the others sent is written in the stream's order; the copy of it belongs to the job. */
static void take_in(struct sim_stream *stream, const struct simcuda_arrivals *arrivals)
{
	for (size_t i = 0; i < arrivals->count; i++) {
		const struct simcuda_transfer *in = &arrivals->in[i];
		struct sim_place place;

		if (in->bytes > 0 && sim_memory_place(in->address, in->bytes, &place)) {
			struct sim_job move = {.type = JOB_MOVE,
					       .to = place.bytes,
					       .from = in->memory,
					       .owned = in->memory,
					       .bytes = in->bytes};

			if (sim_worker_add(stream, &move))
				continue;
		}
		free(in->memory);
	}
	free(arrivals->in);
}

static void close_meeting(struct sim_meeting *meeting, const struct simcuda_arrivals *arrivals)
{
	struct sim_meeting **link = &open_meetings;

	while (*link != meeting)
		link = &(*link)->next;
	*link = meeting->next;
	take_in(meeting->stream, arrivals);
	meeting->activity.end_ns = arrivals->end_ns > meeting->activity.begin_ns
					   ? arrivals->end_ns
					   : meeting->activity.begin_ns;
	sim_stream_advance(meeting->stream, meeting->activity.end_ns, meeting->stream->after);
	if (sim_activity_is_wanted())
		sim_activity_add(&meeting->activity);
	free(meeting);
}

static void wait_for_other_thread(void)
{
	sim_unlock();
	usleep(50);
	sim_lock();
}

static void settle(struct sim_meeting *meeting)
{
	struct simcuda_arrivals arrivals = {0};

	if (meeting->is_busy) {
		wait_for_other_thread();
		return;
	}
	meeting->is_busy = true;
	sim_unlock();
	meeting->given.finish(meeting->given.data, 1, &arrivals);
	sim_lock();
	meeting->is_busy = false;
	close_meeting(meeting, &arrivals);
}

static struct sim_meeting *find(bool (*concerns)(const struct sim_stream *, const void *),
				const void *object)
{
	struct sim_meeting *meeting = open_meetings;

	while (meeting && !concerns(meeting->stream, object))
		meeting = meeting->next;
	return meeting;
}

static void settle_all(bool (*concerns)(const struct sim_stream *, const void *),
		       const void *object)
{
	struct sim_meeting *meeting;

	while (open_meetings && (meeting = find(concerns, object)))
		settle(meeting);
}

/* Whether work in `object`, a stream, comes after what `open` has queued. */
static bool is_before(const struct sim_stream *open, const void *object)
{
	const struct sim_stream *stream = object;

	if (open == stream)
		return true;
	return open->context == stream->context && ((stream->is_legacy && open->is_blocking) ||
						    (open->is_legacy && stream->is_blocking));
}

static bool is_of_context(const struct sim_stream *open, const void *object)
{
	return open->context == object;
}

void sim_meeting_settle_stream(const struct sim_stream *stream)
{
	settle_all(is_before, stream);
}

void sim_meeting_settle_context(const struct sim_context *context)
{
	settle_all(is_of_context, context);
}

bool sim_meeting_is_open(const struct sim_stream *stream)
{
	return open_meetings && find(is_before, stream);
}

/* Closes what all others have joined by now, without waiting. */
void sim_meeting_poll(void)
{
	struct sim_meeting *next;

	for (struct sim_meeting *meeting = open_meetings; meeting; meeting = next) {
		struct simcuda_arrivals arrivals = {0};

		next = meeting->next;
		if (!meeting->is_busy && meeting->given.finish(meeting->given.data, 0, &arrivals))
			close_meeting(meeting, &arrivals);
	}
}

void sim_meeting_reset_after_fork(void)
{
	open_meetings = NULL;
	next_kernel = NULL;
}
