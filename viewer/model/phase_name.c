/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which phase a text or a Python frame names.
 */
#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "phase.h"

/* word, phase; a '|' in front: only as a word of its own ("opt", but not "options"). */
#define PHASE_WORDS(WORD)                                                                          \
	WORD("forward", FORWARD)                                                                   \
	WORD("|fwd", FORWARD)                                                                      \
	WORD("backward", BACKWARD)                                                                 \
	WORD("|bwd", BACKWARD)                                                                     \
	WORD("optimizer", OPTIMIZER)                                                               \
	WORD("|optim", OPTIMIZER)                                                                  \
	WORD("|opt", OPTIMIZER)                                                                    \
	WORD("prefill", PREFILL)                                                                   \
	WORD("|decode", DECODE)                                                                    \
	WORD("|validation", VALIDATION)                                                            \
	WORD("|validate", VALIDATION)                                                              \
	WORD("dataloader", DATA)                                                                   \
	WORD("data loading", DATA)                                                                 \
	WORD("data_loading", DATA)                                                                 \
	WORD("load_batch", DATA)                                                                   \
	WORD("load_data", DATA)                                                                    \
	WORD("next_batch", DATA)

static bool matches_here(const char *text, const char *word)
{
	while (*word && tolower((unsigned char)*text) == *word)
		text++, word++;
	return !*word;
}

static bool says(const char *text, const char *word)
{
	bool alone = word[0] == '|';
	size_t length = strlen(word) - alone;

	for (const char *at = text; *at; at++) {
		if (!matches_here(at, word + alone))
			continue;
		if (!alone || ((at == text || !isalnum((unsigned char)at[-1])) &&
			       !isalnum((unsigned char)at[length])))
			return true;
	}
	return false;
}

enum model_phase phase_of_text(const char *text)
{
	static const struct {
		const char *word;
		enum model_phase phase;
	} words[] = {
#define WORD(word, phase) {word, PHASE_##phase},
		PHASE_WORDS(WORD)
#undef WORD
	};
	enum model_phase found = PHASE_NONE;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!says(text, words[i].word))
			continue;
		if (found == PHASE_FORWARD && phase_is_use(words[i].phase))
			found = PHASE_NONE; /* "decode forward" says more than "forward" */
		if (found != PHASE_NONE && found != words[i].phase)
			return PHASE_NONE; /* "forward-backward" is both, so it tells nothing */
		found = words[i].phase;
	}
	return found;
}

static bool ends_with(const char *path, const char *end)
{
	size_t length = strlen(path), wanted = strlen(end);

	return length >= wanted && strcmp(path + length - wanted, end) == 0;
}

static bool is_function(const char *text, const char *name)
{
	size_t length = strlen(name);

	return strncmp(text, name, length) == 0 && text[length] == '\x1f';
}

static enum model_phase phase_of_frame(const char *text)
{
	const char *path = strchr(text, '\x1f');

	if (!path)
		return PHASE_NONE;
	path++;
	/* Also bitsandbytes/optim, apex/optimizers, deepspeed/.../optimizer.py. */
	if (strstr(path, "/torch/optim/") || (is_function(text, "step") && strstr(path, "optim")))
		return PHASE_OPTIMIZER;
	if (is_function(text, "backward") &&
	    (ends_with(path, "/torch/_tensor.py") || strstr(path, "/torch/autograd/")))
		return PHASE_BACKWARD;
	/* What servers of language models call their two kinds of passes. */
	if (is_function(text, "prefill") || is_function(text, "forward_prefill") ||
	    is_function(text, "forward_extend"))
		return PHASE_PREFILL;
	if (is_function(text, "forward_decode") || is_function(text, "decode_one_token"))
		return PHASE_DECODE;
	if (ends_with(path, "/torch/nn/modules/module.py"))
		return PHASE_FORWARD;
	if (strstr(path, "/torch/utils/data/"))
		return PHASE_DATA;
	return PHASE_NONE;
}

enum model_phase phase_of_site(const struct record_site *site,
			       const char *(*name)(void *context, uint64_t number), void *context)
{
	enum model_phase found = PHASE_NONE;

	/* From the innermost outwards, so that the outermost one stays: a forward pass that is
	 * computed again within backward() belongs to backward. */
	for (uint32_t i = 0; i < site->frame_count; i++) {
		enum model_phase phase = PHASE_NONE;

		if (site->frames[i].type == FRAME_FORWARD)
			return PHASE_BACKWARD; /* and what follows is of another time */
		if (site->frames[i].type == FRAME_WAITING) {
			phase = PHASE_BACKWARD;
		} else if (site->frames[i].type == FRAME_PYTHON) {
			const char *text = name(context, site->frames[i].value);

			phase = text ? phase_of_frame(text) : PHASE_NONE;
		}
		/* A model's outermost frame says forward, whatever it is used for. */
		if (phase != PHASE_NONE && !(phase == PHASE_FORWARD && phase_is_use(found)))
			found = phase;
	}
	return found;
}
