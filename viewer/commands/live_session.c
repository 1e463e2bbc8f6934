/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session's memory is a memfd named "gputrace" (or a nameless file in /dev/shm), held by the
 * collector (whose command line says which job it is) or, when a thread of the job collects, by the
 * job. What stands in it is checked before use: any process of the user could have made it.
 */
#define _GNU_SOURCE
#include "live_session.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "array.h"
#include "error.h"
#include "ring.h"

#define MEMFD_LINK "/memfd:gputrace"
#define SHM_LINK   "/dev/shm/gputrace."

/* ---- one process ---- */

static size_t read_file(const char *path, char *buffer, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t bytes = fd < 0 ? -1 : read(fd, buffer, size - 1);

	if (fd >= 0)
		close(fd);
	buffer[bytes > 0 ? bytes : 0] = '\0';
	return bytes > 0 ? (size_t)bytes : 0;
}

/* The number behind --pid of a collector's command line, 0 when it has none. */
static pid_t job_of_collector(pid_t pid)
{
	char path[64], text[4096];
	size_t bytes;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	bytes = read_file(path, text, sizeof(text));
	for (const char *word = text; word < text + bytes; word += strlen(word) + 1) {
		if (!strcmp(word, "--pid") && word + 6 < text + bytes)
			return (pid_t)strtol(word + 6, NULL, 10);
	}
	return 0;
}

static void read_command(struct live_session *session)
{
	char path[64];
	size_t bytes;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", session->job);
	bytes = read_file(path, session->command, sizeof(session->command));
	for (size_t i = 0; i + 1 < bytes; i++) {
		if (!session->command[i])
			session->command[i] = ' ';
	}
}

static bool is_session_memory(const struct ring_control *control)
{
	return control->magic == RING_MAGIC && control->version_major == RING_VERSION_MAJOR &&
	       control->control_bytes == RING_CONTROL_BYTES &&
	       control->slot_count == RING_SLOT_COUNT;
}

/* Sealed against shrinking, or a look at it could end in SIGBUS; a file in /dev/shm cannot be
 * sealed, but is ours and has no name any more. */
static bool can_be_trusted(int fd, const struct stat *status)
{
	int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 &&
	       (seals & F_SEAL_SHRINK ||
		(seals == F_SEAL_SEAL && status->st_nlink == 0 && status->st_uid == geteuid()));
}

static bool map_control(struct live_session *session, const char *link)
{
	int fd = open(link, O_RDWR | O_CLOEXEC);
	struct stat status;
	void *memory = MAP_FAILED;

	if (fd < 0)
		return false;
	if (fstat(fd, &status) == 0 && status.st_size >= RING_CONTROL_BYTES &&
	    can_be_trusted(fd, &status))
		memory = mmap(NULL, RING_CONTROL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (memory == MAP_FAILED)
		return false;
	if (!is_session_memory(memory)) {
		munmap(memory, RING_CONTROL_BYTES);
		return false;
	}
	session->control = memory;
	session->control_bytes = RING_CONTROL_BYTES;
	return true;
}

static bool ends_in(const char *text, const char *end)
{
	size_t length = strlen(text), end_length = strlen(end);

	return length > end_length && !strcmp(text + length - end_length, end);
}

/* Looks through the open files of a process. False when that is not allowed. */
static bool look_into(pid_t pid, struct live_session *session)
{
	char folder[64], link[384], target[PATH_MAX];
	struct dirent *entry;
	struct stat status;
	DIR *files;

	snprintf(folder, sizeof(folder), "/proc/%d/fd", pid);
	files = opendir(folder);
	if (!files)
		return errno != EACCES && errno != EPERM;
	while ((entry = readdir(files))) {
		ssize_t length;

		snprintf(link, sizeof(link), "%s/%s", folder, entry->d_name);
		length = readlink(link, target, sizeof(target) - 1);
		if (length <= 0)
			continue;
		target[length] = '\0';
		if (!session->control && (!strncmp(target, MEMFD_LINK, strlen(MEMFD_LINK)) ||
					  !strncmp(target, SHM_LINK, strlen(SHM_LINK))))
			map_control(session, link);
		else if (ends_in(target, ".gtrace") && stat(link, &status) == 0) {
			snprintf(session->trace_path, sizeof(session->trace_path), "%s", target);
			session->trace_bytes = (uint64_t)status.st_size;
		}
	}
	closedir(files);
	return true;
}

/* ---- all of them ---- */

static bool is_collector(pid_t pid)
{
	char path[64], name[64];

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	read_file(path, name, sizeof(name));
	/* The kernel cuts names at 15 bytes. */
	return !strncmp(name, "gputrace-collector", 15);
}

static void add_process(struct live_sessions *sessions, pid_t pid)
{
	struct live_session session = {.holder = pid};

	if (!look_into(pid, &session)) {
		sessions->denied += is_collector(pid);
		return;
	}
	if (!session.control)
		return;
	session.job = is_collector(pid) ? job_of_collector(pid) : pid;
	/* A job that holds the memory of its collector is not the writer. */
	if (!session.trace_path[0] || session.job == 0) {
		munmap(session.control, session.control_bytes);
		return;
	}
	read_command(&session);
	if (sessions->count == sessions->capacity)
		sessions->items =
			array_grow(sessions->items, &sessions->capacity, sizeof(*sessions->items));
	sessions->items[sessions->count++] = session;
}

static int compare_jobs(const void *one, const void *two)
{
	const struct live_session *left = one, *right = two;

	return left->job < right->job ? -1 : left->job > right->job;
}

int live_sessions_find(struct live_sessions *sessions, struct error *err)
{
	DIR *processes = opendir("/proc");
	struct dirent *entry;

	memset(sessions, 0, sizeof(*sessions));
	if (!processes)
		return error_set(err, -errno, "Cannot list /proc: %s", strerror(errno));
	while ((entry = readdir(processes))) {
		if (isdigit((unsigned char)entry->d_name[0]))
			add_process(sessions, (pid_t)strtol(entry->d_name, NULL, 10));
	}
	closedir(processes);
	if (sessions->count)
		qsort(sessions->items, sessions->count, sizeof(*sessions->items), compare_jobs);
	return 0;
}

void live_sessions_free(struct live_sessions *sessions)
{
	for (size_t i = 0; i < sessions->count; i++)
		munmap(sessions->items[i].control, sessions->items[i].control_bytes);
	free(sessions->items);
	memset(sessions, 0, sizeof(*sessions));
}

/* A collector in another PID namespace knows its job by another number, which says nothing here. */
static bool is_same_namespace(pid_t pid)
{
	char path[64];
	struct stat own, other;

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", pid);
	return !stat("/proc/self/ns/pid", &own) && !stat(path, &other) &&
	       own.st_ino == other.st_ino && own.st_dev == other.st_dev;
}

/* The collector of a job that was killed may have minutes of work left on a slow disk. */
static bool is_over(const struct live_session *session)
{
	return atomic_load_explicit(&session->control->session_ended, memory_order_relaxed) ||
	       (kill(session->job, 0) && errno == ESRCH && is_same_namespace(session->holder));
}

struct live_session *live_sessions_of(const struct live_sessions *sessions, pid_t pid)
{
	for (size_t i = 0; i < sessions->count; i++) {
		struct live_session *session = &sessions->items[i];

		if ((session->job == pid || session->holder == pid) && !is_over(session))
			return session;
	}
	return NULL;
}

/* ---- what a session says ---- */

uint64_t live_session_lost(const struct live_session *session)
{
	return atomic_load_explicit(&session->control->unrecorded, memory_order_relaxed);
}

uint32_t live_session_threads(const struct live_session *session)
{
	const struct ring_slot *slots = ring_slots(session->control);
	uint32_t count = 0;

	for (uint32_t i = 0; i < RING_SLOT_COUNT; i++)
		count += atomic_load_explicit(&slots[i].state, memory_order_relaxed) ==
			 RING_SLOT_LIVE;
	return count;
}

const char *live_session_state(const struct live_session *session)
{
	const struct ring_control *control = session->control;

	switch (atomic_load_explicit(&control->collector_state, memory_order_acquire)) {
	case RING_COLLECTOR_NONE:
		return "starting";
	case RING_COLLECTOR_DONE:
		return "done";
	case RING_COLLECTOR_FAILED:
		return "failed";
	default:
		break;
	}
	if (is_over(session))
		return "ending";
	return atomic_load_explicit(&control->capture_enabled, memory_order_relaxed) ? "recording"
										     : "off";
}

double live_session_age_s(const struct live_session *session)
{
	struct timespec now = {0};
	double begin_s = (double)session->control->start_realtime_ns / 1e9;

	clock_gettime(CLOCK_REALTIME, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9 - begin_s;
}
