/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel names by host stub and by handle. */
#include "../../../shim/kernels.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../../shim/device.h"
#include "../../../shim/lifecycle.h"
#include "../../../shim/session.h"
#include "../../../shim/thread_write.h"

/* What the table needs of the rest of the shim. */
static struct ring_control control = {.start_ticks = 1};
struct ring_control *session_control = &control;
static _Atomic int names_written, asked;
static const char *driver_says;
static bool ring_is_full;
static char last_name[64];

bool thread_write_name(struct thread *thread, uint16_t space, uint64_t id, const char *text,
		       size_t text_bytes)
{
	(void)thread;
	(void)space;
	(void)id;
	if (ring_is_full)
		return false;
	snprintf(last_name, sizeof(last_name), "%.*s", (int)text_bytes, text);
	names_written++;
	return true;
}

const char *device_function_name(const void *function)
{
	(void)function;
	asked++;
	return driver_says;
}

void lifecycle_watch_forks(void)
{
}

static char places[100000];

static void a_stub_has_its_registered_name(void **state)
{
	(void)state;
	kernels_register(&places[0], "alpha");
	uint64_t number = kernels_number(NULL, &places[0], false);
	assert_int_not_equal(number, 0);
	assert_string_equal(last_name, "alpha");
	/* The same kernel by another way has the same number, and its name is written once. */
	int written = names_written;
	kernels_set_name(&places[1], "alpha");
	assert_int_equal(kernels_number(NULL, &places[1], true), number);
	assert_int_equal(kernels_number_of_name(NULL, "alpha"), number);
	kernels_set_alias(&places[2], &places[0]);
	assert_int_equal(kernels_number(NULL, &places[2], false), number);
	assert_int_equal(names_written, written);
	assert_int_equal(kernels_number(NULL, &places[3], false), 0);
}

static void a_handle_that_is_used_again_gets_its_new_name(void **state)
{
	(void)state;
	kernels_set_name(&places[10], "first");
	uint64_t first = kernels_number(NULL, &places[10], true);
	kernels_set_name(&places[10], "second");
	assert_int_not_equal(kernels_number(NULL, &places[10], true), first);
	assert_string_equal(last_name, "second");
}

static void the_driver_is_asked_once_per_handle(void **state)
{
	(void)state;
	int before = asked;
	driver_says = "from_driver";
	uint64_t number = kernels_number(NULL, &places[20], true);
	assert_int_not_equal(number, 0);
	for (int i = 0; i < 10; i++)
		assert_int_equal(kernels_number(NULL, &places[20], true), number);
	assert_int_equal(asked, before + 1);
	/* A driver that does not know is not asked for every launch either. */
	driver_says = NULL;
	before = asked;
	for (int i = 0; i < 10; i++)
		assert_int_equal(kernels_number(NULL, &places[21], true), 0);
	assert_int_equal(asked, before + 1);
	/* After a module went away the handle may be another kernel's. */
	driver_says = "another";
	kernels_unload();
	assert_int_not_equal(kernels_number(NULL, &places[20], true), number);
	assert_string_equal(last_name, "another");
}

static void a_name_that_did_not_fit_is_written_later(void **state)
{
	(void)state;
	kernels_set_name(&places[30], "late");
	ring_is_full = true;
	assert_int_not_equal(kernels_number(NULL, &places[30], false), 0);
	ring_is_full = false;
	int before = names_written;
	kernels_number(NULL, &places[30], false);
	assert_int_equal(names_written, before + 1);
}

static void a_new_session_gets_the_names_again(void **state)
{
	(void)state;
	kernels_set_name(&places[40], "again");
	kernels_number(NULL, &places[40], false);
	int before = names_written;
	control.start_ticks++;
	kernels_number(NULL, &places[40], false);
	kernels_number(NULL, &places[40], false);
	assert_int_equal(names_written, before + 1);
}

static void tens_of_thousands_of_kernels_are_found(void **state)
{
	(void)state;
	static char names[50000][16];
	for (int i = 0; i < 50000; i++) {
		snprintf(names[i], sizeof(names[i]), "kernel_%d", i);
		kernels_register(&places[50000 + i], names[i]);
	}
	for (int i = 0; i < 50000; i += 7) {
		kernels_number(NULL, &places[50000 + i], false);
		assert_string_equal(last_name, names[i]);
	}
}

static void very_long_names_are_cut(void **state)
{
	(void)state;
	char *name = malloc(100001);
	memset(name, 'x', 100000);
	name[100000] = '\0';
	kernels_set_name(&places[50], name);
	assert_int_not_equal(kernels_number(NULL, &places[50], false), 0);
	free(name);
}

static void *name_and_find(void *argument)
{
	char *own = &places[1000 + 500 * (uintptr_t)argument];
	for (int i = 0; i < 500; i++) {
		char name[32];
		snprintf(name, sizeof(name), "shared_%d", i);
		kernels_set_name(&own[i], name);
		if (kernels_number(NULL, &own[i], false) != kernels_number_of_name(NULL, name))
			return (void *)1;
	}
	return NULL;
}

static void threads_agree_on_numbers(void **state)
{
	(void)state;
	pthread_t threads[4];
	for (uintptr_t i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, name_and_find, (void *)i);
	for (int i = 0; i < 4; i++) {
		void *result;
		pthread_join(threads[i], &result);
		assert_null(result);
	}
}

static void a_handle_launched_into_a_capture_is_named_when_the_driver_may_be_asked(void **state)
{
	(void)state;
	int written = names_written;
	uint64_t number = kernels_number_for_now(&places[90000]);
	assert_int_not_equal(number, 0);
	assert_int_equal(kernels_number_for_now(&places[90000]), number);
	assert_int_equal(names_written, written);
	driver_says = "captured";
	ring_is_full = true;
	kernels_name_pending(NULL);
	assert_int_equal(names_written, written);
	ring_is_full = false;
	kernels_name_pending(NULL);
	assert_int_equal(names_written, written + 1);
	assert_string_equal(last_name, "captured");
	kernels_name_pending(NULL); /* once */
	assert_int_equal(names_written, written + 1);
	/* Too many at a time are unknown. */
	unsigned int known = 0;
	for (int i = 0; i < 1000; i++)
		known += kernels_number_for_now(&places[91000 + i]) != 0;
	assert_in_range(known, 200, 256);
	kernels_name_pending(NULL);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stub_has_its_registered_name),
		cmocka_unit_test(a_handle_that_is_used_again_gets_its_new_name),
		cmocka_unit_test(the_driver_is_asked_once_per_handle),
		cmocka_unit_test(a_name_that_did_not_fit_is_written_later),
		cmocka_unit_test(a_new_session_gets_the_names_again),
		cmocka_unit_test(tens_of_thousands_of_kernels_are_found),
		cmocka_unit_test(very_long_names_are_cut),
		cmocka_unit_test(threads_agree_on_numbers),
		cmocka_unit_test(
			a_handle_launched_into_a_capture_is_named_when_the_driver_may_be_asked),
	};
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
