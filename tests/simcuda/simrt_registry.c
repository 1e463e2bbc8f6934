/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the compiler registers before main(): fat binaries, kernels, variables. Binaries are loaded
 * into the driver at the first use of anything in them (CUDA_MODULE_LOADING=LAZY, the default), so
 * that a program that only registers touches no driver at all.
 */
#include "simrt_registry.h"

#include <pthread.h>
#include <stdlib.h>

struct simrt_binary {
	const void *image;
	CUlibrary library;
	bool is_loaded;
	cudaError_t load_status;
	struct simrt_binary *next;
};

/* Open addressing on the host address; one table for kernels, one for variables. */
struct slot {
	const void *key;
	void *value;
};
struct table {
	struct slot *slots;
	size_t capacity, used;
};

static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
static struct table kernels, kernel_handles, variables;
static struct simrt_binary *binaries;
static char gone; /* value of a removed slot: probing goes on over it */

static size_t table_start(const struct table *table, const void *key)
{
	return (size_t)(((uintptr_t)key >> 3) * 0x9e3779b97f4a7c15u) & (table->capacity - 1);
}

static struct slot *table_find(const struct table *table, const void *key)
{
	if (!table->capacity)
		return NULL;
	for (size_t i = table_start(table, key); table->slots[i].value;
	     i = (i + 1) & (table->capacity - 1)) {
		if (table->slots[i].key == key && table->slots[i].value != &gone)
			return &table->slots[i];
	}
	return NULL;
}

static void *table_get(const struct table *table, const void *key)
{
	struct slot *slot = table_find(table, key);

	return slot ? slot->value : NULL;
}

static bool table_put(struct table *table, const void *key, void *value);

static bool table_grow(struct table *table)
{
	struct table larger = {.capacity = table->capacity ? table->capacity * 2 : 64};

	larger.slots = calloc(larger.capacity, sizeof(*larger.slots));
	if (!larger.slots)
		return false;
	for (size_t i = 0; i < table->capacity; i++) {
		if (table->slots[i].value && table->slots[i].value != &gone)
			table_put(&larger, table->slots[i].key, table->slots[i].value);
	}
	free(table->slots);
	*table = larger;
	return true;
}

static bool table_put(struct table *table, const void *key, void *value)
{
	struct slot *old = table_find(table, key);
	size_t i;

	if (old) {
		old->value = value;
		return true;
	}
	if (table->used * 2 >= table->capacity && !table_grow(table))
		return false;
	for (i = table_start(table, key); table->slots[i].value;)
		i = (i + 1) & (table->capacity - 1);
	table->slots[i] = (struct slot){key, value};
	table->used++;
	return true;
}

/* Removes every entry of one binary, and frees the entries when the table owns them. */
static void table_drop(struct table *table, const struct simrt_binary *binary, bool is_kernel,
		       bool is_owner)
{
	for (size_t i = 0; i < table->capacity; i++) {
		void *value = table->slots[i].value;
		const struct simrt_binary *of;

		if (!value || value == &gone)
			continue;
		of = is_kernel ? ((struct simrt_kernel *)value)->binary
			       : ((struct simrt_variable *)value)->binary;
		if (of != binary)
			continue;
		table->slots[i].value = &gone;
		if (is_owner)
			free(value);
	}
}

struct simrt_binary *simrt_registry_add_binary(const void *image)
{
	struct simrt_binary *binary = calloc(1, sizeof(*binary));

	if (!binary)
		return NULL;
	binary->image = image;
	pthread_mutex_lock(&registry_lock);
	binary->next = binaries;
	binaries = binary;
	pthread_mutex_unlock(&registry_lock);
	return binary;
}

void simrt_registry_remove_binary(struct simrt_binary *binary)
{
	struct simrt_binary **link = &binaries;

	pthread_mutex_lock(&registry_lock);
	while (*link && *link != binary)
		link = &(*link)->next;
	if (*link) {
		*link = binary->next;
		table_drop(&kernel_handles, binary, true, false);
		table_drop(&kernels, binary, true, true);
		table_drop(&variables, binary, false, true);
		if (binary->is_loaded && binary->load_status == cudaSuccess)
			simrt_driver.LibraryUnload(binary->library);
		free(binary);
	}
	pthread_mutex_unlock(&registry_lock);
}

void simrt_registry_add_kernel(struct simrt_binary *binary, const void *host_function,
			       const char *name)
{
	struct simrt_kernel *kernel = calloc(1, sizeof(*kernel));

	if (!kernel)
		return;
	*kernel = (struct simrt_kernel){host_function, name, binary, NULL};
	pthread_mutex_lock(&registry_lock);
	if (table_get(&kernels, host_function) || !table_put(&kernels, host_function, kernel))
		free(kernel);
	pthread_mutex_unlock(&registry_lock);
}

void simrt_registry_add_variable(const struct simrt_variable *variable)
{
	struct simrt_variable *copy = malloc(sizeof(*copy));

	if (!copy)
		return;
	*copy = *variable;
	pthread_mutex_lock(&registry_lock);
	if (table_get(&variables, copy->host_variable) ||
	    !table_put(&variables, copy->host_variable, copy))
		free(copy);
	pthread_mutex_unlock(&registry_lock);
}

/* Under the lock. A binary that cannot be loaded fails the same way each time. */
static cudaError_t load_binary(struct simrt_binary *binary)
{
	if (!binary->is_loaded) {
		binary->load_status = simrt_from_driver(simrt_driver.LibraryLoadData(
			&binary->library, binary->image, NULL, NULL, 0, NULL, NULL, 0));
		binary->is_loaded = true;
	}
	return binary->load_status;
}

cudaError_t simrt_registry_kernel(const void *host_function, CUkernel *handle)
{
	cudaError_t status = cudaErrorInvalidDeviceFunction;
	struct simrt_kernel *kernel;

	pthread_mutex_lock(&registry_lock);
	kernel = table_get(&kernels, host_function);
	if (kernel && !kernel->kernel) {
		status = load_binary(kernel->binary);
		if (status == cudaSuccess &&
		    simrt_driver.LibraryGetKernel(&kernel->kernel, kernel->binary->library,
						  kernel->name) != CUDA_SUCCESS)
			status = cudaErrorInvalidDeviceFunction;
		if (status == cudaSuccess)
			table_put(&kernel_handles, kernel->kernel, kernel);
	}
	if (kernel && kernel->kernel) {
		*handle = kernel->kernel;
		status = cudaSuccess;
	}
	pthread_mutex_unlock(&registry_lock);
	return status;
}

const char *simrt_registry_kernel_name(CUkernel handle)
{
	struct simrt_kernel *kernel;
	const char *name = "?";

	pthread_mutex_lock(&registry_lock);
	kernel = table_get(&kernel_handles, handle);
	if (kernel)
		name = kernel->name;
	pthread_mutex_unlock(&registry_lock);
	return name;
}

static cudaError_t find_symbol(const struct simrt_variable *variable, CUdeviceptr *address,
			       size_t *bytes)
{
	cudaError_t status = load_binary(variable->binary);
	CUlibrary library = variable->binary->library;
	CUresult result;

	if (status != cudaSuccess)
		return status;
	if (variable->is_managed)
		result = simrt_driver.LibraryGetManaged(address, bytes, library, variable->name);
	else
		result = simrt_driver.LibraryGetGlobal(address, bytes, library, variable->name);
	return result == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidSymbol;
}

cudaError_t simrt_registry_symbol(const void *host_variable, CUdeviceptr *address, size_t *bytes)
{
	cudaError_t status = cudaErrorInvalidSymbol;
	const struct simrt_variable *variable;

	pthread_mutex_lock(&registry_lock);
	variable = table_get(&variables, host_variable);
	if (variable) {
		status = find_symbol(variable, address, bytes);
		*bytes = variable->size_bytes;
	}
	pthread_mutex_unlock(&registry_lock);
	return status;
}

/* Managed variables are read through a pointer that must be right before the program looks. */
cudaError_t simrt_registry_init_managed(struct simrt_binary *binary)
{
	cudaError_t status = cudaSuccess;

	pthread_mutex_lock(&registry_lock);
	for (size_t i = 0; i < variables.capacity && status == cudaSuccess; i++) {
		struct simrt_variable *variable = variables.slots[i].value;
		CUdeviceptr address = 0;
		size_t bytes = 0;

		if (!variable || (void *)variable == (void *)&gone || !variable->is_managed ||
		    variable->binary != binary)
			continue;
		status = find_symbol(variable, &address, &bytes);
		if (status == cudaSuccess)
			*variable->managed_pointer = (void *)(uintptr_t)address;
	}
	pthread_mutex_unlock(&registry_lock);
	return status;
}
