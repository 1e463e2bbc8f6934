/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs of the loader tests: what look-ups mean must not depend on the shim.
 * usage: prog_loader MODE [ARGUMENT...]; not linked to any CUDA library.
 */
#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

int probe_value(void);
int probe_value(void)
{
	return 1;
}

/* NULL without a driver, except under a preloaded shim. */
extern int cuInit(unsigned int flags) __attribute__((weak));

static int call_int(void *library, const char *name)
{
	union {
		void *object;
		int (*function)(void);
	} found = {library ? dlsym(library, name) : NULL};
	return found.object ? found.function() : -1;
}

static int call_text(void *library, const char *name, const char *argument)
{
	union {
		void *object;
		int (*function)(const char *);
	} found = {library ? dlsym(library, name) : NULL};
	return found.object ? found.function(argument) : -1;
}

static void print_lookup(const char *what, void *handle, const char *name)
{
	dlerror();
	void *found = dlsym(handle, name);
	const char *error = dlerror();
	printf("%s %s: %s, error: %s\n", what, name, found ? "found" : "NULL",
	       error ? error : "none");
}

/* For each name: NULL and an error text, as without the shim. */
static void look_up_nothing(void)
{
	const char *const names[] = {"cuInit",	       "cuMemAlloc_v2",	   "cudaMalloc",
				     "cublasSgemm_v2", "cuNoSuchFunction", "no_such_function"};
	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		print_lookup("default", RTLD_DEFAULT, names[i]);
		print_lookup("next", RTLD_NEXT, names[i]);
		void *libc = dlopen("libc.so.6", RTLD_LAZY);
		print_lookup("libc", libc, names[i]);
	}
	print_lookup("libc", dlopen("libc.so.6", RTLD_LAZY), "strlen");
}

static void use_runtime(void *library)
{
	union {
		void *object;
		int (*allocate)(void **, size_t);
	} found = {library ? dlsym(library, "cudaMalloc") : NULL};
	void *device;
	printf("cudaMalloc %d\n", found.object ? found.allocate(&device, 444) : -1);
}

/* Leaves a call from inside, as runtimes do that turn a signal into an exception. */
static sigjmp_buf outside;
static void interrupted(int signal_number)
{
	(void)signal_number;
	siglongjmp(outside, 1);
}

static void leave_a_call(void)
{
	void *library = dlopen("libcudart.so.13", RTLD_NOW);
	union {
		void *object;
		int (*function)(void *);
	} release = {library ? dlsym(library, "cudaFree") : NULL};
	struct sigaction action = {.sa_handler = interrupted, .sa_flags = SA_NODEFER};
	sigaction(SIGUSR1, &action, NULL);
	use_runtime(library);
	if (release.object && !sigsetjmp(outside, 1))
		release.function(&action);
	else
		puts("left");
	printf("cudaFree %d\n", release.object ? release.function(NULL) : -1);
}

/* Calls from a signal handler, in the middle of calls of the same thread. */
static int (*allocate)(void **, size_t);
static _Atomic unsigned int handler_calls;
static void timer_fired(int signal_number)
{
	void *device;
	(void)signal_number;
	allocate(&device, 2);
	handler_calls++;
}

static void call_from_signals(void)
{
	void *library = dlopen("libcudart.so.13", RTLD_NOW), *device;
	union {
		void *object;
		int (*function)(void **, size_t);
	} found = {library ? dlsym(library, "cudaMalloc") : NULL};
	struct sigaction action = {.sa_handler = timer_fired, .sa_flags = SA_RESTART};
	struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
	allocate = found.function;
	allocate(&device, 1);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	unsigned int calls = 1;
	for (; calls < 100000 || handler_calls < 500; calls++)
		allocate(&device, 1);
	setitimer(ITIMER_REAL, &never, NULL);
	printf("%u calls\n", calls + handler_calls);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (!strcmp(mode, "next")) {
		for (int i = 2; i < argc; i++) {
			void *library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
			printf("next %d default %d\n",
			       call_text(library, "look_up_next", "probe_value"),
			       call_text(library, "look_up_default", "probe_value"));
		}
	} else if (!strcmp(mode, "handles")) {
		for (int i = 2; i < argc; i++)
			printf("%d\n", call_int(dlopen(argv[i], RTLD_NOW), "cuMemAlloc_v2"));
	} else if (!strcmp(mode, "plugins")) {
		for (int i = 2; i < argc; i++) {
			bool is_deep = !strcmp(argv[i], "deepbind") && i + 1 < argc;
			void *library =
				dlopen(argv[i += is_deep],
				       RTLD_NOW | RTLD_LOCAL | (is_deep ? RTLD_DEEPBIND : 0));
			printf("call %d look-up %d\n", call_int(library, "plugin_call"),
			       call_int(library, "plugin_look_up"));
		}
	} else if (!strcmp(mode, "nothing")) {
		look_up_nothing();
	} else if (!strcmp(mode, "weak")) {
		printf("%d\n", cuInit ? cuInit(0) : -1);
	} else if (!strcmp(mode, "leave")) {
		leave_a_call();
	} else if (!strcmp(mode, "signals")) {
		call_from_signals();
	} else if (!strcmp(mode, "open")) {
		for (int i = 2; i < argc; i++) {
			void *library = dlopen(argv[i], RTLD_NOW);
			printf("%s\n", library ? "opened" : dlerror());
		}
		use_runtime(dlopen("libcudart.so.13", RTLD_NOW | RTLD_LOCAL));
	} else {
		puts("unknown mode");
		return 2;
	}
	return 0;
}
