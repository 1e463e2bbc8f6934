// SPDX-License-Identifier: Apache-2.0
/*
 * What a framework's native part does to the samples here: a device thread without Python that
 * copies while the Python thread waits, under NVTX ranges or not, and a launch from several native
 * frames deep.
 */
#include <pthread.h>
#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

typedef int copy_function(void *to, const void *from, size_t size_bytes, int kind);

typedef int range_function(const char *text); /* nvtxRangePushA */

struct work {
	copy_function *copy;
	void *to;
	const void *from;
	size_t size_bytes;
	int rounds;
	int result;
	range_function *push;
	int (*pop)(void);
	const char *text;
};

EXPORT int helper_run_engine(copy_function *copy, void *to, const void *from, size_t size_bytes,
			     int rounds);
EXPORT int helper_run_engine_in(range_function *push, int (*pop)(void), const char *text,
				copy_function *copy, void *to, const void *from, size_t size_bytes);
EXPORT int helper_copy_deep(copy_function *copy, void *to, const void *from, size_t size_bytes,
			    int depth);

static void *device_thread(void *context)
{
	struct work *work = context;

	if (work->push)
		work->push(work->text);
	for (int i = 0; i < work->rounds && work->result == 0; i++)
		work->result = work->copy(work->to, work->from, work->size_bytes, 1);
	if (work->push)
		work->pop();
	return NULL;
}

/* As autograd's engine: another thread works, this one waits for it. */
static int run_and_wait(struct work *work)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, device_thread, work) != 0)
		return -1;
	pthread_join(thread, NULL);
	return work->result;
}

int helper_run_engine(copy_function *copy, void *to, const void *from, size_t size_bytes,
		      int rounds)
{
	struct work work = {
		.copy = copy, .to = to, .from = from, .size_bytes = size_bytes, .rounds = rounds};

	return run_and_wait(&work);
}

int helper_run_engine_in(range_function *push, int (*pop)(void), const char *text,
			 copy_function *copy, void *to, const void *from, size_t size_bytes)
{
	struct work work = {.copy = copy,
			    .to = to,
			    .from = from,
			    .size_bytes = size_bytes,
			    .rounds = 1,
			    .push = push,
			    .pop = pop,
			    .text = text};

	return run_and_wait(&work);
}

int helper_copy_deep(copy_function *copy, void *to, const void *from, size_t size_bytes, int depth)
{
	volatile int result;

	result = depth > 0 ? helper_copy_deep(copy, to, from, size_bytes, depth - 1)
			   : copy(to, from, size_bytes, 1);
	return result;
}
