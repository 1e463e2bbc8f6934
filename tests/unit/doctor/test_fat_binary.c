/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fat binaries made by hand; cli_doctor has those that nvcc makes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bytes.h"
#include "error.h"
#include "fat_binary.h"

enum { FLAG_A = 0x100011, FLAG_F = 0x1200011, PLAIN = 0x11, HEAD = 64 };

struct file {
	uint8_t bytes[8192];
	size_t size;
};

/* A container with room for entries; close_container() fills in its size. */
static size_t open_container(struct file *file)
{
	size_t at = file->size;

	bytes_store32(file->bytes + at, 0xba55ed50u);
	bytes_store16(file->bytes + at + 4, 1);
	bytes_store16(file->bytes + at + 6, 16);
	file->size += 16;
	return at;
}

static void close_container(struct file *file, size_t at)
{
	bytes_store64(file->bytes + at + 8, file->size - at - 16);
}

static void add_entry(struct file *file, uint16_t kind, uint32_t cc, uint32_t flags,
		      uint32_t payload)
{
	uint8_t *head = file->bytes + file->size;

	bytes_store16(head, kind);
	bytes_store32(head + 4, HEAD);
	bytes_store64(head + 8, payload);
	bytes_store16(head + 24, kind == 1 ? 5 : 1); /* minor */
	bytes_store16(head + 26, 8);		     /* major */
	bytes_store32(head + 28, cc);
	bytes_store32(head + 40, flags);
	file->size += HEAD + payload;
}

static void one_container(struct file *file, uint16_t kind, uint32_t cc, uint32_t flags)
{
	size_t at;

	memset(file, 0, sizeof(*file));
	at = open_container(file);
	add_entry(file, kind, cc, flags, 32);
	close_container(file, at);
}

static void images_of_several_containers_are_added_up(void **state)
{
	struct fat_binary binary;
	struct file file;
	size_t at;

	(void)state;
	memset(&file, 0, sizeof(file));
	for (int i = 0; i < 3; i++) {
		at = open_container(&file);
		add_entry(&file, FAT_IMAGE_MACHINE_CODE, 80, PLAIN, 100);
		add_entry(&file, FAT_IMAGE_PTX, 90, PLAIN, 36);
		close_container(&file, at);
		file.size = (file.size + 7) / 8 * 8 + 24; /* zeros between */
	}
	assert_true(fat_binary_scan(file.bytes, file.size, &binary));
	assert_int_equal(binary.containers, 3);
	assert_int_equal(binary.damaged, 0);
	assert_int_equal(binary.image_count, 2);
	assert_int_equal(binary.images[0].kind, FAT_IMAGE_MACHINE_CODE);
	assert_int_equal(binary.images[0].cc, 80);
	assert_int_equal(binary.images[0].count, 3);
	assert_int_equal(binary.images[0].bytes, 300);
	assert_int_equal(binary.images[1].ptx_isa, 85);
}

static enum fat_support support(uint16_t kind, uint32_t cc, uint32_t flags, uint16_t major,
				uint16_t minor)
{
	struct fat_binary binary;
	struct file file;

	one_container(&file, kind, cc, flags);
	assert_true(fat_binary_scan(file.bytes, file.size, &binary));
	assert_int_equal(binary.image_count, 1);
	return fat_binary_support(&binary, major, minor);
}

static void machine_code_runs_on_its_major_from_its_minor_on(void **state)
{
	(void)state;
	assert_int_equal(support(FAT_IMAGE_MACHINE_CODE, 80, PLAIN, 8, 0), FAT_RUNS);
	assert_int_equal(support(FAT_IMAGE_MACHINE_CODE, 80, PLAIN, 8, 9), FAT_RUNS);
	assert_int_equal(support(FAT_IMAGE_MACHINE_CODE, 86, PLAIN, 8, 0), FAT_FAILS);
	assert_int_equal(support(FAT_IMAGE_MACHINE_CODE, 80, PLAIN, 9, 0), FAT_FAILS);
	assert_int_equal(support(FAT_IMAGE_MACHINE_CODE, 120, PLAIN, 12, 0), FAT_RUNS);
	assert_int_equal(support(FAT_IMAGE_MACHINE_CODE, 100, PLAIN, 12, 0), FAT_FAILS);
}

static void ptx_is_compiled_for_newer_gpus_only(void **state)
{
	(void)state;
	assert_int_equal(support(FAT_IMAGE_PTX, 75, PLAIN, 9, 0), FAT_COMPILES);
	assert_int_equal(support(FAT_IMAGE_PTX, 90, PLAIN, 8, 9), FAT_FAILS);
	assert_int_equal(support(FAT_IMAGE_PTX, 90, PLAIN, 9, 0), FAT_COMPILES);
}

static void code_for_one_gpu_or_one_family_goes_nowhere_else(void **state)
{
	(void)state;
	assert_int_equal(support(FAT_IMAGE_MACHINE_CODE, 90, FLAG_A, 9, 0), FAT_RUNS);
	assert_int_equal(support(FAT_IMAGE_MACHINE_CODE, 100, FLAG_A, 10, 3), FAT_FAILS);
	assert_int_equal(support(FAT_IMAGE_PTX, 90, FLAG_A, 10, 0), FAT_FAILS);
	assert_int_equal(support(FAT_IMAGE_MACHINE_CODE, 100, FLAG_F, 10, 3), FAT_RUNS);
	assert_int_equal(support(FAT_IMAGE_PTX, 100, FLAG_F, 12, 0), FAT_FAILS);
}

static void damage_is_counted_and_the_rest_is_read(void **state)
{
	struct fat_binary binary;
	struct file file;
	size_t at;

	(void)state;
	one_container(&file, FAT_IMAGE_MACHINE_CODE, 80, PLAIN);
	at = open_container(&file);
	add_entry(&file, FAT_IMAGE_MACHINE_CODE, 90, PLAIN, 32);
	close_container(&file, at);
	/* The first entry claims more than there is. */
	bytes_store64(file.bytes + 16 + 8, UINT64_MAX - 10);
	assert_true(fat_binary_scan(file.bytes, file.size, &binary));
	assert_int_equal(binary.damaged, 1);
	assert_int_equal(binary.image_count, 1);
	assert_int_equal(binary.images[0].cc, 90);
	/* A container that claims more than the file. */
	one_container(&file, FAT_IMAGE_MACHINE_CODE, 80, PLAIN);
	bytes_store64(file.bytes + 8, UINT64_MAX);
	assert_true(fat_binary_scan(file.bytes, file.size, &binary));
	assert_int_equal(binary.damaged, 1);
	assert_int_equal(binary.image_count, 0);
}

static void cubins_say_their_architecture_in_old_and_new_headers(void **state)
{
	Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1, 51, 7},
			     .e_machine = 190,
			     .e_flags = 0x00500550};
	struct fat_binary binary;

	(void)state;
	assert_true(fat_binary_scan(&header, sizeof(header), &binary));
	assert_int_equal(binary.images[0].cc, 80);
	header.e_ident[EI_ABIVERSION] = 8;
	header.e_flags = 0x6007802;
	assert_true(fat_binary_scan(&header, sizeof(header), &binary));
	assert_int_equal(binary.images[0].cc, 120);
}

static void ptx_texts_say_their_target(void **state)
{
	static const char text[] = "//\n.version 8.5\n.target sm_90a, debug\n.address_size 64\n";
	struct fat_binary binary;

	(void)state;
	assert_true(fat_binary_scan(text, sizeof(text) - 1, &binary));
	assert_int_equal(binary.images[0].cc, 90);
	assert_int_equal(binary.images[0].suffix, 'a');
	assert_int_equal(binary.images[0].ptx_isa, 85);
}

static void programs_without_gpu_code_have_none(void **state)
{
	struct fat_binary binary;
	struct error err = {0};

	(void)state;
	assert_int_equal(fat_binary_read("/proc/self/exe", &binary, &err), 0);
	assert_int_equal(binary.image_count, 0);
	assert_int_equal(binary.damaged, 0);
}

static void other_files_are_refused_with_a_sentence(void **state)
{
	struct fat_binary binary;
	struct error err = {0};

	(void)state;
	assert_true(fat_binary_read("/nonexistent", &binary, &err) < 0);
	assert_non_null(strstr(err.text, "No such file"));
	assert_true(fat_binary_read("/etc/passwd", &binary, &err) < 0);
	assert_non_null(strstr(err.text, "is no 64-bit ELF file"));
	assert_true(fat_binary_read("/tmp", &binary, &err) < 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(images_of_several_containers_are_added_up),
		cmocka_unit_test(machine_code_runs_on_its_major_from_its_minor_on),
		cmocka_unit_test(ptx_is_compiled_for_newer_gpus_only),
		cmocka_unit_test(code_for_one_gpu_or_one_family_goes_nowhere_else),
		cmocka_unit_test(damage_is_counted_and_the_rest_is_read),
		cmocka_unit_test(cubins_say_their_architecture_in_old_and_new_headers),
		cmocka_unit_test(ptx_texts_say_their_target),
		cmocka_unit_test(programs_without_gpu_code_have_none),
		cmocka_unit_test(other_files_are_refused_with_a_sentence),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
