/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything here is a few atomic words: CUPTI's callbacks run on the program's threads, and no
 * lock may be held around a call into CUPTI. Changes of hands are rare; who changes them waits, for
 * a bounded time, until our own thread has left CUPTI.
 */
#include "cupti_share.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "callback_set.h"
#include "cupti_failed.h"
#include "cupti_kinds.h"
#include "cupti_pauses.h"
#include "gpu_buffers.h"
#include "gpu_records.h"
#include "injection.h"
#include "lifecycle.h"
#include "options.h"
#include "thread.h"
#include "totals.h"
#include "ticks.h"

#define LEAVE_LIMIT_NS	  500000000ull
#define QUIET_NS	  2000000000ull /* of the program, after which it is done without a flush */
#define LOST_RECORD_BYTES 224u
enum owner { OWNER_US = 0, OWNER_PROGRAM = 1 };

static struct {
	const struct cupti *cupti;
	_Atomic(void *) subscriber;	       /* the one that is registered, by whomever */
	_Atomic uint32_t is_open;	       /* we use CUPTI */
	_Atomic uint32_t owner;		       /* enum owner: whose records are enabled */
	_Atomic uint32_t is_inside, waiting;   /* our thread is in CUPTI; how many keep it out */
	_Atomic uint32_t is_reset, is_resting; /* CUPTI has forgotten us; recording is off */
	_Atomic uint64_t kinds;		       /* bits: wanted by us */
	struct callback_set wanted;
} us;

static struct {
	_Atomic(cupti_callback *) callback;
	void *user;
	_Atomic(void *) v2; /* a subscriber of the second kind, which we cannot share */
	_Atomic(cupti_buffer_requested *) requested;
	_Atomic(cupti_buffer_completed *) completed;
	_Atomic uint64_t kinds; /* bits: enabled by the program */
	_Atomic uint32_t has_flushed;
	_Atomic uint64_t last_ns; /* its last call of CUPTI */
	struct callback_set wanted;
} program;

/* ---- small things ---- */

/* Whether the program's use of CUPTI is any business of ours. */
static bool is_concerned(void)
{
	if (thread_now == &thread_muted || !lifecycle_is_in_charge())
		return false;
	atomic_store_explicit(&program.last_ns, ticks_monotonic(), memory_order_relaxed);
	return !strcmp(shim_options.gpu, "cupti");
}

static uint64_t kind_bit(int kind)
{
	return (unsigned int)kind < KINDS ? 1ull << kind : 0;
}

/* ---- what CUPTI calls ---- */

static void on_callback(void *unused, int domain, uint32_t id, const void *data)
{
	(void)unused;
	if (lifecycle_is_injected) {
		if (domain == CUPTI_DOMAIN_DRIVER)
			injection_callback(id, data);
	} else if (callback_set_has(&us.wanted, domain, id) && thread_now->is_live) {
		uint32_t site = cupti_callback_number(data, CUPTI_CALLBACK_SITE);
		uint32_t correlation = cupti_callback_number(data, CUPTI_CALLBACK_CORRELATION);
		if (site == CUPTI_SITE_ENTER) {
			thread_now->correlation = correlation;
			if (__builtin_expect(thread_now->totals != NULL, 0))
				totals_expect(thread_now, correlation);
		}
	}
	cupti_callback *callback = atomic_load_explicit(&program.callback, memory_order_acquire);
	if (callback && callback_set_has(&program.wanted, domain, id))
		callback(program.user, domain, id, data);
}

static void on_requested(uint8_t **bytes, size_t *size, size_t *max_records)
{
	cupti_buffer_requested *requested = atomic_load(&program.requested);
	if (requested && atomic_load(&us.owner) == OWNER_PROGRAM)
		requested(bytes, size, max_records);
	else
		gpu_buffers_request(bytes, size, max_records);
}

static void on_completed(void *context, uint32_t stream, uint8_t *bytes, size_t size,
			 size_t valid_size)
{
	if (gpu_buffers_complete(bytes, valid_size))
		return;
	cupti_buffer_completed *completed = atomic_load(&program.completed);
	if (completed)
		completed(context, stream, bytes, size, valid_size);
	else if (valid_size)
		gpu_records_count_dropped((valid_size + LOST_RECORD_BYTES - 1) / LOST_RECORD_BYTES);
}

/* ---- changing hands ---- */

/* Our thread takes nothing back until it is let in again. Either it sees that somebody waits, or
 * that one sees it inside: both write before they read. */
static void keep_own_thread_out(void)
{
	uint64_t begin_ns = ticks_monotonic();
	atomic_fetch_add(&us.waiting, 1);
	while (atomic_load(&us.is_inside) && ticks_monotonic() - begin_ns < LEAVE_LIMIT_NS) {
		struct timespec pause = {0, 100000};
		nanosleep(&pause, NULL);
	}
}

static void let_own_thread_in(void)
{
	atomic_fetch_sub(&us.waiting, 1);
}

/* The program gets CUPTI, and our thread is out of it: what is ours comes back now, work in flight
 * without times. */
static void hand_over(void)
{
	if (atomic_exchange(&us.owner, OWNER_PROGRAM) != OWNER_US || !atomic_load(&us.is_open))
		return;
	struct thread *thread = thread_mute();
	const struct cupti *cupti = us.cupti;
	cupti_kinds_switch(cupti, atomic_load(&us.kinds), false);
	/* By force: what CUPTI kept would come back to the program later. */
	cupti_failed_note(CUPTI_FAILED_HAND_OVER, cupti->ActivityFlushAll(1));
	cupti_kinds_set_zeroed(cupti, 0);
	cupti_pauses_begin();
	thread_unmute(thread);
}

/* Also when CUPTI is the program's already: our thread may be about to take it back. */
static void stand_back(void)
{
	keep_own_thread_out();
	hand_over();
	let_own_thread_in();
}

static void switch_own(const struct cupti *cupti, bool is_on, void *subscriber, int domain)
{
	for (uint32_t id = 0; id < CALLBACK_IDS; id++) {
		if (callback_set_has(&us.wanted, domain, id))
			cupti_failed_note(CUPTI_FAILED_CALLBACK,
					  cupti->EnableCallback(is_on, subscriber, domain, id));
	}
}

/* After cuptiFinalize, or a subscriber of the second kind. CUPTI's result. */
static int introduce_again(const struct cupti *cupti)
{
	void *subscriber = atomic_load(&us.subscriber);
	int result = subscriber ? 0 : cupti->Subscribe(&subscriber, on_callback, NULL);
	if (!result)
		result = cupti->ActivityRegisterCallbacks(on_requested, on_completed);
	if (result)
		return cupti_failed_note(CUPTI_FAILED_RETURN, result);
	atomic_store(&us.subscriber, subscriber);
	for (int domain = 0; domain < CALLBACK_DOMAINS; domain++)
		switch_own(cupti, true, subscriber, domain);
	atomic_store(&us.is_reset, 0);
	return 0;
}

static bool take_back(void)
{
	uint32_t owner = atomic_load(&us.owner);
	uint64_t quiet_ns = ticks_monotonic() - atomic_load(&program.last_ns);
	if (owner == OWNER_US || atomic_load(&program.kinds) || atomic_load(&program.v2) ||
	    (!atomic_load(&program.has_flushed) && quiet_ns < QUIET_NS))
		return false;
	const struct cupti *cupti = us.cupti;
	if (atomic_load(&us.is_reset) && introduce_again(cupti))
		return false;
	atomic_store(&us.owner, OWNER_US);
	cupti_kinds_set_zeroed(cupti, 1);
	cupti_kinds_switch(cupti, atomic_load(&us.kinds), !atomic_load(&us.is_resting));
	cupti_pauses_end();
	return true;
}

/* As at every visit to CUPTI: nobody finalizes it meanwhile, or takes it in the middle of this. */
bool cupti_share_resume(void)
{
	atomic_store(&us.is_inside, 1);
	bool is_back = !atomic_load(&us.waiting) && take_back();
	atomic_store(&us.is_inside, 0);
	return is_back;
}

/* ---- our side ---- */

int cupti_share_open(const struct cupti *cupti, const char **what)
{
	void *subscriber = atomic_load(&us.subscriber);
	int result;

	us.cupti = cupti;
	if (!subscriber) {
		*what = "cuptiSubscribe";
		result = cupti->Subscribe(&subscriber, on_callback, NULL);
		if (result)
			return result;
		atomic_store(&us.subscriber, subscriber);
	}
	*what = "cuptiActivityRegisterCallbacks";
	result = cupti->ActivityRegisterCallbacks(on_requested, on_completed);
	if (result) {
		if (!atomic_load(&program.callback)) {
			cupti_failed_unsubscribe(cupti, subscriber);
			atomic_store(&us.subscriber, NULL);
		}
		return result;
	}
	bool is_programs = atomic_load(&program.kinds) != 0;
	atomic_store(&us.owner, is_programs ? OWNER_PROGRAM : OWNER_US);
	if (is_programs) {
		cupti_pauses_begin();
	} else {
		cupti_kinds_set_zeroed(cupti, 1);
	}
	atomic_store(&us.is_open, 1);
	return 0;
}

void cupti_share_close(void)
{
	void *subscriber = atomic_load(&us.subscriber);
	atomic_store(&us.is_open, 0);
	if (subscriber && !atomic_load(&program.callback)) {
		cupti_failed_unsubscribe(us.cupti, subscriber);
		atomic_store(&us.subscriber, NULL);
	}
}

int cupti_share_enable_callback(int domain, uint32_t id)
{
	int result = us.cupti->EnableCallback(1, atomic_load(&us.subscriber), domain, id);
	if (!result)
		callback_set_change(&us.wanted, domain, id, true);
	return cupti_failed_note(CUPTI_FAILED_CALLBACK, result);
}

int cupti_share_enable_kind(int kind)
{
	int result = 0;
	if (atomic_load(&us.owner) == OWNER_US && !atomic_load(&us.is_resting))
		result = us.cupti->ActivityEnable(kind);
	if (!result)
		atomic_fetch_or(&us.kinds, kind_bit(kind));
	return result;
}

int cupti_share_disable_kind(int kind)
{
	int result = 0;
	if (atomic_load(&us.owner) == OWNER_US)
		result = us.cupti->ActivityDisable(kind);
	if (!result)
		atomic_fetch_and(&us.kinds, ~kind_bit(kind));
	return cupti_failed_note(CUPTI_FAILED_KIND_OFF, result);
}

void cupti_share_rest(bool rests)
{
	atomic_store(&us.is_resting, rests);
	cupti_kinds_switch(us.cupti, atomic_load(&us.kinds), !rests);
	for (int domain = 0; !atomic_load(&program.callback) && domain < CALLBACK_DOMAINS; domain++)
		switch_own(us.cupti, !rests, atomic_load(&us.subscriber), domain);
}

bool cupti_share_enter(void)
{
	atomic_store(&us.is_inside, 1);
	if (atomic_load(&us.owner) == OWNER_US && !atomic_load(&us.waiting))
		return true;
	atomic_store(&us.is_inside, 0);
	return false;
}

void cupti_share_leave(void)
{
	atomic_store(&us.is_inside, 0);
}

void cupti_share_forget(void)
{
	cupti_pauses_forget();
	memset((void *)&us, 0, sizeof(us));
	memset((void *)&program, 0, sizeof(program));
}

/* ---- the program's side: its subscriber ---- */

int cupti_share_subscribe(cupti_subscribe_function *real, void **handle, cupti_callback *callback,
			  void *user)
{
	cupti_callback *none = NULL;
	if (!is_concerned() || !handle || !callback)
		return real(handle, callback, user);
	if (!atomic_compare_exchange_strong(&program.callback, &none, callback))
		return CUPTI_MULTIPLE_SUBSCRIBERS; /* a second one, as without us */
	program.user = user;
	void *subscriber = atomic_load(&us.subscriber);
	if (!subscriber) {
		/* Nor may our thread subscribe again meanwhile. */
		keep_own_thread_out();
		subscriber = atomic_load(&us.subscriber);
		int result = subscriber ? CUPTI_OK : real(&subscriber, on_callback, NULL);
		if (result)
			atomic_store(&program.callback, NULL);
		else
			atomic_store(&us.subscriber, subscriber);
		let_own_thread_in();
		if (result)
			return result;
	}
	*handle = subscriber;
	return CUPTI_OK;
}

/* The second kind does not live beside the first in one process: it gets CUPTI whole. */
int cupti_share_subscribe_v2(cupti_subscribe_v2_function *real, void **handle,
			     cupti_callback *callback, void *user, void *parameters)
{
	if (!is_concerned() || !atomic_load(&us.is_open) || atomic_load(&program.callback))
		return real(handle, callback, user, parameters);
	keep_own_thread_out();
	hand_over();
	atomic_store(&us.is_reset, 1);
	void *subscriber = atomic_exchange(&us.subscriber, NULL);
	if (subscriber)
		cupti_failed_unsubscribe(us.cupti, subscriber);
	int result = real(handle, callback, user, parameters);
	atomic_store(&program.has_flushed, result != 0);
	if (!result)
		atomic_store(&program.v2, *handle);
	let_own_thread_in();
	return result;
}

int cupti_share_unsubscribe(int (*real)(void *), void *handle)
{
	if (!is_concerned() || !handle)
		return real(handle);
	if (handle == atomic_load(&program.v2)) {
		int result = real(handle);
		if (!result) {
			atomic_store(&program.has_flushed, 1);
			atomic_store(&program.v2, NULL);
		}
		return result;
	}
	if (handle != atomic_load(&us.subscriber))
		return real(handle);
	if (!atomic_exchange(&program.callback, NULL))
		return CUPTI_INVALID_PARAMETER;
	if (!atomic_load(&us.is_open)) {
		atomic_store(&us.subscriber, NULL);
		memset((void *)&program.wanted, 0, sizeof(program.wanted));
		return real(handle);
	}
	for (int domain = 1; domain < CALLBACK_DOMAINS; domain++) {
		for (uint32_t id = 0; id < CALLBACK_IDS; id++) {
			if (callback_set_has(&program.wanted, domain, id) &&
			    !callback_set_has(&us.wanted, domain, id))
				us.cupti->EnableCallback(0, handle, domain, id);
		}
		callback_set_change_domain(&program.wanted, domain, false);
	}
	return CUPTI_OK;
}

int cupti_share_callback(int (*real)(uint32_t, void *, int, uint32_t), uint32_t enable,
			 void *handle, int domain, uint32_t id)
{
	if (!is_concerned() || !handle || handle != atomic_load(&us.subscriber))
		return real(enable, handle, domain, id);
	int result = CUPTI_OK;
	if (enable || !callback_set_has(&us.wanted, domain, id))
		result = real(enable, handle, domain, id);
	if (!result)
		callback_set_change(&program.wanted, domain, id, enable != 0);
	return result;
}

int cupti_share_domain(int (*real)(uint32_t, void *, int), uint32_t enable, void *handle,
		       int domain)
{
	int result = real(enable, handle, domain);
	if (result || !is_concerned() || !handle || handle != atomic_load(&us.subscriber))
		return result;
	callback_set_change_domain(&program.wanted, domain, enable != 0);
	if (!enable && atomic_load(&us.is_open) && (unsigned int)domain < CALLBACK_DOMAINS)
		switch_own(us.cupti, true, handle, domain);
	return result;
}

int cupti_share_all_domains(int (*real)(uint32_t, void *), uint32_t enable, void *handle)
{
	int result = real(enable, handle);
	if (result || !is_concerned() || !handle || handle != atomic_load(&us.subscriber))
		return result;
	for (int domain = 1; domain < CALLBACK_DOMAINS; domain++) {
		callback_set_change_domain(&program.wanted, domain, enable != 0);
		if (!enable && atomic_load(&us.is_open))
			switch_own(us.cupti, true, handle, domain);
	}
	return result;
}

/* ---- the program's side: its records ---- */

int cupti_share_register(cupti_register_function *real, cupti_buffer_requested *requested,
			 cupti_buffer_completed *completed)
{
	if (!is_concerned() || !requested || !completed)
		return real(requested, completed);
	atomic_store(&program.has_flushed, 0);
	stand_back();
	int result = real(on_requested, on_completed);
	if (result)
		return result;
	atomic_store(&program.completed, completed);
	atomic_store(&program.requested, requested);
	return CUPTI_OK;
}

int cupti_share_enable(int (*real)(int), int kind)
{
	if (!is_concerned())
		return real(kind);
	atomic_store(&program.has_flushed, 0);
	if (atomic_load(&program.requested))
		stand_back();
	int result = real(kind);
	if (!result && atomic_load(&program.requested))
		atomic_fetch_or(&program.kinds, kind_bit(kind));
	return result;
}

int cupti_share_disable(int (*real)(int), int kind)
{
	if (!is_concerned())
		return real(kind);
	atomic_fetch_and(&program.kinds, ~kind_bit(kind));
	if (atomic_load(&us.is_open) && atomic_load(&us.owner) == OWNER_US &&
	    (atomic_load(&us.kinds) & kind_bit(kind)))
		return CUPTI_OK; /* off for the program, which never had it on */
	return real(kind);
}

int cupti_share_flush(int (*real)(uint32_t), uint32_t flag)
{
	int result = real(flag);
	if (is_concerned() && !atomic_load(&program.kinds))
		atomic_store(&program.has_flushed, 1);
	return result;
}

/* CUPTI leaves the process, with everything of the program's; our thread subscribes again. */
int cupti_share_finalize(int (*real)(void))
{
	if (!is_concerned())
		return real();
	keep_own_thread_out();
	hand_over();
	atomic_store(&us.is_reset, atomic_load(&us.is_open));
	void *subscriber = atomic_exchange(&us.subscriber, NULL);
	if (subscriber && us.cupti)
		cupti_failed_unsubscribe(us.cupti, subscriber);
	int result = real();
	atomic_store(&program.callback, NULL);
	atomic_store(&program.requested, NULL);
	atomic_store(&program.completed, NULL);
	atomic_store(&program.kinds, 0);
	atomic_store(&program.v2, NULL);
	atomic_store(&program.has_flushed, 1);
	memset((void *)&program.wanted, 0, sizeof(program.wanted));
	let_own_thread_in();
	return result;
}
