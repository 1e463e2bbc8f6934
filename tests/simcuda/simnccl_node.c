/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the ranks on one node share: a page of counters per communicator and files for the bytes, in
 * SIMCUDA_NCCL_DIRECTORY (/dev/shm), named by the communicator. The last rank that leaves removes
 * them; a job that is killed leaves them behind, as it does with NCCL's own.
 */
#include "simnccl_internal.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { NAME_SIZE = 256 };

static void *map_shared(const char *name, size_t bytes)
{
	int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct stat status;
	void *memory;

	if (fd < 0)
		return NULL;
	/* Growing only: another rank may have made it larger. */
	if (fstat(fd, &status) || ((size_t)status.st_size < bytes && ftruncate(fd, (off_t)bytes))) {
		close(fd);
		return NULL;
	}
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return memory == MAP_FAILED ? NULL : memory;
}

static const char *directory(void)
{
	const char *given = getenv("SIMCUDA_NCCL_DIRECTORY");

	return given && *given ? given : "/dev/shm";
}

static void name_shared(char name[NAME_SIZE], uint64_t id)
{
	snprintf(name, NAME_SIZE, "%s/simnccl-%016llx", directory(), (unsigned long long)id);
}

struct simnccl_shared *simnccl_node_open(uint64_t id)
{
	char name[NAME_SIZE];

	name_shared(name, id);
	return map_shared(name, sizeof(struct simnccl_shared));
}

void simnccl_node_close(struct simnccl_shared *shared)
{
	munmap(shared, sizeof(*shared));
}

void simnccl_node_forget(uint64_t id)
{
	char name[NAME_SIZE];

	name_shared(name, id);
	unlink(name);
}

static void name_mail(char name[NAME_SIZE], uint64_t id, const char *kind, int from, int to,
		      unsigned int slot)
{
	snprintf(name, NAME_SIZE, "%s/simnccl-%016llx-%s-%d-%d-%u", directory(),
		 (unsigned long long)id, kind, from, to, slot);
}

void *simnccl_node_mail(struct simnccl_mail *mail, uint64_t id, const char *kind, int from, int to,
			unsigned int slot, size_t bytes)
{
	char name[NAME_SIZE];

	if (mail->memory && mail->bytes >= bytes)
		return mail->memory;
	simnccl_node_drop_mail(mail);
	name_mail(name, id, kind, from, to, slot);
	mail->memory = map_shared(name, bytes);
	mail->bytes = mail->memory ? bytes : 0;
	return mail->memory;
}

void simnccl_node_drop_mail(struct simnccl_mail *mail)
{
	if (mail->memory)
		munmap(mail->memory, mail->bytes);
	*mail = (struct simnccl_mail){0};
}

void simnccl_node_remove_mail(uint64_t id, const char *kind, int from, int to, unsigned int slot)
{
	char name[NAME_SIZE];

	name_mail(name, id, kind, from, to, slot);
	unlink(name);
}

void simnccl_node_pause(unsigned int *looks)
{
	struct timespec pause = {0, 30000};

	if (++*looks <= 20)
		sched_yield();
	else
		nanosleep(&pause, NULL);
}

/* GPU clocks of processes run alike but begin apart when the time scale stretches them: what they
 * have in common is CLOCK_MONOTONIC. */
int64_t simnccl_node_clock_offset(const struct simnccl_driver *driver)
{
	const char *text = getenv("SIMCUDA_TIME_SCALE");
	double scale = text && *text ? strtod(text, NULL) : 1.0;
	struct timespec now;
	double monotonic_ns;

	clock_gettime(CLOCK_MONOTONIC, &now);
	monotonic_ns = (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
	if (scale > 0.0)
		monotonic_ns /= scale;
	return (int64_t)monotonic_ns - (int64_t)driver->gpu_clock_ns();
}
