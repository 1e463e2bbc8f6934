/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc/PID/maps is text of a kernel we trust, the files behind it are not: ELF headers are read
 * with every length checked. Files are opened through /proc/PID/root, so that a job in another root
 * is seen right.
 */
#define _GNU_SOURCE
#include "library_map.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clocks.h"
#include "record.h"
#include "small_file.h"

#define MAPS_MAX_BYTES	    (16u * 1024 * 1024)
#define PATH_BYTES	    4096u
#define PROGRAM_HEADERS_MAX 64u
#define NOTES_MAX_BYTES	    4096u

static uint64_t hash_bytes(uint64_t hash, const void *data, size_t bytes)
{
	const uint8_t *at = data;

	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ at[i]) * 0x100000001b3ull;
	return hash;
}

/* ---- build ids ---- */

static bool read_at(int fd, uint64_t offset, void *to, size_t bytes)
{
	return offset < INT64_MAX && pread(fd, to, bytes, (off_t)offset) == (ssize_t)bytes;
}

/* One PT_NOTE segment; true when the build id was in it. */
static bool find_build_id(int fd, const Elf64_Phdr *segment, uint8_t build_id[20])
{
	uint8_t notes[NOTES_MAX_BYTES];
	size_t bytes =
		segment->p_filesz < sizeof(notes) ? (size_t)segment->p_filesz : sizeof(notes);
	size_t at = 0;

	if (!read_at(fd, segment->p_offset, notes, bytes))
		return false;
	while (bytes - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		size_t name_bytes, value_bytes;

		memcpy(&note, notes + at, sizeof(note));
		at += sizeof(note);
		name_bytes = ((size_t)note.n_namesz + 3) / 4 * 4;
		value_bytes = ((size_t)note.n_descsz + 3) / 4 * 4;
		if (name_bytes > bytes - at || value_bytes > bytes - at - name_bytes)
			return false;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    memcmp(notes + at, "GNU", 4) == 0) {
			memcpy(build_id, notes + at + name_bytes,
			       note.n_descsz < 20 ? note.n_descsz : 20);
			return true;
		}
		at += name_bytes + value_bytes;
	}
	return false;
}

void library_map_build_id(const char *path, uint8_t build_id[20])
{
	Elf64_Ehdr head;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	memset(build_id, 0, 20);
	if (fd < 0)
		return;
	if (read_at(fd, 0, &head, sizeof(head)) && memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 &&
	    head.e_ident[EI_CLASS] == ELFCLASS64 && head.e_phentsize == sizeof(Elf64_Phdr)) {
		for (unsigned int i = 0; i < head.e_phnum && i < PROGRAM_HEADERS_MAX; i++) {
			Elf64_Phdr segment;

			if (!read_at(fd, head.e_phoff + i * sizeof(segment), &segment,
				     sizeof(segment)))
				break;
			if (segment.p_type == PT_NOTE && find_build_id(fd, &segment, build_id))
				break;
		}
	}
	close(fd);
}

/* ---- maps ---- */

static bool read_maps(struct library_map *map)
{
	char path[64];

	if (map->pid == 0)
		snprintf(path, sizeof(path), "/proc/self/maps");
	else
		snprintf(path, sizeof(path), "/proc/%d/maps", (int)map->pid);
	for (;;) {
		long length;
		char *grown;

		if (map->text_capacity > 0) {
			length = small_file_read(path, map->text, map->text_capacity);
			if (length <= 0)
				return false;
			if ((size_t)length < map->text_capacity - 1)
				return true;
		}
		if (map->text_capacity >= MAPS_MAX_BYTES)
			return true; /* cut; the job has half a million mappings */
		grown = realloc(map->text, map->text_capacity ? map->text_capacity * 2 : 65536);
		if (!grown)
			return false;
		map->text = grown;
		map->text_capacity = map->text_capacity ? map->text_capacity * 2 : 65536;
	}
}

static bool grow_seen(struct library_map *map)
{
	size_t slots = map->seen_slots ? map->seen_slots * 2 : 512;
	uint64_t *seen = calloc(slots, sizeof(*seen));

	if (!seen)
		return false;
	for (size_t i = 0; i < map->seen_slots; i++) {
		size_t slot = (size_t)map->seen[i] & (slots - 1);

		if (!map->seen[i])
			continue;
		while (seen[slot])
			slot = (slot + 1) & (slots - 1);
		seen[slot] = map->seen[i];
	}
	free(map->seen);
	map->seen = seen;
	map->seen_slots = slots;
	return true;
}

/* True the first time. */
static bool is_new(struct library_map *map, uint64_t hash)
{
	size_t slot;

	if (map->seen_count >= map->seen_slots / 2 && !grow_seen(map))
		return false;
	hash = hash ? hash : 1;
	for (slot = (size_t)hash & (map->seen_slots - 1); map->seen[slot];
	     slot = (slot + 1) & (map->seen_slots - 1)) {
		if (map->seen[slot] == hash)
			return false;
	}
	map->seen[slot] = hash;
	map->seen_count++;
	return true;
}

/* "start-end perms offset dev inode   path" of an executable mapping of a file. */
static bool parse_line(const char *line, struct record_library *library, const char **path,
		       size_t *path_bytes)
{
	const char *at = line;
	uint64_t end;
	bool executable;

	if (!small_file_number(&at, 16, &library->address) || *at++ != '-' ||
	    !small_file_number(&at, 16, &end) || *at++ != ' ' || strcspn(at, "\n") < 5)
		return false;
	executable = at[2] == 'x';
	at += 5;
	if (!executable || !small_file_number(&at, 16, &library->file_offset))
		return false;
	library->size_bytes = end - library->address;
	*path_bytes = strcspn(at, "\n");
	*path = memchr(at, '/', *path_bytes);
	if (!*path)
		return false;
	*path_bytes -= (size_t)(*path - at);
	return *path_bytes < PATH_BYTES - 64;
}

static void tell(const struct library_map *map, const struct record_library *library,
		 const char *path, size_t path_bytes, library_fn *fn, void *context)
{
	static const char deleted[] = " (deleted)";
	_Alignas(8) char buffer[sizeof(struct record_library) + PATH_BYTES] = {0};
	struct record_library *record = (struct record_library *)buffer;
	char opened[PATH_BYTES + 64];

	memcpy(record, library, offsetof(struct record_library, path));
	record->head.kind = RECORD_KIND_library;
	record->path_bytes = (uint32_t)path_bytes;
	memcpy(record->path, path, path_bytes);
	record->head.size_bytes =
		(uint16_t)((offsetof(struct record_library, path) + path_bytes + 7) / 8 * 8);
	if (path_bytes < sizeof(deleted) ||
	    memcmp(path + path_bytes - (sizeof(deleted) - 1), deleted, sizeof(deleted) - 1) != 0) {
		if (map->pid == 0)
			snprintf(opened, sizeof(opened), "%.*s", (int)path_bytes, path);
		else
			snprintf(opened, sizeof(opened), "/proc/%d/root%.*s", (int)map->pid,
				 (int)path_bytes, path);
		library_map_build_id(opened, record->build_id);
	}
	fn(context, record);
}

static uint64_t mapping_hash(const struct record_library *library, const char *path,
			     size_t path_bytes)
{
	return hash_bytes(library->address ^ library->file_offset << 20, path, path_bytes) *
	       0x9e3779b97f4a7c15ull;
}

const char *library_map_update(struct library_map *map, uint64_t ticks, uint64_t budget_ns,
			       bool *changed, library_fn *fn, void *context)
{
	uint64_t begin_ns = clocks_monotonic_ns();
	uint64_t hash;

	*changed = false;
	if (!read_maps(map))
		return NULL;
	hash = hash_bytes(0xcbf29ce484222325ull, map->text, strlen(map->text));
	if (hash == map->text_hash)
		return map->text;
	map->text_hash = hash;
	*changed = true;
	map->is_unfinished = false;
	for (const char *line = map->text; *line;) {
		struct record_library library = {.first_seen_ticks = ticks};
		const char *end = strchr(line, '\n');
		const char *path;
		size_t path_bytes;

		if (!end)
			break;
		if (parse_line(line, &library, &path, &path_bytes) &&
		    is_new(map, mapping_hash(&library, path, path_bytes))) {
			tell(map, &library, path, path_bytes, fn, context);
			if (clocks_monotonic_ns() - begin_ns > budget_ns) {
				map->is_unfinished = true;
				map->text_hash = 0;
				break;
			}
		}
		line = end + 1;
	}
	return map->text;
}

void library_map_fini(struct library_map *map)
{
	free(map->text);
	free(map->seen);
	map->text = NULL;
	map->seen = NULL;
}
