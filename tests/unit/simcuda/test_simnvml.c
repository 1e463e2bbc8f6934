/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulated NVML on described machines, beside the driver that makes the GPUs work.
 */
#include "sim_machine_folder.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#include "simnvml_abi.h"

static void *library;

/* Calls a function of NVML by its name. */
#define NVML(name, parameters, ...)                                                                \
	__extension__({                                                                            \
		int(*function) parameters;                                                         \
		*(void **)&function = dlsym(library, #name);                                       \
		CHECK(function != NULL);                                                           \
		function(__VA_ARGS__);                                                             \
	})
#define NUMBER(name, device)                                                                       \
	__extension__({                                                                            \
		unsigned int value_ = 0;                                                           \
		CHECK(NVML(name, (nvml_device, unsigned int *), device, &value_) == NVML_OK);      \
		value_;                                                                            \
	})

static void open_nvml(void)
{
	int (*init)(void);

	library = dlopen(SIM_NVML, RTLD_NOW | RTLD_LOCAL);
	CHECK(library != NULL);
	*(void **)&init = dlsym(library, "nvmlInit_v2");
	CHECK(init && init() == NVML_OK);
}

static nvml_device device_at(unsigned int index)
{
	nvml_device device = NULL;

	CHECK(NVML(nvmlDeviceGetHandleByIndex_v2, (unsigned int, nvml_device *), index, &device) ==
	      NVML_OK);
	return device;
}

static void identify(void)
{
	struct nvml_pci_info pci;
	char uuid[80], name[96], expected[96];
	nvml_device device, found = NULL;
	unsigned int count = 0;
	CUuuid driver_uuid;

	open_nvml();
	CHECK(NVML(nvmlDeviceGetCount_v2, (unsigned int *), &count) == NVML_OK);
	CHECK(count == 4); /* whatever CUDA_VISIBLE_DEVICES says */
	device = device_at(2);
	CHECK(NVML(nvmlDeviceGetPciInfo_v3, (nvml_device, struct nvml_pci_info *), device, &pci) ==
	      NVML_OK);
	CHECK(pci.bus == 0x98 && strcmp(pci.address, "00000000:98:00.0") == 0);
	CHECK(pci.id == 0x233110deU);
	CHECK(NVML(nvmlDeviceGetUUID, (nvml_device, char *, unsigned int), device, uuid, 80U) ==
	      NVML_OK);
	CHECK(NVML(nvmlDeviceGetHandleByUUID, (const char *, nvml_device *), uuid, &found) ==
	      NVML_OK);
	CHECK(found == device);
	CHECK(NVML(nvmlDeviceGetHandleByPciBusId_v2, (const char *, nvml_device *), "0000:98:00.0",
		   &found) == NVML_OK);
	CHECK(found == device);
	CHECK(NVML(nvmlDeviceGetHandleByPciBusId_v2, (const char *, nvml_device *), "0000:99:00.0",
		   &found) == NVML_NOT_FOUND);
	CHECK(NVML(nvmlDeviceGetUUID, (nvml_device, char *, unsigned int), device, uuid, 8U) ==
	      NVML_INSUFFICIENT_SIZE);
	/* The driver's device 0 is NVML's 2. */
	OK(cuInit(0));
	OK(cuDeviceGetUuid(&driver_uuid, 0));
	snprintf(expected, sizeof(expected), "GPU-%02x%02x", (unsigned char)driver_uuid.bytes[0],
		 (unsigned char)driver_uuid.bytes[1]);
	NVML(nvmlDeviceGetUUID, (nvml_device, char *, unsigned int), device, uuid, 80U);
	CHECK(strncmp(uuid, expected, strlen(expected)) == 0);
	OK(cuDeviceGetName(expected, sizeof(expected), 0));
	CHECK(NVML(nvmlDeviceGetName, (nvml_device, char *, unsigned int), device, name, 96U) ==
	      NVML_OK);
	CHECK(strcmp(name, expected) == 0);
}

static void nvml_sees_all_gpus_as_the_driver_names_them(void **state)
{
	(void)state;
	make_machine("two-sockets");
	run_scenario(identify, "SIMCUDA_MACHINE", folder, "CUDA_VISIBLE_DEVICES", "2", NULL);
	remove_machine();
}

static void find_by_root(void)
{
	unsigned int count = 0;

	unsetenv("SIMCUDA_MACHINE");
	open_nvml();
	CHECK(NVML(nvmlDeviceGetCount_v2, (unsigned int *), &count) == NVML_OK);
	CHECK(count == 1);
}

static void find_none(void)
{
	int (*init)(void);

	unsetenv("SIMCUDA_MACHINE");
	unsetenv("GPUTRACE_ROOT");
	library = dlopen(SIM_NVML, RTLD_NOW | RTLD_LOCAL);
	CHECK(library != NULL);
	*(void **)&init = dlsym(library, "nvmlInit_v2");
	CHECK(init() == NVML_DRIVER_NOT_LOADED);
	CHECK(NVML(nvmlDeviceGetCount_v2, (unsigned int *), &(unsigned int){0}) ==
	      NVML_UNINITIALIZED);
	CHECK(NVML(nvmlShutdown, (void)) == NVML_UNINITIALIZED);
}

static void without_a_machine_there_is_no_driver(void **state)
{
	(void)state;
	make_machine("laptop");
	run_scenario(find_by_root, "GPUTRACE_ROOT", folder, NULL);
	run_scenario(find_none, NULL);
	remove_machine();
}

/* ---- load ---- */

enum { COPY_BYTES = 4 << 20 };

static unsigned long long reasons_of(nvml_device device)
{
	unsigned long long reasons = 0;

	CHECK(NVML(nvmlDeviceGetCurrentClocksEventReasons, (nvml_device, unsigned long long *),
		   device, &reasons) == NVML_OK);
	return reasons;
}

static unsigned int sm_clock(nvml_device device)
{
	unsigned int mhz = 0;

	CHECK(NVML(nvmlDeviceGetClockInfo, (nvml_device, int, unsigned int *), device,
		   NVML_SM_CLOCK, &mhz) == NVML_OK);
	return mhz;
}

static void work_and_rest(void)
{
	unsigned int idle_power;
	bool is_seen = false;
	nvml_device device;
	CUdeviceptr memory;
	CUstream stream;
	void *host;

	open_nvml();
	device = device_at(0);
	CHECK(NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, device) == 1);
	CHECK(NUMBER(nvmlDeviceGetCurrPcieLinkWidth, device) == 8);
	CHECK(NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, device) == 5);
	CHECK(NUMBER(nvmlDeviceGetGpuMaxPcieLinkGeneration, device) == 5);
	CHECK(NUMBER(nvmlDeviceGetMaxPcieLinkWidth, device) == 16);
	CHECK(reasons_of(device) == NVML_REASON_IDLE);
	idle_power = NUMBER(nvmlDeviceGetPowerUsage, device);
	CHECK(sm_clock(device) < 500);
	open_device(0);
	memory = device_alloc(COPY_BYTES);
	OK(cuMemHostAlloc(&host, COPY_BYTES, 0));
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	/* A busy computer may not look while the GPU works, so it works until somebody did. */
	for (int i = 0; i < 1000 && !is_seen; i++) {
		for (int deep = 0; deep < 16; deep++)
			OK(cuMemcpyHtoDAsync(memory, host, COPY_BYTES, stream));
		is_seen = sm_clock(device) > 1000 && reasons_of(device) == 0 &&
			  NUMBER(nvmlDeviceGetPowerUsage, device) > 3 * idle_power &&
			  NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, device) == 5;
		OK(cuStreamSynchronize(stream));
	}
	CHECK(is_seen);
}

static void clocks_and_links_follow_the_load(void **state)
{
	(void)state;
	make_machine("downgraded");
	run_scenario(work_and_rest, "SIMCUDA_MACHINE", folder, NULL);
	remove_machine();
}

static void count_memory(void)
{
	struct nvml_memory_v2 second = {.version = NVML_MEMORY_VERSION_2};
	struct nvml_process processes[4];
	struct nvml_memory memory;
	unsigned int count = 4;
	nvml_device device;

	open_nvml();
	device = device_at(0);
	open_device(0);
	device_alloc(300 << 20);
	CHECK(NVML(nvmlDeviceGetMemoryInfo, (nvml_device, struct nvml_memory *), device, &memory) ==
	      NVML_OK);
	CHECK(memory.total == 8ULL << 30);
	CHECK(memory.used == 1324ULL << 20); /* this process, and the one of the file */
	CHECK(memory.free == memory.total - memory.used);
	CHECK(NVML(nvmlDeviceGetMemoryInfo_v2, (nvml_device, struct nvml_memory_v2 *), device,
		   &second) == NVML_OK);
	CHECK(second.used == memory.used);
	second.version = 1;
	CHECK(NVML(nvmlDeviceGetMemoryInfo_v2, (nvml_device, struct nvml_memory_v2 *), device,
		   &second) == NVML_VERSION_MISMATCH);
	CHECK(NVML(nvmlDeviceGetComputeRunningProcesses_v3,
		   (nvml_device, unsigned int *, struct nvml_process *), device, &count,
		   processes) == NVML_OK);
	CHECK(count == 1 && processes[0].pid == (unsigned int)getpid());
	CHECK(processes[0].used_bytes == 300ULL << 20);
	count = 0;
	CHECK(NVML(nvmlDeviceGetComputeRunningProcesses_v3,
		   (nvml_device, unsigned int *, struct nvml_process *), device, &count,
		   NULL) == NVML_INSUFFICIENT_SIZE);
	CHECK(count == 1);
}

static void memory_is_that_of_all_processes(void **state)
{
	char path[128];
	FILE *file;

	(void)state;
	make_machine("laptop");
	snprintf(path, sizeof(path), "%s/held", folder);
	file = fopen(path, "we");
	assert_non_null(file);
	fputs("0\t1024\n", file);
	fclose(file);
	run_scenario(count_memory, "SIMCUDA_MACHINE", folder, NULL);
	/* The process is gone, and so is its memory. */
	run_scenario(count_memory, "SIMCUDA_MACHINE", folder, NULL);
	remove_machine();
}

/* ---- what the description sets ---- */

static const char faulty[] =
	"machine\tfaulty\tdriver=535.104.05\n"
	"node\t0\tcpus=0-3\tdistances=10\n"
	"port\t0000:00:01.0\tnode=0\tgen=4\n"
	"gpu\t0000:01:00.0\tunder=0000:00:01.0\tmodel=a100-pcie-80gb\tecc_errors=3\tmig=1\t"
	"pcie_replays=77\ttemperature_c=91\tpower_limit_w=200\n";

static void read_faults(void)
{
	struct nvml_field fields[3] = {{.id = NVML_FIELD_ECC_DOUBLE_VOLATILE},
				       {.id = NVML_FIELD_PCIE_REPLAYS},
				       {.id = 4000}};
	unsigned long long errors = 0;
	unsigned int current = 0, pending = 0, celsius = 0;
	nvml_device device;
	char version[80];

	open_nvml();
	device = device_at(0);
	CHECK(NVML(nvmlSystemGetDriverVersion, (char *, unsigned int), version, 80U) == NVML_OK);
	CHECK(strcmp(version, "535.104.05") == 0);
	CHECK(NVML(nvmlDeviceGetTotalEccErrors, (nvml_device, int, int, unsigned long long *),
		   device, NVML_UNCORRECTED, 0, &errors) == NVML_OK);
	CHECK(errors == 3);
	CHECK(NVML(nvmlDeviceGetTotalEccErrors, (nvml_device, int, int, unsigned long long *),
		   device, NVML_CORRECTED, 0, &errors) == NVML_OK);
	CHECK(errors == 0);
	CHECK(NVML(nvmlDeviceGetMigMode, (nvml_device, unsigned int *, unsigned int *), device,
		   &current, &pending) == NVML_OK);
	CHECK(current == 1 && pending == 1);
	CHECK(NUMBER(nvmlDeviceGetPcieReplayCounter, device) == 77);
	CHECK(NUMBER(nvmlDeviceGetEnforcedPowerLimit, device) == 200000);
	CHECK(NVML(nvmlDeviceGetTemperature, (nvml_device, int, unsigned int *), device, 0,
		   &celsius) == NVML_OK);
	CHECK(celsius == 91);
	CHECK(NVML(nvmlDeviceGetFieldValues, (nvml_device, int, struct nvml_field *), device, 3,
		   fields) == NVML_OK);
	CHECK(fields[0].result == NVML_OK && fields[0].value.as_unsigned_long_long == 3);
	CHECK(fields[1].result == NVML_OK && fields[1].value.as_unsigned == 77);
	CHECK(fields[2].result == NVML_NOT_SUPPORTED);
}

static void faults_are_those_of_the_description(void **state)
{
	(void)state;
	write_machine(faulty);
	run_scenario(read_faults, "SIMCUDA_MACHINE", folder, NULL);
	remove_machine();
}

/* ---- pairs ---- */

static int level_of(unsigned int one, unsigned int two)
{
	int level = -1;

	CHECK(NVML(nvmlDeviceGetTopologyCommonAncestor, (nvml_device, nvml_device, int *),
		   device_at(one), device_at(two), &level) == NVML_OK);
	return level;
}

static int peer_status(unsigned int one, unsigned int two, int index)
{
	int status = -1;

	CHECK(NVML(nvmlDeviceGetP2PStatus, (nvml_device, nvml_device, int, int *), device_at(one),
		   device_at(two), index, &status) == NVML_OK);
	return status;
}

static void see_sockets(void)
{
	unsigned long nodes = 0, cpus = 0;

	open_nvml();
	CHECK(level_of(0, 1) == NVML_LEVEL_SINGLE);
	CHECK(level_of(2, 3) == NVML_LEVEL_NODE);
	CHECK(level_of(0, 2) == NVML_LEVEL_SYSTEM);
	CHECK(level_of(1, 1) == NVML_LEVEL_INTERNAL);
	CHECK(peer_status(0, 1, NVML_P2P_READ) == NVML_P2P_OK);
	CHECK(peer_status(0, 1, NVML_P2P_NVLINK) == NVML_P2P_UNSUPPORTED);
	CHECK(NVML(nvmlDeviceGetMemoryAffinity, (nvml_device, unsigned int, unsigned long *, int),
		   device_at(2), 1U, &nodes, 0) == NVML_OK);
	CHECK(nodes == 2);
	CHECK(NVML(nvmlDeviceGetCpuAffinity, (nvml_device, unsigned int, unsigned long *),
		   device_at(2), 1U, &cpus) == NVML_OK);
	CHECK(cpus == 0xaaaa);
}

static void see_switches(void)
{
	unsigned int is_active = 0;
	int type = -1;

	open_nvml();
	for (unsigned int link = 0; link < 18; link++)
		CHECK(NVML(nvmlDeviceGetNvLinkState, (nvml_device, unsigned int, unsigned int *),
			   device_at(3), link, &is_active) == NVML_OK &&
		      is_active == 1);
	CHECK(NVML(nvmlDeviceGetNvLinkState, (nvml_device, unsigned int, unsigned int *),
		   device_at(3), 18U, &is_active) == NVML_INVALID_ARGUMENT);
	CHECK(NVML(nvmlDeviceGetNvLinkRemoteDeviceType, (nvml_device, unsigned int, int *),
		   device_at(3), 0U, &type) == NVML_OK);
	CHECK(type == NVML_LINK_TO_SWITCH);
	CHECK(peer_status(0, 7, NVML_P2P_NVLINK) == NVML_P2P_OK);
}

static const char bridged[] = "machine\tbridged\n"
			      "node\t0\tcpus=0-3\tdistances=10\n"
			      "port\t0000:00:01.0\tnode=0\tgen=4\n"
			      "port\t0000:00:02.0\tnode=0\tgen=4\n"
			      "gpu\t0000:01:00.0\tunder=0000:00:01.0\tmodel=a100-pcie-80gb\n"
			      "gpu\t0000:02:00.0\tunder=0000:00:02.0\tmodel=a100-pcie-80gb\n"
			      "nvlink\t0\tpeer=1\tlinks=12\n";

static void see_bridge(void)
{
	struct nvml_pci_info pci;
	int type = -1;

	open_nvml();
	CHECK(level_of(0, 1) == NVML_LEVEL_HOSTBRIDGE);
	CHECK(NVML(nvmlDeviceGetNvLinkRemoteDeviceType, (nvml_device, unsigned int, int *),
		   device_at(0), 11U, &type) == NVML_OK);
	CHECK(type == NVML_LINK_TO_GPU);
	CHECK(NVML(nvmlDeviceGetNvLinkRemotePciInfo_v2,
		   (nvml_device, unsigned int, struct nvml_pci_info *), device_at(0), 11U,
		   &pci) == NVML_OK);
	CHECK(pci.bus == 2);
}

static void see_none_behind_acs(void)
{
	unsigned int is_active;

	open_nvml();
	CHECK(peer_status(0, 1, NVML_P2P_READ) == NVML_P2P_CHIPSET);
	CHECK(NVML(nvmlDeviceGetNvLinkState, (nvml_device, unsigned int, unsigned int *),
		   device_at(0), 0U, &is_active) == NVML_INVALID_ARGUMENT);
}

static void pairs_follow_the_description(void **state)
{
	(void)state;
	make_machine("two-sockets");
	run_scenario(see_sockets, "SIMCUDA_MACHINE", folder, NULL);
	remove_machine();
	make_machine("nvlink8");
	run_scenario(see_switches, "SIMCUDA_MACHINE", folder, NULL);
	remove_machine();
	make_machine("acs");
	run_scenario(see_none_behind_acs, "SIMCUDA_MACHINE", folder, NULL);
	remove_machine();
	write_machine(bridged);
	run_scenario(see_bridge, "SIMCUDA_MACHINE", folder, NULL);
	remove_machine();
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nvml_sees_all_gpus_as_the_driver_names_them),
		cmocka_unit_test(without_a_machine_there_is_no_driver),
		cmocka_unit_test(clocks_and_links_follow_the_load),
		cmocka_unit_test(memory_is_that_of_all_processes),
		cmocka_unit_test(faults_are_those_of_the_description),
		cmocka_unit_test(pairs_follow_the_description),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
