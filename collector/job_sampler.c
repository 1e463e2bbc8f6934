/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of the job come from the real /proc, files of the machine and of its cgroups from below the
 * root. Each look is bounded: 32 launching threads, 256 threads for the count of runnable ones.
 */
#define _GNU_SOURCE
#include "job_sampler.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "machine_file.h"
#include "small_file.h"

#define MAX_COUNTED_THREADS 256
#define STAT_MAJOR_FAULTS   12 /* fields of /proc/PID/stat, from 1 */
#define STAT_PROCESSOR	    39

/* ---- the job's own files ---- */

__attribute__((format(printf, 4, 5))) static bool
read_job(const struct job_sampler *sampler, char *text, size_t size, const char *format, ...)
{
	char path[128];
	va_list arguments;
	int used = sampler->pid ? snprintf(path, sizeof(path), "/proc/%d/", (int)sampler->pid)
				: snprintf(path, sizeof(path), "/proc/self/");

	va_start(arguments, format);
	vsnprintf(path + used, sizeof(path) - (size_t)used, format, arguments);
	va_end(arguments);
	return small_file_read(path, text, size) > 0;
}

/* Field `number` of a stat file; the second one, in parentheses, may hold anything. */
static const char *stat_field(const char *text, int number)
{
	const char *at = strrchr(text, ')');

	for (int field = 2; at && field < number; field++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	return at;
}

static int64_t read_cpu(const struct job_sampler *sampler, uint32_t thread_id)
{
	char text[1024];
	const char *field;
	uint64_t cpu;

	if (!read_job(sampler, text, sizeof(text), "task/%u/stat", thread_id))
		return -1;
	field = stat_field(text, STAT_PROCESSOR);
	return field && small_file_number(&field, 10, &cpu) ? (int64_t)cpu : -1;
}

static void tell_cpu(struct job_sampler *sampler, struct job_thread *thread, bool is_always)
{
	int64_t cpu = read_cpu(sampler, thread->thread_id);
	int32_t node;

	if (cpu < 0 || (cpu == thread->cpu && !is_always))
		return;
	thread->cpu = cpu;
	sample_emit(&sampler->sink, SAMPLE_thread_cpu, thread->thread_id, cpu);
	node = numa_nodes_of_cpu(&sampler->nodes, (uint32_t)cpu);
	if (node >= 0)
		sample_emit(&sampler->sink, SAMPLE_thread_node, thread->thread_id, node);
}

static struct job_thread *slot_of(struct job_sampler *sampler, uint32_t thread_id)
{
	struct job_thread *unused = NULL;

	for (size_t i = 0; i < JOB_MAX_THREADS; i++) {
		struct job_thread *thread = &sampler->threads[i];

		if (thread->thread_id == thread_id)
			return thread;
		if (!thread->thread_id && !unused)
			unused = thread;
	}
	if (unused)
		*unused = (struct job_thread){.thread_id = thread_id, .cpu = -1};
	return unused;
}

void job_sampler_look_at_threads(struct job_sampler *sampler, const struct ring_reader *reader)
{
	for (size_t i = 0; i < JOB_MAX_THREADS; i++)
		sampler->threads[i].is_live = false;
	for (uint32_t i = 0; i < RING_SLOT_COUNT; i++) {
		const struct ring_view *view = &reader->views[i];
		struct job_thread *thread;

		if (!view->known || !view->thread_id ||
		    atomic_load_explicit(&ring_slots(reader->control)[i].state,
					 memory_order_relaxed) != RING_SLOT_LIVE)
			continue;
		thread = slot_of(sampler, view->thread_id);
		if (!thread)
			continue; /* more launching threads than are worth a look */
		thread->is_live = true;
		if (view->tail != thread->tail)
			tell_cpu(sampler, thread, false);
		thread->tail = view->tail;
	}
	for (size_t i = 0; i < JOB_MAX_THREADS; i++) {
		if (!sampler->threads[i].is_live)
			sampler->threads[i].thread_id = 0;
	}
}

static void sample_thread(struct job_sampler *sampler, struct job_thread *thread)
{
	char text[4096];
	const char *at = text;
	uint64_t run_ns, wait_ns, migrations;

	tell_cpu(sampler, thread, true);
	if (read_job(sampler, text, sizeof(text), "task/%u/schedstat", thread->thread_id) &&
	    small_file_number(&at, 10, &run_ns) && *at++ == ' ' &&
	    small_file_number(&at, 10, &wait_ns)) {
		sample_emit(&sampler->sink, SAMPLE_thread_run_ns, thread->thread_id,
			    (int64_t)run_ns);
		sample_emit(&sampler->sink, SAMPLE_thread_wait_ns, thread->thread_id,
			    (int64_t)wait_ns);
	}
	/* Only kernels with scheduler debugging have it. */
	if (read_job(sampler, text, sizeof(text), "task/%u/sched", thread->thread_id) &&
	    machine_field_number(text, "se.nr_migrations", &migrations))
		sample_emit(&sampler->sink, SAMPLE_thread_migrations, thread->thread_id,
			    (int64_t)migrations);
}

static void sample_process(const struct job_sampler *sampler)
{
	char path[64], text[1024];
	const char *at = text, *field;
	const struct dirent *entry;
	int64_t threads = 0, runnable = 0;
	uint64_t pages, faults;
	DIR *dir;

	if (read_job(sampler, text, sizeof(text), "stat") &&
	    (field = stat_field(text, STAT_MAJOR_FAULTS)) != NULL &&
	    small_file_number(&field, 10, &faults))
		sample_emit(&sampler->sink, SAMPLE_process_major_faults, 0, (int64_t)faults);
	if (read_job(sampler, text, sizeof(text), "statm") && (at = strchr(text, ' ')) != NULL) {
		at++;
		if (small_file_number(&at, 10, &pages))
			sample_emit(&sampler->sink, SAMPLE_process_resident_bytes, 0,
				    (int64_t)(pages * sampler->page_bytes));
	}
	if (sampler->pid)
		snprintf(path, sizeof(path), "/proc/%d/task", (int)sampler->pid);
	else
		snprintf(path, sizeof(path), "/proc/self/task");
	dir = opendir(path);
	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		const char *state;

		if (entry->d_name[0] == '.')
			continue;
		if (++threads > MAX_COUNTED_THREADS)
			continue;
		if (!read_job(sampler, text, sizeof(text), "task/%.16s/stat", entry->d_name))
			continue;
		state = stat_field(text, 3);
		runnable += state && *state == 'R';
	}
	closedir(dir);
	sample_emit(&sampler->sink, SAMPLE_process_threads, 0, threads);
	if (threads <= MAX_COUNTED_THREADS)
		sample_emit(&sampler->sink, SAMPLE_process_runnable, 0, runnable);
}

/* ---- cgroups ---- */

/* The path of one controller in /proc/PID/cgroup, "" when it has none. */
static void group_path(const char *text, const char *controller, char *path, size_t size)
{
	path[0] = '\0';
	for (const char *line = text; line && *line;) {
		const char *names = strchr(line, ':');
		const char *end = line + strcspn(line, "\n");
		const char *behind = names ? strchr(names + 1, ':') : NULL;

		if (behind && behind < end) {
			size_t length = strlen(controller);
			const char *at = names + 1;

			while (at < behind) {
				size_t name = strcspn(at, ",:");

				if (name == length && strncmp(at, controller, length) == 0) {
					snprintf(path, size, "%.*s", (int)(end - behind - 1),
						 behind + 1);
					return;
				}
				at += name + 1;
			}
			if (length == 0 && names + 1 == behind) {
				snprintf(path, size, "%.*s", (int)(end - behind - 1), behind + 1);
				return;
			}
		}
		line = *end ? end + 1 : NULL;
	}
}

static bool read_group(const struct job_sampler *sampler, char *text, size_t size,
		       const char *controller, const char *group, const char *file)
{
	/* In a container the path is the host's, and what is mounted is already the group. */
	return machine_file_read(sampler->root, text, size, "sys/fs/cgroup%s%s/%s", controller,
				 group, file) > 0 ||
	       machine_file_read(sampler->root, text, size, "sys/fs/cgroup%s/%s", controller,
				 file) > 0;
}

static void find_groups(struct job_sampler *sampler)
{
	char text[4096];

	if (!read_job(sampler, text, sizeof(text), "cgroup"))
		return;
	group_path(text, "cpu", sampler->cgroup, sizeof(sampler->cgroup));
	sampler->is_version1 = sampler->cgroup[0] != '\0';
	if (sampler->is_version1) {
		group_path(text, "memory", sampler->memory_group, sizeof(sampler->memory_group));
	} else {
		group_path(text, "", sampler->cgroup, sizeof(sampler->cgroup));
		memcpy(sampler->memory_group, sampler->cgroup, sizeof(sampler->memory_group));
	}
}

static void sample_group_number(const struct job_sampler *sampler, const char *text,
				const char *field, uint64_t divisor, enum sample_metric metric)
{
	uint64_t value;

	if (machine_field_number(text, field, &value))
		sample_emit(&sampler->sink, metric, 0, (int64_t)(value / divisor));
}

static void sample_groups(const struct job_sampler *sampler)
{
	const char *cpu = sampler->is_version1 ? "/cpu,cpuacct" : "";
	const char *memory = sampler->is_version1 ? "/memory" : "";
	const char *file = sampler->is_version1 ? "memory.usage_in_bytes" : "memory.current";
	const char *events = sampler->is_version1 ? "memory.oom_control" : "memory.events";
	char text[4096];
	const char *at = text;
	uint64_t bytes;

	if (read_group(sampler, text, sizeof(text), cpu, sampler->cgroup, "cpu.stat")) {
		if (sampler->is_version1)
			sample_group_number(sampler, text, "throttled_time", 1000,
					    SAMPLE_cgroup_throttled_us);
		else
			sample_group_number(sampler, text, "throttled_usec", 1,
					    SAMPLE_cgroup_throttled_us);
		sample_group_number(sampler, text, "nr_throttled", 1,
				    SAMPLE_cgroup_throttled_periods);
	}
	if (read_group(sampler, text, sizeof(text), memory, sampler->memory_group, file) &&
	    small_file_number(&at, 10, &bytes))
		sample_emit(&sampler->sink, SAMPLE_cgroup_memory_bytes, 0, (int64_t)bytes);
	if (read_group(sampler, text, sizeof(text), memory, sampler->memory_group, events))
		sample_group_number(sampler, text, "oom_kill ", 1, SAMPLE_cgroup_oom_kills);
}

/* ---- the machine ---- */

static void sample_pressure(const struct job_sampler *sampler)
{
	static const struct {
		const char *file, *line;
		enum sample_metric metric;
	} totals[] = {
		{"cpu", "some", SAMPLE_psi_cpu_some_us},
		{"memory", "some", SAMPLE_psi_memory_some_us},
		{"memory", "full", SAMPLE_psi_memory_full_us},
		{"io", "some", SAMPLE_psi_io_some_us},
		{"io", "full", SAMPLE_psi_io_full_us},
	};

	for (size_t i = 0; i < sizeof(totals) / sizeof(totals[0]); i++) {
		char text[512], line[256];
		const char *total;
		uint64_t value;

		if (machine_file_read(sampler->root, text, sizeof(text), "proc/pressure/%s",
				      totals[i].file) <= 0 ||
		    !machine_field(text, totals[i].line, line, sizeof(line)))
			continue;
		total = strstr(line, "total=");
		if (!total)
			continue;
		total += strlen("total=");
		if (small_file_number(&total, 10, &value))
			sample_emit(&sampler->sink, totals[i].metric, 0, (int64_t)value);
	}
}

void job_sampler_init(struct job_sampler *sampler, const struct sample_sink *sink, const char *root,
		      pid_t pid)
{
	memset(sampler, 0, sizeof(*sampler));
	sampler->root = root;
	sampler->pid = pid;
	sampler->sink = *sink;
	sampler->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	numa_nodes_read(root, &sampler->nodes);
	find_groups(sampler);
}

void job_sampler_run(struct job_sampler *sampler)
{
	for (size_t i = 0; i < JOB_MAX_THREADS; i++) {
		if (sampler->threads[i].thread_id)
			sample_thread(sampler, &sampler->threads[i]);
	}
	sample_process(sampler);
	sample_groups(sampler);
	sample_pressure(sampler);
}
