/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links of a described machine: what the tree says of them while they work and rest, and how long
 * copies take over links that are near, far, shared or worn.
 */
#include "sim_machine_folder.h"

#include <sched.h>
#include <signal.h>
#include <stdbool.h>

enum { COPY_BYTES = 8 << 20, DEVICES = 16 };

/* The rate of the newest copy of each device, in 1e9 bytes per second, from its modelled times:
 * what the calls take on a busy computer does not count. */
static double newest_rate[DEVICES];

static void note_activity(const struct simcuda_activity *activity)
{
	if (activity->kind == 2 && activity->device < DEVICES)
		newest_rate[activity->device] =
			(double)activity->bytes / (double)(activity->end_ns - activity->begin_ns);
}

static const struct simcuda_tool tool = {.activity = note_activity};

static double copy_rate(int ordinal, CUdeviceptr device, void *host, CUstream stream)
{
	newest_rate[ordinal] = 0;
	simcuda_attach_tool(&tool);
	OK(cuMemcpyHtoDAsync(device, host, COPY_BYTES, stream));
	OK(cuStreamSynchronize(stream));
	simcuda_deliver();
	CHECK(newest_rate[ordinal] > 0);
	return newest_rate[ordinal];
}

static void move_to_cpu(size_t cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	CHECK(sched_setaffinity(0, sizeof(set), &set) == 0);
}

/* The rates of some copies, one after the other; the link climbs during the first. */
enum { RATES = 6 };

static void copy_rates(int ordinal, double *rates)
{
	CUstream stream;
	CUdeviceptr device;
	void *host;

	open_device(ordinal);
	device = device_alloc(COPY_BYTES);
	OK(cuMemHostAlloc(&host, COPY_BYTES, 0));
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < RATES; i++)
		rates[i] = copy_rate(ordinal, device, host, stream);
}

static double steady_rate(int ordinal)
{
	double rates[RATES];

	copy_rates(ordinal, rates);
	return rates[RATES - 1];
}

#define CHECK_NEAR(value, expected)                                                                \
	CHECK((value) > 0.93 * (expected) && (value) < 1.07 * (expected))

static void degraded_rates(void)
{
	CHECK_NEAR(steady_rate(0), 55.2 / 2);
	CHECK_NEAR(steady_rate(1), 12.5);
	CHECK_NEAR(steady_rate(2), 25.7 / 2);
}

static void a_worn_link_copies_at_what_is_left_of_it(void **state)
{
	(void)state;
	make_machine("downgraded");
	run_scenario(degraded_rates, "SIMCUDA_MACHINE", folder, NULL);
	remove_machine();
}

static void far_memory(void)
{
	double near, far;

	move_to_cpu(0); /* of node 0 */
	near = steady_rate(0);
	far = steady_rate(2);
	CHECK_NEAR(near, 55.2);
	CHECK_NEAR(far, 0.7 * 55.2);
	move_to_cpu(1);
	CHECK_NEAR(steady_rate(2), 55.2);
}

static void memory_of_the_other_node_is_slower(void **state)
{
	(void)state;
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		skip();
	make_machine("two-sockets");
	run_scenario(far_memory, "SIMCUDA_MACHINE", folder, NULL);
	remove_machine();
}

static void sleep_ms(long milliseconds)
{
	struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};

	nanosleep(&time, NULL);
}

static bool is_at(const char *address, const char *expected)
{
	char text[64];

	read_of_device(address, "current_link_speed", text, sizeof(text));
	return strcmp(text, expected) == 0;
}

static void wake_and_rest(void)
{
	bool was_awake = false, was_asleep = false;
	CUdeviceptr device;
	CUstream stream;
	double first, most = 0;
	void *host;

	open_device(0);
	device = device_alloc(COPY_BYTES);
	OK(cuMemHostAlloc(&host, COPY_BYTES, 0));
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(is_at("0000:18:00.0", "2.5 GT/s PCIe"));
	first = copy_rate(0, device, host, stream);
	/* On a busy computer a pause may be long enough to fall asleep again. */
	for (int i = 0; i < 20; i++) {
		double rate = copy_rate(0, device, host, stream);

		most = rate > most ? rate : most;
		was_awake |= is_at("0000:18:00.0", "32.0 GT/s PCIe") &&
			     is_at("0000:17:00.0", "32.0 GT/s PCIe"); /* the port above */
	}
	CHECK(was_awake);
	CHECK(first < 0.5 * most); /* it had to climb first */
	CHECK(is_at("0000:19:00.0", "2.5 GT/s PCIe"));
	for (int i = 0; i < 100 && !was_asleep; i++) {
		sleep_ms(50);
		was_asleep = is_at("0000:18:00.0", "2.5 GT/s PCIe");
	}
	CHECK(was_asleep);
}

static void a_link_sleeps_climbs_and_falls_back(void **state)
{
	(void)state;
	make_machine("two-sockets");
	run_scenario(wake_and_rest, "SIMCUDA_MACHINE", folder, NULL);
	remove_machine();
}

static void leave_busy(void)
{
	steady_rate(0);
}

static void a_process_that_ends_leaves_its_link_asleep(void **state)
{
	char text[64];

	(void)state;
	make_machine("laptop");
	run_scenario(leave_busy, "SIMCUDA_MACHINE", folder, NULL);
	read_of_device("0000:01:00.0", "current_link_speed", text, sizeof(text));
	assert_string_equal(text, "2.5 GT/s PCIe");
	remove_machine();
}

/* Two devices copy at once, step after step; gives the rate of each in the last step. */
static void copy_at_once(int first, int second, double *rates)
{
	CUcontext contexts[2];
	CUdeviceptr device[2];
	CUstream streams[2];
	void *host[2];

	for (int i = 0; i < 2; i++) {
		contexts[i] = open_device(i ? second : first);
		device[i] = device_alloc(COPY_BYTES);
		OK(cuMemHostAlloc(&host[i], COPY_BYTES, 0));
		OK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
	}
	simcuda_attach_tool(&tool);
	for (int step = 0; step < 6; step++) {
		for (int i = 0; i < 2; i++) {
			OK(cuCtxSetCurrent(contexts[i]));
			OK(cuMemcpyHtoDAsync(device[i], host[i], COPY_BYTES, streams[i]));
		}
		for (int i = 0; i < 2; i++) {
			OK(cuCtxSetCurrent(contexts[i]));
			OK(cuStreamSynchronize(streams[i]));
		}
	}
	simcuda_deliver();
	rates[0] = newest_rate[first];
	rates[1] = newest_rate[second];
}

static void share_a_switch(void)
{
	double rates[2];

	move_to_cpu(0);
	copy_at_once(0, 1, rates);
	/* Together what one has alone, but for what the call of the second comes later. */
	CHECK(rates[0] < 0.7 * 55.2 && rates[1] < 0.7 * 55.2);
	CHECK(rates[0] + rates[1] > 0.85 * 55.2 && rates[0] + rates[1] < 1.25 * 55.2);
}

static void share_nothing(void)
{
	double rates[2];

	move_to_cpu(1);
	copy_at_once(2, 3, rates);
	CHECK_NEAR(rates[0], 55.2);
	CHECK_NEAR(rates[1], 55.2);
}

static void copies_under_one_switch_share_its_uplink(void **state)
{
	(void)state;
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		skip();
	make_machine("two-sockets");
	run_scenario(share_a_switch, "SIMCUDA_MACHINE", folder, NULL);
	run_scenario(share_nothing, "SIMCUDA_MACHINE", folder, NULL);
	remove_machine();
}

/* A second process copies through the same uplink all the time. */
static void share_with_a_process(void)
{
	int pipes[2];
	pid_t child;
	char byte = 0;
	double rates[RATES], least = 1e9;

	CHECK(pipe(pipes) == 0);
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		CUdeviceptr device;
		CUstream stream;
		void *host;

		open_device(1);
		device = device_alloc(COPY_BYTES);
		OK(cuMemHostAlloc(&host, COPY_BYTES, 0));
		OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
		for (int i = 0;; i++) {
			/* Several at once, so that the link seldom rests. */
			for (int deep = 0; deep < 4; deep++)
				OK(cuMemcpyHtoDAsync(device, host, COPY_BYTES, stream));
			if (i == 2)
				CHECK(write(pipes[1], &byte, 1) == 1);
			OK(cuStreamSynchronize(stream));
		}
	}
	CHECK(read(pipes[0], &byte, 1) == 1);
	copy_rates(0, rates);
	for (int i = 0; i < RATES; i++)
		least = rates[i] < least ? rates[i] : least;
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	CHECK(least < 0.75 * 2.9 && least > 0.45 * 2.9);
}

/* Slow enough that this computer can move the bytes in the modelled time. */
static const char slow_uplink[] = "machine\tslow\n"
				  "node\t0\tcpus=0-255\tdistances=10\n"
				  "port\t0000:00:01.0\tnode=0\tgen=1\n"
				  "port\t0000:01:00.0\tunder=0000:00:01.0\tgen=1\n"
				  "port\t0000:02:00.0\tunder=0000:01:00.0\tgen=4\n"
				  "port\t0000:02:01.0\tunder=0000:01:00.0\tgen=4\n"
				  "gpu\t0000:03:00.0\tunder=0000:02:00.0\tmodel=a100-pcie-80gb\n"
				  "gpu\t0000:04:00.0\tunder=0000:02:01.0\tmodel=a100-pcie-80gb\n";

static void processes_share_an_uplink_too(void **state)
{
	(void)state;
	write_machine(slow_uplink);
	run_scenario(share_with_a_process, "SIMCUDA_MACHINE", folder, NULL);
	remove_machine();
}

/* Rate of copies from device 0 to device 1. */
static double peer_rate(bool is_enabled)
{
	CUcontext first = open_device(0), second;
	CUdeviceptr from = device_alloc(COPY_BYTES), to;
	CUstream stream;

	second = open_device(1);
	to = device_alloc(COPY_BYTES);
	OK(cuCtxSetCurrent(first));
	if (is_enabled)
		OK(cuCtxEnablePeerAccess(second, 0));
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	simcuda_attach_tool(&tool);
	for (int i = 0; i < 6; i++) {
		OK(cuMemcpyPeerAsync(to, second, from, first, COPY_BYTES, stream));
		OK(cuStreamSynchronize(stream));
	}
	simcuda_deliver();
	return newest_rate[0];
}

static void direct_and_staged(void)
{
	double staged = peer_rate(false), direct = peer_rate(true);

	CHECK_NEAR(staged, 0.47 * 55.2);
	CHECK_NEAR(direct, 55.2);
}

static void staged_only(void)
{
	CHECK_NEAR(peer_rate(false), 0.47 * 25.7);
}

static void over_nvlink(void)
{
	CHECK(peer_rate(true) > 200);
}

static void peer_copies_without_access_are_staged(void **state)
{
	(void)state;
	make_machine("two-sockets");
	run_scenario(direct_and_staged, "SIMCUDA_MACHINE", folder, NULL);
	remove_machine();
	make_machine("acs");
	run_scenario(staged_only, "SIMCUDA_MACHINE", folder, NULL);
	remove_machine();
	make_machine("nvlink8");
	run_scenario(over_nvlink, "SIMCUDA_MACHINE", folder, NULL);
	remove_machine();
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_worn_link_copies_at_what_is_left_of_it),
		cmocka_unit_test(memory_of_the_other_node_is_slower),
		cmocka_unit_test(a_link_sleeps_climbs_and_falls_back),
		cmocka_unit_test(a_process_that_ends_leaves_its_link_asleep),
		cmocka_unit_test(copies_under_one_switch_share_its_uplink),
		cmocka_unit_test(processes_share_an_uplink_too),
		cmocka_unit_test(peer_copies_without_access_are_staged),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
