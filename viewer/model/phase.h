/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phases of a step: what the GPU did for the forward pass, the backward pass, the optimizer; or of
 * the way a model is used: prefill, decode, validation. A call belongs to the innermost range that
 * names a phase, on whichever thread (backward runs on threads of its own), where a use counts
 * before the forward pass within it; without such a range, to what its Python frames say.
 */
#ifndef GPUTRACE_MODEL_PHASE_H
#define GPUTRACE_MODEL_PHASE_H

#include <stdbool.h>
#include <stdint.h>

#include "record.h"

/* key for JSON, label for people */
#define MODEL_PHASES(PHASE)                                                                        \
	PHASE(NONE, "none", "not attributed")                                                      \
	PHASE(DATA, "data", "data loading")                                                        \
	PHASE(FORWARD, "forward", "forward")                                                       \
	PHASE(BACKWARD, "backward", "backward")                                                    \
	PHASE(OPTIMIZER, "optimizer", "optimizer")                                                 \
	PHASE(PREFILL, "prefill", "prefill")                                                       \
	PHASE(DECODE, "decode", "decode")                                                          \
	PHASE(VALIDATION, "validation", "validation")

enum model_phase {
#define PHASE(name, key, label) PHASE_##name,
	MODEL_PHASES(PHASE)
#undef PHASE
		PHASE_COUNT
};

const char *phase_key(enum model_phase phase);
const char *phase_label(enum model_phase phase);

/* "forward pass", "bwd", "Optimizer.step#SGD.step": the phase that a range's text names, or NONE.
 */
enum model_phase phase_of_text(const char *text);
/* By the outermost frame that tells: torch's optimizers, _tensor.py backward, nn.Module calls, ...
 * name() gives the text of a NAME_PYTHON number, "function\x1f" "file", or NULL. */
enum model_phase phase_of_site(const struct record_site *site,
			       const char *(*name)(void *context, uint64_t number), void *context);

/* Prefill, decode and validation are forward passes too, and behave differently. */
bool phase_is_use(enum model_phase phase);

struct model;
struct gpu_op;
/* Of the call that launched it; NONE without. */
enum model_phase phase_of_operation(const struct model *model, const struct gpu_op *op);

/* A range that names a phase. */
struct phase_mark {
	int64_t begin_ns, end_ns;
	uint8_t phase;
};

/* Sums over the steady steps of one device. */
struct phase_usage {
	int64_t gpu_ns[PHASE_COUNT];	/* time in which the device did something for the phase */
	int64_t host_ns[PHASE_COUNT];	/* length of the ranges; 0 where frames told */
	uint64_t launches[PHASE_COUNT]; /* operations */
	int64_t by_marks_ns, by_frames_ns; /* of gpu_ns, by how the phase was found */
};

#endif
