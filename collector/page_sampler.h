/* SPDX-License-Identifier: Apache-2.0 */
/*
 * On which NUMA node the memory lies that is copied to and from GPUs: keeps the large host buffers
 * that copies named and asks the kernel, rarely, about a few pages of each.
 */
#ifndef GPUTRACE_PAGE_SAMPLER_H
#define GPUTRACE_PAGE_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sample_sink.h"

#define PAGE_MAX_BUFFERS 32

struct page_buffer {
	uint64_t address, size_bytes; /* size 0: unused */
	uint64_t copies;	      /* since it was asked about last */
	uint64_t asked_ns;	      /* 0: never */
	uint32_t device;
};

struct page_sampler {
	const char *root; /* "" the machine itself */
	pid_t pid;	  /* 0: this process */
	struct sample_sink sink;
	uint64_t page_bytes;
	bool is_refused; /* the kernel does not tell: said once */
	struct page_buffer buffers[PAGE_MAX_BUFFERS];
};

void page_sampler_init(struct page_sampler *sampler, const struct sample_sink *sink,
		       const char *root, pid_t pid);
void page_sampler_note(struct page_sampler *sampler, const struct record_copy *copy);
/* Once a second. */
void page_sampler_run(struct page_sampler *sampler, uint64_t now_ns);

#endif
