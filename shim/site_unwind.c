// SPDX-License-Identifier: Apache-2.0
/*
 * The caller's side of libunwind (unwind/), which knows one walk at a time. A lock of our own is
 * tried for a bounded time, so a fork in the middle of another thread's walk, or a signal handler
 * on top of one, costs a stack and never a deadlock.
 *
 * libunwind keeps rules by address. Code at an address changes when a library is closed and another
 * takes its place, so each module met is compared with what was there before.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* struct dl_phdr_info */
#endif
#include "site_unwind.h"
#include "site_memory.h"
#include "site_modules.h"

#include <elf.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

/* A walk takes tens of microseconds, more if its thread loses the processor in the middle. */
#define SPINS	 1000
#define SLEEPS	 20
#define SLEEP_NS 100000

static atomic_flag is_walking = ATOMIC_FLAG_INIT;

static bool try_enter(void)
{
	return !atomic_flag_test_and_set_explicit(&is_walking, memory_order_acquire);
}

static bool enter(void)
{
	struct timespec pause = {0, SLEEP_NS};

	for (int i = 0; i < SPINS; i++) {
		if (try_enter())
			return true;
#if defined(__x86_64__)
		__builtin_ia32_pause();
#endif
	}
	for (int i = 0; i < SLEEPS; i++) {
		nanosleep(&pause, NULL);
		if (try_enter())
			return true;
	}
	return false;
}

static void leave(void)
{
	atomic_flag_clear_explicit(&is_walking, memory_order_release);
}

#if GPUTRACE_HAVE_LIBUNWIND

#define KNOWN_LIMIT 1024
#define NOTE_BYTES  512
#define TABLE_BYTES 256
#define RULE_BYTES  16384

/* The modules whose rules libunwind may have kept. */
struct known_module {
	uintptr_t begin, end;
	uint64_t check; /* tells builds of a library apart */
	uint64_t walk;	/* in which it was compared last */
};

static struct known_module known[KNOWN_LIMIT];
static uint32_t known_count, known_last;
static uint64_t walk_number;
static struct site_module current; /* of the frame that is being stepped over */

static uint64_t hash_bytes(uint64_t hash, uintptr_t from, size_t size_bytes)
{
	const unsigned char *bytes = (const unsigned char *)from;
	uint64_t word;

	for (; size_bytes >= sizeof(word); bytes += sizeof(word), size_bytes -= sizeof(word)) {
		memcpy(&word, bytes, sizeof(word));
		hash = (hash ^ word) * 0xd6e8feb86659fd93u;
		hash ^= hash >> 32;
	}
	return hash;
}

/* Whether the notes say which build this is. */
static bool has_build_id(uintptr_t notes, size_t size_bytes)
{
	for (size_t at = 0; at + sizeof(ElfW(Nhdr)) + 4 <= size_bytes;) {
		ElfW(Nhdr) note;

		memcpy(&note, (const void *)(notes + at), sizeof(note));
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    memcmp((const void *)(notes + at + sizeof(note)), "GNU", 4) == 0)
			return true;
		at += sizeof(note) + ((note.n_namesz + 3) & ~3u) + ((note.n_descsz + 3) & ~3u);
	}
	return false;
}

/* The part of one segment that starts at an address, at most limit bytes of it. */
static size_t bytes_from(const struct site_module *module, uintptr_t address, size_t limit)
{
	for (uint16_t i = 0; i < module->segment_count; i++) {
		const ElfW(Phdr) *segment = &module->segments[i];
		uintptr_t begin = module->load_address + segment->p_vaddr;

		if (segment->p_type == PT_LOAD && address >= begin &&
		    address < begin + segment->p_filesz)
			return begin + segment->p_filesz - address < limit
				       ? begin + segment->p_filesz - address
				       : limit;
	}
	return 0;
}

/* From the build id, or from the unwind data itself where there is none. */
static uint64_t check_of(const struct site_module *module)
{
	uint64_t hash = module->unwind_table;
	bool is_identified = false;
	int32_t rules;

	for (uint16_t i = 0; i < module->segment_count; i++) {
		const ElfW(Phdr) *segment = &module->segments[i];
		uintptr_t begin = module->load_address + segment->p_vaddr;
		size_t size_bytes = segment->p_filesz;

		if (segment->p_type != PT_NOTE)
			continue;
		size_bytes = bytes_from(module, begin,
					size_bytes < NOTE_BYTES ? size_bytes : NOTE_BYTES);
		is_identified = is_identified || has_build_id(begin, size_bytes);
		hash = hash_bytes(hash, begin, size_bytes);
	}
	hash = hash_bytes(hash, module->unwind_table,
			  bytes_from(module, module->unwind_table, TABLE_BYTES));
	if (is_identified)
		return hash;
	/* Four bytes after its start the table says how far away .eh_frame is. */
	memcpy(&rules, (const void *)(module->unwind_table + 4), sizeof(rules));
	return hash_bytes(hash, module->unwind_table + 4 + (uintptr_t)(intptr_t)rules,
			  bytes_from(module, module->unwind_table + 4 + (uintptr_t)(intptr_t)rules,
				     RULE_BYTES));
}

/* Drops libunwind's rules when this module is new in the place of another. */
static void note_module(const struct site_module *module)
{
	bool is_replaced = known_count == KNOWN_LIMIT;
	uint64_t check;

	if (known_last < known_count && known[known_last].begin == module->begin &&
	    known[known_last].walk == walk_number)
		return;
	check = check_of(module);
	for (uint32_t i = 0; i < known_count; i++) {
		if (known[i].begin == module->begin && known[i].end == module->end &&
		    known[i].check == check) {
			known[i].walk = walk_number;
			known_last = i;
			return;
		}
		if (known[i].begin < module->end && module->begin < known[i].end)
			is_replaced = true;
	}
	if (is_replaced) {
		unwind_flush();
		known_count = 0;
	}
	known_last = known_count++;
	known[known_last] = (struct known_module){module->begin, module->end, check, walk_number};
}

static bool has_rules(void *context, uintptr_t pc)
{
	(void)context;
	if (!site_modules_find(pc, &current))
		return false;
	note_module(&current);
	return true;
}

/* libunwind's view of the loaded modules: the one of the frame at hand. */
int unwind_iterate_modules(int (*callback)(struct dl_phdr_info *info, size_t size, void *data),
			   void *data)
{
	struct dl_phdr_info info;

	memset(&info, 0, sizeof(info));
	info.dlpi_addr = current.load_address;
	info.dlpi_name = "";
	info.dlpi_phdr = current.segments;
	info.dlpi_phnum = current.segment_count;
	return callback(&info, sizeof(info), data);
}

bool unwind_can_read(uintptr_t address)
{
	return site_memory_is_readable((const void *)address);
}

uint32_t site_unwind(const uintptr_t *frame, uintptr_t stop_begin, uintptr_t stop_end,
		     struct unwind_frame *frames, uint32_t limit, bool *is_complete)
{
	struct unwind_request request = {.return_address = frame[1],
					 .return_slot = (uintptr_t)&frame[1],
					 .stop_begin = stop_begin,
					 .stop_end = stop_end,
					 .limit = limit,
					 .has_rules = has_rules};
	uint32_t count = 0;

	*is_complete = false;
	if (!enter())
		return 0;
	walk_number++;
	/* The walk starts in our own code. */
	if (has_rules(NULL, (uintptr_t)site_unwind))
		count = unwind_walk(&request, frames, is_complete);
	leave();
	return count;
}

void site_unwind_after_fork(void)
{
	/* Another thread of the parent may have been in the middle of a walk. */
	unwind_flush();
	known_count = 0;
	leave();
}

const char *site_unwind_engine(void)
{
	return unwind_engine();
}

#else

#define LARGEST_FRAME (1u << 20)

/* Follows frame pointers, each read through the kernel and each return address looked up: code
 * built without frame pointers ends the walk or is left out of it, but nothing is read in vain. */
uint32_t site_unwind(const uintptr_t *frame, uintptr_t stop_begin, uintptr_t stop_end,
		     struct unwind_frame *frames, uint32_t limit, bool *is_complete)
{
	uintptr_t at = (uintptr_t)frame, holder = 0;
	uint32_t count = 0;

	*is_complete = false;
	if (!enter())
		return 0;
	while (count < limit) {
		struct site_module module;
		uintptr_t pair[2]; /* the frame pointer before, the return address */

		if (!site_memory_copy(pair, (const void *)at, sizeof(pair)) ||
		    !site_modules_find(pair[1] - 1, &module))
			break;
		frames[count++] = (struct unwind_frame){.pc = pair[1],
							.slot = at + sizeof(pair[0]),
							.base_slot = holder,
							.base = holder ? UNWIND_BASE_REGISTER
								       : UNWIND_BASE_FIXED};
		if (pair[1] >= stop_begin && pair[1] < stop_end) {
			*is_complete = true;
			break;
		}
		if (pair[0] <= at || pair[0] - at > LARGEST_FRAME || pair[0] % sizeof(pair[0]) != 0)
			break;
		holder = at;
		at = pair[0];
	}
	leave();
	return count;
}

void site_unwind_after_fork(void)
{
	leave();
}

const char *site_unwind_engine(void)
{
	return "frame pointers";
}

#endif

void site_unwind_attach(bool use_table)
{
	if (!enter())
		return;
	site_modules_attach(use_table);
	leave();
}
