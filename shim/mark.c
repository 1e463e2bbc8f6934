/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open ranges and their records. A range is one record, written where it ends; until then it lies
 * in a stack of its thread (nested ranges) or in a table of the process (ranges that any thread may
 * end). Both are of a fixed size in memory of our own; what finds no room is counted.
 */
#include "mark.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "../collector/format/record.h"
#include "call.h"
#include "session.h"

#define STACKS	    1024u
#define DEPTH_MAX   32u
#define SPANS	    1024u
#define SPAN_PROBES 16u
#define OWN_ID	    (1ull << 62) /* tells our numbers from those of other tools, which count from 1 */

struct open_mark {
	uint64_t begin_ticks; /* 0: before the clock was chosen */
	uint64_t number;      /* of a name that mark_name.c has no room for */
	struct mark mark;
};

struct mark_stack {
	uint32_t index, depth;
	uint32_t too_deep; /* ranges above the top that are only counted */
	uint32_t step_is_open;
	struct open_mark step;
	struct open_mark open[DEPTH_MAX];
};

enum span_state { SPAN_FREE, SPAN_BUSY, SPAN_OPEN };
struct span {
	_Atomic uint32_t state; /* enum span_state */
	_Atomic uint64_t id;
	struct open_mark open;
};

static __thread struct mark_stack *stack_now __attribute__((tls_model("initial-exec")));
static struct {
	_Atomic uint8_t used[STACKS];
	struct mark_stack stacks[STACKS];
	struct span spans[SPANS];
} * _Atomic memory;
static pthread_key_t exit_key;
static _Atomic uint32_t exit_key_state; /* 0 none, 1 being made, 2 there */
static _Atomic uint64_t span_count, before_session;

struct mark mark_of_text(const char *text, size_t length, unsigned int source)
{
	return (struct mark){
		.name = mark_name_intern(text, length),
		.text = text,
		.text_bytes = length,
		.peer = MARK_NO_PEER,
		.source = (uint8_t)source,
	};
}

/* The calling thread when it records, else NULL. */
static struct thread *recording_thread(void)
{
	if (!lifecycle_reports_matter)
		return NULL;
	struct thread *thread = thread_now;
	return __builtin_expect(thread_records(thread), 1) ? thread
							   : call_thread_slow(EFFECT_QUIET);
}

static void count(_Atomic uint64_t *counter)
{
	if (lifecycle_reports_matter && thread_now != &thread_muted)
		atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/* A mark that ends while no session is open is gone. */
static void count_gone(void)
{
	if (atomic_load_explicit(&lifecycle_mode, memory_order_relaxed) < LIFECYCLE_RECORDING)
		count(&before_session);
}

static void count_not_kept(void)
{
	count(session_counter(RING_COUNT_MARKS_NOT_KEPT));
}

static uint64_t now(void)
{
	return ticks_clock_kind ? ticks_now() : 0;
}

static void open_begin(struct open_mark *open, const struct mark *mark, struct thread *thread)
{
	open->mark = *mark;
	open->mark.text = NULL; /* the caller's, gone soon */
	open->number = 0;
	if (!mark->name && mark->text && thread)
		open->number = mark_name_write(thread, mark->text, mark->text_bytes);
	open->begin_ticks = now();
}

static void write_mark(struct thread *thread, const struct open_mark *open, uint64_t end_ticks,
		       unsigned int type)
{
	uint64_t name = open->mark.name ? mark_name_number(thread, open->mark.name) : open->number;
	uint64_t domain = mark_name_number(thread, open->mark.domain);
	uint64_t begin_ticks = open->begin_ticks;
	struct record_mark *record = thread_reserve(thread, RECORD_KIND_mark, sizeof(*record));
	if (!record)
		return;
	/* Also true in a forked child, whose parent opened it: it begins with the session. */
	if (begin_ticks < session_control->start_ticks)
		begin_ticks = session_control->start_ticks;
	*record = (struct record_mark){
		.head = {RECORD_KIND_mark, sizeof(*record), 0},
		.begin_ticks = begin_ticks,
		.end_ticks = end_ticks,
		.name = name,
		.domain = domain,
		.value = open->mark.value,
		.type = (uint8_t)type,
		.source = open->mark.source,
		.category = open->mark.category,
		.communicator = open->mark.communicator,
		.peer = open->mark.peer,
	};
	thread_commit(thread);
}

/* ---- memory ---- */

static void thread_ended(void *stack)
{
	struct mark_stack *mine = stack;
	if (mine->depth && lifecycle_reports_matter)
		atomic_fetch_add_explicit(session_counter(RING_COUNT_MARKS_NOT_KEPT), mine->depth,
					  memory_order_relaxed);
	atomic_store_explicit(&memory->used[mine->index], 0, memory_order_release);
	if (stack_now == mine)
		stack_now = NULL;
}

static bool prepare(void)
{
	if (!memory) {
		void *expected = NULL;
		void *fresh = mmap(NULL, sizeof(*memory), PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (fresh == MAP_FAILED)
			return false;
		if (!__atomic_compare_exchange_n((void **)(uintptr_t)&memory, &expected, fresh,
						 false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			munmap(fresh, sizeof(*memory));
	}
	uint32_t none = 0;
	if (atomic_compare_exchange_strong(&exit_key_state, &none, 1)) {
		lifecycle_watch_forks();
		atomic_store(&exit_key_state, pthread_key_create(&exit_key, thread_ended) ? 0 : 2);
	}
	return atomic_load(&exit_key_state) == 2;
}

static struct mark_stack *take_stack(void)
{
	for (uint32_t i = 0; i < STACKS; i++) {
		if (atomic_load_explicit(&memory->used[i], memory_order_relaxed) ||
		    atomic_exchange_explicit(&memory->used[i], 1, memory_order_acquire))
			continue;
		struct mark_stack *stack = &memory->stacks[i];
		stack->index = i;
		stack->depth = stack->too_deep = stack->step_is_open = 0;
		return stack;
	}
	return NULL;
}

static struct mark_stack *attach_stack(void)
{
	int saved_errno = errno;
	struct thread *before = thread_mute(); /* pthread_setspecific may allocate */
	if (prepare()) {
		struct mark_stack *stack = take_stack();
		if (stack && pthread_setspecific(exit_key, stack)) {
			atomic_store(&memory->used[stack->index], 0);
			stack = NULL;
		}
		stack_now = stack;
	}
	thread_unmute(before);
	errno = saved_errno;
	return stack_now;
}

static inline struct mark_stack *own_stack(void)
{
	return __builtin_expect(stack_now != NULL, 1) ? stack_now : attach_stack();
}

/* ---- nested ranges ---- */

void mark_instant(const struct mark *mark)
{
	struct thread *thread = recording_thread();
	struct open_mark open;
	if (!thread) {
		count_gone();
		return;
	}
	open_begin(&open, mark, thread);
	write_mark(thread, &open, open.begin_ticks, MARK_INSTANT);
}

void mark_push(const struct mark *mark)
{
	if (!lifecycle_is_in_charge())
		return;
	struct mark_stack *stack = own_stack();
	if (__builtin_expect(!stack || stack->depth == DEPTH_MAX, 0)) {
		if (stack)
			stack->too_deep++;
		count_not_kept();
		return;
	}
	open_begin(&stack->open[stack->depth], mark, recording_thread());
	stack->depth++;
}

void mark_pop(const struct mark_name *domain)
{
	struct mark_stack *stack = stack_now;
	uint64_t end_ticks = now();
	if (!stack)
		return;
	if (stack->too_deep) {
		stack->too_deep--;
		return;
	}
	uint32_t at = stack->depth;
	while (at && stack->open[at - 1].mark.domain != domain)
		at--;
	if (!at--)
		return; /* pushed before the shim was there, or never */
	struct thread *thread = recording_thread();
	if (thread)
		write_mark(thread, &stack->open[at], end_ticks, MARK_RANGE);
	else
		count_gone();
	stack->depth--;
	if (at < stack->depth)
		memmove(&stack->open[at], &stack->open[at + 1],
			(stack->depth - at) * sizeof(stack->open[0]));
}

void mark_step(uint64_t number)
{
	if (!lifecycle_is_in_charge())
		return;
	struct mark_stack *stack = own_stack();
	struct thread *thread = recording_thread();
	struct mark mark = mark_of_text("step", 4, MARK_API);
	if (!stack) {
		count_not_kept();
		return;
	}
	if (stack->step_is_open && thread)
		write_mark(thread, &stack->step, now(), MARK_RANGE);
	else if (stack->step_is_open)
		count_gone();
	mark.value = number;
	open_begin(&stack->step, &mark, thread);
	stack->step_is_open = 1;
}

/* ---- ranges across threads ---- */

static struct span *claim_span(uint64_t id)
{
	if (!memory && !prepare())
		return NULL;
	for (uint32_t i = 0; i < SPAN_PROBES; i++) {
		struct span *span = &memory->spans[(id + i) % SPANS];
		uint32_t expected = SPAN_FREE;
		if (atomic_compare_exchange_strong(&span->state, &expected, SPAN_BUSY))
			return span;
	}
	return NULL;
}

uint64_t mark_start(const struct mark *mark, uint64_t id)
{
	if (!lifecycle_is_in_charge())
		return id;
	if (!id)
		id = OWN_ID + atomic_fetch_add_explicit(&span_count, 1, memory_order_relaxed);
	int saved_errno = errno;
	struct span *span = claim_span(id);
	errno = saved_errno;
	if (!span) {
		count_not_kept();
		return id;
	}
	open_begin(&span->open, mark, recording_thread());
	atomic_store_explicit(&span->id, id, memory_order_relaxed);
	atomic_store_explicit(&span->state, SPAN_OPEN, memory_order_release);
	return id;
}

void mark_end(uint64_t id)
{
	uint64_t end_ticks = now();
	for (uint32_t i = 0; memory && i < SPAN_PROBES; i++) {
		struct span *span = &memory->spans[(id + i) % SPANS];
		uint32_t expected = SPAN_OPEN;
		if (atomic_load_explicit(&span->id, memory_order_relaxed) != id ||
		    !atomic_compare_exchange_strong(&span->state, &expected, SPAN_BUSY))
			continue;
		struct thread *thread = recording_thread();
		if (atomic_load_explicit(&span->id, memory_order_relaxed) != id) {
			/* Another range has taken the place meanwhile. */
			atomic_store_explicit(&span->state, SPAN_OPEN, memory_order_release);
			continue;
		}
		if (thread)
			write_mark(thread, &span->open, end_ticks, MARK_SPAN);
		else
			count_gone();
		atomic_store_explicit(&span->id, 0, memory_order_relaxed);
		atomic_store_explicit(&span->state, SPAN_FREE, memory_order_release);
		return;
	}
}

/* ---- sessions ---- */

void mark_session_begins(void)
{
	char text[24];
	uint64_t gone = atomic_exchange(&before_session, 0);
	if (!gone)
		return;
	snprintf(text, sizeof(text), "%llu", (unsigned long long)gone);
	session_info("marks.before_session", text);
}

void mark_session_ends(void)
{
	struct mark_stack *stack = stack_now;
	struct thread *thread = thread_now;
	if (stack && thread->is_live) {
		/* The last step ends with the run; other ranges were never closed. */
		if (stack->step_is_open)
			write_mark(thread, &stack->step, now(), MARK_RANGE);
		for (uint32_t i = 0; i < stack->depth; i++)
			write_mark(thread, &stack->open[i], 0, MARK_RANGE);
		stack->step_is_open = stack->depth = 0;
	}
}

void mark_after_fork(void)
{
	uint32_t being_made = 1;
	mark_name_after_fork();
	atomic_compare_exchange_strong(&exit_key_state, &being_made, 0);
	if (!memory)
		return;
	/* Only this thread is here. */
	for (uint32_t i = 0; i < STACKS; i++) {
		if (!stack_now || stack_now->index != i)
			atomic_store_explicit(&memory->used[i], 0, memory_order_relaxed);
	}
	atomic_store(&before_session, 0);
}
