/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of CUPTI that failed although nothing hangs on them alone: each is counted, and the trace
 * names those that failed, how often, and CUPTI's first answer. Any thread may note one.
 */
#ifndef GPUTRACE_SHIM_CUPTI_FAILED_H
#define GPUTRACE_SHIM_CUPTI_FAILED_H

#include <stdbool.h>

#include "cupti_abi.h"

/* FAILED(name, what): what was asked of CUPTI. */
#define CUPTI_FAILED_CALLS(F)                                                                      \
	F(THREAD_ID, "cuptiSetThreadIdType")                                                       \
	F(PER_THREAD, "cuptiActivitySetAttribute (buffers per thread)")                            \
	F(ZEROED, "cuptiActivitySetAttribute (zeroed buffers)")                                    \
	F(SYNC_RECORDS, "cuptiActivityEnableAllSyncRecords")                                       \
	F(KIND_ON, "cuptiActivityEnable")                                                          \
	F(KIND_OFF, "cuptiActivityDisable")                                                        \
	F(CALLBACK, "cuptiEnableCallback")                                                         \
	F(HAND_OVER, "cuptiActivityFlushAll (before the program's profiler)")                      \
	F(RETURN, "cuptiSubscribe (after the program's profiler)")                                 \
	F(UNSUBSCRIBE, "cuptiUnsubscribe")                                                         \
	F(DROPPED, "cuptiActivityGetNumDroppedRecords")                                            \
	F(CLOCK, "cuptiGetTimestamp")                                                              \
	F(NEXT_RECORD, "cuptiActivityGetNextRecord")

enum cupti_failed_call {
#define CUPTI_FAILED_ENUM(name, what) CUPTI_FAILED_##name,
	CUPTI_FAILED_CALLS(CUPTI_FAILED_ENUM)
#undef CUPTI_FAILED_ENUM
		CUPTI_FAILED_COUNT
};

/* Counts the call if its result says that it failed; returns the result. */
int cupti_failed_note(enum cupti_failed_call call, int result);
void cupti_failed_unsubscribe(const struct cupti *cupti, void *subscriber);
/* By whoever has the session: the fact, if a call failed that had not before; at the end also if
 * only the counts have changed. */
void cupti_failed_tell(const struct cupti *cupti, bool is_last);
/* In the child of a fork. */
void cupti_failed_forget(void);

#endif
