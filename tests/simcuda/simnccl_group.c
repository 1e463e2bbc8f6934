/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups: what is called between ncclGroupStart and ncclGroupEnd is launched by the last End.
 * Messages of one communicator on one stream become one kernel; collectives stay apart.
 */
#include "simnccl_internal.h"

#include <stdlib.h>
#include <string.h>

enum { GROUP_OPS_MAX = 256, GROUP_COMMS_MAX = SIMNCCL_RANKS_MAX };

static _Thread_local struct {
	int depth;
	size_t op_count, comm_count;
	struct simnccl_op *ops;
	struct ncclComm *comms[GROUP_COMMS_MAX];
} group;

bool simnccl_group_is_open(void)
{
	return group.depth > 0;
}

ncclResult_t simnccl_group_add_comm(struct ncclComm *comm)
{
	if (group.comm_count == GROUP_COMMS_MAX)
		return ncclInvalidUsage;
	group.comms[group.comm_count++] = comm;
	return ncclSuccess;
}

ncclResult_t simnccl_group_add(const struct simnccl_op *op)
{
	if (group.depth == 0)
		return simnccl_launch(op, 1);
	if (!group.ops)
		group.ops = calloc(GROUP_OPS_MAX, sizeof(*group.ops));
	if (!group.ops || group.op_count == GROUP_OPS_MAX)
		return simnccl_comm_fail(op->comm, ncclInvalidUsage, "too many calls in a group");
	group.ops[group.op_count++] = *op;
	return ncclSuccess;
}

static bool is_message(const struct simnccl_op *op)
{
	return op->kind == SIMNCCL_SEND || op->kind == SIMNCCL_RECEIVE;
}

/* Launches the operation at `first` with all later messages that go with it, which are taken out.
 */
static ncclResult_t launch_from(struct simnccl_op *ops, size_t first, size_t count)
{
	struct simnccl_op together[SIMNCCL_PARTS_MAX];
	size_t found = 0;

	if (!is_message(&ops[first]))
		return simnccl_launch(&ops[first], 1);
	for (size_t i = first; i < count && found < SIMNCCL_PARTS_MAX; i++) {
		if (!ops[i].comm || !is_message(&ops[i]) || ops[i].comm != ops[first].comm ||
		    ops[i].stream != ops[first].stream)
			continue;
		together[found++] = ops[i];
		if (i != first)
			ops[i].comm = NULL;
	}
	return simnccl_launch(together, found);
}

ncclResult_t ncclGroupStart(void)
{
	group.depth++;
	return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void)
{
	size_t ops = group.op_count, comms = group.comm_count;
	ncclResult_t result = ncclSuccess, one;

	if (group.depth == 0)
		return simnccl_comm_fail(NULL, ncclInvalidUsage, "no group is open");
	if (--group.depth > 0)
		return ncclSuccess;
	group.op_count = group.comm_count = 0;
	for (size_t i = 0; i < comms; i++) {
		one = simnccl_comm_wait(group.comms[i]);
		result = result ? result : one;
	}
	for (size_t i = 0; i < ops; i++) {
		if (!group.ops[i].comm)
			continue;
		one = launch_from(group.ops, i, ops);
		result = result ? result : one;
	}
	return result;
}

ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t *info)
{
	double total_ns = 0.0;

	if (group.depth == 0 || !info)
		return ncclInvalidUsage;
	for (size_t i = 0; i < group.op_count; i++) {
		const struct simnccl_op *op = &group.ops[i];

		total_ns += (double)simnccl_model_ns(op->comm, op->kind,
						     op->count * simnccl_type_bytes(op->type));
	}
	group.depth = 0;
	group.op_count = group.comm_count = 0;
	info->estimatedTime = (float)(total_ns * 1e-3);
	return ncclSuccess;
}
