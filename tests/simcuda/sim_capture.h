/* SPDX-License-Identifier: Apache-2.0 */
/* What an open capture does to other calls (sim_capture_rules.c, sim_capture.c). */
#ifndef GPUTRACE_SIM_CAPTURE_H
#define GPUTRACE_SIM_CAPTURE_H

#include "sim_internal.h"

/* The answer of a check is what the call returns, unless it is CUDA_SUCCESS. */
enum sim_capture_use { CAPTURE_QUEUES, CAPTURE_WAITS };
CUresult sim_capture_forbids(const struct sim_thread *thread, const char *function);
CUresult sim_capture_check(struct sim_call *call, struct sim_stream *stream,
			   enum sim_capture_use use);
CUresult sim_capture_refuse(struct sim_stream *stream);
CUresult sim_capture_record(struct sim_stream *stream, struct sim_event *event, bool is_external);
CUresult sim_capture_wait(struct sim_stream *stream, struct sim_event *event, bool is_external);
CUresult sim_capture_check_event(const struct sim_event *event);
void sim_capture_forget_event(struct sim_event *event);
void sim_capture_forget_stream(struct sim_stream *stream);
CUresult sim_capture_host_function(struct sim_stream *stream, CUhostFn function, void *data);

#endif
