/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUPTI serves one subscriber and one pair of buffer functions per process. The program may want
 * both for itself (torch.profiler does): then it gets them, and we stand back until it is done.
 *
 * One subscriber is registered and shared: the program's callbacks are called for what the program
 * enabled, ours for what we did. One pair of buffer functions is registered; each buffer goes back
 * to whom it came from. Only the kinds of records change hands: while the program has any enabled,
 * none of ours is, because records of both would land in its buffers.
 */
#ifndef GPUTRACE_SHIM_CUPTI_SHARE_H
#define GPUTRACE_SHIM_CUPTI_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#include "cupti_abi.h"

/* ---- our side (gpu_activity.c) ---- */

/* Subscribes, or joins the program's subscription, and registers the buffer functions. A result
 * code of CUPTI, and which of its functions failed. */
int cupti_share_open(const struct cupti *cupti, const char **what);
void cupti_share_close(void);
/* Has our callback called for one function; CUPTI's result. */
int cupti_share_enable_callback(int domain, uint32_t id);
/* The kind is wanted by us, and enabled unless the program has CUPTI now; CUPTI's result. */
int cupti_share_enable_kind(int kind);
int cupti_share_disable_kind(int kind);
/* Between enter and leave: our kinds and callbacks are off until they shall be on again. Callbacks
 * of a subscription that the program uses too stay as they are. */
void cupti_share_rest(bool rests);
/* Around every visit to CUPTI by our thread: false, CUPTI is not ours now. */
bool cupti_share_enter(void);
void cupti_share_leave(void);
/* By our thread: takes CUPTI back once the program is done with it; true when that happened. */
bool cupti_share_resume(void);
void cupti_share_forget(void);

/* ---- the program's side (wrap_cupti.c): each has the real function to forward to ---- */

typedef int cupti_subscribe_function(void **, cupti_callback *, void *);
typedef int cupti_subscribe_v2_function(void **, cupti_callback *, void *, void *);
typedef int cupti_register_function(cupti_buffer_requested *, cupti_buffer_completed *);

int cupti_share_subscribe(cupti_subscribe_function *real, void **handle, cupti_callback *callback,
			  void *user);
int cupti_share_subscribe_v2(cupti_subscribe_v2_function *real, void **handle,
			     cupti_callback *callback, void *user, void *parameters);
int cupti_share_unsubscribe(int (*real)(void *), void *handle);
int cupti_share_callback(int (*real)(uint32_t, void *, int, uint32_t), uint32_t enable,
			 void *handle, int domain, uint32_t id);
int cupti_share_domain(int (*real)(uint32_t, void *, int), uint32_t enable, void *handle,
		       int domain);
int cupti_share_all_domains(int (*real)(uint32_t, void *), uint32_t enable, void *handle);
int cupti_share_register(cupti_register_function *real, cupti_buffer_requested *requested,
			 cupti_buffer_completed *completed);
int cupti_share_enable(int (*real)(int), int kind);
int cupti_share_disable(int (*real)(int), int kind);
int cupti_share_flush(int (*real)(uint32_t), uint32_t flag);
int cupti_share_finalize(int (*real)(void));

#endif
