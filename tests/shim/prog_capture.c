/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures and graphs as the shim meets them; prints every result code. usage: prog_capture MODE
 *   thread     memory taken and given back in a capture of the thread's own default stream
 *   late N     makes a graph of two sets, waits for a line on standard input, launches it N times
 *   early N    likewise, and waits for a line before it makes the graph; says its peak of memory
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cuda_runtime_api.h>

#define PRINT(call) printf("%s = %d\n", #call, (int)(call))

/* The handle that means the same stream without the compile flag. */
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define OWN_STREAM NULL
#else
#define OWN_STREAM cudaStreamPerThread
#endif

static void thread_stream(void)
{
	cudaGraphExec_t executable;
	cudaGraph_t graph;
	size_t nodes = 0;
	void *memory;

	PRINT(cudaStreamBeginCapture(OWN_STREAM, cudaStreamCaptureModeThreadLocal));
	PRINT(cudaMallocAsync(&memory, 4096, OWN_STREAM));
	PRINT(cudaMemsetAsync(memory, 1, 4096, OWN_STREAM));
	PRINT(cudaFreeAsync(memory, OWN_STREAM));
	PRINT(cudaStreamEndCapture(OWN_STREAM, &graph));
	PRINT(cudaGraphGetNodes(graph, NULL, &nodes));
	printf("%zu nodes\n", nodes);
	PRINT(cudaGraphInstantiate(&executable, graph, 0));
	PRINT(cudaGraphLaunch(executable, OWN_STREAM));
	PRINT(cudaStreamSynchronize(OWN_STREAM));
	/* Outside of a capture the same calls are executed. */
	PRINT(cudaMallocAsync(&memory, 8192, OWN_STREAM));
	PRINT(cudaFreeAsync(memory, OWN_STREAM));
}

static void wait_for_line(const char *word)
{
	char line[16];

	printf("%s\n", word);
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		exit(2);
}

static void print_peak(void)
{
	char line[128];
	FILE *status = fopen("/proc/self/status", "r");

	while (status && fgets(line, sizeof(line), status)) {
		if (!strncmp(line, "VmHWM:", 6))
			fputs(line, stdout);
	}
	if (status)
		fclose(status);
}

static void late(unsigned long launches, int is_early)
{
	cudaGraphExec_t executable;
	cudaStream_t stream;
	cudaGraph_t graph;
	char *memory;
	unsigned long failed = 0;

	PRINT(cudaStreamCreate(&stream));
	PRINT(cudaMalloc((void **)&memory, 4096));
	if (is_early) {
		printf("process %d\n", (int)getpid());
		wait_for_line("open");
	}
	PRINT(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	PRINT(cudaMemsetAsync(memory, 1, 64, stream));
	PRINT(cudaMemsetAsync(memory + 64, 2, 64, stream));
	PRINT(cudaStreamEndCapture(stream, &graph));
	PRINT(cudaGraphInstantiate(&executable, graph, 0));
	wait_for_line("ready");
	for (unsigned long i = 0; i < launches; i++) {
		failed += cudaGraphLaunch(executable, stream) != cudaSuccess;
		if (i % 1000 == 999)
			failed += cudaStreamSynchronize(stream) != cudaSuccess;
	}
	PRINT(cudaDeviceSynchronize());
	printf("%lu launches, %lu failed\n", launches, failed);
	if (is_early)
		print_peak();
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "thread"))
		thread_stream();
	else if (argc > 2 && !strcmp(argv[1], "late"))
		late(strtoul(argv[2], NULL, 10), 0);
	else if (argc > 2 && !strcmp(argv[1], "early"))
		late(strtoul(argv[2], NULL, 10), 1);
	else
		return 2;
	return 0;
}
