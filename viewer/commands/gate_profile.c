/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums up the steady steps of one device by what was done.
 */
#include "gate_profile.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "gemm_alignment.h"
#include "printable.h"
#include "site_text.h"
#include "text.h"

struct profile_job {
	const struct model *model;
	struct symbols *symbols;
	struct profile *profile;
	struct map products; /* call of a product -> counted already */
	struct map sites;    /* site index -> entry of `site_texts` + 1 */
	char **site_texts;
	size_t site_count, site_capacity;
	double share; /* 1 / steady steps */
};

static struct profile_entry *entry_of(struct profile *profile, enum profile_kind kind,
				      const char *key)
{
	uint64_t hash = map_hash_bytes(key, strlen(key));
	bool is_new;
	uint64_t *slot = map_slot(&profile->index, hash, &is_new);

	if (is_new) {
		if (profile->count == profile->capacity)
			profile->entries = array_grow(profile->entries, &profile->capacity,
						      sizeof(*profile->entries));
		*slot = profile->count;
		memset(&profile->entries[profile->count], 0, sizeof(*profile->entries));
		profile->entries[profile->count].kind = kind;
		profile->entries[profile->count].key = text_format("%s", key);
		profile->count++;
	}
	return &profile->entries[*slot];
}

const struct profile_entry *profile_find(const struct profile *profile, const char *key)
{
	const uint64_t *found = map_find(&profile->index, map_hash_bytes(key, strlen(key)));

	return found ? &profile->entries[*found] : NULL;
}

/* " at train.py:12 in step", or "" where no site is known. Addresses change between runs, so a site
 * that could not be named does not take part. */
static const char *site_suffix(struct profile_job *job, uint32_t call)
{
	uint32_t site = model_call_site(job->model, call);
	struct text text;
	uint64_t *slot;

	if (!site || !job->model->sites[site].record)
		return "";
	slot = map_slot(&job->sites, site, NULL);
	if (!*slot) {
		text_init(&text);
		text_add(&text, " at ");
		site_text_add_frames(&text, job->model, job->symbols,
				     job->model->sites[site].record);
		if (strstr(text_string(&text), "unknown place"))
			text_clear(&text);
		if (job->site_count == job->site_capacity)
			job->site_texts = array_grow(job->site_texts, &job->site_capacity,
						     sizeof(*job->site_texts));
		job->site_texts[job->site_count++] = text_take(&text);
		*slot = job->site_count;
	}
	return job->site_texts[*slot - 1];
}

static void add_gemm(struct profile_job *job, uint32_t call, double ms)
{
	const struct gemm_shape *shape = &job->model->gemms[job->model->calls[call].detail];
	struct profile_entry *entry;
	bool is_new;
	char *key = text_format("product m=%u n=%u k=%u batch=%u op=%c%c %s", shape->m, shape->n,
				shape->k, shape->batch, shape->op_a, shape->op_b,
				gemm_type_name(shape->type_a));

	entry = entry_of(job->profile, PROFILE_GEMM, key);
	entry->shape = *shape;
	entry->ms_per_step += ms * job->share;
	map_slot(&job->products, call, &is_new);
	if (is_new)
		entry->per_step += job->share;
	free(key);
}

static void add_op(struct profile_job *job, const struct gpu_op *op)
{
	static const char *const directions[] = {"copy",     "H2D copy", "D2H copy",
						 "D2D copy", "H2H copy", "peer copy"};
	double ms = (double)(op->end_ns - op->begin_ns) / 1e6;
	uint32_t gemm = op->type == GPU_OP_KERNEL ? model_call_gemm(job->model, model_op_call(op))
						  : MODEL_NONE;
	const struct transfer *transfer;
	struct profile_entry *entry;
	struct text key;

	if (gemm != MODEL_NONE) {
		add_gemm(job, gemm, ms);
		return;
	}
	text_init(&key);
	if (model_op_has_kernel(op)) {
		text_add(&key, op->type == GPU_OP_KERNEL ? "kernel " : "");
		text_add_printable(&key, job->model->kernels[op->detail].short_name);
		entry = entry_of(job->profile, PROFILE_KERNEL, text_string(&key));
	} else {
		transfer = &job->model->transfers[op->detail];
		text_addf(&key, "%s of %llu bytes",
			  transfer->direction == TRANSFER_SET ? "memset"
			  : transfer->direction <= COPY_PEER  ? directions[transfer->direction]
							      : "copy",
			  (unsigned long long)transfer->size_bytes);
		if (transfer->source_kind == MEMORY_PAGEABLE ||
		    transfer->destination_kind == MEMORY_PAGEABLE)
			text_add(&key, " pageable");
		if (op->call != MODEL_NONE)
			text_add(&key, site_suffix(job, op->call));
		entry = entry_of(job->profile, op->type == GPU_OP_SET ? PROFILE_SET : PROFILE_COPY,
				 text_string(&key));
	}
	entry->per_step += job->share;
	entry->ms_per_step += ms * job->share;
	text_fini(&key);
}

static void add_waits(struct profile_job *job, const struct step *step)
{
	for (size_t i = 0; i < job->model->call_count; i++) {
		const struct host_call *call = &job->model->calls[i];
		struct profile_entry *entry;
		struct text key;

		if (call->kind != RECORD_KIND_sync || call->parent != MODEL_NONE)
			continue;
		if (step &&
		    (call->begin_ns < step->host_begin_ns || call->begin_ns >= step->host_end_ns))
			continue;
		text_init(&key);
		text_add(&key, "wait ");
		text_add_printable(&key, job->model->apis[call->api]);
		text_add(&key, site_suffix(job, (uint32_t)i));
		entry = entry_of(job->profile, PROFILE_WAIT, text_string(&key));
		entry->per_step += job->share;
		text_fini(&key);
	}
}

void profile_build(const struct model *model, size_t device, struct symbols *symbols,
		   struct profile *profile)
{
	const struct device_ledger *ledger = &model->devices[device].ledger;
	struct profile_job job = {.model = model, .symbols = symbols, .profile = profile};
	struct step steady = {0};
	bool has_steady = false;

	memset(profile, 0, sizeof(*profile));
	map_init(&profile->index);
	map_init(&job.products);
	map_init(&job.sites);
	job.share = 1.0 / (double)model_steady_count(model);
	for (size_t s = 0; s < model->steps.count; s++) {
		const struct step *step = &model->steps.items[s];
		size_t first, limit;

		if (step->kind != STEP_STEADY)
			continue;
		if (!has_steady || step->host_begin_ns < steady.host_begin_ns)
			steady.host_begin_ns = step->host_begin_ns;
		if (!has_steady || step->host_end_ns > steady.host_end_ns)
			steady.host_end_ns = step->host_end_ns;
		has_steady = true;
		if (!ledger->windows)
			continue;
		model_ops_between(model, device, ledger->windows[s].begin_ns,
				  ledger->windows[s].end_ns, &first, &limit);
		for (size_t i = first; i < limit; i++)
			add_op(&job, &model->ops[i]);
	}
	add_waits(&job, has_steady ? &steady : NULL);
	for (size_t i = 0; i < job.site_count; i++)
		free(job.site_texts[i]);
	free(job.site_texts);
	map_fini(&job.products);
	map_fini(&job.sites);
}

void profile_free(struct profile *profile)
{
	for (size_t i = 0; i < profile->count; i++)
		free(profile->entries[i].key);
	free(profile->entries);
	map_fini(&profile->index);
	memset(profile, 0, sizeof(*profile));
}
