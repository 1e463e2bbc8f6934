/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See memory_bench.h.
 */
#include "memory_bench.h"

void memory_bench_init(struct bench *bench, uint64_t capacity_bytes)
{
	bench_init(bench);
	script_device(bench->script, 0)->memory_bytes = capacity_bytes;
	script_add_site(bench->script, 7, "keep\x1ftrain.py");
	script_add_site(bench->script, 8, "forward\x1fmodel.py");
}

static struct script_call next_call(struct bench *bench, const char *api, int64_t length_ns)
{
	struct script_call call = {.begin_ns = bench->machine.host_ns,
				   .end_ns = bench->machine.host_ns + length_ns,
				   .thread = 1,
				   .api = api};

	machine_work(&bench->machine, length_ns + 1000);
	return call;
}

void memory_malloc(struct bench *bench, uint64_t address, uint64_t bytes, int32_t status)
{
	struct script_call call = next_call(bench, "cudaMalloc", 200000);

	call.status = status;
	call.site = 8;
	script_add_memory(bench->script, &call, MEMORY_ALLOC, MEMORY_DEVICE, status ? 0 : address,
			  bytes);
}

void memory_free(struct bench *bench, uint64_t address)
{
	struct script_call call = next_call(bench, "cudaFree", 300000);

	script_add_memory(bench->script, &call, MEMORY_FREE, MEMORY_DEVICE, address, 0);
}

void memory_block(struct bench *bench, uint8_t op, uint64_t address, uint64_t bytes, uint64_t site,
		  uint64_t allocated_bytes, uint64_t reserved_bytes)
{
	script_add_block(bench->script, &(struct record_block){
						.ticks = (uint64_t)bench->machine.host_ns,
						.site = site,
						.address = address,
						.size_bytes = bytes,
						.allocated_bytes = allocated_bytes,
						.reserved_bytes = reserved_bytes,
						.op = op,
					});
	machine_work(&bench->machine, 1000);
}

void memory_step(struct bench *bench)
{
	machine_kernel(&bench->machine, "ampere_sgemm_128x128_nn", 20000000);
	machine_kernel(&bench->machine, "adam_step", 50000);
	machine_sync(&bench->machine, "cudaDeviceSynchronize", SYNC_DEVICE);
}

void memory_fragmented_failure(struct bench *bench, unsigned int count)
{
	uint64_t allocated = 0, reserved = 0;

	for (uint64_t i = 0; i < count; i++) {
		uint64_t address = (i + 1) << 30;

		memory_malloc(bench, address, 20 * MIB, 0);
		reserved += 20 * MIB;
		memory_block(bench, BLOCK_ALLOC, address, MIB, 7, allocated + MIB, reserved);
		memory_block(bench, BLOCK_ALLOC, address + MIB, 19 * MIB, 8, allocated + 20 * MIB,
			     reserved);
		memory_block(bench, BLOCK_FREE, address + MIB, 19 * MIB, 0, allocated + MIB,
			     reserved);
		allocated += MIB;
	}
	memory_malloc(bench, 0, 512 * MIB, 2);
	memory_malloc(bench, 0, 512 * MIB, 2);
	memory_block(bench, BLOCK_OUT_OF_MEMORY, 0, 512 * MIB, 8, allocated, reserved);
}

void memory_check_run_without_failure(const char *rule_id)
{
	struct bench bench;

	memory_bench_init(&bench, 80 * GIB);
	memory_malloc(&bench, GIB, GIB, 0);
	memory_step(&bench);
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, rule_id), JUDGED_SILENT);
	bench_fini(&bench);
}

void memory_check_unknown_device(const char *rule_id)
{
	struct bench bench;

	memory_bench_init(&bench, 0);
	memory_malloc(&bench, GIB, GIB, 0);
	memory_malloc(&bench, 0, 2 * GIB, 2);
	bench_run(&bench);
	assert_int_equal(bench_status(&bench, rule_id), NOT_JUDGED);
	bench_fini(&bench);
}
