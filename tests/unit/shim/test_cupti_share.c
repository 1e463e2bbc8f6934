/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUPTI changes hands between our thread and a program's profiler while both run as fast as they
 * can. The CUPTI behind them notes what must not be: a call while it is being taken down, kinds of
 * ours on while the program has it, a subscription in the program's way.
 */
#include "../../../shim/cupti_share.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "../../../shim/cupti_failed.h"
#include "../../../shim/cupti_kinds.h"
#include "../../../shim/cupti_pauses.h"
#include "../../../shim/gpu_buffers.h"
#include "../../../shim/gpu_records.h"
#include "../../../shim/injection.h"
#include "../../../shim/lifecycle.h"
#include "../../../shim/options.h"
#include "../../../shim/session.h"
#include "../../../shim/thread.h"
#include "../../../shim/ticks.h"
#include "../../../shim/totals.h"

#define OUR_KIND	CUPTI_KIND_CONCURRENT_KERNEL
#define PROGRAM_KIND	CUPTI_KIND_MEMSET
#define ROUNDS		300
#define OUR_CALLBACK_ID 307u

/* ---- what the component needs of the rest of the shim ---- */

__thread struct thread *thread_now;
struct thread thread_muted;
static struct thread our_thread, program_thread;
uint32_t ticks_clock_kind, lifecycle_is_injected;
struct shim_options shim_options = {.gpu = "cupti", .graphs = "whole", .allocations = "off"};

uint64_t ticks_monotonic(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

bool lifecycle_is_in_charge(void)
{
	return true;
}

void injection_callback(uint32_t id, const void *data)
{
	(void)id, (void)data;
}

void totals_expect(struct thread *thread, uint32_t correlation)
{
	(void)thread, (void)correlation;
}

void session_info(const char *key, const char *value)
{
	(void)key, (void)value;
}

void gpu_records_count_dropped(uint64_t count)
{
	(void)count;
}

void gpu_buffers_request(uint8_t **bytes, size_t *size, size_t *max_records)
{
	*bytes = NULL;
	*size = *max_records = 0;
}

bool gpu_buffers_complete(const uint8_t *bytes, size_t valid_size)
{
	(void)bytes, (void)valid_size;
	return true;
}

/* ---- a CUPTI that notes what goes wrong ---- */

static _Atomic uint64_t enabled;
static _Atomic(void *) subscribed;
static _Atomic uint32_t inside, finalizing, calls_while_finalizing, refused_subscriptions;
static char one, another;

static void nap(long ns)
{
	struct timespec pause = {0, ns};
	nanosleep(&pause, NULL);
}

static void enter(void)
{
	atomic_fetch_add(&inside, 1);
	if (atomic_load(&finalizing))
		atomic_fetch_add(&calls_while_finalizing, 1);
	nap(20000);
}

static int leave(int result)
{
	if (atomic_load(&finalizing))
		atomic_fetch_add(&calls_while_finalizing, 1);
	atomic_fetch_sub(&inside, 1);
	return result;
}

static int subscribe_as(void **handle, void *who)
{
	void *none = NULL;
	if (!atomic_compare_exchange_strong(&subscribed, &none, who))
		return CUPTI_MULTIPLE_SUBSCRIBERS;
	*handle = who;
	return CUPTI_OK;
}

static int fake_subscribe(void **handle, cupti_callback *callback, void *user)
{
	(void)callback, (void)user;
	enter();
	return leave(subscribe_as(handle, &one));
}

static int fake_subscribe_v2(void **handle, cupti_callback *callback, void *user, void *parameters)
{
	(void)callback, (void)user, (void)parameters;
	enter();
	int result = subscribe_as(handle, &another);
	if (result)
		atomic_fetch_add(&refused_subscriptions, 1);
	return leave(result);
}

static int fake_unsubscribe(void *handle)
{
	enter();
	atomic_compare_exchange_strong(&subscribed, &handle, NULL);
	return leave(CUPTI_OK);
}

static int fake_enable_callback(uint32_t enable, void *handle, int domain, uint32_t id)
{
	(void)enable, (void)handle, (void)domain, (void)id;
	enter();
	return leave(CUPTI_OK);
}

static int fake_register(cupti_buffer_requested *requested, cupti_buffer_completed *completed)
{
	(void)requested, (void)completed;
	enter();
	return leave(CUPTI_OK);
}

static int fake_enable(int kind)
{
	enter();
	atomic_fetch_or(&enabled, 1ull << kind);
	return leave(CUPTI_OK);
}

static int fake_disable(int kind)
{
	enter();
	atomic_fetch_and(&enabled, ~(1ull << kind));
	return leave(CUPTI_OK);
}

static int fake_flush(uint32_t flag)
{
	(void)flag;
	enter();
	return leave(CUPTI_OK);
}

/* Who is in a call now is in one that CUPTI does not survive. */
static int fake_finalize(void)
{
	atomic_store(&finalizing, 1);
	if (atomic_load(&inside))
		atomic_fetch_add(&calls_while_finalizing, 1);
	nap(100000);
	atomic_store(&enabled, 0);
	atomic_store(&subscribed, NULL);
	atomic_store(&finalizing, 0);
	return CUPTI_OK;
}

static int fake_set_attribute(int attribute, size_t *size, void *value)
{
	(void)attribute, (void)size, (void)value;
	return CUPTI_OK;
}

static const struct cupti cupti = {
	.Subscribe = fake_subscribe,
	.Unsubscribe = fake_unsubscribe,
	.EnableCallback = fake_enable_callback,
	.ActivityRegisterCallbacks = fake_register,
	.ActivityEnable = fake_enable,
	.ActivityDisable = fake_disable,
	.ActivityFlushAll = fake_flush,
	.ActivitySetAttribute = fake_set_attribute,
};

/* ---- our thread, as gpu_activity.c has it, without its pauses ---- */

static _Atomic uint32_t stop;
static uint32_t returns;

static void *run_our_thread(void *unused)
{
	(void)unused;
	thread_now = &our_thread;
	while (!atomic_load(&stop)) {
		struct thread *before = thread_mute();
		bool is_ours = cupti_share_enter();
		if (is_ours)
			cupti.ActivityFlushAll(0);
		cupti_share_leave();
		if (!is_ours)
			returns += cupti_share_resume();
		thread_unmute(before);
	}
	return NULL;
}

/* ---- the program's profiler ---- */

static void program_requested(uint8_t **bytes, size_t *size, size_t *max_records)
{
	*bytes = NULL;
	*size = *max_records = 0;
}

static void program_completed(void *context, uint32_t stream, uint8_t *bytes, size_t size,
			      size_t valid_size)
{
	(void)context, (void)stream, (void)bytes, (void)size, (void)valid_size;
}

static void program_callback(void *user, int domain, uint32_t id, const void *data)
{
	(void)user, (void)domain, (void)id, (void)data;
}

/* Two kinds, so that the second finds CUPTI in the program's hands already. */
static void profile_once(int round)
{
	assert_int_equal(cupti_share_register(fake_register, program_requested, program_completed),
			 0);
	assert_int_equal(cupti_share_enable(fake_enable, CUPTI_KIND_MEMCPY), 0);
	assert_int_equal(cupti_share_enable(fake_enable, PROGRAM_KIND), 0);
	for (int i = 0; i < 3; i++) {
		/* All that the program wanted, and nothing else. */
		assert_int_equal(atomic_load(&enabled),
				 1ull << PROGRAM_KIND | 1ull << CUPTI_KIND_MEMCPY);
		nap(30000);
	}
	cupti_share_disable(fake_disable, CUPTI_KIND_MEMCPY);
	cupti_share_disable(fake_disable, PROGRAM_KIND);
	cupti_share_flush(fake_flush, 1);
	/* Now and then ours have not begun yet to come back, or are in the middle of it. */
	nap(round % 7 * 40000);
}

static void finalize_once(int round)
{
	nap(round % 5 * 50000);
	assert_int_equal(cupti_share_finalize(fake_finalize), 0);
	nap(round % 11 * 40000);
}

static void subscribe_once(int round)
{
	void *handle = NULL;
	nap(round % 5 * 30000);
	assert_int_equal(
		cupti_share_subscribe_v2(fake_subscribe_v2, &handle, program_callback, NULL, NULL),
		0);
	assert_ptr_equal(handle, &another);
	assert_int_equal(cupti_share_unsubscribe(fake_unsubscribe, handle), 0);
	nap(round % 13 * 30000);
}

static void change_hands(void (*once)(int round))
{
	const char *what = NULL;
	pthread_t thread;

	thread_now = &program_thread;
	atomic_store(&stop, 0);
	returns = 0;
	struct thread *before = thread_mute();
	assert_int_equal(cupti_share_open(&cupti, &what), 0);
	assert_int_equal(cupti_share_enable_kind(OUR_KIND), 0);
	assert_int_equal(cupti_share_enable_callback(CUPTI_DOMAIN_DRIVER, OUR_CALLBACK_ID), 0);
	thread_unmute(before);
	assert_int_equal(pthread_create(&thread, NULL, run_our_thread, NULL), 0);
	for (int round = 0; round < ROUNDS; round++)
		once(round);
	/* Everything is ours again in the end. */
	uint64_t begin_ns = ticks_monotonic(), total_ns;
	while (atomic_load(&enabled) != 1ull << OUR_KIND &&
	       ticks_monotonic() - begin_ns < 10000000000u)
		nap(1000000);
	atomic_store(&stop, 1);
	pthread_join(thread, NULL);
	assert_int_equal(atomic_load(&enabled), 1ull << OUR_KIND);
	assert_ptr_equal(atomic_load(&subscribed), &one);
	assert_int_equal(atomic_load(&calls_while_finalizing), 0);
	assert_int_equal(atomic_load(&refused_subscriptions), 0);
	assert_true(returns > 0);
	assert_int_equal(cupti_pauses_count(&total_ns), returns);
	assert_true(total_ns > 0 && total_ns < ticks_monotonic() - begin_ns + 60000000000u);
	cupti_share_close();
	cupti_share_forget();
	cupti_failed_forget();
	atomic_store(&enabled, 0);
	atomic_store(&subscribed, NULL);
}

static void a_profiler_has_its_kinds_and_no_others(void **state)
{
	(void)state;
	change_hands(profile_once);
}

static void nobody_is_in_cupti_while_it_is_finalized(void **state)
{
	(void)state;
	change_hands(finalize_once);
}

static void a_subscriber_of_the_second_kind_finds_the_place_free(void **state)
{
	(void)state;
	change_hands(subscribe_once);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_profiler_has_its_kinds_and_no_others),
		cmocka_unit_test(nobody_is_in_cupti_while_it_is_finalized),
		cmocka_unit_test(a_subscriber_of_the_second_kind_finds_the_place_free),
	};
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
