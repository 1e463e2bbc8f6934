/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads PyTorch's "CUDA out of memory" messages, of all releases since 1.0, out of any text: log
 * prefixes before them, several in one text, HTML escapes within. Other back ends that use the same
 * words are read too.
 */
#ifndef GPUTRACE_COMMANDS_OOM_MESSAGE_H
#define GPUTRACE_COMMANDS_OOM_MESSAGE_H

#include <stddef.h>

#include "memory_verdict.h"

#define OOM_PROCESSES 8 /* as many are kept */

struct oom_process {
	long long pid;
	uint64_t bytes;
	bool is_own; /* this process under its number outside of the container */
};

struct oom_message {
	struct memory_shortage shortage;
	struct memory_judgement judgement;
	uint64_t allowed_bytes; /* MEMORY_NOT_TOLD: no limit is set */
	struct oom_process processes[OOM_PROCESSES];
	size_t process_count;
	long gpu;	 /* -1 not told */
	long rank;	 /* -1 not told */
	size_t line;	 /* of the text, from 1 */
	size_t repeated; /* messages with the same numbers after this one */
};

struct oom_messages {
	struct oom_message *items;
	size_t count, capacity;
	size_t unread; /* "out of memory" without a size */
};

/* text ends in NUL. Judges each message too. */
void oom_messages_read(const char *text, struct oom_messages *out);
void oom_messages_free(struct oom_messages *messages);

#endif
