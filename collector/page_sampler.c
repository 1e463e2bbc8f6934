/* SPDX-License-Identifier: Apache-2.0 */
/*
 * move_pages() without targets only asks: it needs the right to read the job, which its own child
 * has. Pages that the GPU's driver mapped may have no answer; a buffer of such pages has node -1.
 */
#define _GNU_SOURCE
#include "page_sampler.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clocks.h"
#include "machine_file.h"
#include "small_file.h"
#include "trace_writer.h"

#define LARGE_BYTES   (1u << 20)
#define PAGES_ASKED   16
#define BUFFERS_ASKED 4		     /* in one look */
#define AGAIN_NS      10000000000ull /* the same buffer */
#define MAX_NODES     64

void page_sampler_init(struct page_sampler *sampler, const struct sample_sink *sink,
		       const char *root, pid_t pid)
{
	memset(sampler, 0, sizeof(*sampler));
	sampler->root = root;
	sampler->pid = pid;
	sampler->sink = *sink;
	sampler->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
}

void page_sampler_note(struct page_sampler *sampler, const struct record_copy *copy)
{
	uint64_t address = copy->direction == COPY_H2D ? copy->source : copy->destination;
	struct page_buffer *oldest = &sampler->buffers[0];
	uint8_t kind = copy->direction == COPY_H2D ? copy->source_kind : copy->destination_kind;

	if ((copy->direction != COPY_H2D && copy->direction != COPY_D2H) ||
	    kind == MEMORY_MANAGED || copy->size_bytes < LARGE_BYTES || !address ||
	    copy->call.status || copy->call.flags & CALL_CAPTURED)
		return;
	for (size_t i = 0; i < PAGE_MAX_BUFFERS; i++) {
		struct page_buffer *buffer = &sampler->buffers[i];

		if (buffer->address == address && buffer->device == copy->call.device) {
			buffer->copies++;
			if (copy->size_bytes > buffer->size_bytes)
				buffer->size_bytes = copy->size_bytes;
			return;
		}
		if (buffer->copies < oldest->copies ||
		    (buffer->copies == oldest->copies && buffer->asked_ns < oldest->asked_ns))
			oldest = buffer;
	}
	*oldest = (struct page_buffer){.address = address,
				       .size_bytes = copy->size_bytes,
				       .copies = 1,
				       .device = copy->call.device};
}

static void refuse(struct page_sampler *sampler, const char *reason)
{
	sampler->is_refused = true;
	trace_writer_info(sampler->sink.writer, "pages.reason", reason, NULL);
}

/* A machine that is not this one has a file instead, maybe one per job: lines "ADDRESS SIZE NODE",
 * in hexadecimal, bytes and decimal. */
static bool ask_file(const struct page_sampler *sampler, uint64_t address, int *node)
{
	char text[16384];

	int pid = sampler->pid ? (int)sampler->pid : (int)getpid();

	if (machine_file_read(sampler->root, text, sizeof(text), "simcuda/pages.%d", pid) <= 0 &&
	    machine_file_read(sampler->root, text, sizeof(text), "simcuda/pages") <= 0)
		return false;
	*node = -1;
	for (const char *line = text; line && *line;) {
		const char *at = line;
		uint64_t from, size, number;

		if (small_file_number(&at, 16, &from) && *at++ == ' ' &&
		    small_file_number(&at, 10, &size) && *at++ == ' ' &&
		    small_file_number(&at, 10, &number) && address >= from &&
		    address - from < size && number < MAX_NODES)
			*node = (int)number;
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	return true;
}

/* Fills in status[]: a node, or a negative error of that page. False: nobody can say. */
static bool ask(struct page_sampler *sampler, const struct page_buffer *buffer, int *status)
{
	void *pages[PAGES_ASKED];
	uint64_t step = buffer->size_bytes / PAGES_ASKED;

	for (size_t i = 0; i < PAGES_ASKED; i++) {
		uint64_t at = buffer->address + step * i;

		status[i] = -1;
		pages[i] = (void *)(uintptr_t)(at / sampler->page_bytes * sampler->page_bytes);
		if (sampler->root[0] && !ask_file(sampler, at, &status[i])) {
			refuse(sampler, "the files of the machine are not this machine's");
			return false;
		}
	}
	if (sampler->root[0])
		return true;
	if (syscall(SYS_move_pages, (long)sampler->pid, (long)PAGES_ASKED, pages, NULL, status,
		    0L) == 0)
		return true;
	/* ESRCH: the job has just ended. */
	if (errno == EPERM || errno == EACCES)
		refuse(sampler, "the kernel does not let the collector ask about the job's pages");
	else if (errno == ENOSYS)
		refuse(sampler, "the kernel knows no NUMA nodes");
	return false;
}

static void tell(const struct page_sampler *sampler, const struct page_buffer *buffer,
		 const int *status)
{
	struct record_pages pages = {
		.head = {.kind = RECORD_KIND_pages, .size_bytes = sizeof(pages)},
		.ticks = clocks_ticks(sampler->sink.clock_kind),
		.address = buffer->address,
		.size_bytes = buffer->size_bytes,
		.node = -1,
		.device = buffer->device,
	};
	uint32_t counts[MAX_NODES] = {0};

	for (size_t i = 0; i < PAGES_ASKED; i++) {
		if (status[i] < 0 || status[i] >= MAX_NODES)
			continue;
		pages.pages_sampled++;
		if (++counts[status[i]] > pages.pages_on_node) {
			pages.pages_on_node = counts[status[i]];
			pages.node = status[i];
		}
	}
	trace_writer_add(sampler->sink.writer, 0, &pages, sizeof(pages), NULL);
}

void page_sampler_run(struct page_sampler *sampler, uint64_t now_ns)
{
	for (size_t asked = 0; asked < BUFFERS_ASKED && !sampler->is_refused; asked++) {
		struct page_buffer *next = NULL;
		int status[PAGES_ASKED];

		for (size_t i = 0; i < PAGE_MAX_BUFFERS; i++) {
			struct page_buffer *buffer = &sampler->buffers[i];

			if (!buffer->size_bytes || !buffer->copies ||
			    (buffer->asked_ns && now_ns - buffer->asked_ns < AGAIN_NS))
				continue;
			if (!next || buffer->copies > next->copies)
				next = buffer;
		}
		if (!next)
			return;
		next->copies = 0;
		next->asked_ns = now_ns;
		if (ask(sampler, next, status))
			tell(sampler, next, status);
	}
}
