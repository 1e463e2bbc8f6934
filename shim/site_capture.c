// SPDX-License-Identifier: Apache-2.0
/*
 * Policy and bookkeeping of sites: which calls get one, what it is called, who writes its record.
 *
 * The hot path is: walk, combine the two hashes, find the number in the set of written sites. Names
 * and lines are only looked up for a site that the set does not have.
 */
#include "site_capture.h"
#include "site_cache.h"
#include "site_python.h"
#include "site_set.h"
#include "format/record.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#define SITE_CAPACITY 65536 /* stacks of one session */
#define NAME_CAPACITY 16384 /* functions of one session */
#define SEEN_CALLERS  1024  /* return addresses of rated calls that a thread remembers */
/* How long the line of a waiting backward() is taken as unchanged for launches, which come every
 * few microseconds; asking again costs about one microsecond. */
#define WAITING_VALID_US 100

static _Atomic uint64_t site_slots[SITE_CAPACITY];
static _Atomic uint8_t site_states[SITE_CAPACITY];
static _Atomic uint64_t name_slots[NAME_CAPACITY];
static _Atomic uint8_t name_states[NAME_CAPACITY];
static struct site_set sites = {site_slots, site_states, SITE_CAPACITY, 0};
static struct site_set names = {name_slots, name_states, NAME_CAPACITY, 0};
static struct site_settings settings;

enum rate { RATE_ALWAYS, RATE_BY_RATE };

static const uint8_t rates[] = {
#define SITE_EVENT(name, policy) RATE_##policy,
	SITE_EVENTS(SITE_EVENT)
#undef SITE_EVENT
};

#define MAX_FRAMES (SITE_NATIVE_DEPTH + SITE_PYTHON_DEPTH + 3)

struct site_thread {
	bool is_busy; /* inside site_capture(): a signal handler's own call gets no site */
	uint64_t next_by_rate_ticks;
	uint64_t waiting_until_ticks;
	struct site_python_thread python;
	struct site_python_stack own;
	struct site_native_stack short_stack; /* of calls that are not walked */
	struct {
		uint64_t address; /* return address */
		uint64_t site;	  /* of that address alone, for calls beyond the rate; 0 not yet */
	} callers[SEEN_CALLERS];
	/* The records under construction; too large for the stacks that CUDA calls run on. */
	struct site_python_line line;
	_Alignas(8) char site[sizeof(struct record_site) + MAX_FRAMES * sizeof(struct site_frame)];
	_Alignas(8) char name[sizeof(struct record_name) + SITE_PYTHON_TEXT_BYTES + 8];
};

/* One call under way. */
struct walk {
	struct site_thread *me;
	const struct site_call *call;
	const struct site_python_stack *python; /* NULL: none */
	struct site_native_stack *native;	/* NULL: none */
	uint64_t cost_ns;
};

/* The native cache lies behind, on pages of its own. */
#define NATIVE_OFFSET ((sizeof(struct site_thread) + 4095) & ~(size_t)4095)

size_t site_thread_bytes(void)
{
	return NATIVE_OFFSET + site_cache_bytes();
}

void site_thread_end(struct site_thread *me)
{
	site_python_forget(&me->python);
}

int site_stacks_parse(const char *text)
{
	static const struct {
		const char *word;
		enum site_stacks stacks;
	} words[] = {{"", SITE_STACKS_ALL},
		     {"off", SITE_STACKS_OFF},
		     {"python", SITE_STACKS_PYTHON},
		     {"native", SITE_STACKS_NATIVE},
		     {"all", SITE_STACKS_ALL}};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(text ? text : "", words[i].word) == 0)
			return (int)words[i].stacks;
	}
	return -1;
}

void site_capture_begin(const struct site_settings *wanted)
{
	settings = *wanted;
	site_set_clear(&sites);
	site_set_clear(&names);
	if (settings.stacks & SITE_STACKS_PYTHON)
		site_python_attach();
	if (settings.stacks & SITE_STACKS_NATIVE)
		site_cache_attach(false);
}

void site_capture_after_fork(void)
{
	site_python_after_fork();
	site_cache_after_fork();
}

/* Whether a call gets a walk. The first sight of a return address does; an address that finds its
 * place taken counts as seen, so that two of them cannot make each other new for ever. */
static bool is_walked(struct site_thread *me, const struct site_call *call, uint64_t caller)
{
	uint64_t *seen = &me->callers[(caller ^ caller >> 10) % SEEN_CALLERS].address;

	if (rates[call->event] == RATE_ALWAYS)
		return true;
	if (*seen == 0) {
		*seen = caller;
		return true;
	}
	return settings.ticks_per_us && call->now_ticks >= me->next_by_rate_ticks;
}

/* A thread without Python frames of its own, of a process with an interpreter. */
static void walk_waiting(struct walk *walk)
{
	struct site_thread *me = walk->me;
	bool is_fresh = rates[walk->call->event] == RATE_BY_RATE && me->python.owner &&
			walk->call->now_ticks < me->waiting_until_ticks;

	if (!is_fresh) {
		uintptr_t begin, end;

		if (!site_python_code_range(&begin, &end))
			return;
		walk->cost_ns += 1500;
		if (!site_python_walk_waiting(&me->python))
			return;
		me->waiting_until_ticks =
			walk->call->now_ticks + WAITING_VALID_US * settings.ticks_per_us;
	}
	walk->python = &me->python.waiting;
}

/* Python's frames, and where native frames end because of them. */
static void walk_python(struct walk *walk, uintptr_t *stop_begin, uintptr_t *stop_end)
{
	struct site_thread *me = walk->me;

	if (site_python_walk(&me->python, walk->call->may_ask_python, &me->own)) {
		walk->python = &me->own;
		walk->cost_ns += 10 + 5 * me->own.frame_count;
		site_python_code_range(stop_begin, stop_end);
	} else {
		walk_waiting(walk);
	}
}

static void walk_native(struct walk *walk, uintptr_t stop_begin, uintptr_t stop_end)
{
	struct site_cache_thread *cache =
		(struct site_cache_thread *)((char *)walk->me + NATIVE_OFFSET);
	struct site_native_request request = {.frame = walk->call->frame,
					      .stop_begin = stop_begin,
					      .stop_end = stop_end,
					      .now_ticks = walk->call->now_ticks,
					      .ticks_per_us = settings.ticks_per_us};
	uint32_t cost_ns;
	int saved_errno;

	walk->native = site_cache_recognise(cache, walk->call->frame, stop_begin);
	if (walk->native) {
		walk->cost_ns += 15 + walk->native->frame_count;
		return;
	}
	saved_errno = errno;
	walk->native = site_cache_unwind(cache, &request, &cost_ns);
	errno = saved_errno;
	walk->cost_ns += cost_ns;
}

static uint64_t combine(const struct walk *walk)
{
	uint64_t id = walk->native ? walk->native->hash : 0;

	if (walk->python)
		id = (id << 23 | id >> 41) ^ walk->python->hash;
	return id ? id : 1;
}

static bool emit(const struct walk *walk, void *record, uint16_t kind, uint32_t size_bytes)
{
	struct record_head *head = record;
	uint32_t padded = (size_bytes + 7) & ~7u;

	memset((char *)record + size_bytes, 0, padded - size_bytes);
	head->kind = kind;
	head->size_bytes = (uint16_t)padded;
	head->reserved = 0;
	return settings.emit(walk->call->emit_context, record, padded);
}

/* Writes a function's name unless this session has it. False: no room in the ring. */
static bool write_name(const struct walk *walk, const struct site_python_line *line)
{
	struct record_name *record = (struct record_name *)walk->me->name;
	bool was_written;
	uint32_t slot;

	if (site_set_claim(&names, line->name, &slot) != SITE_SET_CLAIMED)
		return true; /* a full table: the line is still worth having */
	record->id = line->name;
	record->space = NAME_PYTHON;
	record->reserved0 = 0;
	record->text_bytes = line->text_bytes;
	memcpy(record->text, line->text, line->text_bytes);
	was_written =
		emit(walk, record, RECORD_KIND_name, (uint32_t)sizeof(*record) + line->text_bytes);
	site_set_settle(&names, slot, was_written);
	return was_written;
}

static void add_frame(struct record_site *record, enum frame_type type, uint32_t line,
		      uint64_t value)
{
	struct site_frame *frame = &record->frames[record->frame_count++];

	frame->type = type;
	frame->line = line;
	frame->value = value;
}

static bool add_python(const struct walk *walk, struct record_site *record)
{
	struct site_python_line *line = &walk->me->line;

	if (walk->python->is_other_thread)
		add_frame(record, FRAME_WAITING, 0, 0);
	for (uint32_t i = 0; i < walk->python->frame_count; i++) {
		if (!site_python_describe(walk->python, i, line)) {
			add_frame(record, FRAME_TRUNCATED, 0, 0);
			return true;
		}
		if (!write_name(walk, line))
			return false;
		add_frame(record, FRAME_PYTHON, line->line, line->name);
	}
	if (walk->python->is_truncated)
		add_frame(record, FRAME_TRUNCATED, 0, 0);
	return true;
}

static bool write_site(const struct walk *walk, uint64_t id)
{
	struct record_site *record = (struct record_site *)walk->me->site;

	record->id = id;
	record->frame_count = 0;
	record->reserved0 = 0;
	for (uint32_t i = 0; walk->native && i < walk->native->frame_count; i++)
		add_frame(record, FRAME_NATIVE, 0, walk->native->frames[i]);
	if (walk->native && walk->native->is_truncated)
		add_frame(record, FRAME_TRUNCATED, 0, 0);
	if (walk->python && !add_python(walk, record))
		return false;
	return emit(walk, record, RECORD_KIND_site,
		    (uint32_t)(sizeof(*record) + record->frame_count * sizeof(record->frames[0])));
}

static uint64_t record_walk(struct walk *walk)
{
	uint64_t id = combine(walk);
	int saved_errno = errno;
	bool was_written;
	uint32_t slot;

	switch (site_set_claim(&sites, id, &slot)) {
	case SITE_SET_KNOWN:
		return id;
	case SITE_SET_FULL:
		if (settings.unrecorded)
			atomic_fetch_add_explicit(settings.unrecorded, 1, memory_order_relaxed);
		return 0;
	case SITE_SET_CLAIMED:
		break;
	}
	was_written = write_site(walk, id);
	site_set_settle(&sites, slot, was_written);
	errno = saved_errno;
	walk->cost_ns += 200u * ((const struct record_site *)walk->me->site)->frame_count;
	return was_written ? id : 0;
}

/* The site of a call that is not walked: where it returns to, and that this is not all. */
static uint64_t record_caller(struct walk *walk, uintptr_t caller)
{
	size_t at = (caller ^ caller >> 10) % SEEN_CALLERS;
	bool is_own = walk->me->callers[at].address == caller;
	struct site_native_stack *stack = &walk->me->short_stack;
	uint64_t id;

	if (is_own && walk->me->callers[at].site)
		return walk->me->callers[at].site;
	stack->frames[0] = caller;
	stack->frame_count = 1;
	stack->is_truncated = true;
	stack->hash = caller * 0x9e3779b97f4a7c15u;
	walk->native = stack;
	id = record_walk(walk);
	if (is_own)
		walk->me->callers[at].site = id;
	return id;
}

static uint64_t capture(struct walk *walk)
{
	uintptr_t stop_begin = 0, stop_end = 0;
	uint64_t python_hash, id = 0;

	if ((settings.stacks & SITE_STACKS_PYTHON) && site_python_is_there())
		walk_python(walk, &stop_begin, &stop_end);
	if (settings.stacks & SITE_STACKS_NATIVE)
		walk_native(walk, stop_begin, stop_end);
	python_hash = walk->python ? walk->python->hash : 1;
	/* The same two stacks as last time: nothing is to be looked up. */
	if (walk->native && walk->native->memo_python == python_hash && walk->native->memo_site)
		id = walk->native->memo_site;
	else if (walk->python || walk->native)
		id = record_walk(walk);
	if (walk->native) {
		walk->native->memo_python = python_hash;
		walk->native->memo_site = id;
	}
	if (rates[walk->call->event] == RATE_BY_RATE)
		walk->me->next_by_rate_ticks =
			walk->call->now_ticks +
			SITE_LAUNCH_SHARE * walk->cost_ns * settings.ticks_per_us / 1000;
	return id;
}

uint64_t site_capture(struct site_thread *me, const struct site_call *call)
{
	const uintptr_t *frame = call->frame;
	struct walk walk;
	uint64_t id = 0;

	if (settings.stacks == SITE_STACKS_OFF || me->is_busy)
		return 0;
	me->is_busy = true;
	atomic_signal_fence(memory_order_seq_cst);
	walk.me = me;
	walk.call = call;
	walk.python = NULL;
	walk.native = NULL;
	walk.cost_ns = 0;
	if (is_walked(me, call, frame[1]))
		id = capture(&walk);
	else if (settings.stacks & SITE_STACKS_NATIVE)
		id = record_caller(&walk, frame[1]);
	atomic_signal_fence(memory_order_seq_cst);
	me->is_busy = false;
	return id;
}

uintptr_t site_capture_facts_state(void)
{
	const char *reason = site_python_reason();
	if (reason)
		return (uintptr_t)reason;
	return 1u + (site_python_version() ? 2u : 0u) + (site_python_is_checked() ? 4u : 0u);
}

void site_capture_facts(void (*put)(void *context, const char *key, const char *value),
			void *context)
{
	static const char *const stacks[] = {"off", "python", "native", "all"};
	const char *reason = site_python_reason(), *version = site_python_version();

	put(context, "stacks.policy", stacks[settings.stacks]);
	if (settings.stacks & SITE_STACKS_NATIVE)
		put(context, "stacks.native", site_cache_engine());
	if (!(settings.stacks & SITE_STACKS_PYTHON))
		return;
	if (version)
		put(context, "python.version", version);
	if (reason)
		put(context, "python.frames", reason);
	else if (version)
		put(context, "python.frames",
		    site_python_is_checked() ? "read and confirmed by the interpreter" : "read");
}
