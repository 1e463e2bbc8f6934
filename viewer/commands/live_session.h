/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sessions that are being recorded on this machine right now, found in /proc by the memory that
 * job and collector share. Only those of the own user can be opened.
 */
#ifndef GPUTRACE_COMMANDS_LIVE_SESSION_H
#define GPUTRACE_COMMANDS_LIVE_SESSION_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct error;
struct ring_control;

struct live_session {
	pid_t job;    /* as we see it */
	pid_t holder; /* the process that writes: the collector, or the job itself */
	struct ring_control *control; /* shared with both; mapped for writing */
	size_t control_bytes;
	char trace_path[PATH_MAX]; /* "" unknown */
	uint64_t trace_bytes;
	char command[256]; /* of the job, arguments separated by spaces; "" when it is gone */
};

struct live_sessions {
	struct live_session *items;
	size_t count, capacity;
	size_t denied; /* processes of ours or of others that could not be looked into */
};

/* 0, or a negative code with the reason in *err. By job. */
int live_sessions_find(struct live_sessions *sessions, struct error *err);
void live_sessions_free(struct live_sessions *sessions);
/* The session of this job or of this collector, NULL if there is none or the job has ended. */
struct live_session *live_sessions_of(const struct live_sessions *sessions, pid_t pid);

/* Records lost so far because rings were full or missing. */
uint64_t live_session_lost(const struct live_session *session);
uint32_t live_session_threads(const struct live_session *session);
const char *live_session_state(const struct live_session *session);
/* Seconds since the session began. */
double live_session_age_s(const struct live_session *session);

#endif
