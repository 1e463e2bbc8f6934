/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: the JSON importer and the pickle importer with everything behind them. The first
 * byte chooses between them and whether what a cut recording holds is kept. SQLite reads exports
 * itself.
 */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "error.h"
#include "fuzz_target.h"
#include "import_formats.h"
#include "import_sink.h"
#include "import_stream.h"

static int open_folder(void)
{
	static int dir_fd = -1;
	static char folder[] = "/tmp/gputrace-fuzz-XXXXXX";

	if (dir_fd < 0 && mkdtemp(folder))
		dir_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir_fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct import_report report = {.rank = -1};
	struct import_options options = {0};
	struct import_job job = {.path = "fuzz", .options = &options, .report = &report};
	struct error err = {0};
	int rc;

	if (size < 1)
		return 0;
	options.keep_partial = data[0] & 1;
	if (import_stream_open_memory(data + 1, size - 1, &job.stream, &err))
		return 0;
	job.sink = import_sink_new(open_folder(), "out.gtrace");
	rc = data[0] & 2 ? import_pickle(&job, &err) : import_json(&job, &err);
	if (!rc)
		rc = import_sink_finish(job.sink, &err);
	/* A failure without a sentence is a bug as well. */
	if (rc && !err.text[0])
		abort();
	import_sink_free(job.sink);
	import_stream_close(job.stream);
	unlinkat(open_folder(), "out.gtrace", 0);
	return 0;
}

const struct fuzz_seed fuzz_seeds[] = {
	FUZZ_SEED("\0{\"deviceProperties\": [{\"id\": 0, \"name\": \"A\", \"numSms\": 8}], "
		  "\"distributedInfo\": {\"rank\": 1}, \"traceEvents\": [{\"ph\": \"X\", \"cat\": "
		  "\"cpu_op\", \"name\": \"aten::mm\", \"pid\": 1, \"tid\": 1, \"ts\": 1, \"dur\": "
		  "9, "
		  "\"args\": {\"Input Dims\": [[4, 8], [8, 2]], \"Input type\": [\"float\"]}}, "
		  "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaMemcpyAsync\", "
		  "\"pid\": "
		  "1, \"tid\": 1, \"ts\": 2, \"dur\": 1, \"args\": {\"correlation\": 7}}, {\"ph\": "
		  "\"X\", \"cat\": \"gpu_memcpy\", \"name\": \"Memcpy HtoD (Pinned -> Device)\", "
		  "\"pid\": 0, \"tid\": 7, \"ts\": 3.5, \"dur\": 2, \"args\": {\"device\": 0, "
		  "\"stream\": 7, \"correlation\": 7, \"bytes\": 64}}]}"),
	FUZZ_SEED("\1[{\"ph\": \"i\", \"name\": \"[memory]\", \"ts\": 1, \"args\": {\"Device "
		  "Type\": 1, "
		  "\"Bytes\": -5, \"Addr\": 9}}, {\"ph\": \"X\", \"cat\": \"python_function\", "
		  "\"name\": \"a\\u0041.py(3): f\", \"pid\": \"x\", \"tid\": 2, \"ts\": 1e3, "
		  "\"dur\": 0}"),
	FUZZ_SEED("\0{\"version\": \"2\", \"entries\": [{\"profiling_name\": \"nccl:x\", "
		  "\"process_group\": [\"0\", \"g\"], \"time_created_ns\": 5, \"state\": "
		  "\"started\"}]}"),
	FUZZ_SEED("\2\x80\x04}\x94(\x8c\x08segments]\x94}\x94(\x8c\x06"
		  "deviceK\x00\x8c\x06"
		  "blocks]\x94}"
		  "\x94(\x8c\x04sizeM\x00\x02\x8c\x05state\x8c\x08inactiveuaua\x8c\x0d"
		  "device_traces]\x94"
		  "]\x94}\x94(\x8c\x06"
		  "action\x8c\x05"
		  "alloc\x8c\x04sizeK\x05uaau."),
	FUZZ_SEED("\2(dS'entries'\n(l(dS'profiling_name'\nS'x'\nsS'time_created_ns'\nL7L\nsas"
		  "S'version'\nS'2'\ns."),
};
const size_t fuzz_seed_count = sizeof(fuzz_seeds) / sizeof(fuzz_seeds[0]);
