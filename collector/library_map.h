/* SPDX-License-Identifier: Apache-2.0 */
/* Which files are mapped executable in the job, each mapping told once, with build ids. */
#ifndef GPUTRACE_LIBRARY_MAP_H
#define GPUTRACE_LIBRARY_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct record_library;

struct library_map {
	pid_t pid;  /* 0: this process */
	char *text; /* of /proc/PID/maps */
	size_t text_capacity;
	uint64_t text_hash; /* of the last reading */
	bool is_unfinished; /* the time ran out: ask again soon */
	uint64_t *seen;	    /* hashes of mappings told, open addressing, 0 empty */
	size_t seen_slots, seen_count;
};

typedef void library_fn(void *context, const struct record_library *library);

/* Reads the maps and tells every new executable mapping, for at most `budget_ns`: build ids are
 * read from files that may be far away, and rings fill up meanwhile. Returns the text of the maps,
 * valid until the next call, or NULL when it cannot be read; *changed says whether it differs from
 * last time.
 */
const char *library_map_update(struct library_map *map, uint64_t ticks, uint64_t budget_ns,
			       bool *changed, library_fn *fn, void *context);
void library_map_fini(struct library_map *map);

/* The GNU build id of an ELF file, zeros when it has none; ids are cut or padded to 20 bytes. */
void library_map_build_id(const char *path, uint8_t build_id[20]);

#endif
