/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control page is shared with the job and with whoever has the job's rights: what stands there
 * is copied once and bounded before it is looked at.
 */
#include "live_marks.h"

#include <string.h>

#include "record.h"
#include "ring.h"
#include "trace_writer.h"

/* Numbers of names in space MARK are the shim's own, small or addresses; ours have the top bit. */
static uint64_t name_number(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325ull;

	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * 0x100000001b3ull;
	return hash | 1ull << 63;
}

static void put_mark(struct trace_writer *writer, const char *text, const char *domain,
		     uint64_t begin_ticks, uint64_t end_ticks)
{
	struct record_mark mark = {
		.head = {.kind = RECORD_KIND_mark, .size_bytes = sizeof(mark)},
		.begin_ticks = begin_ticks,
		.end_ticks = end_ticks,
		.name = name_number(text),
		.domain = domain ? name_number(domain) : 0,
		.type = begin_ticks == end_ticks ? MARK_INSTANT : MARK_SPAN,
		.source = domain ? MARK_OWN : MARK_API,
		.peer = MARK_NO_PEER,
	};

	trace_writer_name(writer, NAME_MARK, mark.name, text, NULL);
	if (domain)
		trace_writer_name(writer, NAME_MARK, mark.domain, domain, NULL);
	trace_writer_add(writer, 0, &mark, sizeof(mark), NULL);
}

static void take_text(struct ring_control *control, struct trace_writer *writer, uint64_t ticks)
{
	char text[sizeof(control->mark_text) + 1];
	uint32_t bytes = control->mark_bytes;

	if (bytes > sizeof(control->mark_text))
		bytes = sizeof(control->mark_text);
	memcpy(text, control->mark_text, bytes);
	text[bytes] = '\0';
	atomic_store_explicit(&control->mark_state, RING_MARK_FREE, memory_order_release);
	if (text[0])
		put_mark(writer, text, NULL, ticks, ticks);
}

void live_marks_poll(struct live_marks *marks, struct ring_control *control,
		     struct trace_writer *writer, uint64_t ticks)
{
	/* Pairs with the release store of whoever wrote the text. */
	if (atomic_load_explicit(&control->mark_state, memory_order_acquire) == RING_MARK_READY)
		take_text(control, writer, ticks);
	if (atomic_load_explicit(&control->capture_enabled, memory_order_relaxed))
		live_marks_finish(marks, writer, ticks);
	else if (marks->off_since_ticks == 0 &&
		 !atomic_load_explicit(&control->session_ended, memory_order_relaxed))
		marks->off_since_ticks = ticks;
}

void live_marks_finish(struct live_marks *marks, struct trace_writer *writer, uint64_t ticks)
{
	if (marks->off_since_ticks == 0)
		return;
	put_mark(writer, MARK_RECORDING_OFF, MARK_OWN_DOMAIN, marks->off_since_ticks, ticks);
	marks->off_since_ticks = 0;
}

void live_marks_summed(struct live_marks *marks, const struct ring_control *control,
		       struct trace_writer *writer, uint64_t ticks)
{
	uint32_t recording = control->recording;

	if (ticks <= marks->summed_since_ticks)
		return;
	/* Sampling by rate is told by the threads themselves, when they do it. */
	if (recording == RING_RECORD_SUMMED || recording == RING_RECORD_SAMPLED)
		put_mark(writer,
			 recording == RING_RECORD_SUMMED ? MARK_CALLS_SUMMED
							 : MARK_LAUNCHES_SAMPLED,
			 MARK_OWN_DOMAIN, marks->summed_since_ticks, ticks);
	marks->summed_since_ticks = ticks;
}
