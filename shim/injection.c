/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records calls of the driver from CUPTI's callbacks, with the rows and the capture functions of
 * the wrappers. A call is open from one callback to the other, in a few places per thread. No CUDA
 * call is allowed inside a callback: the device comes from CUPTI, a kernel's name from the callback
 * itself, and our own thread describes the devices.
 */
#include "injection.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "api/cuda_abi.h"
#include "arguments.h"
#include "call.h"
#include "callback_set.h"
#include "capture.h"
#include "cupti_abi.h"
#include "device.h"
#include "gpu_activity.h"
#include "gpu_events.h"
#include "lifecycle.h"
#include "session.h"
#include "thread.h"
#include "totals.h"
#include "wrap.h"

WRAP_EXPORT int InitializeInjection(void);

/* ---- one function before and one after the call, for each row ---- */

#define ROW(name, twin, check, effect, params, args, before, ...)                                  \
	struct name##_arguments {                                                                  \
		ARGUMENTS_FIELDS(params, args)                                                     \
	};                                                                                         \
	static void name##_before(struct call *call, const void *at)                               \
	{                                                                                          \
		const struct name##_arguments *given = at;                                         \
		ARGUMENTS_LOCALS(args)                                                             \
		(void)call;                                                                        \
		before;                                                                            \
	}                                                                                          \
	static void name##_after(struct call *call, const void *at)                                \
	{                                                                                          \
		const struct name##_arguments *given = at;                                         \
		const int status = call->status;                                                   \
		ARGUMENTS_LOCALS(args)                                                             \
		(void)status;                                                                      \
		__VA_ARGS__;                                                                       \
	}
#include "api/rows.h"
#include "api/driver.def"
#include "api/rows_end.h"

/* In the order of wrap_driver's rows. */
static const struct injected_row {
	uint16_t flags;
	uint8_t takes_nothing; /* CUPTI then passes NULL */
	void (*before)(struct call *call, const void *at);
	void (*after)(struct call *call, const void *at);
} rows[] = {
#define TWIN_ONE(name)
#define TWIN_PTSZ(name) {WRAP_FLAGS_TWIN, 0, name##_before, name##_after},
#define TWIN_PTDS(name) {WRAP_FLAGS_TWIN, 0, name##_before, name##_after},
#define ROW(name, twin, check, effect, params, args, before, ...)                                  \
	{WRAP_FLAGS_PLAIN, ARGUMENTS_NONE(args), name##_before, name##_after}, TWIN_##twin(name)
#include "api/rows.h"
#include "api/driver.def"
#include "api/rows_end.h"
#undef TWIN_ONE
#undef TWIN_PTSZ
#undef TWIN_PTDS
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

static uint16_t row_of_id[CALLBACK_IDS]; /* 1 + the row, 0 none; written before CUPTI calls */

bool injection_wants(const char *name, uint32_t id)
{
	for (unsigned int row = 0; row < ROWS && id < CALLBACK_IDS; row++) {
		if (strcmp(wrap_driver.rows[row].name, name))
			continue;
		row_of_id[id] = (uint16_t)(row + 1);
		return true;
	}
	return false;
}

/* ---- open calls ---- */

#define DEPTH_MAX 4u /* the driver's public functions hardly call each other */

struct open_call {
	uint32_t id, correlation;
	struct call call;
};
/* Of one thread, by its block; of whoever had the block before when claimed_ticks differs. */
static struct open_calls {
	uint64_t claimed_ticks;
	uint32_t depth;
	struct open_call calls[DEPTH_MAX];
} * open_calls;

static const struct cupti *asked;
#define DEVICES_WAITS 1000u /* of 50 us, for most a few */
enum { DEVICES_UNKNOWN = 0, DEVICES_WANTED, DEVICES_TOLD };
static _Atomic uint32_t wants_devices; /* how far the description of the devices is */

void injection_use(const struct cupti *cupti)
{
	asked = cupti;
}

static struct open_calls *calls_of(const struct thread *thread)
{
	struct open_calls *mine = &open_calls[thread->block];
	if (mine->claimed_ticks != thread->claimed_ticks) {
		mine->claimed_ticks = thread->claimed_ticks;
		mine->depth = 0;
	}
	return mine;
}

/* NULL: nothing of this thread is recorded now. */
static struct thread *recording_thread(void)
{
	struct thread *thread = thread_now;
	if (thread == &thread_muted ||
	    atomic_load_explicit(&lifecycle_mode, memory_order_acquire) != LIFECYCLE_RECORDING)
		return NULL;
	if (!thread->is_live) {
		/* A child that was forked without fork handlers has its parent's session. */
		thread = session_pid == getpid() ? thread_attach() : NULL;
		if (!thread)
			session_count_unrecorded();
	}
	return thread;
}

static const void *pointer_at(const void *data, size_t offset)
{
	const void *pointer;
	memcpy(&pointer, (const char *)data + offset, sizeof(pointer));
	return pointer;
}

static void learn_device(struct thread *thread, const void *data)
{
	const void *context = pointer_at(data, CUPTI_CALLBACK_CONTEXT);
	uint32_t device = device_of_context(context);
	if (context && device == DEVICE_UNKNOWN && asked->GetDeviceId &&
	    !asked->GetDeviceId(context, &device))
		device_learn_context(context, (int)device);
	if (context)
		thread->device = device;
}

static void enter(struct thread *thread, const struct wrap_row *row, uint32_t id,
		  uint32_t correlation, const void *data)
{
	struct open_calls *mine = calls_of(thread);
	const struct injected_row *injected = &rows[row - wrap_driver.rows];
	const void *arguments = pointer_at(data, CUPTI_CALLBACK_PARAMETERS);
	if (!thread_records(thread) || mine->depth == DEPTH_MAX ||
	    (!arguments && !injected->takes_nothing))
		return;
	struct open_call *open = &mine->calls[mine->depth++];
	open->id = id;
	open->correlation = correlation;
	learn_device(thread, data);
	call_open(&open->call, thread, row->api, injected->flags, __builtin_frame_address(0));
	thread->correlation = correlation;
	if (thread->totals)
		totals_expect(thread, correlation);
	thread->launched = pointer_at(data, CUPTI_CALLBACK_SYMBOL);
	injected->before(&open->call, arguments);
	call_start(&open->call);
}

static void leave(struct thread *thread, const struct wrap_row *row, uint32_t id,
		  uint32_t correlation, const void *data)
{
	struct open_calls *mine = calls_of(thread);
	const void *arguments = pointer_at(data, CUPTI_CALLBACK_PARAMETERS);
	const void *result = pointer_at(data, CUPTI_CALLBACK_RESULT);
	uint32_t at = mine->depth;
	int status = 0;
	/* Calls above it never returned: longjmp() out of them. None: it began before us. */
	while (at &&
	       (mine->calls[at - 1].id != id || mine->calls[at - 1].correlation != correlation))
		at--;
	if (!at || (!arguments && !rows[row - wrap_driver.rows].takes_nothing))
		return;
	mine->depth = at - 1;
	struct call *call = &mine->calls[at - 1].call;
	if (result)
		memcpy(&status, result, sizeof(status));
	call_end(call, status);
	learn_device(thread, data);
	thread->launched = pointer_at(data, CUPTI_CALLBACK_SYMBOL);
	rows[row - wrap_driver.rows].after(call, arguments);
	thread->launched = NULL;
	if (status)
		call_failed(call);
}

/* CUDA is initialised: our thread may ask it about the devices. A program may be over before that
 * thread has had its turn, so the first call waits for it, if not for long: the driver may hold a
 * lock around this callback. */
static void attend(void)
{
	struct timespec pause = {0, 50000};
	lifecycle_attention = 0;
	lifecycle_arm_exit();
	atomic_store(&wants_devices, DEVICES_WANTED);
	for (unsigned int i = 0; i < DEVICES_WAITS && atomic_load(&wants_devices) != DEVICES_TOLD;
	     i++) {
		gpu_activity_wake(); /* again: it may not have slept yet */
		nanosleep(&pause, NULL);
	}
}

void injection_callback(uint32_t id, const void *data)
{
	int saved_errno = errno;
	struct thread *thread = recording_thread();
	if (thread && id < CALLBACK_IDS && row_of_id[id]) {
		const struct wrap_row *row = &wrap_driver.rows[row_of_id[id] - 1];
		uint32_t correlation = cupti_callback_number(data, CUPTI_CALLBACK_CORRELATION);
		if (cupti_callback_number(data, CUPTI_CALLBACK_SITE) == CUPTI_SITE_ENTER) {
			enter(thread, row, id, correlation, data);
		} else {
			leave(thread, row, id, correlation, data);
			if (lifecycle_attention)
				attend();
		}
	}
	errno = saved_errno;
}

void injection_turn(void)
{
	if (atomic_load(&wants_devices) != DEVICES_WANTED || lifecycle_exiting())
		return;
	device_describe_all();
	atomic_store(&wants_devices, DEVICES_TOLD);
}

/* ---- the way in ---- */

int InitializeInjection(void)
{
	static _Atomic uint32_t is_done;
	int saved_errno = errno;
	/* Preloaded, or with another copy of this library that is: that one records. */
	if (!atomic_exchange(&is_done, 1) && !lifecycle_is_in_charge() && lifecycle_may_inject()) {
		void *memory =
			mmap(NULL, RING_SLOT_COUNT * sizeof(*open_calls), PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (memory != MAP_FAILED) {
			open_calls = memory;
			lifecycle_open_injected();
		}
	}
	errno = saved_errno;
	return 1;
}
