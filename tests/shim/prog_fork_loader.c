/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Children forked while another thread is inside the loader, which for them stays there for ever.
 * usage: prog_fork_loader PLUGIN                   another thread lists the modules
 *        prog_fork_loader PLUGIN LIBRARY FIFO       it opens a library that needs the FIFO
 *        prog_fork_loader PLUGIN LIBRARY FIFO OTHER and the parent has called the other plugin
 * Prints what the plugin's call returned in the child.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static _Atomic int is_inside, may_leave;

static void nap(void)
{
	struct timespec pause = {0, 1000000};
	nanosleep(&pause, NULL);
}

static int stay(struct dl_phdr_info *info, size_t size, void *argument)
{
	(void)info;
	(void)size;
	(void)argument;
	is_inside = 1;
	while (!may_leave)
		nap();
	return 1;
}

static void *iterate(void *argument)
{
	(void)argument;
	dl_iterate_phdr(stay, NULL);
	return NULL;
}

/* Waits in the loader: what the library needs is a pipe that nobody writes to yet. */
static void *open_library(void *path)
{
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* Whether the loader says that it is in the middle of something. */
static int is_adding(void)
{
	for (const ElfW(Dyn) *entry = _DYNAMIC; entry->d_tag != DT_NULL; entry++) {
		if (entry->d_tag == DT_DEBUG)
			return ((const struct r_debug *)entry->d_un.d_ptr)->r_state == RT_ADD;
	}
	return 0;
}

static int call_in_child(int (*call)(void))
{
	int status = 0;
	pid_t child = fork();
	if (child == 0) {
		alarm(10);
		printf("call %d\n", call());
		fflush(stdout);
		_exit(0);
	}
	waitpid(child, &status, 0);
	if (WIFSIGNALED(status))
		printf("killed by signal %d\n", WTERMSIG(status));
	return status != 0;
}

static int (*function_of(const char *path))(void)
{
	union {
		void *object;
		int (*function)(void);
	} call = {NULL};
	void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (plugin)
		call.object = dlsym(plugin, "plugin_call");
	if (!call.object)
		exit(2);
	return call.function;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int (*call)(void);
	int status;

	if (argc < 2)
		return 2;
	call = function_of(argv[1]);
	if (argc > 4)
		printf("parent %d\n", function_of(argv[4])());
	fflush(stdout);
	if (argc == 2) {
		pthread_create(&thread, NULL, iterate, NULL);
		while (!is_inside)
			nap();
	} else {
		pthread_create(&thread, NULL, open_library, argv[2]);
		while (!is_adding())
			nap();
	}
	status = call_in_child(call);
	may_leave = 1;
	if (argc > 3) {
		int writer;
		while ((writer = open(argv[3], O_WRONLY | O_NONBLOCK)) < 0 && errno == ENXIO)
			nap();
		close(writer);
	}
	pthread_join(thread, NULL);
	return status;
}
