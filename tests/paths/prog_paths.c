/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls every wrapped function once, made from the tables, and prints what came back: name, result,
 * errno. Every argument is the same word, so that no signature has to be known here.
 *
 *   prog_paths WAY WORDS WHERE
 *   prog_paths rows        prints table and name of every row instead
 *
 * WAY: linked, dlsym, lookup (cuGetProcAddress; the driver's functions only). WORDS: null, guard
 * (an address that may not be touched), valid (an address of zeros that is also a small number),
 * huge (no address, more than 32 bits). WHERE: main, thread, exit, signal, thread_exit,
 * constructor, loading (after one call of each library, while another thread is inside dlopen and
 * waits for us).
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../shim/api/cuda_abi.h"
#include "../../shim/api/cublaslt_abi.h"
#include "../../shim/api/cudnn_abi.h"
#include "../../shim/api/nccl_abi.h"

/* Marks and allocator reports read what they are given, so they have a program of their own, for
 * which the words null and valid are. */
#ifdef PATHS_OF_MARKS
#define PATH_NVTX2
#define PATH_C10
struct nvtx_event;
#else
#define PATH_DRIVER
#define PATH_RUNTIME
#define PATH_BLAS
#define PATH_LT
#define PATH_CUDNN
#define PATH_NCCL
#endif

#define GUARD_ADDRESS 0x600000000000u
#define VALID_ADDRESS 0x10000u
#define VALID_BYTES   (48u << 20)
#define HUGE_WORD     0x123456789abcu

typedef void (*any_function)(void);
typedef uintptr_t word;
/* As many words as the longest list of parameters; the numbers after them are for those that are
 * double or float, which have registers of their own. */
typedef int (*words_function)(word, word, word, word, word, word, word, word, word, word, word,
			      word, word, word, word, word, word, word, word, word, word, word,
			      word, word, word, word, word, word, word, word, word, word, word,
			      word, word, word, double, double);
#define WORDS(v)                                                                                   \
	v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v,  \
		v, v, v, v, v, v, 0.25, 0.5

#define PATH_ROW(name, params, args) int name params;
#include "path_rows.h"
#undef PATH_ROW

/* A row without a function begins a table. */
static const struct {
	const char *name;
	any_function linked;
	bool is_void;
} rows[] = {
#define PATH_TABLE(file)		  {#file, NULL, false},
#define PATH_ROW(name, params, args)	  {#name, (any_function)name, false},
#define PATH_VOID_ROW(name, params, args) {#name, (any_function)name, true},
#include "path_rows.h"
};

static const char *way = "linked";
static word value;

static any_function as_function(void *object)
{
	any_function function;
	memcpy(&function, &object, sizeof(function));
	return function;
}

static any_function find(size_t row)
{
	const char *name = rows[row].name;
	if (!rows[row].linked)
		return NULL;
	if (!strcmp(way, "linked"))
		return rows[row].linked;
	if (!strcmp(way, "dlsym"))
		return as_function(dlsym(RTLD_DEFAULT, name));
	static int (*look_up)(const char *, void **, int, cuuint64_t, int *);
	if (!look_up) {
		any_function found = as_function(dlsym(RTLD_DEFAULT, "cuGetProcAddress_v2"));
		memcpy(&look_up, &found, sizeof(found));
	}
	void *found = NULL;
	int status;
	if (strncmp(name, "cu", 2) || name[2] < 'A' || name[2] > 'Z' ||
	    look_up(name, &found, 13000, 0, &status))
		return NULL;
	return as_function(found);
}

static void call_all(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		any_function found = find(i);
		/* As many communicators as the word says. */
		bool is_too_much =
			value == VALID_ADDRESS && !strcmp(rows[i].name, "ncclCommInitAll");
		if (!found || is_too_much)
			continue;
		words_function function = (words_function)found;
		word v = value;
		errno = 111;
		int status = function(WORDS(v));
		if (rows[i].is_void)
			status = 0;
		printf("%s %d %d\n", rows[i].name, status, errno);
	}
	fflush(stdout);
}

static int print_rows(void)
{
	const char *table = "";
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].linked)
			printf("%s\t%s\n", table, rows[i].name);
		else
			table = rows[i].name;
	}
	return 0;
}

/* 1: lib_loading.c has begun to load; 2: it may go on; 3: it has waited in vain. */
__attribute__((visibility("default"))) _Atomic int paths_loading;

static void *load(void *unused)
{
	(void)unused;
	void *library = dlopen("libpaths_loading.so", RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		fputs(dlerror(), stderr);
		_exit(3);
	}
	return library;
}

static void call_while_loading(void)
{
	const char *const first[] = {"cuInit",	       "cudaMalloc",  "cublasCreate_v2",
				     "cublasLtCreate", "cudnnCreate", "ncclMemAlloc"};
	pthread_t thread;
	word v = value;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (size_t j = 0; j < sizeof(first) / sizeof(first[0]); j++) {
			if (!strcmp(rows[i].name, first[j]))
				((words_function)rows[i].linked)(WORDS(v));
		}
	}
	pthread_create(&thread, NULL, load, NULL);
	while (atomic_load(&paths_loading) < 1)
		;
	call_all();
	int loading = 1;
	if (atomic_compare_exchange_strong(&paths_loading, &loading, 2))
		puts("no call waited for the loader");
	else
		puts("a call waited for the loader");
	pthread_join(thread, NULL);
}

static void handle_signal(int number)
{
	(void)number;
	call_all();
}

static void end_thread(void *unused)
{
	(void)unused;
	call_all();
}

static void *run_thread(void *key)
{
	if (key)
		pthread_setspecific(*(pthread_key_t *)key, key);
	else
		call_all();
	return NULL;
}

static int prepare(const char *words)
{
	void *made = NULL, *wanted = NULL;
	if (!strcmp(words, "guard")) {
		wanted = (void *)(uintptr_t)GUARD_ADDRESS;
		made = mmap(wanted, 1 << 20, PROT_NONE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	} else if (!strcmp(words, "valid")) {
		wanted = (void *)(uintptr_t)VALID_ADDRESS;
		made = mmap(wanted, VALID_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1,
			    0);
	} else if (!strcmp(words, "huge")) {
		value = HUGE_WORD;
		return 0;
	}
	value = (word)wanted;
	return made == wanted ? 0 : -1;
}

/* The environment, since a constructor's arguments are glibc's own affair. */
__attribute__((constructor)) static void construct(void)
{
	const char *words = getenv("PATHS_CONSTRUCTOR");
	if (words && !prepare(words))
		call_all();
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "rows"))
		return print_rows();
	if (argc != 4)
		return 2;
	way = argv[1];
	const char *where = argv[3];
	if (!strcmp(where, "constructor"))
		return 0;
	if (prepare(argv[2])) {
		perror("cannot map the address of the arguments");
		return 77;
	}
	pthread_t thread;
	pthread_key_t key;
	if (!strcmp(where, "main")) {
		call_all();
	} else if (!strcmp(where, "thread")) {
		pthread_create(&thread, NULL, run_thread, NULL);
		pthread_join(thread, NULL);
	} else if (!strcmp(where, "thread_exit")) {
		pthread_key_create(&key, end_thread);
		pthread_create(&thread, NULL, run_thread, &key);
		pthread_join(thread, NULL);
	} else if (!strcmp(where, "signal")) {
		signal(SIGUSR1, handle_signal);
		raise(SIGUSR1);
	} else if (!strcmp(where, "loading")) {
		call_while_loading();
	} else if (!strcmp(where, "exit")) {
		atexit(call_all);
	} else {
		return 2;
	}
	return 0;
}
