/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT610: gradients are summed over the ranks after every micro-batch although only the sum before
 * the optimizer is used. Seen by its buffers: the same ones are summed k times per optimizer step,
 * and what is launched from one time to the next is the same each time (which tells micro-batches
 * from the layers of one pass, where forward and backward differ).
 */
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "map.h"
#include "rule.h"

#define LEAST_PERCENT 1.0
#define STEPS_LOOKED  3

struct moment {
	int64_t begin_ns;
	uint64_t kernel;     /* hash of what is launched; 0: a sum */
	uint32_t collective; /* index, of a sum */
};

struct buffer {
	uint64_t address, size_bytes, hash;
	uint64_t work_before;  /* sum of the launches before the last time */
	uint64_t work_between; /* from one time to the next */
	uint32_t times;
	bool is_uneven;
};

struct step_sums {
	struct moment *moments;
	size_t count, capacity;
	struct buffer *buffers;
	size_t buffer_count, buffer_capacity;
	struct map by_address;
};

static void add_moment(struct step_sums *sums, struct moment moment)
{
	if (sums->count == sums->capacity)
		sums->moments = array_grow(sums->moments, &sums->capacity, sizeof(*sums->moments));
	sums->moments[sums->count++] = moment;
}

static int compare_moments(const void *left, const void *right)
{
	const struct moment *a = left, *b = right;

	return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

static void gather(const struct model *model, const struct step *step, struct step_sums *sums)
{
	for (size_t i = 0; i < model->call_count; i++) {
		const struct host_call *call = &model->calls[i];
		struct moment moment = {.begin_ns = call->begin_ns};

		if (call->begin_ns < step->host_begin_ns || call->begin_ns >= step->host_end_ns ||
		    (call->flags & CALL_REDUNDANT) || call->status)
			continue;
		if (call->kind == RECORD_KIND_launch &&
		    model->kernels[call->detail].traits.kernel_class != KERNEL_COMMUNICATION) {
			moment.kernel = map_mix(call->detail + 1u, 610);
			add_moment(sums, moment);
		} else if (call->kind == RECORD_KIND_collective &&
			   model->collectives[call->detail].kind == COLLECTIVE_ALL_REDUCE) {
			moment.collective = call->detail;
			add_moment(sums, moment);
		}
	}
	qsort(sums->moments, sums->count, sizeof(*sums->moments), compare_moments);
}

static void add_sum(struct step_sums *sums, const struct model_collective *one, uint64_t work)
{
	struct buffer *buffer;
	bool is_new;
	uint64_t *slot = map_slot(&sums->by_address, one->receive, &is_new);

	if (is_new) {
		if (sums->buffer_count == sums->buffer_capacity)
			sums->buffers = array_grow(sums->buffers, &sums->buffer_capacity,
						   sizeof(*sums->buffers));
		*slot = sums->buffer_count++;
		sums->buffers[*slot] = (struct buffer){
			.address = one->receive, .size_bytes = one->size_bytes, .hash = one->hash};
	}
	buffer = &sums->buffers[*slot];
	if (buffer->size_bytes != one->size_bytes || buffer->hash != one->hash)
		buffer->is_uneven = true;
	if (buffer->times == 1)
		buffer->work_between = work - buffer->work_before;
	else if (buffer->times > 1 && buffer->work_between != work - buffer->work_before)
		buffer->is_uneven = true;
	/* Nothing computed in between is no other micro-batch. */
	if (buffer->times && work == buffer->work_before)
		buffer->is_uneven = true;
	buffer->work_before = work;
	buffer->times++;
}

/* How often all buffers of this step are summed, 0 when they are not all summed alike. */
static uint32_t times_in_step(const struct model *model, const struct step *step, uint64_t *bytes)
{
	struct step_sums sums = {0};
	uint64_t work = 0;
	uint32_t times = 0;

	gather(model, step, &sums);
	for (size_t i = 0; i < sums.count; i++) {
		if (sums.moments[i].kernel)
			work += sums.moments[i].kernel;
		else
			add_sum(&sums, &model->collectives[sums.moments[i].collective], work);
	}
	*bytes = 0;
	for (size_t i = 0; i < sums.buffer_count; i++) {
		const struct buffer *buffer = &sums.buffers[i];

		/* A single number is a loss or a norm, not gradients. */
		if (buffer->size_bytes <= 1024)
			continue;
		if (buffer->is_uneven || (times && buffer->times != times)) {
			times = 0;
			break;
		}
		times = buffer->times;
		*bytes += buffer->size_bytes;
	}
	free(sums.moments);
	free(sums.buffers);
	map_fini(&sums.by_address);
	return times;
}

static uint32_t times_per_step(const struct model *model, uint64_t *bytes)
{
	uint32_t times = 0;
	size_t looked = 0;

	for (size_t i = 0; i < model->steps.count && looked < STEPS_LOOKED; i++) {
		uint32_t here;

		if (model->steps.items[i].kind != STEP_STEADY)
			continue;
		here = times_in_step(model, &model->steps.items[i], bytes);
		if (looked++ && here != times)
			return 0;
		times = here;
	}
	return times;
}

static void raise(struct rule_context *context, uint32_t times, uint64_t bytes)
{
	const struct comm_use *use = &context->comm.kinds[COLLECTIVE_ALL_REDUCE];
	struct finding *finding = rule_raise(context, context->comm.call);
	double exposed_ms = ledger_part_ms(context->ledger, LEDGER_COMM);
	double needless = (double)(times - 1) / times;

	if (context->comm.all.busy_ns > 0)
		exposed_ms *= (double)use->busy_ns / (double)context->comm.all.busy_ns;
	finding->cost_ms = exposed_ms * needless;
	finding->per_step = times;
	finding->gain_high_ms = finding->cost_ms;
	/* Ranks wait for each other once anyhow: only the transfers are surely gained. */
	finding->gain_low_ms = 0.8 * finding->cost_ms * comm_survey_transfer_share(&context->comm);
	finding->draws_from = 1u << LEDGER_COMM;
	finding_number(finding, "sums_per_step", times);
	finding_number(finding, "bytes_each_time", (double)bytes);
	finding_number(finding, "exposed_ms_per_step", exposed_ms);
	finding_summary(finding,
			"The same %.2f MiB of buffers are summed over the ranks %u times per "
			"optimizer step, with the same work before each: once per micro-batch. "
			"Only the last sum is needed.",
			(double)bytes / 1048576, times);
	finding_fix(finding,
		    "Sum gradients only in the last micro-batch: model.no_sync() around the others "
		    "(DistributedDataParallel, FSDP), set_requires_gradient_sync(False) (FSDP2).");
	rule_settle(context, finding);
}

static bool has_optimizer(const struct model *model)
{
	for (size_t i = 0; i < model->kernel_count; i++) {
		if (model->kernels[i].traits.kernel_class == KERNEL_OPTIMIZER)
			return true;
	}
	return false;
}

static void run(struct rule_context *context)
{
	const struct model *model = context->model;
	uint64_t bytes = 0;
	uint32_t times;

	if (!context->comm.kinds[COLLECTIVE_ALL_REDUCE].kernels) {
		rule_silent(context, "there are no all-reduces");
	} else if (!model->collective_count) {
		rule_not_judged(context, "which buffers are summed is not in the file");
	} else if (model->steps.source == STEPS_NONE || !has_optimizer(model)) {
		rule_not_judged(context, "no optimizer steps were found");
	} else {
		times = times_per_step(model, &bytes);
		if (times < 2)
			rule_silent(context, times ? "each buffer is summed once per step"
						   : "the buffers of a step are not summed alike");
		else if (rule_percent(context, ledger_part_ms(context->ledger, LEDGER_COMM)) <
			 LEAST_PERCENT)
			rule_silent(context, "the repeated sums are hidden behind compute");
		else
			raise(context, times, bytes);
	}
}

/* clang-format off */
const struct rule rule_repeated_gradient_sum = {
	.name = "repeated_gradient_sum",
	.id = "GT610",
	.title = "gradients summed per micro-batch",
	.page =
"Raised when every buffer that is all-reduced in a step is all-reduced k >= 2 times in it, and\n"
"the kernels launched between one time and the next are the same each time: gradients are\n"
"summed after every micro-batch. Only the sum before the optimizer is used, so the sums of the\n"
"others can stay on their rank. Buffers up to 1 KiB (a loss, a norm) do not count.\n"
"\n"
"Gain: (k - 1) / k of the exposed all-reduces; at least 80 % of their transfers, since ranks\n"
"wait for each other once anyhow.\n"
"Silent: one sum per step; sums inside layers, whose surroundings differ between forward and\n"
"backward; repeated sums that are hidden.  Not judged: recordings without addresses, and runs\n"
"without optimizer steps.\n"
"Wrong when: the gradients of each micro-batch are needed on all ranks (clipping per batch).\n",
	.run = run,
};
/* clang-format on */
