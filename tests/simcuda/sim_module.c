/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules and libraries, and the kernels and variables looked up in them by name. A CUkernel and
 * the CUfunction made from it are one handle here, and so are a CUlibrary and its CUmodule. Kernel
 * names are kept for the life of the process, since records point at them.
 */
#include "sim_api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { NAME_BUCKETS = 4096, MODEL_REGISTERS = 32 };

static struct sim_module *libraries;
static struct interned {
	struct interned *next;
	struct sim_function *library_kernel; /* simcuda_library_kernel's, by name */
	char name[];
} * names[NAME_BUCKETS];

static struct interned *intern(const char *name)
{
	uint32_t hash = 2166136261U;
	struct interned *entry;
	size_t length = strlen(name);

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)name[i]) * 16777619U;
	for (entry = names[hash % NAME_BUCKETS]; entry; entry = entry->next) {
		if (strcmp(entry->name, name) == 0)
			return entry;
	}
	entry = malloc(sizeof(*entry) + length + 1);
	if (!entry)
		return NULL;
	memcpy(entry->name, name, length + 1);
	entry->library_kernel = NULL;
	entry->next = names[hash % NAME_BUCKETS];
	names[hash % NAME_BUCKETS] = entry;
	return entry;
}

static struct sim_function *new_function(struct interned *name, struct sim_module *module,
					 int static_shared_bytes)
{
	struct sim_function *function = name ? sim_pool_new(POOL_FUNCTION) : NULL;

	if (!function)
		return NULL;
	function->name = name->name;
	function->module = module;
	function->cost = sim_model_named_cost(name->name);
	function->registers = MODEL_REGISTERS;
	function->static_shared_bytes = static_shared_bytes;
	function->dynamic_shared_bytes_max = (48 << 10) - static_shared_bytes;
	function->carveout = -1;
	return function;
}

struct sim_function *sim_module_function(CUfunction handle)
{
	return sim_pool_holds(POOL_FUNCTION, handle) ? (struct sim_function *)handle : NULL;
}

void *simcuda_library_kernel(const char *name, const struct simcuda_cost *next_launch)
{
	struct sim_thread *thread = sim_call_thread();
	struct sim_function *function;
	struct interned *entry;

	sim_lock();
	entry = intern(name);
	if (entry && !entry->library_kernel)
		entry->library_kernel = new_function(entry, NULL, 0);
	function = entry ? entry->library_kernel : NULL;
	sim_unlock();
	thread->cost_function = next_launch ? function : NULL;
	if (next_launch)
		thread->cost = *next_launch;
	return function;
}

static struct sim_module *find_module(const void *handle, bool is_library)
{
	struct sim_module *module = (struct sim_module *)(uintptr_t)handle;

	return sim_pool_holds(POOL_MODULE, handle) && (!is_library || module->is_library) ? module
											  : NULL;
}

static CUresult load(struct sim_call *call, const void *image, bool is_library,
		     struct sim_module **loaded)
{
	struct sim_module *module, **list;
	struct sim_image *contents;

	if (!image)
		return CUDA_ERROR_INVALID_VALUE;
	contents = sim_image_open(image);
	if (!contents)
		return CUDA_ERROR_INVALID_IMAGE;
	module = sim_pool_new(POOL_MODULE);
	if (!module) {
		sim_image_close(contents);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	module->image = contents;
	module->is_library = is_library;
	module->context = is_library ? NULL : call->context;
	list = is_library ? &libraries : &call->context->modules;
	module->next = *list;
	*list = module;
	*loaded = module;
	SIM_NOTE(call, "module=0x%llx", sim_handle(module));
	return CUDA_SUCCESS;
}

/* The file, with a NUL behind it for PTX; the caller frees it. */
static CUresult read_file(const char *path, char **data)
{
	FILE *file = path ? fopen(path, "re") : NULL;
	struct stat status;
	size_t size;

	if (!path)
		return CUDA_ERROR_INVALID_VALUE;
	if (!file)
		return CUDA_ERROR_FILE_NOT_FOUND;
	*data = NULL;
	if (fstat(fileno(file), &status) == 0 && S_ISREG(status.st_mode) &&
	    (*data = malloc((size_t)status.st_size + 1))) {
		size = fread(*data, 1, (size_t)status.st_size, file);
		(*data)[size] = '\0';
		if (size < 64) {
			free(*data);
			*data = NULL;
		}
	}
	fclose(file);
	return *data ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
}

CUresult sim_module_load_data(struct sim_call *call, CUmodule *module, const void *image)
{
	struct sim_module *loaded;
	CUresult result;

	if (!module)
		return CUDA_ERROR_INVALID_VALUE;
	result = load(call, image, false, &loaded);
	if (result == CUDA_SUCCESS)
		*module = (CUmodule)loaded;
	return result;
}

CUresult sim_module_load_file(struct sim_call *call, CUmodule *module, const char *path)
{
	char *data;
	CUresult result = module ? read_file(path, &data) : CUDA_ERROR_INVALID_VALUE;

	if (result)
		return result;
	result = sim_module_load_data(call, module, data);
	free(data);
	return result;
}

CUresult sim_module_load_library(struct sim_call *call, CUlibrary *library, const void *code)
{
	struct sim_module *loaded;
	CUresult result;

	if (!library)
		return CUDA_ERROR_INVALID_VALUE;
	result = load(call, code, true, &loaded);
	if (result == CUDA_SUCCESS)
		*library = (CUlibrary)loaded;
	return result;
}

CUresult sim_module_load_library_file(struct sim_call *call, CUlibrary *library, const char *path)
{
	char *data;
	CUresult result = library ? read_file(path, &data) : CUDA_ERROR_INVALID_VALUE;

	if (result)
		return result;
	result = sim_module_load_library(call, library, data);
	free(data);
	return result;
}

/* `release` is false when the context's memory goes as a whole. */
static void free_module(struct sim_module *module, bool release)
{
	while (module->functions) {
		struct sim_function *function = module->functions;

		module->functions = function->next;
		sim_pool_free(POOL_FUNCTION, function);
	}
	while (module->globals) {
		struct sim_global *global = module->globals;
		struct sim_range *range = sim_memory_find(global->address);

		module->globals = global->next;
		if (release && range)
			sim_memory_give(range);
		free(global);
	}
	sim_image_close(module->image);
	sim_pool_free(POOL_MODULE, module);
}

static void unlink_module(struct sim_module **list, struct sim_module *module)
{
	while (*list != module)
		list = &(*list)->next;
	*list = module->next;
}

CUresult sim_module_unload(struct sim_call *call, CUmodule handle)
{
	struct sim_module *module = find_module(handle, false);

	SIM_NOTE(call, "module=0x%llx", sim_handle(handle));
	if (!module || module->is_library)
		return CUDA_ERROR_INVALID_HANDLE;
	unlink_module(&module->context->modules, module);
	free_module(module, true);
	return CUDA_SUCCESS;
}

CUresult sim_module_unload_library(struct sim_call *call, CUlibrary handle)
{
	struct sim_module *module = find_module(handle, true);

	SIM_NOTE(call, "module=0x%llx", sim_handle(handle));
	if (!module)
		return CUDA_ERROR_INVALID_HANDLE;
	unlink_module(&libraries, module);
	free_module(module, true);
	return CUDA_SUCCESS;
}

/* Memory of a library's variables in this context is about to go. */
void sim_module_drop_context(struct sim_context *context)
{
	while (context->modules) {
		struct sim_module *module = context->modules;

		context->modules = module->next;
		free_module(module, false);
	}
	for (struct sim_module *library = libraries; library; library = library->next) {
		struct sim_global **link = &library->globals;

		while (*link) {
			struct sim_global *global = *link;

			if (global->context == context) {
				*link = global->next;
				free(global);
			} else {
				link = &global->next;
			}
		}
	}
}

CUresult sim_module_get_function(struct sim_call *call, CUfunction *found, const void *handle,
				 const char *name, bool is_library)
{
	struct sim_module *module = find_module(handle, is_library);
	struct sim_function *function;
	int shared_bytes;

	if (!found || !name)
		return CUDA_ERROR_INVALID_VALUE;
	SIM_NOTE(call, "module=0x%llx\tname=%s", sim_handle(handle), name);
	if (!module)
		return CUDA_ERROR_INVALID_HANDLE;
	for (function = module->functions; function; function = function->next) {
		if (strcmp(function->name, name) == 0)
			break;
	}
	if (!function) {
		if (!sim_image_has_kernel(module->image, name, &shared_bytes))
			return CUDA_ERROR_NOT_FOUND;
		function = new_function(intern(name), module, shared_bytes);
		if (!function)
			return CUDA_ERROR_OUT_OF_MEMORY;
		function->next = module->functions;
		module->functions = function;
	}
	*found = (CUfunction)function;
	return CUDA_SUCCESS;
}

static CUresult new_global(struct sim_call *call, struct sim_module *module, const char *name,
			   bool is_managed, struct sim_global **made)
{
	struct interned *entry = intern(name);
	struct sim_global *global;
	struct sim_place place;
	const void *initial;
	CUdeviceptr address;
	size_t bytes;

	if (!sim_image_find_global(module->image, name, &bytes, &initial))
		return CUDA_ERROR_NOT_FOUND;
	global = entry ? calloc(1, sizeof(*global)) : NULL;
	if (!global)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (is_managed) {
		if (sim_memory_alloc_managed(call, &address, bytes, CU_MEM_ATTACH_GLOBAL))
			goto fail;
	} else {
		struct sim_range *range = sim_memory_take_global(call->context, bytes);

		if (!range)
			goto fail;
		address = range->base;
	}
	if (sim_memory_place(address, bytes, &place) && initial)
		memcpy(place.bytes, initial, bytes);
	global->name = entry->name;
	global->context = call->context;
	global->address = address;
	global->bytes = bytes;
	global->next = module->globals;
	module->globals = global;
	*made = global;
	return CUDA_SUCCESS;
fail:
	free(global);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult sim_module_get_global(struct sim_call *call, CUdeviceptr *address, size_t *bytes,
			       const void *handle, const char *name, bool is_library,
			       bool is_managed)
{
	struct sim_module *module = find_module(handle, is_library);
	struct sim_global *global;
	CUresult result;

	if (!name || (!address && !bytes))
		return CUDA_ERROR_INVALID_VALUE;
	if (!module)
		return CUDA_ERROR_INVALID_HANDLE;
	for (global = module->globals; global; global = global->next) {
		if (global->context == call->context && strcmp(global->name, name) == 0)
			break;
	}
	if (!global) {
		result = new_global(call, module, name, is_managed, &global);
		if (result)
			return result;
	}
	if (address)
		*address = global->address;
	if (bytes)
		*bytes = global->bytes;
	return CUDA_SUCCESS;
}

CUresult sim_module_of_library(CUmodule *module, CUlibrary library)
{
	if (!module)
		return CUDA_ERROR_INVALID_VALUE;
	if (!find_module(library, true))
		return CUDA_ERROR_INVALID_HANDLE;
	*module = (CUmodule)library;
	return CUDA_SUCCESS;
}

CUresult sim_module_count(unsigned *count, const void *handle, bool is_library)
{
	const struct sim_module *module = find_module(handle, is_library);

	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	if (!module)
		return CUDA_ERROR_INVALID_HANDLE;
	*count = sim_image_kernel_count(module->image);
	return CUDA_SUCCESS;
}

CUresult sim_module_enumerate(struct sim_call *call, CUfunction *functions, unsigned count,
			      const void *handle, bool is_library)
{
	const struct sim_module *module = find_module(handle, is_library);

	if (!functions)
		return CUDA_ERROR_INVALID_VALUE;
	if (!module)
		return CUDA_ERROR_INVALID_HANDLE;
	for (unsigned i = 0; i < count && i < sim_image_kernel_count(module->image); i++) {
		CUresult result = sim_module_get_function(call, &functions[i], handle,
							  sim_image_kernel_name(module->image, i),
							  is_library);

		if (result)
			return result;
	}
	return CUDA_SUCCESS;
}
