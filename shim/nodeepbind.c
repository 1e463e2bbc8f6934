/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libgputrace-nodeepbind.so, preloaded beside libgputrace.so by those who ask for it: dlopen()
 * without RTLD_DEEPBIND, so that libraries opened with it see preloaded libraries first, as all
 * others do. nodeepbind_stub.S has the dlopen() itself, which jumps to the next one; here is only
 * how that is found. No state but one pointer and one count, no locks.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>

typedef void *(*dlopen_function)(const char *path, int mode);

dlopen_function gputrace_next_dlopen(int mode, int *cleared_mode);
/* How often the flag was taken away; libgputrace.so tells it in the trace. */
__attribute__((visibility("default"))) extern _Atomic uint64_t gputrace_nodeepbind_count;

_Atomic uint64_t gputrace_nodeepbind_count;
static dlopen_function _Atomic next;

dlopen_function gputrace_next_dlopen(int mode, int *cleared_mode)
{
	dlopen_function found = atomic_load_explicit(&next, memory_order_acquire);

	if (mode & RTLD_DEEPBIND)
		atomic_fetch_add_explicit(&gputrace_nodeepbind_count, 1, memory_order_relaxed);
	*cleared_mode = mode & ~RTLD_DEEPBIND;
	if (!found) {
		union {
			void *object;
			dlopen_function function;
		} convert = {dlsym(RTLD_NEXT, "dlopen")};
		found = convert.function;
		atomic_store_explicit(&next, found, memory_order_release);
	}
	return found;
}
