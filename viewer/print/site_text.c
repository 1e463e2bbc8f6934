/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the frame that tells most: the innermost Python frame outside of the framework; else the
 * innermost native frame outside of CUDA's libraries and the framework's. For the backward pass the
 * line of the forward operator is told as well, as what it is.
 */
#include "site_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel_name.h"
#include "printable.h"
#include "site_choice.h"
#include "xmalloc.h"

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* A Python name is "function\x1f/path/file.py". */
static void add_python(struct text *text, const char *name, uint32_t line)
{
	const char *separator = strchr(name, '\x1f');
	char function[256];

	if (!separator) {
		text_add_printable(text, name);
		return;
	}
	snprintf(function, sizeof(function), "%.*s", (int)(separator - name), name);
	text_add_printable(text, separator + 1);
	if (line)
		text_addf(text, ":%u", line);
	text_add(text, " in ");
	text_add_printable(text, function);
}

static const char *python_name(void *context, uint64_t number)
{
	const struct model *model = context;

	return model->source.name(model->source.context, NAME_PYTHON, number);
}

/* A site as its backward part or its forward part alone. */
static struct record_site *copy_frames(const struct record_site *site, uint32_t first, uint32_t end)
{
	struct record_site *part =
		xcalloc(1, sizeof(*part) + (end - first) * sizeof(part->frames[0]));

	part->id = site->id;
	part->frame_count = end - first;
	memcpy(part->frames, &site->frames[first], (end - first) * sizeof(part->frames[0]));
	return part;
}

static bool add_python_frame(struct text *text, const struct model *model,
			     const struct record_site *site)
{
	bool is_user;
	uint32_t index;

	if (!site_choice_python(site, python_name, (void *)(uintptr_t)model, &index, &is_user))
		return false;
	add_python(text, python_name((void *)(uintptr_t)model, site->frames[index].value),
		   site->frames[index].line);
	if (site_choice_is_waiting(site))
		text_add(text, ", which waits for this thread");
	return true;
}

/* Of the functions inlined into each other at one address the innermost that is the user's; NULL.
 */
static const struct symbol *user_symbol(const struct symbol *symbol)
{
	if (site_choice_is_library_module(symbol->module))
		return NULL;
	while (symbol && site_choice_is_library_code(symbol->function, symbol->file))
		symbol = symbol->caller;
	return symbol;
}

static enum site_frame_owner owner_of(void *context, uint64_t address)
{
	const struct symbol *symbol = symbols_find(context, address);

	if (!symbol)
		return SITE_FRAME_UNKNOWN;
	return user_symbol(symbol) ? SITE_FRAME_USER : SITE_FRAME_LIBRARY;
}

/* Beside a Python line the interpreter's own frames tell nothing. */
static enum site_frame_owner owner_beside_python(void *context, uint64_t address)
{
	const struct symbol *symbol = symbols_find(context, address);

	if (symbol && site_choice_is_interpreter_module(symbol->module))
		return SITE_FRAME_UNKNOWN;
	return owner_of(context, address);
}

static bool add_native_frame(struct text *text, struct symbols *symbols,
			     const struct record_site *site,
			     enum site_frame_owner (*owner)(void *context, uint64_t address))
{
	const struct symbol *best, *of_user;
	uint32_t index;

	if (!symbols || !site_choice_native(site, owner, symbols, &index))
		return false;
	best = symbols_find(symbols, site->frames[index].value);
	of_user = user_symbol(best);
	if (of_user)
		best = of_user;
	if (best->file) {
		text_add_printable(text, best->file);
		text_addf(text, ":%d", best->line);
	} else {
		text_add_printable(text, base_name(best->module));
		text_addf(text, "+0x%llx", (unsigned long long)best->offset);
	}
	if (best->function) {
		char *function = kernel_short_name(best->function);

		text_add(text, " in ");
		text_add_printable(text, function);
		free(function);
	}
	return true;
}

static bool add_operator_frame(struct text *text, const struct model *model,
			       const struct record_site *site)
{
	for (uint32_t i = 0; i < site->frame_count; i++) {
		const char *name;

		if (site->frames[i].type != FRAME_OPERATOR)
			continue;
		name = model->source.name(model->source.context, NAME_CLASS, site->frames[i].value);
		if (!name)
			continue;
		text_add_printable(text, name);
		return true;
	}
	return false;
}

bool site_text_add_native(struct text *text, struct symbols *symbols,
			  const struct record_site *site)
{
	return site && add_native_frame(text, symbols, site, owner_beside_python);
}

static bool add_frames(struct text *text, const struct model *model, struct symbols *symbols,
		       const struct record_site *site)
{
	return add_python_frame(text, model, site) || add_operator_frame(text, model, site) ||
	       add_native_frame(text, symbols, site, owner_of);
}

/* Only the address that a call returns to was recorded, and that lies in a library: the shim keeps
 * to that for most launches, and nvcc puts a function of CUDA's headers around each of them. */
static bool is_bare_library_call(struct symbols *symbols, const struct record_site *site)
{
	return symbols && site->frame_count && site->frames[0].type == FRAME_NATIVE &&
	       (site->frame_count == 1 ||
		(site->frame_count == 2 && site->frames[1].type == FRAME_TRUNCATED)) &&
	       owner_of(symbols, site->frames[0].value) == SITE_FRAME_LIBRARY;
}

/* The caller that all whole stacks through this address agree on. False: there is none, or the
 * address is reached from several places. */
static bool add_only_caller(struct text *text, const struct model *model, struct symbols *symbols,
			    const struct record_site *site)
{
	struct text caller, other;
	bool is_known;

	text_init(&caller);
	text_init(&other);
	for (size_t i = 0; i < model->site_count; i++) {
		const struct record_site *whole = model->sites[i].record;
		uint32_t index;

		if (!whole || whole->frame_count < 3 || whole->frames[0].type != FRAME_NATIVE ||
		    whole->frames[0].value != site->frames[0].value ||
		    !site_choice_native(whole, owner_of, symbols, &index) || !index)
			continue;
		text_clear(&other);
		add_frames(&other, model, symbols, whole);
		if (!caller.length)
			text_add(&caller, text_string(&other));
		if (strcmp(text_string(&caller), text_string(&other)) != 0) {
			text_clear(&caller);
			break;
		}
	}
	is_known = caller.length > 0;
	if (is_known)
		text_add(text, text_string(&caller));
	text_fini(&other);
	text_fini(&caller);
	return is_known;
}

/* A call of the backward pass, and what it is the gradient of. */
static void add_both_passes(struct text *text, const struct model *model, struct symbols *symbols,
			    const struct record_site *site, uint32_t forward)
{
	struct record_site *part = copy_frames(site, 0, forward - 1);

	if (add_frames(text, model, symbols, part))
		text_add(text, ", ");
	free(part);
	part = copy_frames(site, forward, site->frame_count);
	text_add(text, "forward: ");
	if (!add_frames(text, model, symbols, part))
		text_add(text, "unknown place");
	free(part);
}

void site_text_add_frames(struct text *text, const struct model *model, struct symbols *symbols,
			  const struct record_site *site)
{
	uint32_t forward = site ? site_choice_forward(site) : 0;

	if (site && forward < site->frame_count)
		add_both_passes(text, model, symbols, site, forward);
	else if (site && is_bare_library_call(symbols, site) &&
		 add_only_caller(text, model, symbols, site))
		return;
	else if (!site || !add_frames(text, model, symbols, site))
		text_add(text, "unknown place");
}

void site_text_add_capture(struct text *text, const struct model *model, struct symbols *symbols,
			   uint32_t capture_site)
{
	if (!capture_site || !model->sites[capture_site].record)
		return;
	text_add(text, ", captured at ");
	site_text_add_frames(text, model, symbols, model->sites[capture_site].record);
}

void site_text_add(struct text *text, const struct model *model, struct symbols *symbols,
		   uint32_t call)
{
	const struct host_call *of;
	const char *api;
	uint32_t site;

	if (call == MODEL_NONE) {
		text_add(text, "unknown");
		return;
	}
	/* What the program itself called, not what that called one library deeper. */
	api = model_api_name(model, model_call_root(model, call));
	site = model_call_site(model, call);
	if (site && model->sites[site].record) {
		site_text_add_frames(text, model, symbols, model->sites[site].record);
		of = &model->calls[call];
		if (of->kind == RECORD_KIND_launch && of->detail < model->kernel_count)
			site_text_add_capture(text, model, symbols,
					      model->kernels[of->detail].capture_site);
		text_add(text, " (");
		text_add_printable(text, api);
		text_add(text, ")");
	} else {
		text_add_printable(text, api);
	}
}
