/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pathology: the training loop reads each batch from slow storage itself, and the GPU has nothing
 * to do meanwhile: DataLoader(num_workers=0). Cure (--cured): a few threads read ahead, and the
 * loop takes what is there.
 */
#include "batch_loader.h"
#include "linear_layer.h"

#include <pthread.h>

enum { ROWS = 4096, WIDTH = 4096, LAYERS = 6, SLOTS = 8, READERS = 6 };

#define ACTIVATION_BYTES ((size_t)ROWS * WIDTH * LINEAR_BYTES_PER_ELEMENT)
#define BATCH_BYTES	 ((size_t)256 << 10)

/* The batches that are being read or wait for their step; batch b lies in slot b % SLOTS. */
struct storage {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	long latency_us;
	long next, limit; /* to read next; one behind the last */
	long released;	  /* slots of batches before this one may be filled again */
	long held[SLOTS]; /* batch in the slot + 1, 0 none yet */
	unsigned char *host[SLOTS];
	void *device;
};

/* Waits for the storage, then has the bytes. */
static void storage_read(struct storage *storage, long batch)
{
	struct timespec latency = {storage->latency_us / 1000000,
				   storage->latency_us % 1000000 * 1000};

	nanosleep(&latency, NULL);
	batch_fill(storage->host[batch % SLOTS], BATCH_BYTES, batch);
}

static void *storage_reader(void *context)
{
	struct storage *storage = (struct storage *)context;

	pthread_mutex_lock(&storage->lock);
	while (storage->next < storage->limit) {
		long batch = storage->next;

		if (batch >= storage->released + SLOTS) {
			pthread_cond_wait(&storage->changed, &storage->lock);
			continue;
		}
		storage->next++;
		pthread_mutex_unlock(&storage->lock);
		storage_read(storage, batch);
		pthread_mutex_lock(&storage->lock);
		storage->held[batch % SLOTS] = batch + 1;
		pthread_cond_broadcast(&storage->changed);
	}
	pthread_mutex_unlock(&storage->lock);
	return NULL;
}

/* The batch of this step on the GPU; steps before the last two have left it. */
static const void *storage_next(struct storage *storage, long step, bool reads_ahead,
				gpu_stream stream)
{
	if (reads_ahead) {
		pthread_mutex_lock(&storage->lock);
		storage->released = step > 2 ? step - 2 : 0;
		pthread_cond_broadcast(&storage->changed);
		while (storage->held[step % SLOTS] != step + 1)
			pthread_cond_wait(&storage->changed, &storage->lock);
		pthread_mutex_unlock(&storage->lock);
	} else {
		storage_read(storage, step);
	}
	GPU_TRY(gpu_upload_async(storage->device, storage->host[step % SLOTS], BATCH_BYTES,
				 stream));
	return storage->device;
}

static void storage_open(struct storage *storage, long latency_us, long batches)
{
	memset(storage, 0, sizeof(*storage));
	pthread_mutex_init(&storage->lock, NULL);
	pthread_cond_init(&storage->changed, NULL);
	storage->latency_us = latency_us;
	storage->limit = batches;
	for (int i = 0; i < SLOTS; i++)
		GPU_TRY(gpu_host_alloc(&storage->host[i], BATCH_BYTES));
	GPU_TRY(gpu_alloc(&storage->device, BATCH_BYTES));
}

/* Whether the GPU holds the batch of the last step. */
static bool storage_close(struct storage *storage, long steps)
{
	unsigned char *back = (unsigned char *)malloc(BATCH_BYTES);
	bool equal = false;

	if (back) {
		GPU_TRY(gpu_download(back, storage->device, BATCH_BYTES));
		equal = memcmp(back, storage->host[(steps - 1) % SLOTS], BATCH_BYTES) == 0;
	}
	free(back);
	for (int i = 0; i < SLOTS; i++)
		GPU_TRY(gpu_host_free(storage->host[i]));
	GPU_TRY(gpu_free(storage->device));
	return equal;
}

static void compute(struct linear_layer *layers, const void *batch, void *activation[2],
		    gpu_stream stream)
{
	size_t words = ACTIVATION_BYTES / sizeof(float);

	GPU_TRY(gpu_launch(embedding_forward, BATCH_BYTES / sizeof(float), stream, activation[0],
			   batch));
	for (int i = 0; i < LAYERS; i++) {
		linear_forward(&layers[i], ROWS, activation[(i + 1) & 1], activation[i & 1]);
		GPU_TRY(gpu_launch(gelu_forward, words, stream, activation[(i + 1) & 1],
				   activation[(i + 1) & 1]));
	}
}

int main(int argc, char **argv)
{
	long steps = 40, latency_us = 9000;
	bool cured = false;
	const struct sample_option options[] = {
		{"steps", NULL, &steps, "steps to run (40)"},
		{"latency", NULL, &latency_us, "microseconds to read a batch (9000)"},
		{"cured", &cured, NULL, "threads read ahead"},
		{NULL, NULL, NULL, NULL}};
	struct linear_layer layers[LAYERS];
	static struct storage storage;
	pthread_t readers[READERS];
	struct step_pace pace;
	void *activation[2];
	gpu_stream stream;

	sample_parse(argc, argv, options);
	gpu_open();
	GPU_TRY(gpu_stream_open(&stream));
	GPU_TRY(gpu_gemm_stream(stream));
	for (int i = 0; i < 2; i++)
		GPU_TRY(gpu_alloc(&activation[i], ACTIVATION_BYTES));
	for (int i = 0; i < LAYERS; i++)
		linear_open(&layers[i], WIDTH, WIDTH);
	storage_open(&storage, latency_us, steps);
	step_pace_open(&pace);
	for (int i = 0; cured && i < READERS; i++)
		pthread_create(&readers[i], NULL, storage_reader, &storage);

	for (long step = 0; step < steps; step++) {
		step_pace_begin(&pace);
		compute(layers, storage_next(&storage, step, cured, stream), activation, stream);
		step_pace_end(&pace, stream);
	}
	GPU_TRY(gpu_device_sync());
	for (int i = 0; cured && i < READERS; i++)
		pthread_join(readers[i], NULL);
	bool equal = storage_close(&storage, steps);

	printf("starved_input: %ld steps, %ld us to read a batch, batch on the GPU %s\n", steps,
	       latency_us, equal ? "equals the host's" : "DIFFERS from the host's");
	step_pace_close(&pace);
	for (int i = 0; i < LAYERS; i++)
		linear_close(&layers[i]);
	for (int i = 0; i < 2; i++)
		GPU_TRY(gpu_free(activation[i]));
	GPU_TRY(gpu_stream_close(stream));
	gpu_close();
	return equal ? 0 : 1;
}
