/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns native addresses of a trace into function, file and line, inlined functions
 * among them, with libdw, from the files that
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

/* Whether files with debugging information may be fetched over the network, as DEBUGINFOD_URLS
 * says. Off at first: who reads a trace does not expect that it tells a server about it. */
void symbols_allow_debuginfod(bool is_allowed);

struct symbol {
	const char *module;   /* path of the mapped file, never NULL */
	uint64_t offset;      /* in the file */
	const char *function; /* readable; NULL unknown */
	const char *file;     /* NULL unknown */
	int line;
	const struct symbol *caller; /* the function that this one was inlined into, NULL none */
};
/* The innermost function at the address; NULL: it is in no mapped file. Answers are kept: asking
 * again costs a look-up. They live as long as `symbols`. */
const struct symbol *symbols_find(struct symbols *symbols, uint64_t return_address);

#endif
