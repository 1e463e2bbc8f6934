/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a module image contains, as far as it can be read: kernel names and variables of cubins
 * (which are ELF) and of ELF images inside fat binaries, kernel names of PTX text. Compressed fat
 * binaries cannot be read; for those every name is accepted. Everything is copied: the caller may
 * free its image once it is loaded.
 */
#include "sim_internal.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum {
	WRAPPER_MAGIC = 0x466243b1,
	FATBIN_MAGIC = (int)0xba55ed50,
	MACHINE_CUDA = 190,
	FATBIN_BYTES_MAX = 1 << 30,
	UNKNOWN_GLOBAL_BYTES = 64 << 20,
};

struct image_kernel {
	char *name;
	int static_shared_bytes;
};

struct image_global {
	char *name;
	size_t bytes;
	void *initial;
};

struct sim_image {
	struct image_kernel *kernels;
	struct image_global *globals;
	unsigned kernel_count, global_count;
	bool accepts_any;
};

static bool has_room(void **array, unsigned count, size_t item_bytes)
{
	void *larger;

	if (count & (count - 1)) /* grows at powers of two */
		return true;
	larger = realloc(*array, (count ? 2 * (size_t)count : 1) * item_bytes);
	if (larger)
		*array = larger;
	return larger != NULL;
}

static void add_kernel(struct sim_image *image, const char *name, size_t length, int shared_bytes)
{
	struct image_kernel *kernel;
	void *array = image->kernels;

	for (unsigned i = 0; i < image->kernel_count; i++) {
		if (strncmp(image->kernels[i].name, name, length) == 0 &&
		    image->kernels[i].name[length] == '\0')
			return;
	}
	if (!has_room(&array, image->kernel_count, sizeof(*kernel)))
		return;
	image->kernels = array;
	kernel = &image->kernels[image->kernel_count];
	kernel->name = strndup(name, length);
	kernel->static_shared_bytes = shared_bytes;
	if (kernel->name)
		image->kernel_count++;
}

static void add_global(struct sim_image *image, const char *name, size_t bytes, const void *initial)
{
	struct image_global *global;
	void *array = image->globals;

	if (!has_room(&array, image->global_count, sizeof(*global)))
		return;
	image->globals = array;
	global = &image->globals[image->global_count];
	global->name = strdup(name);
	global->bytes = bytes;
	global->initial = initial ? malloc(bytes) : NULL;
	if (global->initial)
		memcpy(global->initial, initial, bytes);
	if (global->name)
		image->global_count++;
}

struct elf_view {
	const char *bytes;
	size_t size; /* SIZE_MAX when the caller gave a pointer only */
	const Elf64_Shdr *sections;
	unsigned section_count;
	const char *section_names;
};

static bool is_inside(const struct elf_view *elf, uint64_t offset, uint64_t bytes)
{
	return offset <= elf->size && bytes <= elf->size - offset;
}

static bool open_elf(struct elf_view *elf, const void *data, size_t size)
{
	const Elf64_Ehdr *header = data;
	const Elf64_Shdr *names;

	elf->bytes = data;
	elf->size = size;
	if (size < sizeof(*header) || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
	    header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != MACHINE_CUDA ||
	    header->e_shentsize != sizeof(Elf64_Shdr) || header->e_shstrndx >= header->e_shnum ||
	    !is_inside(elf, header->e_shoff, header->e_shnum * sizeof(Elf64_Shdr)))
		return false;
	elf->sections = (const void *)(elf->bytes + header->e_shoff);
	elf->section_count = header->e_shnum;
	names = &elf->sections[header->e_shstrndx];
	if (!is_inside(elf, names->sh_offset, names->sh_size))
		return false;
	elf->section_names = elf->bytes + names->sh_offset;
	return true;
}

static int shared_bytes_of(const struct elf_view *elf, const char *kernel)
{
	static const char prefix[] = ".nv.shared.";

	for (unsigned i = 0; i < elf->section_count; i++) {
		const char *name = elf->section_names + elf->sections[i].sh_name;

		if (strncmp(name, prefix, sizeof(prefix) - 1) == 0 &&
		    strcmp(name + sizeof(prefix) - 1, kernel) == 0)
			return (int)elf->sections[i].sh_size;
	}
	return 0;
}

static void add_symbol(struct sim_image *image, const struct elf_view *elf, const Elf64_Sym *symbol,
		       const char *name)
{
	const Elf64_Shdr *section = &elf->sections[symbol->st_shndx];
	const char *section_name = elf->section_names + section->sh_name;
	const void *initial = NULL;

	if (ELF64_ST_TYPE(symbol->st_info) == STT_FUNC &&
	    ELF64_ST_BIND(symbol->st_info) != STB_LOCAL && strncmp(section_name, ".text.", 6) == 0)
		add_kernel(image, name, strlen(name), shared_bytes_of(elf, name));
	if (ELF64_ST_TYPE(symbol->st_info) != STT_OBJECT || symbol->st_size == 0 ||
	    (strncmp(section_name, ".nv.global", 10) != 0 &&
	     strcmp(section_name, ".nv.constant3") != 0))
		return;
	if (section->sh_type == SHT_PROGBITS &&
	    is_inside(elf, section->sh_offset + symbol->st_value, symbol->st_size))
		initial = elf->bytes + section->sh_offset + symbol->st_value;
	add_global(image, name, symbol->st_size, initial);
}

static bool read_elf(struct sim_image *image, const void *data, size_t size)
{
	struct elf_view elf;

	if (!open_elf(&elf, data, size))
		return false;
	for (unsigned i = 0; i < elf.section_count; i++) {
		const Elf64_Shdr *table = &elf.sections[i], *strings;
		const Elf64_Sym *symbols;

		if (table->sh_type != SHT_SYMTAB || table->sh_link >= elf.section_count ||
		    !is_inside(&elf, table->sh_offset, table->sh_size))
			continue;
		strings = &elf.sections[table->sh_link];
		symbols = (const void *)(elf.bytes + table->sh_offset);
		for (size_t s = 1; s < table->sh_size / sizeof(*symbols); s++) {
			if (symbols[s].st_shndx < elf.section_count &&
			    symbols[s].st_name < strings->sh_size &&
			    is_inside(&elf, strings->sh_offset, strings->sh_size))
				add_symbol(image, &elf, &symbols[s],
					   elf.bytes + strings->sh_offset + symbols[s].st_name);
		}
	}
	return true;
}

/* A fat binary tells its size; its uncompressed ELF images are found by their own headers. */
static bool read_fatbin(struct sim_image *image, const char *data)
{
	uint16_t header_bytes;
	uint64_t bytes;
	bool found = false;

	memcpy(&header_bytes, data + 6, sizeof(header_bytes));
	memcpy(&bytes, data + 8, sizeof(bytes));
	if (header_bytes < 16 || bytes > FATBIN_BYTES_MAX)
		return false;
	for (uint64_t at = 0; at + sizeof(Elf64_Ehdr) <= bytes; at += 8) {
		const char *candidate = data + header_bytes + at;

		if (memcmp(candidate, ELFMAG, SELFMAG) == 0 &&
		    read_elf(image, candidate, bytes - at))
			found = true;
	}
	image->accepts_any = !found;
	return true;
}

static bool read_ptx(struct sim_image *image, const char *text)
{
	const char *at = text;

	if (!strstr(text, ".version"))
		return false;
	while ((at = strstr(at, ".entry"))) {
		size_t length;

		at += strlen(".entry");
		at += strspn(at, " \t\r\n");
		length = strspn(at,
				"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$");
		if (length > 0)
			add_kernel(image, at, length, 0);
	}
	return true;
}

static bool read_image(struct sim_image *image, const void *data)
{
	unsigned char first = *(const unsigned char *)data;
	const void *inner;
	int magic;

	/* Text can be shorter than a magic number. */
	if (first == '\t' || first == '\n' || first == '\r' || (first >= ' ' && first < 0x50))
		return read_ptx(image, data);
	memcpy(&magic, data, sizeof(magic));
	if (magic == WRAPPER_MAGIC) {
		memcpy(&inner, (const char *)data + 8, sizeof(inner));
		if (!inner)
			return false;
		data = inner;
		memcpy(&magic, data, sizeof(magic));
	}
	if (magic == FATBIN_MAGIC)
		return read_fatbin(image, data);
	return read_elf(image, data, SIZE_MAX);
}

struct sim_image *sim_image_open(const void *data)
{
	struct sim_image *image = calloc(1, sizeof(*image));

	if (image && !read_image(image, data)) {
		sim_image_close(image);
		return NULL;
	}
	return image;
}

void sim_image_close(struct sim_image *image)
{
	if (!image)
		return;
	for (unsigned i = 0; i < image->kernel_count; i++)
		free(image->kernels[i].name);
	for (unsigned i = 0; i < image->global_count; i++) {
		free(image->globals[i].name);
		free(image->globals[i].initial);
	}
	free(image->kernels);
	free(image->globals);
	free(image);
}

bool sim_image_has_kernel(const struct sim_image *image, const char *name, int *static_shared_bytes)
{
	for (unsigned i = 0; i < image->kernel_count; i++) {
		if (strcmp(image->kernels[i].name, name) == 0) {
			*static_shared_bytes = image->kernels[i].static_shared_bytes;
			return true;
		}
	}
	*static_shared_bytes = 0;
	return image->accepts_any;
}

bool sim_image_find_global(const struct sim_image *image, const char *name, size_t *bytes,
			   const void **initial)
{
	for (unsigned i = 0; i < image->global_count; i++) {
		if (strcmp(image->globals[i].name, name) == 0) {
			*bytes = image->globals[i].bytes;
			*initial = image->globals[i].initial;
			return true;
		}
	}
	*bytes = UNKNOWN_GLOBAL_BYTES;
	*initial = NULL;
	return image->accepts_any;
}

unsigned sim_image_kernel_count(const struct sim_image *image)
{
	return image->kernel_count;
}

const char *sim_image_kernel_name(const struct sim_image *image, unsigned index)
{
	return image->kernels[index].name;
}
