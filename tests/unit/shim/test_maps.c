/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the file behind an address without the loader. */
#include "../../../shim/maps.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

static void code_of_this_program_is_found(void **state)
{
	(void)state;
	struct mapping mapping;
	uint64_t address = (uintptr_t)&code_of_this_program_is_found;
	assert_true(maps_find(address, &mapping));
	assert_non_null(strstr(mapping.path, "test_maps"));
	assert_true(mapping.code_begin <= address && address < mapping.code_end);
	assert_true(mapping.begin <= mapping.code_begin && mapping.code_end <= mapping.end);
	/* The file begins at `begin`: an ELF header is there. */
	assert_memory_equal((const void *)(uintptr_t)mapping.begin, "\177ELF", 4);
}

static void code_of_a_library_is_found(void **state)
{
	(void)state;
	struct mapping mapping;
	assert_true(maps_find((uintptr_t)dlsym(RTLD_DEFAULT, "_cmocka_run_group_tests"), &mapping));
	assert_non_null(strstr(mapping.path, "cmocka"));
	assert_int_equal(mapping.path[0], '/');
}

static void data_and_nothing_are_not_code(void **state)
{
	(void)state;
	static int data;
	struct mapping mapping;
	void *anonymous = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_false(maps_find((uintptr_t)&data, &mapping));
	assert_false(maps_find((uintptr_t)anonymous, &mapping));
	assert_false(maps_find(16, &mapping));
	munmap(anonymous, 4096);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_of_this_program_is_found),
		cmocka_unit_test(code_of_a_library_is_found),
		cmocka_unit_test(data_and_nothing_are_not_code),
	};
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
