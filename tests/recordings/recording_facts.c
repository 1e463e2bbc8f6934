/* SPDX-License-Identifier: Apache-2.0 */
/* Reads every record of a trace and adds it up; a few hundred thousand records, so simply. */
#include "recording_facts.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "error.h"
#include "interval_union.h"
#include "kernel_class.h"
#include "kernel_name.h"
#include "map.h"
#include "record.h"
#include "trace_reader.h"

struct gpu_event {
	struct interval time;
	uint32_t device, correlation;
	uint8_t kind;
	bool is_comm;
	uint64_t kernel;
};

struct reading {
	struct trace *trace;
	struct recording_facts *facts;
	struct gpu_event *events;
	size_t count, capacity;
	struct map launched;   /* correlations of calls */
	struct map gemms;      /* thread and call_id */
	struct map gemm_names; /* kernel -> is_gemm() */
	struct map streams[FACTS_MAX_DEVICES];
};

static bool name_contains(const char *name, const char *word)
{
	size_t length = strlen(word);
	for (; *name; name++) {
		size_t i = 0;
		while (i < length && name[i] && tolower((unsigned char)name[i]) == word[i])
			i++;
		if (i == length)
			return true;
	}
	return false;
}

static struct device_facts *device_of(struct recording_facts *f, uint32_t ordinal)
{
	for (uint32_t i = 0; i < f->device_count; i++) {
		if (f->devices[i].ordinal == ordinal)
			return &f->devices[i];
	}
	assert_true(f->device_count < FACTS_MAX_DEVICES);
	f->devices[f->device_count].ordinal = ordinal;
	return &f->devices[f->device_count++];
}

static void add_event(struct reading *r, const struct gpu_part *gpu, uint8_t kind, uint64_t kernel)
{
	if (r->count == r->capacity) {
		r->capacity = r->capacity ? r->capacity * 2 : 4096;
		r->events = realloc(r->events, r->capacity * sizeof(*r->events));
		assert_non_null(r->events);
	}
	struct gpu_event *e = &r->events[r->count++];
	*e = (struct gpu_event){.device = gpu->device,
				.correlation = gpu->correlation,
				.kind = kind,
				.kernel = kernel};
	e->time.begin_ns = trace_gpu_to_ns(r->trace, gpu->begin_ns);
	e->time.end_ns = trace_gpu_to_ns(r->trace, gpu->end_ns);
	if (kernel) {
		const char *name = trace_name(r->trace, NAME_KERNEL, kernel);
		assert_non_null(name);
		e->is_comm = name_contains(name, "nccl") || name_contains(name, "rccl");
	}
	struct device_facts *d = device_of(r->facts, gpu->device);
	bool is_new;
	map_slot(&r->streams[d - r->facts->devices], gpu->stream, &is_new);
	d->streams += is_new;
}

static void add_copy(struct reading *r, const struct record_gpu_copy *copy)
{
	add_event(r, &copy->gpu, RECORD_KIND_gpu_copy, 0);
	struct device_facts *d = device_of(r->facts, copy->gpu.device);
	struct copy_facts *c = NULL;
	for (uint32_t i = 0; i < d->copy_kind_count; i++) {
		struct copy_facts *at = &d->copy_kinds[i];
		if (at->direction == copy->direction && at->source_kind == copy->source_kind &&
		    at->destination_kind == copy->destination_kind)
			c = at;
	}
	if (!c) {
		assert_true(d->copy_kind_count < FACTS_MAX_COPIES);
		c = &d->copy_kinds[d->copy_kind_count++];
		*c = (struct copy_facts){.direction = copy->direction,
					 .source_kind = copy->source_kind,
					 .destination_kind = copy->destination_kind};
	}
	c->count++;
	c->bytes += copy->size_bytes;
	c->ns += (int64_t)(copy->gpu.end_ns - copy->gpu.begin_ns);
}

static void add_call(struct reading *r, const struct call_part *call, uint32_t thread)
{
	struct recording_facts *f = r->facts;
	const char *name = trace_name(r->trace, NAME_API, call->api);
	bool is_new;
	assert_non_null(name);
	if (call->head.kind == RECORD_KIND_gemm) {
		map_slot(&r->gemms, (uint64_t)thread << 32 | call->call_id, &is_new);
		assert_true(is_new);
		f->gemm_ops++;
		return;
	}
	f->calls_total++;
	if (call->correlation)
		map_slot(&r->launched, call->correlation, &is_new);
	struct call_facts *c = (struct call_facts *)recording_facts_call(f, name);
	if (!c) {
		if (f->call_count == FACTS_MAX_CALLS)
			return;
		c = &f->calls[f->call_count++];
		strncpy(c->name, name, sizeof(c->name) - 1);
	}
	c->count++;
	c->ns += (int64_t)(call->end_ticks - call->begin_ticks);
}

static void add_mark(struct reading *r, const struct record_mark *mark)
{
	struct recording_facts *f = r->facts;
	const char *name = trace_name(r->trace, NAME_MARK, mark->name);
	assert_non_null(name);
	f->marks++;
	if (!strncmp(name, "ProfilerStep#", 13) && f->step_count < FACTS_MAX_STEPS) {
		struct step_facts *s = &f->steps[f->step_count++];
		strncpy(s->name, name, sizeof(s->name) - 1);
		s->ns = (int64_t)(mark->end_ticks - mark->begin_ticks);
	}
	if (strstr(name, "DataLoader")) {
		f->loader_waits++;
		f->loader_ns += (int64_t)(mark->end_ticks - mark->begin_ticks);
	}
}

static void add_block(struct recording_facts *f, const struct record_block *block)
{
	f->memory_events++;
	if (block->op == BLOCK_ALLOC)
		f->alloc_bytes += block->size_bytes;
	else
		f->free_bytes += block->size_bytes;
	if (block->allocated_bytes > f->peak_allocated)
		f->peak_allocated = block->allocated_bytes;
	if (block->reserved_bytes > f->peak_reserved)
		f->peak_reserved = block->reserved_bytes;
}

static void add_launch(struct reading *r, const struct record_launch *launch, uint32_t thread)
{
	add_call(r, &launch->call, thread);
	if (launch->launch_flags == 2)
		r->facts->graph_launches++;
	else if (launch->launch_flags == 0)
		r->facts->launches++;
	r->facts->launches_with_site += launch->call.site != 0;
	/* GEMM records may come later in the file, so this is looked up afterwards. */
	if (launch->call.parent_id)
		r->facts->gemm_linked_launches++;
}

static void add_row(struct reading *r, uint16_t kind, const void *row, uint32_t thread)
{
	switch (kind) {
	case RECORD_KIND_gpu_kernel: {
		const struct record_gpu_kernel *k = row;
		add_event(r, &k->gpu, RECORD_KIND_gpu_kernel, k->kernel);
		break;
	}
	case RECORD_KIND_gpu_copy:
		add_copy(r, row);
		break;
	case RECORD_KIND_gpu_set:
		add_event(r, &((const struct record_gpu_set *)row)->gpu, RECORD_KIND_gpu_set, 0);
		break;
	case RECORD_KIND_gpu_sync: {
		const struct gpu_part *gpu = row;
		r->facts->gpu_syncs++;
		r->facts->gpu_sync_ns += (int64_t)(gpu->end_ns - gpu->begin_ns);
		break;
	}
	case RECORD_KIND_mark:
		add_mark(r, row);
		break;
	case RECORD_KIND_block:
		add_block(r->facts, row);
		break;
	case RECORD_KIND_launch:
		add_launch(r, row, thread);
		break;
	case RECORD_KIND_gemm: {
		const struct record_gemm *g = row;
		r->facts->gemm_flop += 2.0 * g->batch * g->m * g->n * g->k;
		add_call(r, &g->call, thread);
		break;
	}
	default:
		add_call(r, row, thread);
		break;
	}
}

static int on_batch(void *context, const struct trace_batch *batch)
{
	struct reading *r = context;
	for (uint32_t i = 0; i < batch->count; i++)
		add_row(r, batch->kind, (const char *)batch->rows + (size_t)i * batch->row_bytes,
			batch->thread[i]);
	return 0;
}

struct unions {
	struct interval_set busy, linked, comm, copy, compute, kernels;
};

static void add_gaps(struct device_facts *d, const struct interval_set *busy)
{
	for (size_t i = 1; i < busy->count; i++) {
		int64_t gap = busy->items[i].begin_ns - busy->items[i - 1].end_ns;
		d->gaps_10us += gap > 10000;
		d->gaps_100us += gap > 100000;
		d->gaps_1ms += gap > 1000000;
		if (gap > d->max_gap_ns)
			d->max_gap_ns = gap;
	}
}

static int64_t window_of(const struct interval_set *joined)
{
	if (!joined->count)
		return 0;
	return joined->items[joined->count - 1].end_ns - joined->items[0].begin_ns;
}

static void settle_unions(struct device_facts *d, struct unions *u)
{
	struct interval_set others = {0};
	struct interval_set *all[] = {&u->busy, &u->linked,  &u->comm,
				      &u->copy, &u->compute, &u->kernels};
	for (size_t i = 0; i < 6; i++)
		interval_join(all[i]);
	d->window_ns = window_of(&u->busy);
	d->busy_ns = interval_length(&u->busy);
	d->linked_window_ns = window_of(&u->linked);
	d->linked_busy_ns = interval_length(&u->linked);
	d->compute_ns = interval_length(&u->compute);
	d->kernel_only_ns = interval_length(&u->kernels);
	d->comm_ns = interval_length(&u->comm);
	d->copy_ns = interval_length(&u->copy);
	d->comm_alone_ns = interval_length_without(&u->comm, &u->kernels);
	interval_add_all(&others, &u->compute);
	interval_add_all(&others, &u->copy);
	interval_join(&others);
	d->exposed_comm_ns = interval_length_without(&u->comm, &others);
	interval_free(&others);
	interval_add_all(&others, &u->compute);
	interval_add_all(&others, &u->comm);
	interval_join(&others);
	d->exposed_copy_ns = interval_length_without(&u->copy, &others);
	interval_free(&others);
	add_gaps(d, &u->busy);
	for (size_t i = 0; i < 6; i++)
		interval_free(all[i]);
}

/*
 * The reference counts by the kernel's own name, without the helpers that sum up split products. It
 * takes CUTLASS's generic wrapper of such a helper, which it cannot read, for a product.
 */
static bool is_gemm(struct reading *r, uint64_t kernel)
{
	bool is_new;
	uint64_t *slot = map_slot(&r->gemm_names, kernel, &is_new);
	if (is_new) {
		const char *name = trace_name(r->trace, NAME_KERNEL, kernel);
		char *own = kernel_short_name(name);
		*slot = (kernel_traits_of(own).kernel_class == KERNEL_GEMM &&
			 !name_contains(own, "splitkreduce")) ||
			(strstr(name, "cutlass") && strstr(name, "::ReduceSplitK<"));
		free(own);
	}
	return *slot;
}

static void add_kernel_event(struct reading *r, struct device_facts *d, const struct gpu_event *e,
			     struct unions *u, struct map *names)
{
	int64_t ns = e->time.end_ns - e->time.begin_ns;
	bool is_new;
	d->kernels++;
	d->sum_kernel_ns += ns;
	d->kernels_below_5us += ns < 5000;
	d->kernels_below_10us += ns < 10000;
	map_slot(names, e->kernel, &is_new);
	d->distinct_kernels += is_new;
	if (is_gemm(r, e->kernel)) {
		d->gemm_kernels++;
		d->gemm_ns += ns;
	}
	if (e->is_comm) {
		interval_add(&u->comm, e->time.begin_ns, e->time.end_ns);
		return;
	}
	interval_add(&u->kernels, e->time.begin_ns, e->time.end_ns);
	interval_add(&u->compute, e->time.begin_ns, e->time.end_ns);
}

static void settle_device(struct reading *r, struct device_facts *d)
{
	struct unions u = {0};
	struct map names;
	map_init(&names);
	for (size_t i = 0; i < r->count; i++) {
		const struct gpu_event *e = &r->events[i];
		if (e->device != d->ordinal)
			continue;
		interval_add(&u.busy, e->time.begin_ns, e->time.end_ns);
		if (map_find(&r->launched, e->correlation))
			interval_add(&u.linked, e->time.begin_ns, e->time.end_ns);
		else
			d->unlinked++;
		if (e->kind == RECORD_KIND_gpu_kernel) {
			add_kernel_event(r, d, e, &u, &names);
		} else if (e->kind == RECORD_KIND_gpu_copy) {
			d->copies++;
			interval_add(&u.copy, e->time.begin_ns, e->time.end_ns);
		} else {
			d->sets++;
			interval_add(&u.compute, e->time.begin_ns, e->time.end_ns);
		}
	}
	settle_unions(d, &u);
	map_fini(&names);
}

const struct call_facts *recording_facts_call(const struct recording_facts *facts, const char *name)
{
	for (uint32_t i = 0; i < facts->call_count; i++) {
		if (!strcmp(facts->calls[i].name, name))
			return &facts->calls[i];
	}
	return NULL;
}

void recording_facts_read(const char *path, void *context)
{
	struct recording_facts *facts = context;
	struct reading r = {.facts = facts};
	struct error err = {0};
	uint64_t kinds = 0;

	memset(facts, 0, sizeof(*facts));
	map_init(&r.launched);
	map_init(&r.gemms);
	map_init(&r.gemm_names);
	for (size_t i = 0; i < FACTS_MAX_DEVICES; i++)
		map_init(&r.streams[i]);
	for (int kind = RECORD_KIND_call; kind < RECORD_KIND_LIMIT; kind++)
		kinds |= 1ull << kind;
	if (trace_open(path, &r.trace, &err))
		fail_msg("cannot open the imported trace: %s", err.text);
	if (trace_read(r.trace, kinds, on_batch, &r, &err))
		fail_msg("cannot read the imported trace: %s", err.text);
	const struct trace_health *health = trace_health(r.trace);
	assert_int_equal(health->damaged_chunks, 0);
	assert_int_equal(health->damaged_bytes, 0);
	facts->lost = health->lost_total;
	for (uint32_t i = 0; i < facts->device_count; i++)
		settle_device(&r, &facts->devices[i]);
	map_fini(&r.launched);
	map_fini(&r.gemms);
	map_fini(&r.gemm_names);
	for (size_t i = 0; i < FACTS_MAX_DEVICES; i++)
		map_fini(&r.streams[i]);
	free(r.events);
	trace_close(r.trace);
}
