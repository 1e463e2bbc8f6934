/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which loaded file a code address belongs to and where its unwind data is, for site_unwind.c.
 *
 * Asks glibc's _dl_find_object() (2.35 and later), which takes no lock and is always up to date.
 * Elsewhere a table is used that is read again when an unknown address turns up. Not thread-safe:
 * the caller holds the unwinder's lock.
 */
#ifndef GPUTRACE_SITE_MODULES_H
#define GPUTRACE_SITE_MODULES_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

struct site_module {
	uintptr_t begin, end;
	uintptr_t load_address;
	const ElfW(Phdr) * segments;
	uint16_t segment_count;
	uintptr_t unwind_table; /* .eh_frame_hdr with a search table */
};

/* Session start. use_table: as if glibc were old (tests). */
void site_modules_attach(bool use_table);

/* False: no file's code lies there, or the file has no searchable unwind data. The table is read
 * again for an unknown address at most ten times a second. */
bool site_modules_find(uintptr_t pc, struct site_module *module);

#endif
