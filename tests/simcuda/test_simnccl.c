/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulated NCCL: bytes of every collective over several processes, kernels that begin with
 * their own rank and end together, groups, splits, faults. Every case makes processes of its own,
 * one per rank.
 */
#include "simtest_child.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <cuda_runtime_api.h>

#include "simnccl_abi.h"

enum { COUNT = 1000, RANKS_MAX = 4 };

static int rank, ranks;
static ncclComm_t comm;
static char *send, *receive;
static cudaStream_t stream;
static ncclUniqueId id;

/* Runs `body` in `count` processes, with rank and communicator set. */
static void run_ranks(int count, void (*body)(void))
{
	pid_t pids[RANKS_MAX];
	int status;

	ranks = count;
	SIMTEST_EQUAL(ncclGetUniqueId(&id), ncclSuccess);
	for (rank = 0; rank < count; rank++) {
		pids[rank] = fork();
		if (pids[rank])
			continue;
		alarm(30);
		SIMTEST_EQUAL(cudaMalloc((void **)&send, RANKS_MAX * COUNT * 8), cudaSuccess);
		SIMTEST_EQUAL(cudaMalloc((void **)&receive, RANKS_MAX * COUNT * 8), cudaSuccess);
		SIMTEST_EQUAL(cudaStreamCreate(&stream), cudaSuccess);
		SIMTEST_EQUAL(ncclCommInitRank(&comm, ranks, id, rank), ncclSuccess);
		body();
		SIMTEST_EQUAL(ncclCommDestroy(comm), ncclSuccess);
		fflush(NULL);
		_exit(0);
	}
	for (int i = 0; i < count; i++) {
		SIMTEST_EQUAL(waitpid(pids[i], &status, 0), pids[i]);
		SIMTEST_EQUAL(status, 0);
	}
}

/* ---- bytes ---- */

static void put_ints(size_t count)
{
	int32_t values[RANKS_MAX * COUNT];

	for (size_t i = 0; i < count; i++)
		values[i] = (int32_t)i * 10 + rank;
	SIMTEST_EQUAL(cudaMemcpy(send, values, count * 4, cudaMemcpyHostToDevice), cudaSuccess);
	SIMTEST_EQUAL(cudaMemset(receive, 0x7f, RANKS_MAX * COUNT * 4), cudaSuccess);
}

static int32_t got[RANKS_MAX * COUNT];

static void get_ints(void)
{
	SIMTEST_EQUAL(cudaMemcpyAsync(got, receive, sizeof(got), cudaMemcpyDeviceToHost, stream),
		      cudaSuccess);
	SIMTEST_EQUAL(cudaStreamSynchronize(stream), cudaSuccess);
}

static void collectives_of_ints(void)
{
	put_ints(COUNT);
	SIMTEST_EQUAL(ncclAllReduce(send, receive, COUNT, ncclInt32, ncclSum, comm, stream), 0);
	get_ints();
	for (int i = 0; i < COUNT; i++)
		SIMTEST_EQUAL(got[i], ranks * i * 10 + ranks * (ranks - 1) / 2);
	SIMTEST_EQUAL(got[COUNT], 0x7f7f7f7f);
	put_ints(COUNT);
	SIMTEST_EQUAL(ncclReduce(send, receive, COUNT, ncclInt32, ncclMax, 1, comm, stream), 0);
	get_ints();
	SIMTEST_EQUAL(got[7], rank == 1 ? 70 + ranks - 1 : 0x7f7f7f7f);
	SIMTEST_EQUAL(ncclBroadcast(send, receive, COUNT, ncclInt32, 2, comm, stream), 0);
	get_ints();
	SIMTEST_EQUAL(got[7], 72);
	SIMTEST_EQUAL(ncclAllGather(send, receive, COUNT, ncclInt32, comm, stream), 0);
	get_ints();
	for (int i = 0; i < ranks; i++)
		SIMTEST_EQUAL(got[i * COUNT + 5], 50 + i);
	put_ints((size_t)ranks * COUNT);
	SIMTEST_EQUAL(ncclReduceScatter(send, receive, COUNT, ncclInt32, ncclMin, comm, stream), 0);
	get_ints();
	SIMTEST_EQUAL(got[3], (rank * COUNT + 3) * 10);
	SIMTEST_EQUAL(got[COUNT], 0x7f7f7f7f);
	SIMTEST_EQUAL(ncclAlltoAll(send, receive, COUNT, ncclInt32, comm, stream), 0);
	get_ints();
	for (int i = 0; i < ranks; i++)
		SIMTEST_EQUAL(got[i * COUNT + 4], (rank * COUNT + 4) * 10 + i);
	SIMTEST_EQUAL(cudaMemset(receive, 0x7f, sizeof(got)), cudaSuccess);
	SIMTEST_EQUAL(ncclGather(send, receive, COUNT, ncclInt32, 0, comm, stream), 0);
	get_ints();
	SIMTEST_EQUAL(got[COUNT + 1], rank == 0 ? 11 : 0x7f7f7f7f);
	SIMTEST_EQUAL(ncclScatter(send, receive, COUNT, ncclInt32, 3, comm, stream), 0);
	get_ints();
	SIMTEST_EQUAL(got[2], (rank * COUNT + 2) * 10 + 3);
	SIMTEST_EQUAL(ncclBcast(receive, 1, ncclInt32, 0, comm, stream), 0);
	get_ints();
	SIMTEST_EQUAL(got[0], 3);
}

static void four_ranks_of_ints(void)
{
	run_ranks(4, collectives_of_ints);
}

static void every_collective_moves_the_right_bytes(void **state)
{
	(void)state;
	assert_int_equal(simtest_child_run(four_ranks_of_ints, NULL), 0);
}

/* The bits of 1, 2 and 4 in each type, so that rank 0 has 1 and rank 1 has 2. */
static const struct {
	ncclDataType_t type;
	int bytes;
	uint64_t one, two, three, half_more; /* 1.5 or, for whole numbers, 1 */
} numbers[] = {
	{ncclInt8, 1, 1, 2, 3, 1},
	{ncclUint8, 1, 1, 2, 3, 1},
	{ncclInt32, 4, 1, 2, 3, 1},
	{ncclUint32, 4, 1, 2, 3, 1},
	{ncclInt64, 8, 1, 2, 3, 1},
	{ncclUint64, 8, 1, 2, 3, 1},
	{ncclFloat16, 2, 0x3c00, 0x4000, 0x4200, 0x3e00},
	{ncclFloat32, 4, 0x3f800000, 0x40000000, 0x40400000, 0x3fc00000},
	{ncclFloat64, 8, 0x3ff0000000000000, 0x4000000000000000, 0x4008000000000000,
	 0x3ff8000000000000},
	{ncclBfloat16, 2, 0x3f80, 0x4000, 0x4040, 0x3fc0},
	{ncclFloat8e4m3, 1, 0x38, 0x40, 0x44, 0x3c},
	{ncclFloat8e5m2, 1, 0x3c, 0x40, 0x42, 0x3e},
};

static uint64_t reduce_one(size_t row, ncclRedOp_t op)
{
	uint64_t value = rank == 0 ? numbers[row].one : numbers[row].two;

	SIMTEST_EQUAL(cudaMemcpy(send, &value, 8, cudaMemcpyHostToDevice), cudaSuccess);
	SIMTEST_EQUAL(ncclAllReduce(send, receive, 1, numbers[row].type, op, comm, stream), 0);
	value = 0;
	SIMTEST_EQUAL(cudaStreamSynchronize(stream), cudaSuccess);
	SIMTEST_EQUAL(
		cudaMemcpy(&value, receive, (size_t)numbers[row].bytes, cudaMemcpyDeviceToHost),
		cudaSuccess);
	return value;
}

static void reductions_of_types(void)
{
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		SIMTEST_EQUAL(reduce_one(i, ncclSum), numbers[i].three);
		SIMTEST_EQUAL(reduce_one(i, ncclProd), numbers[i].two);
		SIMTEST_EQUAL(reduce_one(i, ncclMax), numbers[i].two);
		SIMTEST_EQUAL(reduce_one(i, ncclMin), numbers[i].one);
		SIMTEST_EQUAL(reduce_one(i, ncclAvg), numbers[i].half_more);
	}
	float scalar = 2.0F;
	ncclRedOp_t twice;
	SIMTEST_EQUAL(ncclRedOpCreatePreMulSum(&twice, &scalar, ncclFloat32,
					       ncclScalarHostImmediate, comm),
		      ncclSuccess);
	SIMTEST_EQUAL(reduce_one(7, twice), 0x40c00000); /* 6 */
	SIMTEST_EQUAL(ncclRedOpDestroy(twice, comm), ncclSuccess);
	SIMTEST_EQUAL(ncclAllReduce(send, receive, 1, ncclFloat32, twice, comm, stream),
		      ncclInvalidArgument);
}

static void two_ranks_of_types(void)
{
	run_ranks(2, reductions_of_types);
}

static void sums_averages_and_extremes_are_exact_in_every_type(void **state)
{
	(void)state;
	assert_int_equal(simtest_child_run(two_ranks_of_types, NULL), 0);
}

static void exchange_in_a_group(void)
{
	int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;

	put_ints(COUNT);
	SIMTEST_EQUAL(ncclGroupStart(), ncclSuccess);
	SIMTEST_EQUAL(ncclSend(send, COUNT, ncclInt32, next, comm, stream), ncclSuccess);
	SIMTEST_EQUAL(ncclRecv(receive, COUNT, ncclInt32, before, comm, stream), ncclSuccess);
	SIMTEST_EQUAL(ncclGroupEnd(), ncclSuccess);
	get_ints();
	SIMTEST_EQUAL(got[9], 90 + before);
	/* One operation: one kernel. */
	struct simtest_log *log = simtest_log_read();
	size_t launches = 0;
	for (size_t i = 0; i < log->count; i++)
		launches += !strcmp(simtest_log_field(&log->lines[i], 0), "call") &&
			    strstr(simtest_log_value(&log->lines[i], "name"), "SendRecv") &&
			    atoi(simtest_log_field(&log->lines[i], 2)) == getpid();
	SIMTEST_EQUAL(launches, 1);
	simtest_log_free(log);
}

static void four_ranks_exchange(void)
{
	run_ranks(4, exchange_in_a_group);
}

static void grouped_sends_and_receives_are_one_kernel(void **state)
{
	(void)state;
	assert_int_equal(simtest_child_run(four_ranks_exchange, NULL), 0);
}

static void split_by_parity(void)
{
	ncclComm_t half = NULL, none = NULL;
	int value = 0;

	/* Ranks in reverse order of the parent's. */
	SIMTEST_EQUAL(ncclCommSplit(comm, rank % 2, -rank, &half, NULL), ncclSuccess);
	SIMTEST_EQUAL(ncclCommCount(half, &value), ncclSuccess);
	SIMTEST_EQUAL(value, 2);
	SIMTEST_EQUAL(ncclCommUserRank(half, &value), ncclSuccess);
	SIMTEST_EQUAL(value, rank < 2 ? 1 : 0);
	put_ints(COUNT);
	SIMTEST_EQUAL(ncclAllReduce(send, receive, COUNT, ncclInt32, ncclSum, half, stream), 0);
	get_ints();
	SIMTEST_EQUAL(got[1], 20 + (rank % 2 ? 1 + 3 : 0 + 2));
	SIMTEST_EQUAL(ncclCommSplit(comm, rank == 3 ? -1 : 0, 0, &none, NULL), ncclSuccess);
	SIMTEST_EQUAL(none == NULL, rank == 3);
	SIMTEST_EQUAL(ncclCommDestroy(half), ncclSuccess);
	SIMTEST_EQUAL(ncclCommDestroy(none), ncclSuccess);
}

static void four_ranks_split(void)
{
	run_ranks(4, split_by_parity);
}

static void a_split_communicator_works_among_its_members(void **state)
{
	(void)state;
	assert_int_equal(simtest_child_run(four_ranks_split, NULL), 0);
}

static void one_process_two_gpus(void)
{
	ncclComm_t comms[2];
	float *buffers[2], value[2] = {3.0F, 4.0F};

	SIMTEST_EQUAL(ncclCommInitAll(comms, 2, NULL), ncclSuccess);
	for (int i = 0; i < 2; i++) {
		SIMTEST_EQUAL(cudaSetDevice(i), cudaSuccess);
		SIMTEST_EQUAL(cudaMalloc((void **)&buffers[i], 4), cudaSuccess);
		SIMTEST_EQUAL(cudaMemcpy(buffers[i], &value[i], 4, cudaMemcpyHostToDevice), 0);
	}
	SIMTEST_EQUAL(ncclGroupStart(), ncclSuccess);
	for (int i = 0; i < 2; i++)
		SIMTEST_EQUAL(ncclAllReduce(buffers[i], buffers[i], 1, ncclFloat32, ncclSum,
					    comms[i], NULL),
			      ncclSuccess);
	SIMTEST_EQUAL(ncclGroupEnd(), ncclSuccess);
	for (int i = 0; i < 2; i++) {
		SIMTEST_EQUAL(cudaSetDevice(i), cudaSuccess);
		SIMTEST_EQUAL(cudaMemcpy(&value[0], buffers[i], 4, cudaMemcpyDeviceToHost), 0);
		SIMTEST_EQUAL((int)value[0], 7);
		SIMTEST_EQUAL(ncclCommDestroy(comms[i]), ncclSuccess);
	}
}

static void one_process_may_drive_two_gpus(void **state)
{
	static const char *const settings[] = {"SIMCUDA_GPUS=2", NULL};

	(void)state;
	assert_int_equal(simtest_child_run(one_process_two_gpus, settings), 0);
}

/* ---- times ---- */

/* Begin and end of this process's n-th kernel in the log of all ranks. */
static void kernel_times(const char *part, long long *begin, long long *end, int n)
{
	struct simtest_log *log = simtest_log_read();

	*begin = *end = 0;
	for (size_t i = 0; i < log->count; i++) {
		const struct simtest_line *line = &log->lines[i];

		if (strcmp(simtest_log_field(line, 0), "gpu") != 0 ||
		    !strstr(simtest_log_value(line, "name"), part) || n-- > 0)
			continue;
		*begin = atoll(simtest_log_field(line, 3));
		*end = atoll(simtest_log_field(line, 4));
		break;
	}
	simtest_log_free(log);
}

static void late_rank(void)
{
	struct timespec pause = {0, 40000000};

	SIMTEST_EQUAL(ncclAllReduce(send, receive, COUNT, ncclInt32, ncclSum, comm, stream), 0);
	SIMTEST_EQUAL(cudaStreamSynchronize(stream), cudaSuccess);
	/* Together now. Rank 1 comes 40 ms late to the second one; the call of rank 0 returns. */
	if (rank == 1)
		nanosleep(&pause, NULL);
	struct timespec before, after;
	clock_gettime(CLOCK_MONOTONIC, &before);
	SIMTEST_EQUAL(ncclAllReduce(send, receive, COUNT, ncclInt32, ncclSum, comm, stream), 0);
	clock_gettime(CLOCK_MONOTONIC, &after);
	SIMTEST_CHECK((after.tv_sec - before.tv_sec) * 1000 +
			      (after.tv_nsec - before.tv_nsec) / 1000000 <
		      30);
	SIMTEST_EQUAL(cudaStreamSynchronize(stream), cudaSuccess);
}

static void two_ranks_one_late(void)
{
	long long begin[2], end[2];

	run_ranks(2, late_rank);
	/* In the log of both, in order of writing: two of the first, then two of the second. */
	for (int i = 0; i < 2; i++)
		kernel_times("AllReduce", &begin[i], &end[i], 2 + i);
	SIMTEST_CHECK(llabs(end[0] - end[1]) < 1000000);
	SIMTEST_CHECK(llabs(begin[0] - begin[1]) > 30000000);
}

static void kernels_begin_with_their_rank_and_end_together(void **state)
{
	static const char *const settings[] = {"SIMCUDA_TIME_SCALE=1", NULL};

	(void)state;
	assert_int_equal(simtest_child_run(two_ranks_one_late, settings), 0);
}

/* ---- faults ---- */

static void error_at_second(void)
{
	ncclResult_t error = ncclSuccess;

	SIMTEST_EQUAL(ncclAllReduce(send, receive, 1, ncclInt32, ncclSum, comm, stream), 0);
	SIMTEST_EQUAL(cudaStreamSynchronize(stream), cudaSuccess);
	if (rank == 1) {
		SIMTEST_EQUAL(ncclCommGetAsyncError(comm, &error), ncclSuccess);
		SIMTEST_EQUAL(error, ncclSuccess);
	}
	ncclAllReduce(send, receive, 1, ncclInt32, ncclSum, comm, stream);
	SIMTEST_EQUAL(cudaStreamSynchronize(stream), cudaSuccess);
	SIMTEST_EQUAL(ncclCommGetAsyncError(comm, &error), ncclSuccess);
	SIMTEST_EQUAL(error, ncclRemoteError);
}

static void two_ranks_one_error(void)
{
	run_ranks(2, error_at_second);
}

static void an_asynchronous_error_ends_the_wait_of_all(void **state)
{
	static const char *const settings[] = {"SIMCUDA_NCCL_ASYNC_ERROR=1:2", NULL};

	(void)state;
	assert_int_equal(simtest_child_run(two_ranks_one_error, settings), 0);
}

static void wrong_arguments(void)
{
	int value;

	SIMTEST_EQUAL(ncclAllReduce(send, receive, 1, ncclInt32, ncclSum, NULL, stream),
		      ncclInvalidArgument);
	SIMTEST_EQUAL(ncclAllReduce(send, receive, 1, (ncclDataType_t)99, ncclSum, comm, stream),
		      ncclInvalidArgument);
	SIMTEST_EQUAL(ncclBroadcast(send, receive, 1, ncclInt32, 5, comm, stream),
		      ncclInvalidArgument);
	SIMTEST_EQUAL(ncclGroupEnd(), ncclInvalidUsage);
	SIMTEST_EQUAL(ncclGetVersion(NULL), ncclInvalidArgument);
	SIMTEST_EQUAL(ncclGetVersion(&value), ncclSuccess);
	SIMTEST_CHECK(value >= 23000);
	SIMTEST_CHECK(strlen(ncclGetErrorString(ncclTimeout)) > 0);
}

static void one_rank_wrong(void)
{
	run_ranks(1, wrong_arguments);
}

static void wrong_arguments_are_refused(void **state)
{
	(void)state;
	assert_int_equal(simtest_child_run(one_rank_wrong, NULL), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_collective_moves_the_right_bytes),
		cmocka_unit_test(sums_averages_and_extremes_are_exact_in_every_type),
		cmocka_unit_test(grouped_sends_and_receives_are_one_kernel),
		cmocka_unit_test(a_split_communicator_works_among_its_members),
		cmocka_unit_test(one_process_may_drive_two_gpus),
		cmocka_unit_test(kernels_begin_with_their_rank_and_end_together),
		cmocka_unit_test(an_asynchronous_error_ends_the_wait_of_all),
		cmocka_unit_test(wrong_arguments_are_refused),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
