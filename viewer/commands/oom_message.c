/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A message begins at "Tried to allocate" after "out of memory" and ends at the next one. Within
 * it, every number is found by the words around it, not by its place, since releases moved and
 * dropped fields.
 */
#include "oom_message.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"

#define MESSAGE_BYTES 4096 /* a message is shorter; the next line of a log may look like one */

/* "338.00 MiB" at `at`; *end is behind it. False: there is no amount. */
static bool read_amount(const char *at, uint64_t *bytes, const char **end)
{
	static const struct {
		const char *name;
		double factor;
	} units[] = {{"bytes", 1},	    {"byte", 1},
		     {"KiB", 1024.0},	    {"MiB", 1048576.0},
		     {"GiB", 1073741824.0}, {"TiB", 1099511627776.0},
		     {"KB", 1e3},	    {"MB", 1e6},
		     {"GB", 1e9},	    {"B", 1}};
	double value;
	char *behind;

	if (!isdigit((unsigned char)*at))
		return false;
	value = strtod(at, &behind);
	while (*behind == ' ')
		behind++;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		size_t length = strlen(units[i].name);

		if (strncmp(behind, units[i].name, length) != 0)
			continue;
		value *= units[i].factor;
		if (!isfinite(value) || value < 0 || value >= 9e18)
			return false;
		*bytes = (uint64_t)(value + 0.5);
		*end = behind + length;
		return true;
	}
	return false;
}

/* The amount that follows `words`. */
static bool amount_after(const char *from, const char *words, uint64_t *bytes)
{
	const char *at = strstr(from, words), *end;

	if (!at)
		return false;
	at += strlen(words);
	while (*at == ' ')
		at++;
	return read_amount(at, bytes, &end);
}

/* The amount right before `words`. */
static bool amount_before(const char *from, const char *words, uint64_t *bytes)
{
	const char *at = strstr(from, words), *start, *end;

	if (!at || at == from)
		return false;
	/* Back over the unit, the space and the digits. */
	start = at;
	while (start > from && start[-1] == ' ')
		start--;
	while (start > from && isalpha((unsigned char)start[-1]))
		start--;
	while (start > from && start[-1] == ' ')
		start--;
	while (start > from && (isdigit((unsigned char)start[-1]) || start[-1] == '.'))
		start--;
	return read_amount(start, bytes, &end) && end <= at;
}

/* "GPU 3;" or "GPU 3 has"; "NPU 3;" likewise. */
static long read_gpu(const char *from)
{
	const char *at = strstr(from, "PU ");

	if (!at || !isdigit((unsigned char)at[3]))
		return -1;
	return strtol(at + 3, NULL, 10);
}

/*
 * torch's "[rank3]:" or lightning's "[rank: 3]" on the line of the message; else the last
 * "rank      : 3 (local_rank: 3)" of torchrun's summary after the message before this one.
 */
static long read_rank(const char *since, const char *at)
{
	static const char summary[] = "  rank      : ";
	const char *line = at, *found = NULL, *next;

	while (line > since && line[-1] != '\n')
		line--;
	for (next = strstr(line, "[rank"); next && next < at; next = strstr(next + 1, "[rank"))
		found = next + strlen("[rank");
	if (!found) {
		for (next = strstr(since, summary); next && next < at;
		     next = strstr(next + 1, summary))
			found = next + strlen(summary);
	}
	while (found && (*found == ':' || *found == ' '))
		found++;
	return found && isdigit((unsigned char)*found) ? strtol(found, NULL, 10) : -1;
}

static void read_processes(const char *from, struct oom_message *message)
{
	const char *at = from;

	while ((at = strstr(at, "Process "))) {
		char *end;
		long long pid;
		uint64_t bytes;
		const char *behind;

		at += strlen("Process ");
		if (!isdigit((unsigned char)*at))
			continue;
		pid = strtoll(at, &end, 10);
		if (strncmp(end, " has ", 5) != 0 || !read_amount(end + 5, &bytes, &behind) ||
		    message->process_count == OOM_PROCESSES)
			continue;
		message->processes[message->process_count++] =
			(struct oom_process){pid, bytes, false};
		at = behind;
	}
}

static void read_fields(const char *from, struct oom_message *message)
{
	struct memory_shortage *s = &message->shortage;
	uint64_t bytes;

	if (amount_before(from, " total capacity", &bytes) ||
	    amount_after(from, "a total capacity of ", &bytes) ||
	    amount_after(from, "a total capacty of ", &bytes))
		s->capacity_bytes = bytes;
	if (amount_before(from, " is free", &bytes) || amount_before(from, " free;", &bytes))
		s->device_free_bytes = bytes;
	if (amount_before(from, " already allocated", &bytes) ||
	    amount_before(from, " is allocated by PyTorch", &bytes))
		s->allocated_bytes = bytes;
	if (amount_before(from, " reserved in total", &bytes) ||
	    amount_before(from, " cached)", &bytes))
		s->reserved_bytes = bytes;
	/* "of which X is reserved" of newer releases: without what is allocated. */
	if (amount_before(from, " is reserved by PyTorch but unallocated", &bytes)) {
		s->fragmented_bytes = bytes;
		if (s->allocated_bytes != MEMORY_NOT_TOLD)
			s->reserved_bytes = s->allocated_bytes + bytes;
	}
	if (amount_after(from, "this process has ", &bytes))
		s->process_bytes = bytes;
	if (amount_before(from, " allocated in private pools", &bytes))
		s->private_bytes = bytes;
	if (amount_before(from, " allowed;", &bytes))
		message->allowed_bytes = bytes;
	read_processes(from, message);
}

/*
 * Before 2.2 a process in a container found itself listed under its number outside. Such an entry
 * gives itself away: beside what this process has reserved it would not fit onto the device.
 */
static void find_own(struct oom_message *message)
{
	struct memory_shortage *s = &message->shortage;
	uint64_t others = 0;

	for (size_t i = 0; i < message->process_count; i++) {
		struct oom_process *process = &message->processes[i];

		if (s->process_bytes == MEMORY_NOT_TOLD && s->capacity_bytes != MEMORY_NOT_TOLD &&
		    s->reserved_bytes != MEMORY_NOT_TOLD && process->bytes >= s->reserved_bytes &&
		    (double)process->bytes + (double)s->reserved_bytes >
			    (double)s->capacity_bytes) {
			process->is_own = true;
			s->process_bytes = process->bytes;
			continue;
		}
		others += process->bytes;
	}
	if (others)
		s->other_bytes = others;
}

static void finish_message(struct oom_message *message)
{
	struct memory_shortage *s = &message->shortage;

	find_own(message);
	/* Private pools alone are told in some releases, without what is unallocated. */
	if (s->reserved_bytes == MEMORY_NOT_TOLD && s->process_bytes == MEMORY_NOT_TOLD &&
	    s->allocated_bytes != MEMORY_NOT_TOLD && s->other_bytes == MEMORY_NOT_TOLD)
		s->process_bytes = s->allocated_bytes;
	/* A limit set by the program is what the process has for itself: nobody else takes it. */
	if (message->allowed_bytes != MEMORY_NOT_TOLD &&
	    message->allowed_bytes < s->capacity_bytes) {
		uint64_t used = s->reserved_bytes != MEMORY_NOT_TOLD ? s->reserved_bytes : 0;

		s->capacity_bytes = message->allowed_bytes;
		s->other_bytes = 0;
		if (message->allowed_bytes - (used < message->allowed_bytes ? used : 0) <
		    s->device_free_bytes)
			s->device_free_bytes =
				used < message->allowed_bytes ? message->allowed_bytes - used : 0;
	}
	memory_judge(s, &message->judgement);
}

static bool is_same(const struct oom_message *a, const struct oom_message *b)
{
	return !memcmp(&a->shortage, &b->shortage, sizeof(a->shortage)) && a->gpu == b->gpu &&
	       (a->rank == b->rank || a->rank < 0 || b->rank < 0);
}

/* A traceback shows up several times: by the rank, by the launcher. */
static void keep_message(struct oom_messages *out, const struct oom_message *message)
{
	for (size_t i = 0; i < out->count; i++) {
		if (is_same(&out->items[i], message)) {
			if (out->items[i].rank < 0)
				out->items[i].rank = message->rank;
			out->items[i].repeated++;
			return;
		}
	}
	if (out->count == out->capacity)
		out->items = array_grow(out->items, &out->capacity, sizeof(*out->items));
	out->items[out->count++] = *message;
}

/* Some releases and languages write it at the beginning of a sentence. */
static const char *next_message(const char *at)
{
	/* From the second byte on: the letter before is looked at. */
	while (*at && (at = strstr(at + 1, "ut of memory"))) {
		bool is_word = at[-1] == 'o' || at[-1] == 'O';

		at += strlen("ut of memory");
		if (is_word)
			return at;
	}
	return NULL;
}

/* The text until the next message, with line breaks as spaces: terminals and mails wrap. */
static void copy_body(char *to, const char *from)
{
	const char *next = next_message(from);
	size_t length = strnlen(from, MESSAGE_BYTES);

	if (next && (size_t)(next - from) < length)
		length = (size_t)(next - from);
	for (size_t i = 0; i < length; i++)
		to[i] = from[i] == '\n' || from[i] == '\r' ? ' ' : from[i];
	to[length] = '\0';
}

static void read_message(const char *since, const char *body_in_text, size_t line,
			 struct oom_messages *out)
{
	char body[MESSAGE_BYTES + 1];
	struct oom_message message;

	memset(&message, 0, sizeof(message));
	message.shortage = memory_shortage_unknown();
	message.allowed_bytes = MEMORY_NOT_TOLD;
	message.line = line;
	message.rank = read_rank(since, body_in_text);
	copy_body(body, body_in_text);
	if (!amount_after(body, "Tried to allocate ", &message.shortage.wanted_bytes)) {
		out->unread++;
		return;
	}
	message.gpu = read_gpu(strstr(body, "Tried to allocate "));
	read_fields(body, &message);
	finish_message(&message);
	keep_message(out, &message);
}

void oom_messages_read(const char *text, struct oom_messages *out)
{
	const char *at = text, *since = text, *counted = text;
	size_t line = 1;

	memset(out, 0, sizeof(*out));
	while ((at = next_message(at))) {
		for (; counted < at; counted++)
			line += *counted == '\n';
		read_message(since, at, line, out);
		since = at;
	}
}

void oom_messages_free(struct oom_messages *messages)
{
	free(messages->items);
	memset(messages, 0, sizeof(*messages));
}
