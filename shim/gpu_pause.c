/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time without GPU times goes into the trace as a mark, from before CUPTI was switched off
 * until after it was on again: a GPU that is silent then was not idle for all that is known.
 */
#include "gpu_pause.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "../collector/format/record.h"
#include "cupti_share.h"
#include "gpu_switch.h"
#include "mark_name.h"
#include "thread.h"
#include "ticks.h"

static uint64_t off_since_ticks; /* 0: on */

static bool rest(struct thread *thread, bool rests)
{
	thread_mute();
	bool is_ours = cupti_share_enter();
	if (is_ours)
		cupti_share_rest(rests);
	cupti_share_leave();
	thread_unmute(thread);
	return is_ours;
}

void gpu_pause_mark(struct thread *thread, uint64_t begin_ticks)
{
	uint64_t name = mark_name_write(thread, MARK_GPU_OFF, strlen(MARK_GPU_OFF));
	uint64_t domain = mark_name_write(thread, MARK_OWN_DOMAIN, strlen(MARK_OWN_DOMAIN));
	struct record_mark *mark = thread_reserve(thread, RECORD_KIND_mark, sizeof(*mark));
	if (!mark)
		return;
	*mark = (struct record_mark){
		.head = {RECORD_KIND_mark, sizeof(*mark), 0},
		.begin_ticks = begin_ticks,
		.end_ticks = ticks_now(),
		.name = name,
		.domain = domain,
		.type = MARK_SPAN,
		.source = MARK_OWN,
		.peer = MARK_NO_PEER,
	};
	thread_commit(thread);
}

void gpu_pause_end(struct thread *thread)
{
	if (off_since_ticks)
		gpu_pause_mark(thread, off_since_ticks);
	off_since_ticks = 0;
}

void gpu_pause_follow(struct thread *thread)
{
	bool is_on = atomic_load_explicit(thread_capture_switch, memory_order_relaxed);
	uint64_t before_ticks = ticks_now();
	if (is_on == !off_since_ticks || !gpu_switch_is_safe() || !rest(thread, !is_on))
		return;
	if (is_on)
		gpu_pause_end(thread);
	else
		off_since_ticks = before_ticks;
}

void gpu_pause_forget(void)
{
	off_since_ticks = 0;
}
