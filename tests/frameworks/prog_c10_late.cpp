/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An allocator that comes after the first CUDA call, and reports while another thread is inside the
 * loader for as long as nobody writes to a FIFO.
 * usage: prog_c10_late LIBC10_CUDA LIBRARY FIFO      LIBRARY needs the FIFO
 */
#include "caching_allocator.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

extern "C" int cudaMalloc(void **memory, size_t bytes);
extern "C" int cudaSetDevice(int device);

static void *open_library(void *path)
{
	return dlopen(static_cast<const char *>(path), RTLD_NOW | RTLD_LOCAL);
}

static bool is_adding()
{
	for (const ElfW(Dyn) *entry = _DYNAMIC; entry->d_tag != DT_NULL; entry++) {
		if (entry->d_tag == DT_DEBUG)
			return reinterpret_cast<const r_debug *>(entry->d_un.d_ptr)->r_state ==
			       r_debug::RT_ADD;
	}
	return false;
}

int main(int argc, char **argv)
{
	void *memory = nullptr;
	pthread_t thread;

	/* The functions that the allocator calls, so that only its report is new. */
	if (argc < 4 || cudaSetDevice(0) != 0 || cudaMalloc(&memory, 4096) != 0)
		return 2;
	void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	auto allocate = reinterpret_cast<decltype(&caching_malloc)>(
		library ? dlsym(library, "_Z14caching_malloc7Releaseim") : nullptr);
	auto tell = reinterpret_cast<decltype(&c10::print_what_was_reported)>(
		library ? dlsym(library, "_ZN3c1023print_what_was_reportedEv") : nullptr);
	if (!allocate || !tell)
		return 2;
	pthread_create(&thread, nullptr, open_library, argv[2]);
	while (!is_adding())
		usleep(1000);
	alarm(10); /* the loader is let go only after the report */
	printf("%s\n", allocate(Release::with_unsigned, 0, 1 << 20) ? "allocated" : "failed");
	alarm(0);
	int writer;
	while ((writer = open(argv[3], O_WRONLY | O_NONBLOCK)) < 0 && errno == ENXIO)
		usleep(1000);
	close(writer);
	pthread_join(thread, nullptr);
	tell();
	return 0;
}
