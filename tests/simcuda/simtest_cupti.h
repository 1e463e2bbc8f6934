/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small CUPTI client for the tests of the simulated CUPTI: it asks for records, keeps what they
 * say, and makes some work for the simulated GPU. For use in one child process at a time.
 */
#ifndef GPUTRACE_SIMTEST_CUPTI_H
#define GPUTRACE_SIMTEST_CUPTI_H

#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime_api.h>
#include <cupti.h>

enum { SIMTEST_RECORDS_MAX = 4096 };

struct simtest_record {
	int kind;
	uint32_t correlation, stream;
	uint64_t begin_ns, end_ns, bytes;
	int direction;				    /* of a copy; of a synchronization its type */
	uint32_t source_device, destination_device; /* of a copy between devices */
	char name[200];
};
struct simtest_cupti {
	struct simtest_record records[SIMTEST_RECORDS_MAX];
	size_t count;
	size_t buffers, null_buffers, asked; /* buffers given back, and asked for */
	size_t buffer_bytes;		     /* of the buffers that are given */
};
extern struct simtest_cupti simtest_cupti;

/* Registers the buffer functions and enables kernel, copy, set and synchronization records. */
void simtest_cupti_start(void);
/* On two streams 40 gemms, 40 sets and 40 copies each way, and waits for them: 160 records. */
void simtest_cupti_work(void);
size_t simtest_cupti_count(int kind);

#endif
