/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process whose main thread called pthread_exit() lives until its last thread ends. Ours must end
 * by themselves then: the main thread's state tells cheaply when to look at all threads.
 */
#include "own_threads.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NAME_PREFIX "gputrace"

struct start {
	void *(*run)(void *);
	char name[16];
	_Atomic uint32_t taken;
};
/* A start is read by its thread only; there are never many. */
static struct start starts[8];

static void *thread_main(void *argument)
{
	struct start *start = argument;
	void *(*run)(void *) = start->run;
	prctl(PR_SET_NAME, start->name, 0, 0, 0);
	atomic_store(&start->taken, 0);
	return run(NULL);
}

int own_threads_start(const char *name, void *(*run)(void *))
{
	sigset_t all, before;
	pthread_t thread;
	pthread_attr_t attributes;
	struct start *start = NULL;

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]) && !start; i++) {
		if (!atomic_exchange(&starts[i].taken, 1))
			start = &starts[i];
	}
	if (!start)
		return 11; /* EAGAIN */
	start->run = run;
	snprintf(start->name, sizeof(start->name), "%s", name);
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int rc = pthread_create(&thread, &attributes, thread_main, start);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	if (rc)
		atomic_store(&start->taken, 0);
	return rc;
}

static ssize_t read_file(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	ssize_t count = read(fd, text, size - 1);
	close(fd);
	text[count > 0 ? count : 0] = '\0';
	return count;
}

/* The kernel's layout of a directory entry. */
struct directory_entry {
	uint64_t inode;
	int64_t offset;
	unsigned short size_bytes;
	unsigned char type;
	char name[];
};

/* Whether a thread, by its number as text, is one of ours or the ended main thread. */
static bool does_not_count(const char *number, const char *main_number)
{
	char path[64], name[32];
	if (!strcmp(number, main_number))
		return true;
	snprintf(path, sizeof(path), "/proc/self/task/%.20s/comm", number);
	return read_file(path, name, sizeof(name)) <= 0 ||
	       !strncmp(name, NAME_PREFIX, sizeof(NAME_PREFIX) - 1);
}

bool own_threads_are_last(void)
{
	char text[512], number[16];
	/* State after the name in parentheses: Z when the main thread has ended. */
	if (read_file("/proc/self/stat", text, sizeof(text)) <= 0)
		return false;
	const char *state = strrchr(text, ')');
	if (!state || state[1] != ' ' || state[2] != 'Z')
		return false;
	snprintf(number, sizeof(number), "%d", (int)getpid());
	int fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return false;
	bool last = true;
	_Alignas(8) char entries[4096];
	long count;
	while (last && (count = syscall(SYS_getdents64, fd, entries, sizeof(entries))) > 0) {
		for (long at = 0; last && at < count;) {
			const struct directory_entry *entry = (const void *)(entries + at);
			if (entry->name[0] != '.')
				last = does_not_count(entry->name, number);
			at += entry->size_bytes;
		}
	}
	close(fd);
	return last;
}
