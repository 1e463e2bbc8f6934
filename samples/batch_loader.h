/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Brings one batch per step to the GPU, well or badly:
 *   pageable              malloc'ed memory, copied on the compute stream, waited for by everything
 *   pinned                the same from pinned memory: the copy runs at the link's rate
 *   pinned and overlapped the next batch is copied on a stream of its own while this one is
 * computed
 */
#ifndef GPUTRACE_SAMPLES_BATCH_LOADER_H
#define GPUTRACE_SAMPLES_BATCH_LOADER_H

#include "step_loop.h"

#define BATCH_LABEL_BYTES ((size_t)1 << 20)

struct batch_loader {
	bool pinned, overlapped;
	size_t bytes;
	gpu_stream compute, link; /* the same stream unless overlapped */
	unsigned char *host[2], *host_labels[2];
	void *device[2], *device_labels[2];
	gpu_event copied[2];   /* the batch is on the GPU */
	gpu_event consumed[2]; /* the batch is no longer needed there */
	long next;	       /* number of the next batch to copy */
};

static inline void batch_loader_open(struct batch_loader *loader, size_t bytes, bool pinned,
				     bool overlapped, gpu_stream compute)
{
	loader->pinned = pinned;
	loader->overlapped = overlapped;
	loader->bytes = bytes;
	loader->compute = compute;
	loader->link = compute;
	loader->next = 0;
	if (overlapped)
		GPU_TRY(gpu_stream_open(&loader->link));
	for (int i = 0; i < 2; i++) {
		if (pinned)
			GPU_TRY(gpu_host_alloc(&loader->host[i], bytes));
		else
			loader->host[i] = (unsigned char *)malloc(bytes);
		if (!loader->host[i]) {
			fprintf(stderr, "no memory for a batch of %zu bytes\n", bytes);
			exit(1);
		}
		memset(loader->host[i], i, bytes);
		GPU_TRY(gpu_alloc(&loader->device[i], bytes));
		GPU_TRY(gpu_host_alloc(&loader->host_labels[i], BATCH_LABEL_BYTES));
		memset(loader->host_labels[i], i, BATCH_LABEL_BYTES);
		GPU_TRY(gpu_alloc(&loader->device_labels[i], BATCH_LABEL_BYTES));
		GPU_TRY(gpu_event_open(&loader->copied[i]));
		GPU_TRY(gpu_event_open(&loader->consumed[i]));
	}
}

static inline void batch_loader_close(struct batch_loader *loader)
{
	for (int i = 0; i < 2; i++) {
		if (loader->pinned)
			GPU_TRY(gpu_host_free(loader->host[i]));
		else
			free(loader->host[i]);
		GPU_TRY(gpu_free(loader->device[i]));
		GPU_TRY(gpu_host_free(loader->host_labels[i]));
		GPU_TRY(gpu_free(loader->device_labels[i]));
		GPU_TRY(gpu_event_close(loader->copied[i]));
		GPU_TRY(gpu_event_close(loader->consumed[i]));
	}
	if (loader->overlapped)
		GPU_TRY(gpu_stream_close(loader->link));
}

/* The dataset: batch number b has b + page in the first byte of every page. */
static inline void batch_fill(unsigned char *host, size_t bytes, long batch)
{
	for (size_t page = 0; page * 4096 < bytes; page++)
		host[page * 4096] = (unsigned char)((size_t)batch + page);
}

static inline void batch_loader_copy(struct batch_loader *loader)
{
	long batch = loader->next++;
	int slot = (int)(batch & 1);

	/* A pinned buffer is read by the GPU until its copy has run. */
	if (batch >= 2)
		GPU_TRY(gpu_event_sync(loader->copied[slot]));
	batch_fill(loader->host[slot], loader->bytes, batch);
	batch_fill(loader->host_labels[slot], BATCH_LABEL_BYTES, batch);
	if (batch >= 2)
		GPU_TRY(gpu_stream_wait_event(loader->link, loader->consumed[slot]));
	GPU_TRY(gpu_upload_async(loader->device[slot], loader->host[slot], loader->bytes,
				 loader->link));
	GPU_TRY(gpu_upload_async(loader->device_labels[slot], loader->host_labels[slot],
				 BATCH_LABEL_BYTES, loader->link));
	GPU_TRY(gpu_event_record(loader->copied[slot], loader->link));
}

/* The batch of the next step, on the GPU for work that is put on the compute stream after this. */
static inline void *batch_loader_next(struct batch_loader *loader)
{
	if (!loader->overlapped || loader->next == 0)
		batch_loader_copy(loader);

	int slot = (int)((loader->next - 1) & 1);

	if (loader->overlapped)
		GPU_TRY(gpu_stream_wait_event(loader->compute, loader->copied[slot]));
	return loader->device[slot];
}

/* After the last use of the batch in this step has been launched; starts the next copy if that may
 * overlap. */
static inline void batch_loader_done(struct batch_loader *loader)
{
	int slot = (int)((loader->next - 1) & 1);

	GPU_TRY(gpu_event_record(loader->consumed[slot], loader->compute));
	if (loader->overlapped)
		batch_loader_copy(loader);
}

/* Whether the batch that is on the GPU now is, byte for byte, the one that the dataset holds. */
static inline bool batch_loader_verify(struct batch_loader *loader)
{
	int slot = (int)((loader->next - 1) & 1);
	unsigned char *back = (unsigned char *)malloc(loader->bytes);
	bool equal = false;

	if (!back)
		return false;
	GPU_TRY(gpu_stream_sync(loader->link));
	GPU_TRY(gpu_download(back, loader->device[slot], loader->bytes));
	equal = memcmp(back, loader->host[slot], loader->bytes) == 0;
	free(back);
	return equal;
}

#endif
