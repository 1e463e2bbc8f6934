// SPDX-License-Identifier: Apache-2.0
/*
 * What a framework's native part does to the sample of sites_train.py: a device thread without
 * Python that copies while the Python thread waits, and a launch from several native frames deep.
 */
#include <pthread.h>
#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

typedef int copy_function(void *to, const void *from, size_t size_bytes, int kind);

struct work {
	copy_function *copy;
	void *to;
	const void *from;
	size_t size_bytes;
	int rounds;
	int result;
};

EXPORT int helper_run_engine(copy_function *copy, void *to, const void *from, size_t size_bytes,
			     int rounds);
EXPORT int helper_copy_deep(copy_function *copy, void *to, const void *from, size_t size_bytes,
			    int depth);

static void *device_thread(void *context)
{
	struct work *work = context;

	for (int i = 0; i < work->rounds && work->result == 0; i++)
		work->result = work->copy(work->to, work->from, work->size_bytes, 1);
	return NULL;
}

/* As autograd's engine: another thread works, this one waits for it. */
int helper_run_engine(copy_function *copy, void *to, const void *from, size_t size_bytes,
		      int rounds)
{
	struct work work = {copy, to, from, size_bytes, rounds, 0};
	pthread_t thread;

	if (pthread_create(&thread, NULL, device_thread, &work) != 0)
		return -1;
	pthread_join(thread, NULL);
	return work.result;
}

int helper_copy_deep(copy_function *copy, void *to, const void *from, size_t size_bytes, int depth)
{
	volatile int result;

	result = depth > 0 ? helper_copy_deep(copy, to, from, size_bytes, depth - 1)
			   : copy(to, from, size_bytes, 1);
	return result;
}
