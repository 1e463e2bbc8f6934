/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GT601: the GPU communicates while nothing computes. What the fastest call of the same size needed
 * is transfer, which can be hidden; the rest is waiting for other ranks, which cannot.
 */
#include "rule.h"

#define EXPOSED_PERCENT 10.0
/* Kernels that run beside communication get fewer multiprocessors and less bandwidth. */
#define LEAST_HIDDEN 0.8

static double compute_ms(const struct rule_context *context)
{
	double ms = 0;

	for (int part = 0; part < LEDGER_COMPUTE_PARTS; part++)
		ms += ledger_part_ms(context->ledger, (enum ledger_part)part);
	return ms;
}

/* What usually makes this kind of communication, and what hides it. */
static const char *cure_of(uint8_t kind)
{
	switch (kind) {
	case COLLECTIVE_ALL_REDUCE:
		return "Sum gradients while the backward pass goes on: buckets on a stream of "
		       "their "
		       "own (DistributedDataParallel does, unless find_unused_parameters, a single "
		       "large bucket or an all-reduce after backward() prevents it; see "
		       "bucket_cap_mb). If these are the sums inside layers of tensor "
		       "parallelism, use fewer ranks per layer or overlap them with the next "
		       "product.";
	case COLLECTIVE_ALL_GATHER:
	case COLLECTIVE_REDUCE_SCATTER:
		return "Fetch the next layer's parameters while this one computes: FSDP's forward "
		       "and backward prefetch with limit_all_gathers, larger units, or fewer "
		       "gathers by keeping parameters after the forward pass.";
	case COLLECTIVE_SEND:
	case COLLECTIVE_RECV:
		return "Messages between the stages of a pipeline are its bubble: more "
		       "micro-batches per step, an interleaved schedule, stages of more even "
		       "length. Messages of all ranks to all are an all-to-all: balance what each "
		       "rank gets, and overlap it with another micro-batch or with work that does "
		       "not need it.";
	case COLLECTIVE_ALL_TO_ALL:
		return "Dispatch of experts: balance the tokens over experts, and overlap dispatch "
		       "and combine with the shared expert or with another micro-batch.";
	default:
		return "Put the communication on a stream of its own and let it begin as soon as "
		       "its input is there.";
	}
}

static void raise(struct rule_context *context, double exposed_ms)
{
	const struct comm_survey *comm = &context->comm;
	struct finding *finding = rule_raise(context, comm->call);
	double share = comm_survey_transfer_share(comm), compute = compute_ms(context);
	double transfer_ms = exposed_ms * share;
	double per_step = (double)comm->all.kernels / context->steady_steps;

	finding->cost_ms = exposed_ms;
	finding->per_step = per_step;
	finding->gain_high_ms = transfer_ms < compute ? transfer_ms : compute;
	/* The last transfer of a step has nothing left to hide behind. */
	if (comm->sized)
		finding->gain_low_ms = LEAST_HIDDEN * finding->gain_high_ms *
				       (per_step >= 2 ? 1 - 1 / per_step : 0.5);
	finding->draws_from = 1u << LEDGER_COMM;
	finding_text(finding, "kind", collective_name((enum collective_op)comm->main_kind));
	finding_number(finding, "exposed_ms_per_step", exposed_ms);
	finding_number(finding, "exposed_percent", rule_percent(context, exposed_ms));
	finding_number(finding, "kernels_per_step", per_step);
	if (comm->sized) {
		finding_number(finding, "bytes_per_step",
			       (double)comm->all.bytes / context->steady_steps);
		finding_number(finding, "transfer_ms_per_step", transfer_ms);
		finding_number(finding, "waiting_ms_per_step", exposed_ms - transfer_ms);
		finding_summary(finding,
				"For %.2f ms per %s (%.1f %%) the GPU only communicates, mostly in "
				"%s. By the fastest calls of the same size at most %.2f ms of that "
				"is transfer; the rest is waiting for other ranks.",
				exposed_ms, context->unit, rule_percent(context, exposed_ms),
				collective_name((enum collective_op)comm->main_kind), transfer_ms);
	} else {
		finding_summary(finding,
				"For %.2f ms per %s (%.1f %%) the GPU only communicates, mostly in "
				"%s. Sizes are not in this recording, so how much of that is "
				"waiting for other ranks is unknown.",
				exposed_ms, context->unit, rule_percent(context, exposed_ms),
				collective_name((enum collective_op)comm->main_kind));
	}
	finding_fix(finding, "%s", cure_of(comm->main_kind));
	rule_settle(context, finding);
}

static void run(struct rule_context *context)
{
	double exposed_ms = ledger_part_ms(context->ledger, LEDGER_COMM);
	double percent = ledger_part_percent(context->ledger, LEDGER_COMM);

	if (!context->comm.all.kernels)
		rule_silent(context, "there are no communication kernels");
	else if (percent < EXPOSED_PERCENT)
		rule_silent(context,
			    "exposed communication is %.1f %% of the %s (raised from %.0f %%)",
			    percent, context->unit, EXPOSED_PERCENT);
	else
		raise(context, exposed_ms);
}

/* clang-format off */
const struct rule rule_exposed_communication = {
	.name = "exposed_communication",
	.id = "GT601",
	.title = "exposed communication",
	.page =
"Raised when communication kernels or peer copies without any compute beside them take at\n"
"least 10 % of the mean steady step.\n"
"\n"
"A communication kernel begins when its own rank arrives and ends when the last one has, so\n"
"its length is waiting and transfer together. The fastest call of the same kind, size and\n"
"communicator in the run says what a transfer needs at most; `gputrace report` over the files\n"
"of all ranks says it better, from the last rank to arrive.\n"
"\n"
"Gain: up to the transfers, as far as there is compute to hide them behind; at least 80 % of\n"
"that without the last transfer of a step. Without sizes the lower end is 0. The waiting is\n"
"not gained here: it belongs to the rank that is late (GT604).\n"
"Silent: communication that is hidden; runs of one GPU.\n"
"Wrong when: results are needed at once (tensor parallelism), so that nothing can overlap.\n",
	.run = run,
};
/* clang-format on */
