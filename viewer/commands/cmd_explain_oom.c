/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gputrace explain-oom: the verdict on "CUDA out of memory" messages from their own numbers.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "json.h"
#include "memory_advice.h"
#include "oom_message.h"
#include "text.h"

#define LIMIT_BYTES (1u << 30)

static const char usage[] =
	"usage: gputrace explain-oom [--json] [FILE|-]\n"
	"\n"
	"Reads PyTorch's \"CUDA out of memory\" messages out of a log (or standard input) and says "
	"of each\n"
	"why the request failed: fragmentation, a request that is too large, other processes, a "
	"device that\n"
	"is really full, or memory outside of the framework; and what to do. No trace is needed.\n"
	"\n"
	"  --json  print JSON (schema gputrace.explain-oom/1) instead of text\n"
	"\n"
	"Exit status: 0, 2 for wrong usage, 3 when there is no such message, 4 when the file "
	"cannot "
	"be read.\n";

/* Everything that can be read; NUL bytes become spaces, so that they end nothing. */
static int read_all(FILE *from, struct text *text)
{
	char buffer[65536];
	size_t count;

	while ((count = fread(buffer, 1, sizeof(buffer), from))) {
		for (size_t i = 0; i < count; i++) {
			if (!buffer[i])
				buffer[i] = ' ';
		}
		if (text->length + count > LIMIT_BYTES)
			return -EFBIG;
		text_add_bytes(text, buffer, count);
	}
	return ferror(from) ? -EIO : 0;
}

static int read_input(const char *path, struct text *text)
{
	bool is_stdin = !strcmp(path, "-");
	FILE *file = is_stdin ? stdin : fopen(path, "rb");
	int rc = file ? read_all(file, text) : -errno;

	if (file && !is_stdin)
		fclose(file);
	if (rc == -EFBIG)
		fprintf(stderr,
			"gputrace explain-oom: %s is larger than 1 GiB; give the part with the "
			"message.\n",
			path);
	else if (rc)
		fprintf(stderr, "gputrace explain-oom: Cannot read %s: %s.\n", path, strerror(-rc));
	return rc;
}

static void add_bytes(struct json *json, const char *key, uint64_t bytes)
{
	if (bytes == MEMORY_NOT_TOLD)
		json_null(json, key);
	else
		json_unsigned(json, key, bytes);
}

static void add_numbers(struct json *json, const struct oom_message *message)
{
	const struct memory_shortage *s = &message->shortage;
	const struct memory_judgement *j = &message->judgement;

	add_bytes(json, "requested_bytes", s->wanted_bytes);
	add_bytes(json, "capacity_bytes", s->capacity_bytes);
	add_bytes(json, "device_free_bytes", s->device_free_bytes);
	add_bytes(json, "allocated_bytes", s->allocated_bytes);
	add_bytes(json, "reserved_bytes", s->reserved_bytes);
	add_bytes(json, "fragmented_bytes", j->fragmented_bytes);
	add_bytes(json, "process_bytes", s->process_bytes);
	add_bytes(json, "outside_framework_bytes", j->outside_bytes);
	add_bytes(json, "private_pool_bytes", s->private_bytes);
	add_bytes(json, "allowed_bytes", message->allowed_bytes);
	add_bytes(json, "others_bytes", j->other_bytes);
	add_bytes(json, "missing_bytes", j->missing_bytes);
	if (j->missing_compact_bytes == MEMORY_NOT_TOLD)
		json_null(json, "expandable_segments_would_pass");
	else
		json_flag(json, "expandable_segments_would_pass", j->is_compact_enough);
}

static void add_message(struct json *json, const struct oom_message *message)
{
	struct text text;

	json_object(json, NULL);
	json_unsigned(json, "line", message->line);
	if (message->rank >= 0)
		json_integer(json, "rank", message->rank);
	else
		json_null(json, "rank");
	if (message->gpu >= 0)
		json_integer(json, "gpu", message->gpu);
	else
		json_null(json, "gpu");
	json_unsigned(json, "repeated", message->repeated);
	json_text(json, "verdict",
		  message->judgement.verdict ? memory_verdict_id(message->judgement.verdict)
					     : NULL);
	json_text(json, "title", memory_verdict_name(message->judgement.verdict));
	json_text(json, "not_judged", message->judgement.reason);
	text_init(&text);
	memory_add_summary(&text, &message->shortage, &message->judgement);
	json_text(json, "summary", text_string(&text));
	text_clear(&text);
	memory_add_fix(&text, &message->shortage, &message->judgement);
	json_text(json, "fix", text_string(&text));
	text_fini(&text);
	json_object(json, "numbers");
	add_numbers(json, message);
	json_end_object(json);
	json_array(json, "processes");
	for (size_t i = 0; i < message->process_count; i++) {
		json_object(json, NULL);
		json_integer(json, "pid", message->processes[i].pid);
		json_unsigned(json, "bytes", message->processes[i].bytes);
		json_flag(json, "is_this_process", message->processes[i].is_own);
		json_end_object(json);
	}
	json_end_array(json);
	json_end_object(json);
}

static void print_json(const struct oom_messages *messages)
{
	struct json *json = json_new("gputrace.explain-oom/1", false);

	json_array(json, "messages");
	for (size_t i = 0; i < messages->count; i++)
		add_message(json, &messages->items[i]);
	json_end_array(json);
	json_unsigned(json, "without_numbers", messages->unread);
	json_finish(json, stdout);
}

static void print_message(const struct oom_message *message)
{
	const struct memory_judgement *judgement = &message->judgement;
	struct text text;

	printf("line %zu", message->line);
	if (message->rank >= 0)
		printf(", rank %ld", message->rank);
	if (message->gpu >= 0)
		printf(", GPU %ld", message->gpu);
	if (message->repeated)
		printf(" (and %zu time%s more)", message->repeated,
		       message->repeated == 1 ? "" : "s");
	if (judgement->verdict)
		printf(": %s %s\n", memory_verdict_id(judgement->verdict),
		       memory_verdict_name(judgement->verdict));
	else
		printf(": not judged: %s\n", judgement->reason);
	text_init(&text);
	memory_add_summary(&text, &message->shortage, judgement);
	printf("  %s\n", text_string(&text));
	for (size_t i = 0; i < message->process_count; i++)
		printf("  Process %lld holds %s%s.\n", message->processes[i].pid,
		       memory_amount(message->processes[i].bytes).text,
		       message->processes[i].is_own
			       ? "; it must be this process itself, under its number outside of "
				 "the container"
			       : "");
	if (message->allowed_bytes != MEMORY_NOT_TOLD)
		printf("  The program limits itself to %s.\n",
		       memory_amount(message->allowed_bytes).text);
	if (judgement->verdict) {
		text_clear(&text);
		memory_add_fix(&text, &message->shortage, judgement);
		printf("  -> %s\n", text_string(&text));
	}
	text_fini(&text);
}

static int explain(const char *path, bool is_json)
{
	struct oom_messages messages;
	struct text text;
	int status = EXIT_OK;

	text_init(&text);
	if (read_input(path, &text)) {
		text_fini(&text);
		return EXIT_UNREADABLE;
	}
	oom_messages_read(text_string(&text), &messages);
	if (is_json) {
		print_json(&messages);
	} else {
		for (size_t i = 0; i < messages.count; i++)
			print_message(&messages.items[i]);
		if (messages.count)
			printf("\ngputrace explain GT401 (and so on) says how a verdict is found. "
			       "Who holds the memory is in\na trace: gputrace record.\n");
	}
	if (!messages.count) {
		fprintf(stderr,
			"gputrace explain-oom: There is no out-of-memory message with a size in "
			"%s.\n",
			!strcmp(path, "-") ? "the input" : path);
		status = EXIT_NOT_JUDGED;
	}
	oom_messages_free(&messages);
	text_fini(&text);
	return status;
}

static int run(int argc, char **argv)
{
	const char *path = NULL;
	bool is_json = false;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
			return command_print_help("explain-oom");
		if (!strcmp(argv[i], "--json"))
			is_json = true;
		else if ((argv[i][0] == '-' && argv[i][1]) || path)
			return command_usage_error(argv[0], "\"%s\" is not understood.", argv[i]);
		else
			path = argv[i];
	}
	return explain(path ? path : "-", is_json);
}

const struct command command_explain_oom = {
	.name = "explain-oom",
	.summary = "why memory ran out, from the framework's message alone",
	.usage = usage,
	.run = run,
};
