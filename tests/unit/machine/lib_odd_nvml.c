/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An NVML that behaves as the variable ODD_NVML says: "hang" never comes back, "die" ends the
 * process, "refuse" fails to start, anything else has one GPU and few functions.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int nvmlInit_v2(void);
int nvmlDeviceGetCount_v2(unsigned int *count);
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **device);
int nvmlDeviceGetTemperature(void *device, unsigned int sensor, unsigned int *value);
int nvmlDeviceGetPowerUsage(void *device, unsigned int *value);
int nvmlDeviceGetName(void *device, char *text, unsigned int size);
const char *nvmlErrorString(int code);

static int is(const char *what)
{
	const char *mode = getenv("ODD_NVML");

	return mode && strcmp(mode, what) == 0;
}

int nvmlInit_v2(void)
{
	if (is("hang"))
		pause();
	if (is("die"))
		raise(SIGSEGV);
	return is("refuse") ? 9 : 0;
}

int nvmlDeviceGetCount_v2(unsigned int *count)
{
	*count = is("many") ? 1000 : 1;
	return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **device)
{
	*device = (void *)(size_t)(index + 1);
	return 0;
}

int nvmlDeviceGetTemperature(void *device, unsigned int sensor, unsigned int *value)
{
	(void)device;
	*value = 40 + sensor;
	return 0;
}

int nvmlDeviceGetPowerUsage(void *device, unsigned int *value)
{
	(void)device;
	(void)value;
	return 3; /* not supported */
}

int nvmlDeviceGetName(void *device, char *text, unsigned int size)
{
	(void)device;
	memset(text, 'x', size); /* no end */
	return 0;
}

const char *nvmlErrorString(int code)
{
	return code == 9 ? "Driver Not Loaded" : "odd";
}
