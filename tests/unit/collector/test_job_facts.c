/* SPDX-License-Identifier: Apache-2.0 */
/* What the collector finds out about job and machine: names, libraries, links, life and death. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device_link.h"
#include "job_watch.h"
#include "library_map.h"
#include "record.h"
#include "session_fixture.h"
#include "small_file.h"
#include "trace_name.h"

/* ---- names ---- */

static void expect_job(const char *expected, char *const argv[])
{
	int ends[2];
	char job[64], byte;
	pid_t child;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	child = fork();
	if (child == 0) { /* the pipe closes at exec: then the command line is there */
		setenv("GPUTRACE_TEST_PAUSE", "1", 1);
		execv("/proc/self/exe", argv);
		_exit(127);
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 0);
	close(ends[0]);
	trace_name_job(child, job, sizeof(job));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_string_equal(job, expected);
}

static void a_job_is_called_by_its_program_or_script(void **state)
{
	(void)state;
	expect_job("train", (char *[]){"python3", "-u", "/data/train.py", "--lr", "1", NULL});
	expect_job("pkg_tool", (char *[]){"/usr/bin/python3.11", "-m", "pkg.tool", NULL});
	expect_job("train", (char *[]){"python", "-W", "ignore", "train.py", NULL});
	expect_job("python3", (char *[]){"python3", "-c", "import torch", NULL});
	expect_job("a_out", (char *[]){"./a.out", NULL});
	expect_job("__x___etc", (char *[]){"/bin/$(x);.etc", NULL});
}

static void file_names_have_job_rank_host_pid_and_start(void **state)
{
	char name[256];

	(void)state;
	trace_name_build(name, sizeof(name), "train", "3", "node1.example.org", 42,
			 1767225600000000000ull, 0);
	assert_string_equal(name, "train.rank3.node1_example_org.42.20260101T000000Z.gtrace");
	trace_name_build(name, sizeof(name), "../../etc/x y", NULL, "h", 1, 0, 1);
	assert_string_equal(name, "______etc_x_y.h.1.19700101T000000Z-2.gtrace");
}

static void ranks_come_from_the_launcher_nearest_to_the_job(void **state)
{
	static const char *const both[] = {"SLURM_PROCID=7", "RANK=3", NULL};
	static const char *const slurm[] = {"RANKS=9", "SLURM_PROCID=7", NULL};
	static const char *const odd[] = {"RANK=../x", "PMI_RANK=", NULL};

	(void)state;
	assert_string_equal(trace_name_rank(both), "3");
	assert_string_equal(trace_name_rank(slurm), "7");
	assert_null(trace_name_rank(odd));
	assert_null(trace_name_rank(NULL));
}

/* ---- libraries ---- */

static struct {
	uint32_t count;
	bool has_libc, has_build_id;
} libraries;

static void note_library(void *context, const struct record_library *library)
{
	static const uint8_t none[20];
	char path[4096];

	(void)context;
	libraries.count++;
	snprintf(path, sizeof(path), "%.*s", (int)library->path_bytes, library->path);
	if (strstr(path, "/libc.so") || strstr(path, "/libc-")) {
		libraries.has_libc = true;
		libraries.has_build_id = memcmp(library->build_id, none, 20) != 0;
		assert_true(library->address < (uintptr_t)&gnu_get_libc_version);
		assert_true(library->address + library->size_bytes >
			    (uintptr_t)&gnu_get_libc_version);
	}
}

static void libraries_are_told_once_with_their_build_id(void **state)
{
	struct library_map map = {.pid = getpid()};
	bool changed;
	void *mapped;
	int fd;

	(void)state;
	memset(&libraries, 0, sizeof(libraries));
	assert_non_null(library_map_update(&map, 5, UINT64_MAX, &changed, note_library, NULL));
	assert_true(changed);
	assert_true(libraries.has_libc);
	assert_true(libraries.has_build_id);
	libraries.count = 0;
	fd = open("/proc/self/exe", O_RDONLY);
	mapped = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_true(mapped != MAP_FAILED);
	assert_non_null(library_map_update(&map, 6, UINT64_MAX, &changed, note_library, NULL));
	assert_true(changed);
	assert_int_equal(libraries.count, 1);
	munmap(mapped, 4096);
	close(fd);
	library_map_fini(&map);
}

static void a_short_time_tells_one_library_after_the_other(void **state)
{
	struct library_map map = {.pid = getpid()};
	uint32_t looks = 0;
	bool changed;

	(void)state;
	memset(&libraries, 0, sizeof(libraries));
	do {
		assert_non_null(library_map_update(&map, 5, 0, &changed, note_library, NULL));
		looks++;
	} while (map.is_unfinished && looks < 100000);
	assert_false(map.is_unfinished);
	assert_true(libraries.has_libc);
	assert_true(looks > 1);
	library_map_fini(&map);
}

static void files_that_are_no_elf_have_no_build_id(void **state)
{
	static const uint8_t none[20];
	uint8_t build_id[20] = {1};
	const char *dir = session_make_dir();
	char path[600];
	uint8_t elf[4096] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
	FILE *file;

	(void)state;
	library_map_build_id("/nonexistent", build_id);
	assert_memory_equal(build_id, none, 20);
	library_map_build_id("/etc/passwd", build_id);
	assert_memory_equal(build_id, none, 20);
	/* Headers and notes whose sizes point everywhere. */
	memset(elf + 16, 0xff, sizeof(elf) - 16);
	elf[54] = 56;
	elf[55] = 0;
	for (int at = 32; at < 40; at++) /* program headers at 64 */
		elf[at] = at == 32 ? 64 : 0;
	memset(elf + 64, 0, 56);
	elf[64] = 4; /* PT_NOTE, at 200, of 0xffffffff bytes */
	elf[72] = 200;
	memset(elf + 96, 0xff, 4);
	snprintf(path, sizeof(path), "%s/odd", dir);
	file = fopen(path, "wb");
	assert_int_equal(fwrite(elf, 1, sizeof(elf), file), sizeof(elf));
	fclose(file);
	library_map_build_id(path, build_id);
	assert_memory_equal(build_id, none, 20);
	session_remove_dir(dir);
}

/* ---- links ---- */

static void write_text(const char *dir, const char *file, const char *text)
{
	char path[1024];
	FILE *stream;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	stream = fopen(path, "w");
	assert_non_null(stream);
	fputs(text, stream);
	fclose(stream);
}

static void make_dirs(const char *base, const char *path)
{
	char text[1024];

	snprintf(text, sizeof(text), "%s%s", base, path);
	for (char *slash = text + strlen(base) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(text, 0700);
		*slash = '/';
	}
	mkdir(text, 0700);
}

static void the_link_is_what_device_and_port_can_both_do(void **state)
{
	char dir[512], gpu[640], port[640], link_path[640], command[700];
	struct record_device device = {.pci_domain = 0, .pci_bus = 0x3b, .pci_device = 0};

	(void)state;
	snprintf(dir, sizeof(dir), "%s", session_make_dir());
	make_dirs(dir, "/sys/devices/port/0000:3b:00.0");
	make_dirs(dir, "/sys/bus/pci/devices");
	snprintf(port, sizeof(port), "%s/sys/devices/port", dir);
	snprintf(gpu, sizeof(gpu), "%s/sys/devices/port/0000:3b:00.0", dir);
	snprintf(link_path, sizeof(link_path), "%s/sys/bus/pci/devices/0000:3b:00.0", dir);
	assert_int_equal(symlink("../../../devices/port/0000:3b:00.0", link_path), 0);
	device.numa_node = -1;
	assert_false(device_link_update(&device, dir, true)); /* no link files: not known */
	write_text(port, "max_link_speed", "8.0 GT/s PCIe\n");
	write_text(port, "max_link_width", "16\n");
	write_text(gpu, "max_link_speed", "16.0 GT/s PCIe\n");
	write_text(gpu, "max_link_width", "16\n");
	write_text(gpu, "current_link_speed", "2.5 GT/s PCIe\n");
	write_text(gpu, "current_link_width", "8\n");
	write_text(gpu, "numa_node", "1\n");
	assert_true(device_link_update(&device, dir, true));
	assert_int_equal(device.link_gen_max, 3);
	assert_int_equal(device.link_width_max, 16);
	assert_int_equal(device.link_gen, 1);
	assert_int_equal(device.link_width, 8);
	assert_int_equal(device.numa_node, 1);
	assert_false(device_link_update(&device, dir, true));
	/* Under load, then idle again. */
	write_text(gpu, "current_link_speed", "8.0 GT/s PCIe\n");
	assert_true(device_link_update(&device, dir, true));
	write_text(gpu, "current_link_speed", "2.5 GT/s PCIe\n");
	assert_false(device_link_update(&device, dir, true));
	assert_int_equal(device.link_gen, 3);
	write_text(gpu, "numa_node", "-1\n");
	assert_true(device_link_update(&device, dir, false));
	assert_int_equal(device.numa_node, -1);
	snprintf(command, sizeof(command), "rm -r '%s'", dir);
	assert_int_equal(system(command), 0);
}

static void an_idle_link_says_its_lanes_and_not_its_generation(void **state)
{
	char dir[512], gpu[640], command[700];
	struct record_device device = {.pci_domain = 0, .pci_bus = 0x3b, .pci_device = 0};

	(void)state;
	snprintf(dir, sizeof(dir), "%s", session_make_dir());
	make_dirs(dir, "/sys/bus/pci/devices/0000:3b:00.0");
	snprintf(gpu, sizeof(gpu), "%s/sys/bus/pci/devices/0000:3b:00.0", dir);
	write_text(gpu, "max_link_speed", "16.0 GT/s PCIe\n");
	write_text(gpu, "max_link_width", "16\n");
	write_text(gpu, "current_link_speed", "2.5 GT/s PCIe\n");
	write_text(gpu, "current_link_width", "16\n");
	assert_true(device_link_update(&device, dir, false));
	assert_int_equal(device.link_gen, 0);
	assert_int_equal(device.link_gen_max, 4);
	assert_int_equal(device.link_width, 16);
	snprintf(command, sizeof(command), "rm -r '%s'", dir);
	assert_int_equal(system(command), 0);
}

/* ---- life and death ---- */

static pid_t start_sleeper(void)
{
	pid_t child = fork();

	if (child == 0) {
		pause();
		_exit(0);
	}
	return child;
}

static void expect_death(bool has_pidfd)
{
	struct session_fixture session;
	struct job_watch watch;
	pid_t child;

	session_fixture_init(&session, 1, RING_MIN_BYTES);
	child = start_sleeper();
	job_watch_open(&watch, child, session.memfd);
	if (!has_pidfd)
		job_watch_close(&watch);
	assert_int_equal(job_watch_state(&watch), JOB_ALIVE);
	assert_false(job_watch_sleep(&watch, 1000));
	kill(child, SIGKILL);
	while (job_watch_state(&watch) == JOB_ALIVE)
		usleep(1000);
	/* Nobody has waited for it: it is a zombie. */
	assert_int_equal(job_watch_state(&watch), JOB_DEAD);
	assert_int_equal(job_watch_sleep(&watch, 1000), has_pidfd);
	waitpid(child, NULL, 0);
	assert_int_equal(job_watch_state(&watch), JOB_DEAD);
	job_watch_close(&watch);
	session_fixture_fini(&session);
}

static void a_zombie_is_dead_with_and_without_pidfd(void **state)
{
	(void)state;
	expect_death(true);
	expect_death(false);
}

static void a_reused_process_number_is_dead_without_pidfd(void **state)
{
	struct job_watch watch;
	pid_t child = start_sleeper();

	(void)state;
	job_watch_open(&watch, child, -1);
	job_watch_close(&watch);
	assert_true(watch.start > 0);
	watch.start--; /* as if another process had had the number */
	assert_int_equal(job_watch_state(&watch), JOB_DEAD);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static void *outlive_leader(void *unused)
{
	(void)unused;
	sleep(20);
	_exit(0);
}

static void a_leader_that_ended_before_its_threads_is_alive(void **state)
{
	struct job_watch watch;
	char letter = 'R';
	pid_t child = fork();

	(void)state;
	if (child == 0) {
		pthread_t thread;

		pthread_create(&thread, NULL, outlive_leader, NULL);
		pthread_exit(NULL);
	}
	for (int i = 0; i < 5000 && letter != 'Z'; i++) {
		usleep(1000);
		job_watch_start_time(child, &letter);
	}
	assert_int_equal(letter, 'Z');
	job_watch_open(&watch, child, -1);
	assert_int_equal(job_watch_state(&watch), JOB_ALIVE);
	job_watch_close(&watch);
	assert_int_equal(job_watch_state(&watch), JOB_ALIVE);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static void maps_without_the_memory_mean_exec(void **state)
{
	const struct job_watch watch = {.pid = 1, .inode = 4711};
	const struct job_watch in_job = {.pid = 0, .inode = 4711};

	(void)state;
	assert_false(job_watch_maps_lack_memory(
		&watch, "7f00-7f10 rw-s 00000000 00:01 4711   /memfd:gputrace (deleted)\n"));
	assert_true(job_watch_maps_lack_memory(
		&watch, "7f00-7f10 rw-s 00000000 00:01 4712   /memfd:gputrace (deleted)\n"
			"7f00-7f10 r-xp 00000000 00:01 4711   /lib/x.so\n"));
	assert_true(job_watch_maps_lack_memory(&watch, ""));
	assert_false(job_watch_maps_lack_memory(&in_job, ""));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_job_is_called_by_its_program_or_script),
		cmocka_unit_test(file_names_have_job_rank_host_pid_and_start),
		cmocka_unit_test(ranks_come_from_the_launcher_nearest_to_the_job),
		cmocka_unit_test(libraries_are_told_once_with_their_build_id),
		cmocka_unit_test(a_short_time_tells_one_library_after_the_other),
		cmocka_unit_test(files_that_are_no_elf_have_no_build_id),
		cmocka_unit_test(the_link_is_what_device_and_port_can_both_do),
		cmocka_unit_test(an_idle_link_says_its_lanes_and_not_its_generation),
		cmocka_unit_test(a_zombie_is_dead_with_and_without_pidfd),
		cmocka_unit_test(a_reused_process_number_is_dead_without_pidfd),
		cmocka_unit_test(a_leader_that_ended_before_its_threads_is_alive),
		cmocka_unit_test(maps_without_the_memory_mean_exec),
	};

	if (getenv("GPUTRACE_TEST_PAUSE")) {
		pause();
		return 0;
	}
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
