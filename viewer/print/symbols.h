/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns native addresses of a trace into function, file and line, with libdw, from the files that
 * were mapped then. A file that is gone or another one by now (build id) gives module and offset.
 */
#ifndef GPUTRACE_PRINT_SYMBOLS_H
#define GPUTRACE_PRINT_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

struct symbols;
struct trace;

struct symbols *symbols_new(const struct trace *trace);
void symbols_free(struct symbols *symbols);

struct symbol {
	const char *module;   /* path of the mapped file, NULL unknown */
	uint64_t offset;      /* in the file */
	const char *function; /* NULL unknown */
	const char *file;     /* NULL unknown */
	int line;
};
/* The texts live as long as `symbols`. False: the address is in no mapped file. */
bool symbols_find(struct symbols *symbols, uint64_t return_address, struct symbol *out);

#endif
