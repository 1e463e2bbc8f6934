/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resolves real functions: first what comes after us in the global search order (with the node's
 * version), then the loaded modules of the right name, which covers libraries opened RTLD_LOCAL and
 * renamed wheels. Modules are only looked at, never loaded; one that is used is pinned, since the
 * pointers into it are kept.
 */
#include "real.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "self.h"
#include "session.h"
#include "shim_log.h"
#include "site_elf.h"

#if defined(__x86_64__)
#define DLSYM_VERSION "GLIBC_2.2.5"
#else
#define DLSYM_VERSION "GLIBC_2.17"
#endif

static real_dlsym_function _Atomic next_dlsym;
static _Atomic uint32_t is_forked_child;
static pid_t loading_process; /* a process may fork before anything of ours watches for it */

void real_remember_process(void)
{
	loading_process = getpid();
}

bool real_may_open(void)
{
	return (!atomic_load(&is_forked_child) && loading_process == getpid()) ||
	       site_elf_loader_is_idle();
}

void real_after_fork(void)
{
	atomic_store(&is_forked_child, 1);
}

real_dlsym_function real_dlsym_address(void)
{
	real_dlsym_function found = atomic_load_explicit(&next_dlsym, memory_order_acquire);
	if (__builtin_expect(found != NULL, 1))
		return found;
	/* dlvsym skips the unversioned dlsym of another preload; ask glibc's for the next one. */
	union {
		void *object;
		real_dlsym_function function;
	} glibc = {dlvsym(RTLD_NEXT, "dlsym", DLSYM_VERSION)}, next;
	next.object = glibc.function(RTLD_NEXT, "dlsym");
	if (!next.object)
		next = glibc;
	atomic_store_explicit(&next_dlsym, next.function, memory_order_release);
	return next.function;
}

void *real_dlsym(void *handle, const char *name)
{
	void *found = real_dlsym_address()(handle, name);
	__asm__ volatile("" ::: "memory"); /* no tail call: the search order is ours */
	return found;
}

static wrap_function as_function(void *object)
{
	union {
		void *object;
		wrap_function function;
	} convert = {object};
	return convert.function;
}

/* Whether an address belongs to a copy of gputrace, this one or another. */
static bool is_gputrace(const void *address)
{
	Dl_info found, other;
	if (self_contains(address))
		return true;
	const void *marker = real_dlsym(RTLD_NEXT, "gputrace_shim_instance");
	return marker && dladdr(marker, &other) && dladdr(address, &found) &&
	       found.dli_fbase == other.dli_fbase;
}

static void *symbol_of(void *handle, const char *name, const char *version)
{
	void *found = version ? dlvsym(handle, name, version) : real_dlsym(handle, name);
	return found && is_gputrace(found) ? NULL : found;
}

struct search {
	const struct wrap_library *library;
	const char *name, *version;
	void *found;
};

/* For a child whose loader cannot be asked: the symbol as the module itself exports it. A call that
 * arrives here comes from a library that was loaded, with all that it needs, before the fork. */
static void *read_module(const struct site_elf_module *module, const char *name,
			 const char *version)
{
	const char *slash = strrchr(module->path, '/');

	/* The symbols of a runtime have the version that its file is named for. */
	if (version && strncmp(slash ? slash + 1 : module->path, version, strlen(version)))
		return NULL;
	return (void *)site_elf_symbol(module, name);
}

/* A module already loaded; the handle's count is given back at once, the module stays. */
static void *search_module(const char *path, const char *name, const char *version)
{
	void *handle = real_may_open() ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
	if (!handle)
		return NULL;
	void *found = symbol_of(handle, name, version);
	if (found) {
		void *pinned = dlopen(path, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
		if (pinned)
			dlclose(pinned);
	}
	dlclose(handle);
	return found;
}

static bool search_visit(const struct site_elf_module *module, void *argument)
{
	struct search *search = argument;
	const char *slash = strrchr(module->path, '/');
	const char *name = slash ? slash + 1 : module->path;
	if (!strncmp(name, search->library->module_prefix, strlen(search->library->module_prefix)))
		search->found = real_may_open()
					? search_module(module->path, search->name, search->version)
					: read_module(module, search->name, search->version);
	return search->found != NULL;
}

/* Whether an address lies in a library of this kind, whatever its version. */
static bool is_in_library(const struct wrap_library *library, const void *address)
{
	Dl_info info;
	if (!dladdr(address, &info) || !info.dli_fname)
		return false;
	const char *slash = strrchr(info.dli_fname, '/');
	return !strncmp(slash ? slash + 1 : info.dli_fname, library->module_prefix,
			strlen(library->module_prefix));
}

/* What a call would reach without us: the next definition in the global search order. */
static void *find_next(const struct wrap_library *library, const char *name, const char *version)
{
	void *found = symbol_of(RTLD_NEXT, name, version);
	if (!version)
		return found;
	/* Another preload may wrap the function too. Its symbol has no version, which the loader
	 * lets satisfy a versioned reference but dlvsym() does not. */
	void *any = symbol_of(RTLD_NEXT, name, NULL);
	return any && any != found && !is_in_library(library, any) ? any : found;
}

static void *find(const struct wrap_library *library, unsigned int node, const char *name)
{
	const char *version = library->nodes ? library->nodes[node] : NULL;
	void *found = find_next(library, name, version);
	if (!found)
		found = search_module(library->sonames[node], name, version);
	if (!found) {
		struct search search = {library, name, version, NULL};
		/* Not dl_iterate_phdr: dlopen under its lock waits for a thread that opens a
		 * library and wants that lock, and a forked child may find it locked for ever. */
		site_elf_each_module(search_visit, &search);
		found = search.found;
	}
	return found;
}

/* Whether a definition comes after us in the global search order; NULL: only where it was opened.
 */
static wrap_function find_other(const struct wrap_library *library, const char *version,
				const struct site_elf_module *module, const char *name)
{
	void *found = real_dlsym(RTLD_NEXT, name) ? find_next(library, name, version) : NULL;
	return as_function(found ? found : (void *)site_elf_symbol(module, name));
}

struct rest {
	const struct wrap_library *library;
	unsigned int node;
	uintptr_t address; /* of the function that was asked for */
};

static bool find_rest_visit(const struct site_elf_module *module, void *argument)
{
	const struct rest *rest = argument;
	const struct wrap_library *library = rest->library;
	wrap_function _Atomic *slots = &library->real[rest->node * library->row_count];
	uintptr_t begin, end;

	if (!site_elf_code_range(module, &begin, &end) || rest->address < begin ||
	    rest->address >= end)
		return false;
	for (unsigned int row = 0; row < library->row_count; row++) {
		if (atomic_load_explicit(&slots[row], memory_order_relaxed))
			continue;
		wrap_function found =
			find_other(library, library->nodes ? library->nodes[rest->node] : NULL,
				   module, library->rows[row].name);
		if (found)
			atomic_store_explicit(&slots[row], found, memory_order_release);
	}
	return true;
}

/*
 * With the first function of a library all others are found, so that no later call asks the loader:
 * its lock may then be held by a thread that waits for the caller. What another preload stands in
 * for was found there, and says nothing of where the rest is.
 */
static void find_rest(const struct wrap_library *library, unsigned int node, const void *address)
{
	struct rest rest = {library, node, (uintptr_t)address};
	if (is_in_library(library, address))
		site_elf_each_module(find_rest_visit, &rest);
}

wrap_function real_find(const struct wrap_library *library, unsigned int node, unsigned int row)
{
	wrap_function _Atomic *slot = &library->real[node * library->row_count + row];
	wrap_function known = atomic_load_explicit(slot, memory_order_acquire);
	if (known)
		return known;
	int saved_errno = errno;
	void *found = find(library, node, library->rows[row].name);
	known = as_function(found);
	if (known) {
		atomic_store_explicit(slot, known, memory_order_release);
		find_rest(library, node, found);
	}
	dlerror(); /* what was not found on the way is not the program's business */
	errno = saved_errno;
	return known;
}

wrap_function real_resolve(const struct wrap_library *library, unsigned int node, unsigned int row)
{
	wrap_function found = real_find(library, node, row);
	if (found)
		return found;
	if (!session_count(RING_COUNT_NOT_SUPPORTED))
		SHIM_LOG(WARN, "no loaded library has %s: answering \"not supported\"",
			 library->rows[row].name);
	return library->not_supported;
}

wrap_function real_function(const struct wrap_library *library, unsigned int node, unsigned int row)
{
	wrap_function found = real_find(library, node, row);
	return found ? found : real_resolve(library, node, row);
}

struct reading {
	const struct wrap_library *library;
	const char *name, *version;
	void *found;
	bool has_library;
};

static bool read_visit(const struct site_elf_module *module, void *argument)
{
	struct reading *reading = argument;
	const char *slash = strrchr(module->path, '/');
	const char *name = slash ? slash + 1 : module->path;
	const char *start = reading->version ? reading->version : reading->library->module_prefix;
	if (strncmp(name, start, strlen(start)))
		return false;
	reading->has_library = true;
	reading->found = (void *)site_elf_symbol(module, reading->name);
	return reading->found != NULL;
}

/* No loader where the library's file has its name: this is asked in the middle of a call. */
void *real_symbol(const struct wrap_library *library, unsigned int node, const char *name)
{
	struct reading reading = {library, name, library->nodes ? library->nodes[node] : NULL, NULL,
				  false};
	site_elf_each_module(read_visit, &reading);
	return reading.has_library ? reading.found : find(library, node, name);
}

void *real_driver_symbol(const char *name)
{
	return real_symbol(&wrap_driver, 0, name);
}
