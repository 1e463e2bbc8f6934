/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads what the kernel says. A fact that cannot be had has no record; a record that cannot be kept
 * is counted by the writer, so nothing here fails.
 */
#define _GNU_SOURCE
#include "host_facts.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "collector.h"
#include "cpu_list.h"
#include "machine_file.h"
#include "ring.h"
#include "small_file.h"
#include "trace_name.h"
#include "trace_writer.h"

/* Variables that are recorded when they are set: ranks, and settings that change how fast a job is.
 * An allow-list, because environments hold secrets. */
static const char *const recorded_variables[] = {
	"RANK",
	"WORLD_SIZE",
	"LOCAL_RANK",
	"LOCAL_WORLD_SIZE",
	"GROUP_RANK",
	"NODE_RANK",
	"SLURM_JOB_ID",
	"SLURM_PROCID",
	"SLURM_LOCALID",
	"SLURM_NTASKS",
	"SLURM_NODEID",
	"OMPI_COMM_WORLD_RANK",
	"OMPI_COMM_WORLD_SIZE",
	"OMPI_COMM_WORLD_LOCAL_RANK",
	"PMI_RANK",
	"PMI_SIZE",
	"PMIX_RANK",
	"TORCHELASTIC_RUN_ID",
	"CUDA_VISIBLE_DEVICES",
	"CUDA_DEVICE_ORDER",
	"CUDA_LAUNCH_BLOCKING",
	"CUDA_MODULE_LOADING",
	"CUDA_DEVICE_MAX_CONNECTIONS",
	"CUDA_CACHE_DISABLE",
	"CUBLAS_WORKSPACE_CONFIG",
	"CUDA_MPS_PIPE_DIRECTORY",
	"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
	"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT",
	"NVIDIA_TF32_OVERRIDE",
	"NCCL_P2P_DISABLE",
	"NCCL_P2P_LEVEL",
	"NCCL_IB_HCA",
	"NCCL_IB_DISABLE",
	"NCCL_SHM_DISABLE",
	"NCCL_ALGO",
	"NCCL_PROTO",
	"NCCL_NET_GDR_LEVEL",
	"NCCL_DEBUG",
	"TORCH_DISTRIBUTED_DEBUG",
	"PYTORCH_NO_CUDA_MEMORY_CACHING",
	"PYTORCH_CUDA_ALLOC_CONF",
	"PYTORCH_ALLOC_CONF",
	"OMP_NUM_THREADS",
	"MKL_NUM_THREADS",
	"GPUTRACE_GPU",
	"GPUTRACE_ON_FULL",
	"GPUTRACE_RING_KIB",
	"GPUTRACE_MEMORY_MIB",
};

__attribute__((format(printf, 3, 4))) static void fact(struct trace_writer *writer, const char *key,
						       const char *format, ...)
{
	char value[2048];
	va_list args;

	va_start(args, format);
	vsnprintf(value, sizeof(value), format, args);
	va_end(args);
	trace_writer_info(writer, key, value, NULL);
}

/* The value of "Name:\tvalue" in a /proc status file. */
static int status_field(const char *text, const char *name, char *value, size_t size)
{
	const char *at = strstr(text, name);
	size_t length;

	if (!at)
		return 0;
	at += strlen(name);
	at += strspn(at, " \t");
	length = strcspn(at, "\n");
	if (length >= size)
		length = size - 1;
	memcpy(value, at, length);
	value[length] = '\0';
	return length > 0;
}

static void add_host(struct trace_writer *writer, const char *root)
{
	char text[4096], value[128];
	struct utsname names;

	if (uname(&names) == 0) {
		fact(writer, "host.name", "%s", names.nodename);
		fact(writer, "host.kernel", "%s", names.release);
		fact(writer, "host.machine", "%s", names.machine);
	}
	fact(writer, "host.cpus", "%ld", sysconf(_SC_NPROCESSORS_ONLN));
	if (machine_file_line(root, text, sizeof(text), "sys/devices/system/node/online"))
		fact(writer, "host.numa_nodes", "%u", cpu_list_count(text));
	if (machine_file_read(root, text, sizeof(text), "proc/meminfo") > 0 &&
	    status_field(text, "MemTotal:", value, sizeof(value))) {
		const char *at = value;
		uint64_t kib;

		if (small_file_number(&at, 10, &kib))
			fact(writer, "host.memory_bytes", "%llu", (unsigned long long)kib * 1024);
	}
	if (machine_file_read(root, text, sizeof(text), "proc/cpuinfo") > 0 &&
	    status_field(text, "model name", value, sizeof(value)))
		fact(writer, "host.cpu", "%s", value[0] == ':' ? value + 2 : value);
	if (machine_file_line(root, text, sizeof(text), "sys/module/nvidia/version"))
		fact(writer, "driver.version", "%s", text);
}

static void add_cgroup(struct trace_writer *writer, const char *proc, const char *root)
{
	static const struct {
		const char *file, *key;
	} limits[] = {{"cpu.max", "cgroup.cpu_max"}, {"memory.max", "cgroup.memory_max"}};
	char path[1024], text[4096], value[256];
	char *group;

	snprintf(path, sizeof(path), "%s/cgroup", proc);
	if (small_file_read(path, text, sizeof(text)) <= 0)
		return;
	group = strstr(text, "0::/"); /* the line of cgroup version 2 */
	if (!group)
		return;
	group += 3;
	group[strcspn(group, "\n")] = '\0';
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		if (machine_file_line(root, value, sizeof(value), "sys/fs/cgroup%.512s/%s", group,
				      limits[i].file))
			fact(writer, limits[i].key, "%s", value);
	}
}

static void add_process(struct trace_writer *writer, const char *proc, pid_t pid)
{
	char path[256], text[4096], value[1024];
	ssize_t length;

	snprintf(path, sizeof(path), "%s/exe", proc);
	length = readlink(path, value, sizeof(value) - 1);
	if (length > 0) {
		value[length] = '\0';
		fact(writer, "process.exe", "%s", value);
	}
	snprintf(path, sizeof(path), "%s/status", proc);
	if (small_file_read(path, text, sizeof(text)) > 0) {
		if (status_field(text, "\nCpus_allowed_list:", value, sizeof(value))) {
			fact(writer, "process.cpus_allowed", "%s", value);
			fact(writer, "process.cpu_count", "%u", cpu_list_count(value));
		}
		if (status_field(text, "\nMems_allowed_list:", value, sizeof(value)))
			fact(writer, "process.numa_nodes_allowed", "%s", value);
	}
	trace_name_job(pid, value, sizeof(value));
	fact(writer, "process.job", "%s", value);
}

static void add_session(struct trace_writer *writer, const struct collector_options *options,
			const struct ring_control *control)
{
	static const char *const clocks[] = {"import", "tsc", "cntvct", "monotonic"};
	uint32_t kind = control->clock_kind;

	fact(writer, "session.start_realtime_ns", "%llu",
	     (unsigned long long)control->start_realtime_ns);
	fact(writer, "session.start_ticks", "%llu", (unsigned long long)control->start_ticks);
	fact(writer, "process.pid", "%u", control->process_id);
	fact(writer, "clock.kind", "%s", kind < 4 ? clocks[kind] : "unknown");
	fact(writer, "clock.hz", "%llu", (unsigned long long)control->clock_hz);
	fact(writer, "shim.build", "%.*s",
	     (int)strnlen(control->shim_build, sizeof(control->shim_build)), control->shim_build);
	fact(writer, "collector.build", "%s", collector_build());
	fact(writer, "collector.mode", "%s", options->pid == 0 ? "thread" : "process");
	if (options->fallback_reason)
		fact(writer, "collector.fallback", "%s", options->fallback_reason);
}

static void add_environment(struct trace_writer *writer, const char *const *environment)
{
	static const char *const sizes[] = {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
					    "SLURM_NTASKS"};
	const char *rank = trace_name_rank(environment);
	const char *size = NULL;
	char key[96];

	if (rank)
		fact(writer, "rank", "%s", rank);
	for (size_t i = 0; rank && !size && i < sizeof(sizes) / sizeof(sizes[0]); i++)
		size = trace_name_variable(environment, sizes[i]);
	if (size)
		fact(writer, "world_size", "%s", size);
	for (size_t i = 0; i < sizeof(recorded_variables) / sizeof(recorded_variables[0]); i++) {
		const char *value = trace_name_variable(environment, recorded_variables[i]);

		if (!value)
			continue;
		snprintf(key, sizeof(key), "env.%s", recorded_variables[i]);
		fact(writer, key, "%s", value);
	}
}

void host_facts_add(struct trace_writer *writer, const struct collector_options *options,
		    const char *root, const struct ring_control *control)
{
	char proc[64] = "/proc/self";

	if (options->pid != 0)
		snprintf(proc, sizeof(proc), "/proc/%d", (int)options->pid);
	add_session(writer, options, control);
	if (root[0])
		fact(writer, "machine.root", "%s", root);
	add_host(writer, root);
	add_process(writer, proc, options->pid);
	add_cgroup(writer, proc, root);
	add_environment(writer, options->environment);
}
