/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The devices that the simulated driver shows: which, how many, and that each row of the GPU table
 * can be modelled and is recognised again by its name.
 */
#include "sim_scenario.h"

#include <regex.h>

static int count_devices(void)
{
	int count = -1;

	OK(cuInit(0));
	OK(cuDeviceGetCount(&count));
	return count;
}

static int bus_of(int ordinal)
{
	int bus = -1;

	OK(cuDeviceGetAttribute(&bus, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, ordinal));
	return bus;
}

static void see_all(void)
{
	CUdevice device = 99;

	CHECK(count_devices() == 4);
	CHECK(bus_of(0) < bus_of(1) && bus_of(1) < bus_of(3));
	CHECK_RESULT(cuDeviceGet(&device, 4), CUDA_ERROR_INVALID_DEVICE);
	CHECK_RESULT(cuDeviceGet(&device, -1), CUDA_ERROR_INVALID_DEVICE);
	CHECK(device == 99);
}

static void see_two(void)
{
	CHECK(count_devices() == 2);
	CHECK(bus_of(0) == 1 + 2 * 3 && bus_of(1) == 1 + 2 * 1);
}

static void see_one(void)
{
	CHECK(count_devices() == 1);
}

static void see_none(void)
{
	CHECK_RESULT(cuInit(0), CUDA_ERROR_NO_DEVICE);
}

static void visible_devices_are_read_as_the_real_driver_does(void **state)
{
	(void)state;
	run_scenario(see_all, "SIMCUDA_GPUS", "4", NULL);
	run_scenario(see_two, "SIMCUDA_GPUS", "4", "CUDA_VISIBLE_DEVICES", "3,1", NULL);
	run_scenario(see_one, "SIMCUDA_GPUS", "4", "CUDA_VISIBLE_DEVICES", "2,9,1", NULL);
	run_scenario(see_none, "SIMCUDA_GPUS", "4", "CUDA_VISIBLE_DEVICES", "", NULL);
	run_scenario(see_none, "SIMCUDA_GPUS", "4", "CUDA_VISIBLE_DEVICES", "-1", NULL);
	run_scenario(see_none, "CUDA_VISIBLE_DEVICES", "1", NULL);
}

static void find_by_identity(void)
{
	CUuuid first, second;
	char bus[32];
	CUdevice device;

	CHECK(count_devices() == 2);
	OK(cuDeviceGetUuid(&first, 0));
	OK(cuDeviceGetUuid(&second, 1));
	CHECK(memcmp(&first, &second, sizeof(first)) != 0);
	OK(cuDeviceGetPCIBusId(bus, sizeof(bus), 1));
	OK(cuDeviceGetByPCIBusId(&device, bus));
	CHECK(device == 1);
	CHECK_RESULT(cuDeviceGetByPCIBusId(&device, "0000:77:00.0"), CUDA_ERROR_INVALID_DEVICE);
}

static void devices_are_told_apart_by_uuid_and_bus(void **state)
{
	(void)state;
	run_scenario(find_by_identity, "SIMCUDA_GPUS", "2", NULL);
}

static void be_a100(void)
{
	int value;
	size_t bytes;
	char name[64];

	OK(cuInit(0));
	OK(cuDeviceGetName(name, sizeof(name), 0));
	CHECK(strcmp(name, "NVIDIA A100-SXM4-80GB") == 0);
	OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
	CHECK(value == 108);
	OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
	CHECK(value == 8);
	OK(cuDeviceTotalMem(&bytes, 0));
	CHECK(bytes == (size_t)80 << 30);
	CHECK_RESULT(cuDeviceGetAttribute(&value, (CUdevice_attribute)0, 0),
		     CUDA_ERROR_INVALID_VALUE);
	CHECK_RESULT(cuDeviceGetAttribute(&value, (CUdevice_attribute)9999, 0),
		     CUDA_ERROR_INVALID_VALUE);
	CHECK_RESULT(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 1),
		     CUDA_ERROR_INVALID_DEVICE);
}

static void the_default_device_is_an_a100(void **state)
{
	(void)state;
	run_scenario(be_a100, NULL);
	run_scenario(be_a100, "SIMCUDA_GPU", "A100-SXM4-80GB", NULL);
	run_scenario(be_a100, "SIMCUDA_GPU", "a100-sxm-80gb", NULL);
}

static char row_pattern[256];

static void match_name(void)
{
	regex_t expression;
	char name[128];

	OK(cuInit(0));
	OK(cuDeviceGetName(name, sizeof(name), 0));
	CHECK(regcomp(&expression, row_pattern, REG_EXTENDED | REG_NOSUB) == 0);
	CHECK(regexec(&expression, name, 0, NULL, 0) == 0);
	regfree(&expression);
}

static void every_row_of_the_table_reports_a_name_that_finds_it(void **state)
{
	/* Read as a whole: a child that exits would move the position in an open file. */
	static char table[64 << 10];
	FILE *file = fopen(SIM_GPU_TABLE, "re");
	char *line, *rest = table;
	unsigned rows = 0;

	(void)state;
	assert_non_null(file);
	assert_in_range(fread(table, 1, sizeof(table), file), 1, sizeof(table) - 1);
	fclose(file);
	strsep(&rest, "\n");
	while ((line = strsep(&rest, "\n")) && *line) {
		const char *name = strsep(&line, "\t"), *pattern = strsep(&line, "\t");

		snprintf(row_pattern, sizeof(row_pattern), "%s", pattern);
		run_scenario(match_name, "SIMCUDA_GPU", name, NULL);
		rows++;
	}
	assert_true(rows > 80);
}

static void refuse_unknown(void)
{
	CHECK_RESULT(cuInit(0), CUDA_ERROR_NO_DEVICE);
}

static void an_unknown_model_is_no_device(void **state)
{
	(void)state;
	run_scenario(refuse_unknown, "SIMCUDA_GPU", "voodoo2", NULL);
	run_scenario(refuse_unknown, "SIMCUDA_GPUS", "17", NULL);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(visible_devices_are_read_as_the_real_driver_does),
		cmocka_unit_test(devices_are_told_apart_by_uuid_and_bus),
		cmocka_unit_test(the_default_device_is_an_a100),
		cmocka_unit_test(every_row_of_the_table_reports_a_name_that_finds_it),
		cmocka_unit_test(an_unknown_model_is_no_device),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
