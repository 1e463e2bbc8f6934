/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Included before every file of libunwind when it is built for gputrace: takes out what must not
 * happen inside a traced program. The sources themselves are not changed.
 */
#ifndef GPUTRACE_UNWIND_ADAPT_H
#define GPUTRACE_UNWIND_ADAPT_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* The loader's list of modules is read without its lock. */
int unwind_iterate_modules(int (*callback)(struct dl_phdr_info *info, size_t size, void *data),
			   void *data);
#define dl_iterate_phdr unwind_iterate_modules

/* Walks are serialised by site_unwind.c, whose lock is tried and never waited for without end. A
 * mutex inside would stay locked in the child of a fork. */
#define pthread_mutex_init(mutex, attributes) ((void)(mutex), 0)
#define pthread_mutex_lock(mutex)	      ((void)(mutex), 0)
#define pthread_mutex_unlock(mutex)	      ((void)(mutex), 0)

/* No file is opened: a module without a search table in memory has no unwind data for us. This
 * also keeps names out that only newer C libraries have. */
#define open(...)		  (-1)
#define stat(path, result)	  (-1)
#define fstat(descriptor, result) (-1)

/* No descriptors: memory is checked by unwind_can_read() instead of by pipes. */
#define pipe2(descriptors, flags) (-1)
#define pipe(descriptors)	  (-1)

/* Not a word on stderr, and no abort: impossible unwind data ends the walk. */
#define fprintf(...) (0)
_Noreturn void unwind_give_up(void);
#define abort() unwind_give_up()

#endif
