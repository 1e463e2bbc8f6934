/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of the CUDA runtime whose parameters differ between majors, each as its own major has
 * them (-DMAJOR=11, 12 or 13), with what a caller passes and what has to arrive. Read by the
 * runtime (lib_signature_runtime.c) and by its caller (lib_signature_plugin.c).
 *
 *   SIGNATURE(name, (parameters), (arguments), arrived, answer)
 *
 * arrived: whether the parameters are the arguments; answer: what the function writes.
 */
#include <stddef.h>
#include <stdint.h>

#define HANDLE(number) ((void *)(uintptr_t)(0x7000000000000000u + MAJOR * 0x100000u + (number)))
#define BYTES	       ((size_t)0x123456789a + MAJOR)
#define FLAGS	       (0x8000000000000001u + MAJOR)
#define STREAM	       HANDLE(1)
#define EXECUTABLE     HANDLE(2)
#define GRAPH	       HANDLE(3)
#define ERROR_NODE     HANDLE(4)
#define COPIES	       3u

struct place {
	int type, id;
};
struct update_info {
	int result;
	void *node, *from;
};

/* What the calls of one major write to and read from; the arguments mean a variable `arena`. */
struct arena {
	void *executable, *error_node;
	char log[64];
	struct update_info info;
	float ms;
	char from[COPIES][512], to[COPIES][512];
	void *sources[COPIES], *destinations[COPIES];
	size_t sizes[COPIES], failed;
};

#define SAME_PLACE(p) ((p).type == 1 && (p).id == 7)
#define PLACE	      ((struct place){1, 7})

#define SIGNATURES_OF_ALL(S)                                                                       \
	S(cudaEventElapsedTime, (float *ms, void *start, void *end),                               \
	  (&arena.ms, HANDLE(5), HANDLE(6)), ms &&start == HANDLE(5) && end == HANDLE(6),          \
	  *ms = 1.5f)                                                                              \
	S(cudaGraphLaunch, (void *executable, void *stream), (arena.executable, STREAM),           \
	  executable == EXECUTABLE && stream == STREAM, (void)0)

#if MAJOR == 11
#define SIGNATURES_OF_GRAPHS(S)                                                                    \
	S(cudaGraphInstantiate,                                                                    \
	  (void **executable, void *graph, void **error, char *log, size_t log_bytes),             \
	  (&arena.executable, GRAPH, &arena.error_node, arena.log, sizeof(arena.log)),             \
	  graph == GRAPH && log_bytes == 64,                                                       \
	  (*executable = EXECUTABLE, *error = ERROR_NODE, log[log_bytes - 2] = 'x'))               \
	S(cudaGraphExecUpdate, (void *executable, void *graph, void **error, int *result),         \
	  (arena.executable, GRAPH, &arena.error_node, &arena.info.result),                        \
	  executable == EXECUTABLE && graph == GRAPH, (*error = ERROR_NODE, *result = 5))
#else
#define SIGNATURES_OF_GRAPHS(S)                                                                    \
	S(cudaGraphInstantiate, (void **executable, void *graph, unsigned long long flags),        \
	  (&arena.executable, GRAPH, FLAGS), graph == GRAPH && flags == FLAGS,                     \
	  *executable = EXECUTABLE)                                                                \
	S(cudaGraphExecUpdate, (void *executable, void *graph, struct update_info *info),          \
	  (arena.executable, GRAPH, &arena.info), executable == EXECUTABLE && graph == GRAPH,      \
	  *info = ((struct update_info){5, ERROR_NODE, GRAPH}))
#endif

#if MAJOR == 13
#define SIGNATURES_OF_MEMORY(S)                                                                    \
	S(cudaMemAdvise, (const void *p, size_t bytes, int advice, struct place place),            \
	  (HANDLE(8), BYTES, 3, PLACE),                                                            \
	  p == HANDLE(8) && bytes == BYTES && advice == 3 && SAME_PLACE(place), (void)0)           \
	S(cudaMemPrefetchAsync,                                                                    \
	  (const void *p, size_t bytes, struct place place, unsigned int flags, void *stream),     \
	  (HANDLE(8), BYTES, PLACE, 0x80000009u, STREAM),                                          \
	  p == HANDLE(8) && bytes == BYTES && SAME_PLACE(place) && flags == 0x80000009u &&         \
		  stream == STREAM,                                                                \
	  (void)0)
#define BATCH_PARAMETERS
#define BATCH_ARGUMENTS
#define BATCH_ANSWER (void)0
#define BATCH_FAILED 1
#else
#define SIGNATURES_OF_DEVICES(S)                                                                   \
	S(cudaMemAdvise, (const void *p, size_t bytes, int advice, int device),                    \
	  (HANDLE(8), BYTES, 3, -1),                                                               \
	  p == HANDLE(8) && bytes == BYTES && advice == 3 && device == -1, (void)0)                \
	S(cudaMemPrefetchAsync, (const void *p, size_t bytes, int device, void *stream),           \
	  (HANDLE(8), BYTES, 2, STREAM),                                                           \
	  p == HANDLE(8) && bytes == BYTES && device == 2 && stream == STREAM, (void)0)
#define BATCH_PARAMETERS size_t *failed,
#define BATCH_ARGUMENTS	 &arena.failed,
#define BATCH_ANSWER	 *failed = 77
#define BATCH_FAILED	 failed != NULL
#endif

#if MAJOR == 11
#define SIGNATURES_OF_MEMORY SIGNATURES_OF_DEVICES
#define SIGNATURES_OF_BATCHES(S)
#else
#if MAJOR == 12
#define SIGNATURES_OF_MEMORY(S)                                                                    \
	SIGNATURES_OF_DEVICES(S)                                                                   \
	S(cudaMemAdvise_v2, (const void *p, size_t bytes, int advice, struct place place),         \
	  (HANDLE(8), BYTES, 3, PLACE),                                                            \
	  p == HANDLE(8) && bytes == BYTES && advice == 3 && SAME_PLACE(place), (void)0)           \
	S(cudaMemPrefetchAsync_v2,                                                                 \
	  (const void *p, size_t bytes, struct place place, unsigned int flags, void *stream),     \
	  (HANDLE(8), BYTES, PLACE, 9, STREAM),                                                    \
	  p == HANDLE(8) && bytes == BYTES && SAME_PLACE(place) && flags == 9 && stream == STREAM, \
	  (void)0)
#endif
/* With per-thread default streams too: the words on the stack are the same ones. */
#define BATCH(S, name)                                                                             \
	S(name,                                                                                    \
	  (void **to, void **from, size_t *sizes, size_t count, void *attributes, size_t *indices, \
	   size_t attribute_count, BATCH_PARAMETERS void *stream),                                 \
	  (arena.destinations, arena.sources, arena.sizes, COPIES, HANDLE(9), HANDLE(10), 6,       \
	   BATCH_ARGUMENTS STREAM),                                                                \
	  to[1] && from[1] && sizes[1] == 200 && count == COPIES && attributes == HANDLE(9) &&     \
		  indices == HANDLE(10) && attribute_count == 6 && BATCH_FAILED &&                 \
		  stream == STREAM,                                                                \
	  BATCH_ANSWER)
#define SIGNATURES_OF_BATCHES(S)                                                                   \
	BATCH(S, cudaMemcpyBatchAsync)                                                             \
	BATCH(S, cudaMemcpyBatchAsync_ptsz)                                                        \
	S(cudaMemcpy3DBatchAsync,                                                                  \
	  (size_t count, void *copies, BATCH_PARAMETERS unsigned long long flags, void *stream),   \
	  (0, HANDLE(11), BATCH_ARGUMENTS FLAGS, STREAM),                                          \
	  count == 0 && copies == HANDLE(11) && flags == FLAGS && BATCH_FAILED &&                  \
		  stream == STREAM,                                                                \
	  BATCH_ANSWER)
#endif

#define SIGNATURES(S)                                                                              \
	SIGNATURES_OF_GRAPHS(S)                                                                    \
	SIGNATURES_OF_ALL(S) SIGNATURES_OF_MEMORY(S) SIGNATURES_OF_BATCHES(S)
