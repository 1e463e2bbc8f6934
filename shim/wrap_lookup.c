/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The C half of our dlsym; dlsym_stub.S is the other. It runs for every dlsym of the process, also
 * before libc is ready and from sanitizers' own start, so for names that are not CUDA's it compares
 * a few bytes by hand and returns: no libc, no locks, no state.
 */
#include "wrap_lookup.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "lifecycle.h"
#include "real.h"
#include "self.h"
#include "shim_log.h"
#include "thread.h"
#include "wrap.h"

/* What the stub does next: jump to `jump` with its own arguments, or return `result`. */
struct lookup_answer {
	real_dlsym_function jump;
	void *result;
};

struct lookup_answer gputrace_lookup(void *handle, const char *name, const void *caller);

/*
 * An open-addressed index of all rows by name. Threads that come at the same time all fill it: an
 * entry is one word, put in by compare-exchange, so nobody waits (a wait could outlive a fork).
 */
#define INDEX_SIZE 2048u
static _Atomic uint32_t name_index[INDEX_SIZE]; /* (1 + library) << 16 | row, 0 empty */
static _Atomic uint32_t index_ready;

static uint32_t hash_text(const char *text)
{
	uint32_t hash = 2166136261u;
	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 16777619u;
	return hash;
}

static bool same_text(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

static void index_names(void)
{
	for (uint32_t i = 0; i < WRAP_LIBRARY_COUNT; i++) {
		for (uint32_t row = 0; row < wrap_libraries[i]->row_count; row++) {
			uint32_t entry = (i + 1) << 16 | row, found = 0;
			uint32_t at = hash_text(wrap_libraries[i]->rows[row].name) % INDEX_SIZE;
			while (!atomic_compare_exchange_strong(&name_index[at], &found, entry) &&
			       found != entry) {
				at = (at + 1) % INDEX_SIZE;
				found = 0;
			}
		}
	}
	atomic_store_explicit(&index_ready, 1, memory_order_release);
}

static const struct wrap_library *find_row(const char *name, unsigned int *row)
{
	if (!atomic_load_explicit(&index_ready, memory_order_acquire))
		index_names();
	for (uint32_t at = hash_text(name) % INDEX_SIZE;; at = (at + 1) % INDEX_SIZE) {
		uint32_t entry = atomic_load_explicit(&name_index[at], memory_order_relaxed);
		if (!entry)
			return NULL;
		const struct wrap_library *library = wrap_libraries[(entry >> 16) - 1];
		if (same_text(library->rows[entry & 0xffff].name, name)) {
			*row = entry & 0xffff;
			return library;
		}
	}
}

bool lookup_is_wrapped(const char *name)
{
	unsigned int row;
	return find_row(name, &row) != NULL;
}

static void *as_object(wrap_function function)
{
	union {
		wrap_function function;
		void *object;
	} convert = {function};
	return convert.object;
}

/* The wrapper whose real function this address is, or the address. */
static void *classify(const struct wrap_library *library, unsigned int row, void *address)
{
	for (unsigned int node = 0; node < library->node_count; node++) {
		if (as_object(real_find(library, node, row)) == address)
			return as_object(library->rows[row].wrapper[node]);
	}
	return address;
}

/* One of our own exports: true only where a real function stands behind it. */
static bool is_wrapper(const struct wrap_library *library, unsigned int row, const void *address,
		       unsigned int *node)
{
	for (*node = 0; *node < library->node_count; (*node)++) {
		if (as_object(library->rows[row].wrapper[*node]) == address)
			return true;
	}
	return false;
}

/* A name as the caller's own libraries see it: the caller and what it depends on. */
static void *find_for_caller(const char *name, const void *caller)
{
	Dl_info info;
	if (!dladdr(caller, &info) || !info.dli_fname || !real_may_open())
		return NULL;
	void *handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (!handle)
		return NULL;
	void *found = real_dlsym(handle, name);
	dlclose(handle);
	return found && self_contains(found) ? NULL : found;
}

/* Whether the real dlsym would answer with an export of ours that has nothing behind it. */
static bool is_own_export_visible(void *handle, const char *name)
{
	void *found = real_dlsym(handle, name);
	return found && self_contains(found);
}

/* The driver and cuDNN look up names of their own in libraries behind them: not our business. What
 * cuDNN wants of the driver is, for the runtime inside it launches its kernels. */
static bool is_inside_library(const struct wrap_library *library, const void *caller)
{
	Dl_info info;
	if (!dladdr(caller, &info) || !info.dli_fname)
		return false;
	const char *name = info.dli_fname;
	for (const char *at = name; *at; at++) {
		if (*at == '/')
			name = at + 1;
	}
	const char *const prefixes[] = {"libcuda.so", "libcudnn"};
	for (int i = 0; i < (library == &wrap_cudnn ? 2 : 1); i++) {
		const char *prefix = prefixes[i], *at = name;
		while (*prefix && *prefix == *at)
			prefix++, at++;
		if (!*prefix)
			return true;
	}
	return false;
}

static struct lookup_answer answer_wrapped(const struct wrap_library *library, unsigned int row,
					   void *handle, const char *name, const void *caller)
{
	struct lookup_answer answer = {real_dlsym_address(), NULL};
	unsigned int node;

	if (is_inside_library(library, caller))
		return answer;
	if (handle == RTLD_NEXT) {
		/* Depends on the caller's place: let glibc see the caller. Nothing anywhere: say
		 * so. */
		if (library->nodes || real_find(library, 0, row))
			return answer;
		void *found = real_dlsym(RTLD_NEXT, name);
		return (struct lookup_answer){NULL, found};
	}
	void *found = real_dlsym(handle, name);
	if (handle == RTLD_DEFAULT && !found)
		found = find_for_caller(name, caller);
	if (found && is_wrapper(library, row, found, &node)) {
		/* Our own export was in the way of the truth. */
		found = as_object(real_find(library, node, row));
		if (!found && handle == RTLD_DEFAULT)
			found = find_for_caller(name, caller);
	}
	if (found)
		found = classify(library, row, found);
	/* What dlerror() says next is the last of our own look-ups: it must be about this one. */
	if (!found && !is_own_export_visible(handle, name))
		return answer;
	if (!found)
		return (struct lookup_answer){NULL, real_dlsym(RTLD_NEXT, name)};
	dlerror();
	return (struct lookup_answer){NULL, found};
}

struct lookup_answer gputrace_lookup(void *handle, const char *name, const void *caller)
{
	struct lookup_answer answer = {real_dlsym_address(), NULL};
	unsigned int row;

	if (!name)
		return answer;
	if (!(name[0] == 'c' && name[1] == 'u') &&
	    !(name[0] == '_' && name[1] == '_' && name[2] == 'c' && name[3] == 'u') &&
	    !(name[0] == 'n' && name[1] == 'c' && name[2] == 'c' && name[3] == 'l'))
		return answer;
	const struct wrap_library *library = find_row(name, &row);
	if (!library || thread_now == &thread_muted || !lifecycle_is_in_charge())
		return answer;
	int saved_errno = errno;
	answer = answer_wrapped(library, row, handle, name, caller);
	errno = saved_errno;
	return answer;
}

/* ---- cuGetProcAddress ---- */

/* Real driver functions by address, filled when the driver is first asked; as name_index. */
#define ADDRESS_SIZE 1024u
#define ADDRESS_BITS 48 /* user space; the row is above */
static _Atomic uint64_t address_index[ADDRESS_SIZE];
static _Atomic uint32_t addresses_ready;

static uint32_t hash_address(uint64_t address)
{
	return (uint32_t)((address * 0x9e3779b97f4a7c15ull) >> 40) % ADDRESS_SIZE;
}

static void index_addresses(void)
{
	for (uint64_t row = 0; row < wrap_driver.row_count; row++) {
		uint64_t address =
			(uintptr_t)as_object(real_find(&wrap_driver, 0, (unsigned int)row));
		if (!address || address >> ADDRESS_BITS)
			continue;
		uint32_t at = hash_address(address);
		uint64_t entry = address | row << ADDRESS_BITS, found = 0;
		while (!atomic_compare_exchange_strong(&address_index[at], &found, entry) &&
		       found != entry) {
			at = (at + 1) % ADDRESS_SIZE;
			found = 0;
		}
	}
	atomic_store_explicit(&addresses_ready, 1, memory_order_release);
}

/* The row with this real address, or row_count. */
static unsigned int find_address(const void *object)
{
	uint64_t address = (uintptr_t)object;
	if (!atomic_load_explicit(&addresses_ready, memory_order_acquire))
		index_addresses();
	for (uint32_t at = hash_address(address);; at = (at + 1) % ADDRESS_SIZE) {
		uint64_t entry = atomic_load_explicit(&address_index[at], memory_order_relaxed);
		if (!entry)
			return wrap_driver.row_count;
		if ((entry & ((1ull << ADDRESS_BITS) - 1)) == address)
			return (unsigned int)(entry >> ADDRESS_BITS);
	}
}

void *lookup_classify_driver(const char *symbol, void *address)
{
	unsigned int row;
	if (thread_now == &thread_muted || !lifecycle_is_in_charge())
		return address;
	if (!address || self_contains(address)) {
		SHIM_LOG(DEBUG, "look-up: cuGetProcAddress(%s, ...) -> %s", symbol ? symbol : "?",
			 address ? "wrapper already" : "nothing");
		return address;
	}
	int saved_errno = errno;
	/* Where two names share an address, the name that was asked for is meant. */
	const struct wrap_library *library = symbol ? find_row(symbol, &row) : NULL;
	if (library != &wrap_driver || as_object(real_find(&wrap_driver, 0, row)) != address)
		row = find_address(address);
	errno = saved_errno;
	bool is_wrapped = row < wrap_driver.row_count;
	SHIM_LOG(DEBUG, "look-up: cuGetProcAddress(%s, ...) -> %s", symbol ? symbol : "?",
		 is_wrapped ? "wrapper" : "driver");
	return is_wrapped ? as_object(wrap_driver.rows[row].wrapper[0]) : address;
}
