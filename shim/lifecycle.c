/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of the shim in a process. Everything is lazy: loading does nothing, the first look-up or
 * wrapped call decides, the first GPU call opens the session. Exit runs in two steps: the exit
 * handler, which comes before CUDA's own, fetches what CUPTI still holds; the destructor, which
 * comes after the program's destructors, ends the session.
 */
#include "lifecycle.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

#include "call.h"
#include "capture_block.h"
#include "capture_comm.h"
#include "gpu_activity.h"
#include "kernels.h"
#include "mark.h"
#include "options.h"
#include "pointers.h"
#include "real.h"
#include "self.h"
#include "session.h"
#include "shim_log.h"
#include "site.h"
#include "graph_table.h"
#include "streams.h"
#include "thread.h"

_Atomic uint32_t lifecycle_mode;
uint32_t lifecycle_calls_matter = 1, lifecycle_reports_matter = 1;
uint32_t lifecycle_is_injected;
int lifecycle_attention;
static _Atomic uint32_t deciding, watching_forks, exit_armed, exiting;

static void set_mode(uint32_t mode)
{
	lifecycle_reports_matter = mode != LIFECYCLE_OFF && mode != LIFECYCLE_ENDED;
	lifecycle_calls_matter = lifecycle_reports_matter && !lifecycle_is_injected;
	atomic_store_explicit(&lifecycle_mode, mode, memory_order_release);
}

static void decide(void)
{
	struct thread *before = thread_mute();
	int saved_errno = errno;
	options_read();
	shim_log_init(shim_options.log);
	uint32_t mode = LIFECYCLE_IDLE;
	if (getauxval(AT_SECURE) || shim_options.mode[1] == 'f' ||
	    shim_options.recording[0] == 'o' || !self_is_first_and_preloaded())
		mode = LIFECYCLE_OFF;
	SHIM_LOG(INFO, "%s: process=%d", mode == LIFECYCLE_OFF ? "inert" : "waiting for a GPU call",
		 (int)getpid());
	set_mode(mode);
	errno = saved_errno;
	thread_unmute(before);
}

/*
 * Waits for another thread to leave a mode. Bounded, since that thread may need the loader's lock
 * and ours may hold it.
 */
static uint32_t wait_while(uint32_t mode)
{
	uint32_t now = mode;
	for (int i = 0; i < 200 && now == mode; i++) {
		struct timespec pause = {0, 20000};
		nanosleep(&pause, NULL);
		now = atomic_load_explicit(&lifecycle_mode, memory_order_acquire);
	}
	return now;
}

bool lifecycle_is_in_charge(void)
{
	uint32_t mode = atomic_load_explicit(&lifecycle_mode, memory_order_acquire);
	if (mode == LIFECYCLE_UNSET) {
		if (atomic_exchange(&deciding, 1)) {
			mode = wait_while(LIFECYCLE_UNSET);
		} else {
			decide();
			mode = atomic_load_explicit(&lifecycle_mode, memory_order_acquire);
		}
	}
	return mode != LIFECYCLE_OFF && mode != LIFECYCLE_UNSET;
}

bool lifecycle_open(void)
{
	uint32_t expected = LIFECYCLE_IDLE;
	if (!atomic_compare_exchange_strong(&lifecycle_mode, &expected, LIFECYCLE_OPENING)) {
		if (expected == LIFECYCLE_OPENING)
			expected = wait_while(LIFECYCLE_OPENING);
		return expected == LIFECYCLE_RECORDING;
	}
	if (lifecycle_exiting()) {
		set_mode(LIFECYCLE_ENDED);
		return false;
	}
	lifecycle_watch_forks();
	struct thread *before = thread_mute();
	int rc = session_open();
	if (thread_now == &thread_muted)
		thread_unmute(before);
	if (rc) {
		set_mode(LIFECYCLE_OFF);
		return false;
	}
	lifecycle_attention = 1;
	return true;
}

bool lifecycle_may_inject(void)
{
	return atomic_load(&lifecycle_mode) == LIFECYCLE_OFF && !getauxval(AT_SECURE) &&
	       shim_options.mode[1] != 'f' && self_is_alone();
}

void lifecycle_open_injected(void)
{
	lifecycle_is_injected = 1;
	set_mode(LIFECYCLE_IDLE);
	lifecycle_open();
}

/* ---- fork ---- */

void lifecycle_after_fork(void)
{
	uint32_t mode = atomic_load(&lifecycle_mode);
	real_after_fork();
	thread_forget_all();
	session_forget();
	gpu_activity_forget();
	kernels_after_fork();
	pointers_after_fork();
	streams_forget();
	graph_table_forget();
	site_after_fork();
	call_after_fork();
	mark_after_fork();
	capture_block_after_fork();
	capture_comm_after_fork();
	lifecycle_attention = 0;
	/* exit_armed stays: the child has its parent's exit handlers, and atexit() would wait for
	 * ever when another thread was inside dlclose() at the moment of the fork. */
	if (mode != LIFECYCLE_UNSET && mode != LIFECYCLE_OFF)
		set_mode(LIFECYCLE_IDLE);
}

void lifecycle_watch_forks(void)
{
	if (!atomic_exchange(&watching_forks, 1))
		pthread_atfork(NULL, NULL, lifecycle_after_fork);
}

/* ---- exit ---- */

bool lifecycle_exiting(void)
{
	return atomic_load_explicit(&exiting, memory_order_acquire);
}

static void exit_handler(void)
{
	atomic_store_explicit(&exiting, 1, memory_order_release);
	if (session_control && session_pid == getpid())
		gpu_activity_finish();
}

void lifecycle_arm_exit(void)
{
	if (!atomic_exchange(&exit_armed, 1))
		atexit(exit_handler);
}

__attribute__((destructor)) static void end_session(void)
{
	if (atomic_load(&lifecycle_mode) != LIFECYCLE_RECORDING)
		return;
	int saved_errno = errno;
	exit_handler(); /* when CUDA was never initialised */
	set_mode(LIFECYCLE_ENDED);
	session_close();
	if (session_control)
		atomic_store(&session_control->capture_enabled, 0);
	errno = saved_errno;
}
