/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The committed reference numbers of the recordings and what every test of this suite needs: where
 * the recordings are, an import into a folder of its own, comparison within 0.1 %.
 */
#ifndef GPUTRACE_TEST_RECORDING_REFERENCE_H
#define GPUTRACE_TEST_RECORDING_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <yajl/yajl_tree.h>

/* The folder with the recordings; NULL, with a sentence on stdout, when it is not there. */
const char *recordings_folder(void);

/* reference/<name>.json: an array with one object per recording. Fails the program if unreadable.
 */
yajl_val reference_load(const char *name);
/* The member at a dotted path, NULL if absent. */
yajl_val reference_member(yajl_val object, const char *name);
double reference_number(yajl_val object, const char *name); /* 0 when absent */
const char *reference_text(yajl_val object, const char *name);

/* Runs one test per recording of the reference that is there; returns the exit code. */
int reference_run(const char *name, void (*test)(void **state));

/* Imports into a temporary folder, lets `use` read the trace, removes it. Fails the test if the
 * import fails. */
void recording_import(const char *file, void (*use)(const char *trace_path, void *context),
		      void *context);

/* Within 0.1 %, and for times at least 1 us (the references hold one or three decimals). */
void assert_near(const char *file, const char *what, double expected, double got, double slack);
void assert_count(const char *file, const char *what, double expected, uint64_t got);

#endif
