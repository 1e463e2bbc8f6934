/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The load map: describes each library that a native frame lies in, once per session, so that
 * addresses can be named after the process is gone.
 */
#include "site.h"

#include <elf.h>
#include <string.h>

#include "../collector/format/record.h"
#include "maps.h"
#include "session.h"
#include "site_memory.h"
#include "ticks.h"

#define LIBRARIES      512u
#define BUILD_ID_BYTES 20u

/* Executable ranges that this session has described. */
static struct {
	_Atomic uint64_t begin, end;
} known[LIBRARIES];
static _Atomic uint32_t known_count;
static _Atomic uint64_t known_session;

/* Our own memory, but it may vanish under us (dlclose): read it through the kernel. */
static bool peek(uint64_t address, void *into, size_t size)
{
	return site_memory_copy(into, (const void *)(uintptr_t)address, size);
}

/* The build id in the ELF notes of an object mapped from its start; zeros when there is none. */
static void read_build_id(uint64_t base, uint8_t id[BUILD_ID_BYTES])
{
	Elf64_Ehdr header;
	memset(id, 0, BUILD_ID_BYTES);
	if (!peek(base, &header, sizeof(header)) || memcmp(header.e_ident, ELFMAG, SELFMAG))
		return;
	for (unsigned int i = 0; i < header.e_phnum && i < 64; i++) {
		Elf64_Phdr program;
		char notes[1024];
		if (!peek(base + header.e_phoff + i * sizeof(program), &program, sizeof(program)))
			return;
		if (program.p_type != PT_NOTE)
			continue;
		size_t size = program.p_filesz < sizeof(notes) ? program.p_filesz : sizeof(notes);
		/* Notes lie in the first mapping, where file offset and address agree. */
		if (!peek(base + program.p_offset, notes, size))
			continue;
		for (size_t at = 0; at + sizeof(Elf64_Nhdr) <= size;) {
			Elf64_Nhdr note;
			memcpy(&note, notes + at, sizeof(note));
			size_t name_at = at + sizeof(note);
			size_t text_at = name_at + ((note.n_namesz + 3u) & ~3u);
			if (text_at > size || note.n_descsz > size - text_at)
				break;
			if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
			    !memcmp(notes + name_at, "GNU", 4)) {
				memcpy(id, notes + text_at,
				       note.n_descsz < BUILD_ID_BYTES ? note.n_descsz
								      : BUILD_ID_BYTES);
				return;
			}
			at = text_at + ((note.n_descsz + 3u) & ~3u);
		}
	}
}

static bool is_known(uint64_t address)
{
	uint64_t session = session_control->start_ticks;
	if (atomic_exchange(&known_session, session) != session)
		atomic_store(&known_count, 0);
	uint32_t count = atomic_load_explicit(&known_count, memory_order_acquire);
	for (uint32_t i = 0; i < count && i < LIBRARIES; i++) {
		if (address >= atomic_load_explicit(&known[i].begin, memory_order_relaxed) &&
		    address < atomic_load_explicit(&known[i].end, memory_order_relaxed))
			return true;
	}
	return false;
}

bool site_describe_library(struct thread *thread, uint64_t address)
{
	struct mapping mapping;
	if (is_known(address) || !maps_find(address, &mapping) || !mapping.path[0])
		return false;
	size_t path_bytes = strlen(mapping.path);
	size_t size = (sizeof(struct record_library) + path_bytes + 7) & ~(size_t)7;
	uint8_t build_id[BUILD_ID_BYTES];
	read_build_id(mapping.begin, build_id);
	struct record_library *library = thread_reserve(thread, RECORD_KIND_library, size);
	if (!library)
		return false;
	memset(library, 0, size);
	library->head = (struct record_head){RECORD_KIND_library, (uint16_t)size, 0};
	library->address = mapping.code_begin;
	library->size_bytes = mapping.code_end - mapping.code_begin;
	library->file_offset = mapping.code_offset;
	library->first_seen_ticks = ticks_now();
	memcpy(library->build_id, build_id, sizeof(build_id));
	library->path_bytes = (uint32_t)path_bytes;
	memcpy(library->path, mapping.path, path_bytes);
	thread_commit(thread);
	uint32_t at = atomic_fetch_add(&known_count, 1);
	if (at < LIBRARIES) {
		atomic_store_explicit(&known[at].begin, mapping.code_begin, memory_order_relaxed);
		atomic_store_explicit(&known[at].end, mapping.code_end, memory_order_release);
	}
	return true;
}
