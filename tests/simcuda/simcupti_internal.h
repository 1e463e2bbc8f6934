/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to the simulated CUPTI (libcupti.so.13). The driver tells its one tool (simcupti_tool.c)
 * of API calls and of finished work; callbacks and records are made of that.
 *
 * Threads: API calls come on the application's threads, finished work on the simulated GPU's thread
 * or on the one that flushes. The client's functions are called without a lock of this library
 * held.
 */
#ifndef GPUTRACE_SIMCUPTI_INTERNAL_H
#define GPUTRACE_SIMCUPTI_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CUPTI_LIB /* the header then gives its functions default visibility */
#include <cupti.h>

#include "simcuda.h"

#define SIMCUPTI_API __attribute__((visibility("default")))

enum { SIMCUPTI_KINDS = 64, SIMCUPTI_DEPTH_MAX = 16 };

/* simcupti_tool.c: the driver, options, last error. */
struct simcupti_options {
	uint32_t version; /* SIMCUDA_CUPTI_VERSION */
	bool is_busy, has_null_buffer, has_empty_buffer, is_reordering, is_shuffling;
	uint64_t zero_times_every, drop_every; /* 0: never */
	uint64_t overhead_ns;		       /* a flush costs this much; 0: not told */
	uint64_t early_kernels;		       /* have times from before the start */
	uint64_t migrations;		       /* of managed memory, at each flush */
	bool has_no_counters;		       /* of managed memory */
	int64_t clock_step_ns;		       /* at the eighth question for the time */
	bool is_failing[SIMCUPTI_KINDS];
	char failing_call[64]; /* "": none */
	int failing_result;
	const char *log; /* SIMCUDA_CUPTI_LOG; NULL: none */
};
const struct simcupti_options *simcupti_options(void);
/* Attaches to the driver if not yet done. */
CUptiResult simcupti_attach(void);
void simcupti_detach(void);
/* Has all work that is over by now reported on this thread. */
void simcupti_deliver(void);
uint64_t simcupti_now_ns(void);
/* What the clock has stepped by so far. */
int64_t simcupti_step_ns(void);
/* The driver's number of a graph, an executable or a node; 0: no such. */
uint64_t simcupti_graph_id(const void *handle);
/* NULL and 0 when there is none. */
CUcontext simcupti_current_context(uint32_t *id);
/* Calls of the driver by this library, of which nobody wants to hear. */
void simcupti_set_quiet(bool is_quiet);
/* NULL: the function launches no kernel, or its name is not known. */
const char *simcupti_kernel_name(const char *function, const void *arguments);
/* Writes the call to the log; the error that it shall fail with, or success. */
CUptiResult simcupti_call(const char *function);
#define SIMCUPTI_ENTER()                                                                           \
	do {                                                                                       \
		CUptiResult failure = simcupti_call(__func__);                                     \
		if (failure != CUPTI_SUCCESS)                                                      \
			return simcupti_return(failure);                                           \
	} while (0)
/* Notes a failure as the thread's last error and returns it. */
CUptiResult simcupti_return(CUptiResult result);

/* simcupti_cbid.c. 0: no such function. */
uint32_t simcupti_cbid_find(int domain, const char *function);

/* simcupti_callback.c: `call` is the thread's frame of this call, the same at enter and exit. */
struct simcupti_frame {
	uint32_t correlation;
	uint32_t cbid;
	uint64_t begin_ns;
	uint64_t correlation_data; /* the client's, kept from enter to exit */
	const void *arguments;
	uint64_t freed_bytes; /* simcupti_memory.c: what a free was about, from before it */
	CUmemoryPool pool;
	bool is_managed;
};
void simcupti_callback_fire(int domain, int site, const char *function,
			    struct simcupti_frame *frame, int result);
bool simcupti_callback_is_wanted(void);
/* cuptiFinalize: nobody is subscribed any more. */
void simcupti_callback_reset(void);
void simcupti_callback_graph(const struct simcuda_graph_event *event);

/* simcupti_activity.c */
bool simcupti_activity_is_enabled(int kind);
void simcupti_activity_take(const struct simcuda_activity *activity);
void simcupti_activity_take_api(int domain, const struct simcupti_frame *frame, int result);
bool simcupti_activity_wants_api(int domain);
void simcupti_activity_reset(void);
/* What a flush finds besides finished work: its own cost, migrations. */
void simcupti_activity_add_own(void);

/* simcupti_record.c: bytes of a record kind in the version that is reported; 0: unknown kind. */
size_t simcupti_record_size(int kind);
union simcupti_record {
	CUpti_Activity head;
	CUpti_ActivityKernel10 kernel;
	CUpti_ActivityMemcpy6 copy;
	CUpti_ActivityMemcpyPtoP4 peer_copy;
	CUpti_ActivityMemset4 set;
	CUpti_ActivitySynchronization2 sync;
	CUpti_ActivityAPI api;
	CUpti_ActivityGraphTrace2 graph;
	CUpti_ActivityOverhead3 overhead;
	CUpti_ActivityMemory4 memory;
	CUpti_ActivityMemoryPool3 pool;
	CUpti_ActivityUnifiedMemoryCounter3 migration;
	uint64_t aligned[32];
};
/* Makes the record of a finished activity; false if its kind is not enabled. */
bool simcupti_record_make(union simcupti_record *record, const struct simcuda_activity *activity);

/* simcupti_memory.c: records of allocations, frees and pools, around a driver call. */
void simcupti_memory_enter(const char *function, struct simcupti_frame *frame);
void simcupti_memory_exit(const char *function, const struct simcupti_frame *frame, int result);

/* simcupti_buffer.c */
void simcupti_buffer_add(const union simcupti_record *record);
void simcupti_buffer_flush(void);

#endif
