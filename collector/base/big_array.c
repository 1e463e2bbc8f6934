/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A list of regions, large arrays each, found by their address: there are some dozens. A file's
 * space is allocated before it is mapped: a full disk is an answer and no SIGBUS. Resident pages of
 * files are given up all at once by a timer that interrupts the thread that uses the arrays:
 * another thread comes too late on a busy machine. They stay in the page cache, near enough.
 */
#define _GNU_SOURCE
#include "big_array.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "array.h"
#include "array_len.h"
#include "xmalloc.h"

#define LOG_TAG "big_array"
#include "log.h"

#define LARGE_BYTES	    (1u << 20)
#define PAGE_BYTES	    ((size_t)sysconf(_SC_PAGESIZE))
#define DEFAULT_LIMIT_BYTES (512u << 20)
#define LEAST_LIMIT_BYTES   (16u << 20)
#define RELIEF_PERIOD_NS    2000000
#define SPARES		    4
#define JUMPS_PER_LOOK	    64 /* a jump may make some 64 KiB resident, three times over */

struct region {
	char *address;
	size_t bytes; /* whole pages */
	int fd;	      /* -1: memory */
};

static struct {
	struct region *items;
	size_t count, capacity;
	size_t memory_bytes;	      /* of items in memory and of spares */
	struct region spares[SPARES]; /* freed memory, ready for the next array */
	size_t file_bytes, page_bytes, jumps;
	size_t limit_bytes;		   /* 0: not known yet */
	volatile sig_atomic_t is_changing; /* the list: the handler leaves it alone */
	bool has_timer, has_warned;
} regions;

static void change_begin(void)
{
	regions.is_changing = 1;
	atomic_signal_fence(memory_order_seq_cst);
}

static void change_end(void)
{
	atomic_signal_fence(memory_order_seq_cst);
	regions.is_changing = 0;
}

/* ---- limits ---- */

/* "512M", "2G", a plain number of MiB; 0: as much as it takes. */
static size_t limit_of_text(const char *text)
{
	char *end;
	unsigned long long number = strtoull(text, &end, 10);
	unsigned int shift = *end == 'G' || *end == 'g' ? 30 : 20;

	if (end == text || (*end && end[1]) || (*end && !strchr("GgMm", *end)) ||
	    number > SIZE_MAX >> shift) {
		log_warn("GPUTRACE_MEMORY is not a size such as 512M: \"%s\"", text);
		return DEFAULT_LIMIT_BYTES;
	}
	return number ? (size_t)number << shift : SIZE_MAX;
}

void big_array_set_default(size_t limit_bytes)
{
	const char *text = getenv("GPUTRACE_MEMORY");

	big_array_set_limit(text && *text ? limit_of_text(text) : limit_bytes);
}

static size_t limit_bytes(void)
{
	if (!regions.limit_bytes)
		big_array_set_default(DEFAULT_LIMIT_BYTES);
	return regions.limit_bytes;
}

void big_array_set_limit(size_t limit_bytes)
{
	regions.limit_bytes = limit_bytes < LEAST_LIMIT_BYTES ? LEAST_LIMIT_BYTES : limit_bytes;
}

size_t big_array_file_bytes(void)
{
	return regions.file_bytes;
}

/* ---- what is resident of files ---- */

/* Mapped pages of all files, libraries included; 0 when it cannot be asked. Called in a handler. */
static size_t resident_file_bytes(void)
{
	char text[128], *at = text;
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	size_t pages = 0;

	if (fd >= 0)
		close(fd);
	text[length < 0 ? 0 : length] = '\0';
	/* Whole size, resident pages, and of these the ones of files. */
	for (int skipped = 0; *at && skipped < 2; at++)
		skipped += *at == ' ';
	for (; *at >= '0' && *at <= '9'; at++)
		pages = pages * 10 + (size_t)(*at - '0');
	return pages * regions.page_bytes;
}

/* Every few milliseconds, in the thread that makes pages resident: it cannot come too late. */
static void relieve(int signal_number)
{
	int saved = errno;

	(void)signal_number;
	if (!regions.is_changing && regions.file_bytes &&
	    resident_file_bytes() >= regions.limit_bytes / 8) {
		for (size_t i = 0; i < regions.count; i++) {
			const struct region *region = &regions.items[i];

			if (region->fd >= 0)
				madvise(region->address, region->bytes, MADV_DONTNEED);
		}
	}
	errno = saved;
}

void big_array_jump(void)
{
	if (regions.file_bytes && ++regions.jumps % JUMPS_PER_LOOK == 0)
		relieve(0);
}

/* Without a timer the arrays work too, and stay resident for as long as the kernel likes. */
static void start_timer(void)
{
	const struct itimerspec period = {{0, RELIEF_PERIOD_NS}, {0, RELIEF_PERIOD_NS}};
	struct sigaction action = {.sa_handler = relieve, .sa_flags = SA_RESTART};
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF};
	timer_t timer;

	if (regions.has_timer)
		return;
	regions.has_timer = true;
	regions.page_bytes = PAGE_BYTES;
	event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	sigemptyset(&action.sa_mask);
	if (sigaction(SIGPROF, &action, NULL) == 0 &&
	    timer_create(CLOCK_MONOTONIC, &event, &timer) == 0)
		timer_settime(timer, 0, &period, NULL);
}

/* ---- files ---- */

/* Files in memory would only be the same memory under another name. */
static bool is_on_disk(int fd)
{
	struct statfs where;

	return fstatfs(fd, &where) == 0 && where.f_type != TMPFS_MAGIC &&
	       where.f_type != RAMFS_MAGIC;
}

/* Larger than the limit on files, a file would be the program's end by SIGXFSZ. */
static bool reserve(int fd, size_t bytes)
{
	struct rlimit limit;
	int rc;

	if (getrlimit(RLIMIT_FSIZE, &limit) < 0 || bytes > limit.rlim_cur)
		return false;
	do {
		rc = fallocate(fd, 0, 0, (off_t)bytes);
	} while (rc < 0 && errno == EINTR); /* the timer's */
	return rc == 0;
}

/* A file without a name and with that much space; -1 where there is none. */
static int file_new(size_t bytes)
{
	const char *folders[] = {getenv("TMPDIR"), "/var/tmp", "/tmp", "."};

	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		char path[4096];
		int fd;

		if (!folders[i] || !*folders[i] ||
		    snprintf(path, sizeof(path), "%s/gputrace.XXXXXX", folders[i]) >=
			    (int)sizeof(path))
			continue;
		fd = mkostemp(path, O_CLOEXEC);
		if (fd < 0)
			continue;
		unlink(path);
		if (is_on_disk(fd) && reserve(fd, bytes))
			return fd;
		close(fd);
	}
	if (!regions.has_warned)
		log_warn("No folder has disk space for large arrays, so they stay in memory: "
			 "bytes=%zu (TMPDIR names another folder)",
			 bytes);
	regions.has_warned = true;
	return -1;
}

/* ---- regions ---- */

static size_t whole_pages(size_t count, size_t item_bytes)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, item_bytes, &bytes) || bytes > SIZE_MAX / 2)
		xrealloc(NULL, SIZE_MAX, SIZE_MAX); /* says so and exits */
	return (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

static char *checked_map(void *address, size_t bytes)
{
	if (address == MAP_FAILED)
		xrealloc(NULL, bytes, SIZE_MAX / bytes + 1); /* says so and exits */
	return address;
}

static char *map_region(size_t bytes, int fd)
{
	int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
	char *address = checked_map(mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0), bytes);

	if (fd < 0)
		madvise(address, bytes, MADV_HUGEPAGE);
	return address;
}

static bool fits_into_memory(size_t more_bytes)
{
	return regions.memory_bytes + more_bytes <= limit_bytes() / 8 * 3;
}

/* Subtracting goes by the numbers' wrapping. */
static void count_region(const struct region *region, size_t sign)
{
	*(region->fd < 0 ? &regions.memory_bytes : &regions.file_bytes) += sign * region->bytes;
}
#define ADDED	1
#define REMOVED SIZE_MAX

static void region_unmap(const struct region *region)
{
	count_region(region, REMOVED);
	munmap(region->address, region->bytes);
	if (region->fd >= 0)
		close(region->fd);
}

/* ---- spares: a page that was in use costs less than a new one ---- */

/* The smallest one that is large enough and not twice as large; none has no bytes. */
static struct region spare_take(size_t bytes)
{
	struct region *best = NULL, taken = {.fd = -1};

	for (size_t i = 0; i < SPARES; i++) {
		struct region *spare = &regions.spares[i];

		if (spare->bytes >= bytes && spare->bytes / 2 <= bytes &&
		    (!best || spare->bytes < best->bytes))
			best = spare;
	}
	if (best) {
		taken = *best;
		best->bytes = 0;
	}
	return taken;
}

static void spare_keep(const struct region *freed)
{
	struct region *smallest = &regions.spares[0];

	for (size_t i = 1; i < SPARES; i++) {
		if (regions.spares[i].bytes < smallest->bytes)
			smallest = &regions.spares[i];
	}
	if (smallest->bytes > freed->bytes) {
		region_unmap(freed);
		return;
	}
	if (smallest->bytes)
		region_unmap(smallest);
	*smallest = *freed;
}

static void spares_free(void)
{
	for (size_t i = 0; i < SPARES; i++) {
		if (regions.spares[i].bytes)
			region_unmap(&regions.spares[i]);
		regions.spares[i].bytes = 0;
	}
}

static void *region_new(size_t bytes, bool is_zeroed)
{
	struct region region = spare_take(bytes);

	if (region.bytes && is_zeroed)
		memset(region.address, 0, bytes);
	if (!region.bytes) {
		if (!fits_into_memory(bytes))
			spares_free();
		if (!fits_into_memory(bytes))
			region.fd = file_new(bytes);
		region.bytes = bytes;
		region.address = map_region(bytes, region.fd);
		count_region(&region, ADDED);
	}
	change_begin();
	if (regions.count == regions.capacity)
		regions.items =
			array_grow(regions.items, &regions.capacity, sizeof(*regions.items));
	regions.items[regions.count++] = region;
	change_end();
	if (region.fd >= 0)
		start_timer();
	return region.address;
}

static struct region *region_find(const void *items)
{
	for (size_t i = regions.count; i-- > 0;) {
		if (regions.items[i].address == items)
			return &regions.items[i];
	}
	return NULL;
}

/* Into a file, or from one into memory. False: no file, or it could not be written. */
static bool region_move(struct region *region, size_t bytes, bool to_file)
{
	struct region moved = {.bytes = bytes, .fd = to_file ? file_new(bytes) : -1};
	size_t kept = bytes < region->bytes ? bytes : region->bytes, piece = 0;

	if (to_file && moved.fd < 0)
		return false;
	/* By writing, since what is written does not become resident. */
	for (size_t at = 0; moved.fd >= 0 && at < kept; at += piece) {
		ssize_t written = pwrite(moved.fd, region->address + at, kept - at, (off_t)at);

		if (written <= 0) {
			close(moved.fd);
			return false;
		}
		piece = (size_t)written;
	}
	moved.address = map_region(bytes, moved.fd);
	if (!to_file)
		memcpy(moved.address, region->address, kept);
	region_unmap(region);
	count_region(&moved, ADDED);
	*region = moved;
	return true;
}

/* In its place, or where the system finds room. False: its file cannot grow. */
static bool region_remap(struct region *region, size_t bytes)
{
	if (region->fd >= 0 && bytes > region->bytes && !reserve(region->fd, bytes))
		return false;
	region->address =
		checked_map(mremap(region->address, region->bytes, bytes, MREMAP_MAYMOVE), bytes);
	if (region->fd >= 0 && bytes < region->bytes && ftruncate(region->fd, (off_t)bytes) < 0)
		log_debug("A file stays larger than its array: bytes=%zu", bytes);
	count_region(region, REMOVED);
	region->bytes = bytes;
	count_region(region, ADDED);
	return true;
}

static void *region_resize(struct region *region, size_t bytes)
{
	bool is_too_much = bytes > region->bytes && !fits_into_memory(bytes - region->bytes);
	char *address;

	if (is_too_much && region->fd < 0) {
		spares_free();
		is_too_much = !fits_into_memory(bytes - region->bytes);
	}
	change_begin();
	if (region->fd >= 0 || !is_too_much || !region_move(region, bytes, true)) {
		if (!region_remap(region, bytes))
			region_move(region, bytes, false);
	}
	address = region->address;
	if (region->fd >= 0)
		start_timer();
	change_end();
	return address;
}

/* ---- arrays ---- */

void *big_array_new(size_t count, size_t item_bytes)
{
	size_t bytes = whole_pages(count, item_bytes);

	return bytes < LARGE_BYTES ? xcalloc(count, item_bytes) : region_new(bytes, true);
}

void *big_array_take(size_t count, size_t item_bytes)
{
	size_t bytes = whole_pages(count, item_bytes);

	return bytes < LARGE_BYTES ? xcalloc(count, item_bytes) : region_new(bytes, false);
}

static void *resize(void *items, size_t old_count, size_t count, size_t item_bytes)
{
	struct region *region = items ? region_find(items) : NULL;
	size_t bytes = whole_pages(count ? count : 1, item_bytes);
	size_t old_bytes = old_count * item_bytes;
	void *larger;

	if (region)
		return region_resize(region, bytes);
	if (bytes < LARGE_BYTES)
		return xrealloc(items, count, item_bytes);
	larger = region_new(bytes, false);
	if (old_bytes)
		memcpy(larger, items, old_bytes < bytes ? old_bytes : bytes);
	free(items);
	return larger;
}

void *big_array_grow(void *items, size_t *capacity, size_t item_bytes)
{
	size_t old = *capacity, wanted = old + old / 2;

	if (wanted < 16)
		wanted = 16;
	*capacity = wanted;
	return resize(items, old, wanted, item_bytes);
}

void *big_array_trim(void *items, size_t *capacity, size_t count, size_t item_bytes)
{
	size_t old = *capacity;

	*capacity = count;
	return resize(items, old, count, item_bytes);
}

void big_array_free(void *items)
{
	struct region *region = items ? region_find(items) : NULL;
	struct region freed;

	if (!region) {
		free(items);
		return;
	}
	change_begin();
	freed = *region;
	*region = regions.items[--regions.count];
	change_end();
	if (freed.fd < 0)
		spare_keep(&freed);
	else
		region_unmap(&freed);
	if (!regions.count) {
		spares_free();
		free(regions.items);
		regions.items = NULL;
		regions.capacity = 0;
	}
}
