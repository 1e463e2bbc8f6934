/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fat binary is a row of containers: a head with a magic number and the size of what follows,
 * then entries of a head and a payload each. The layout was read off the output of nvcc 13.0; what
 * a field does not show there is not used. In programs the containers stand in the ELF section
 * .nv_fatbin (relocatable code: __nv_relfatbin), one per translation unit, padded with zeros.
 */
#define _GNU_SOURCE
#include "fat_binary.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bytes.h"
#include "error.h"

#define CONTAINER_MAGIC	     0xba55ed50u
#define CONTAINER_HEAD_BYTES 16u
#define ENTRY_HEAD_BYTES     64u
#define FLAG_THIS_GPU	     0x100000u /* sm_90a */
#define FLAG_FAMILY	     0x200000u /* sm_120f */
#define MACHINE_CUDA	     190
#define CUBIN_ABI_WIDE	     8 /* from here on the architecture stands in the second byte */
#define CC_LIMIT	     1000

struct span {
	const uint8_t *bytes;
	size_t size;
};

static struct span cut(struct span span, uint64_t offset, uint64_t size)
{
	if (offset > span.size || size > span.size - offset)
		return (struct span){NULL, 0};
	return (struct span){span.bytes + offset, (size_t)size};
}

static void add_image(struct fat_binary *binary, uint8_t kind, uint16_t cc, char suffix,
		      uint16_t ptx_isa, uint64_t bytes)
{
	struct fat_image *image = NULL;

	for (size_t i = 0; i < binary->image_count && !image; i++) {
		if (binary->images[i].kind == kind && binary->images[i].cc == cc &&
		    binary->images[i].suffix == suffix)
			image = &binary->images[i];
	}
	if (!image && binary->image_count == FAT_BINARY_MAX_IMAGES) {
		binary->damaged++; /* no compiler makes so many */
		return;
	}
	if (!image) {
		image = &binary->images[binary->image_count++];
		*image = (struct fat_image){.kind = kind, .suffix = suffix, .cc = cc};
	}
	image->count++;
	image->bytes += bytes;
	if (ptx_isa > image->ptx_isa)
		image->ptx_isa = ptx_isa;
}

/* ---- containers ---- */

/* False: damaged, the rest of the container is skipped. */
static bool scan_entry(struct fat_binary *binary, struct span rest, uint64_t *length)
{
	uint32_t head_bytes, cc, flags;
	uint64_t payload_bytes;
	uint16_t kind, isa = 0;
	char suffix;

	if (rest.size < ENTRY_HEAD_BYTES)
		return false;
	kind = bytes_load16(rest.bytes);
	head_bytes = bytes_load32(rest.bytes + 4);
	payload_bytes = bytes_load64(rest.bytes + 8);
	cc = bytes_load32(rest.bytes + 28);
	flags = bytes_load32(rest.bytes + 40);
	if (head_bytes < ENTRY_HEAD_BYTES || head_bytes > rest.size ||
	    payload_bytes > rest.size - head_bytes || cc == 0 || cc >= CC_LIMIT)
		return false;
	*length = head_bytes + payload_bytes;
	suffix = flags & FLAG_THIS_GPU ? 'a' : flags & FLAG_FAMILY ? 'f' : '\0';
	if (kind == FAT_IMAGE_PTX)
		isa = (uint16_t)(bytes_load16(rest.bytes + 26) * 10 +
				 bytes_load16(rest.bytes + 24));
	if (kind == FAT_IMAGE_PTX || kind == FAT_IMAGE_MACHINE_CODE)
		add_image(binary, (uint8_t)kind, (uint16_t)cc, suffix, isa, payload_bytes);
	return true; /* other kinds (LTO, options) are no code for a GPU yet */
}

static void scan_container(struct fat_binary *binary, struct span body)
{
	uint64_t at = 0;

	while (at < body.size) {
		uint64_t length;

		if (!scan_entry(binary, cut(body, at, body.size - at), &length)) {
			binary->damaged++;
			return;
		}
		at += length;
	}
}

/* Containers are aligned to 8 bytes; between them stand zeros. */
static void scan_containers(struct fat_binary *binary, struct span span)
{
	uint64_t at = 0;

	while (span.size - at >= CONTAINER_HEAD_BYTES) {
		const uint8_t *head = span.bytes + at;
		uint16_t head_bytes = bytes_load16(head + 6);
		uint64_t body_bytes = bytes_load64(head + 8);
		struct span body;

		if (bytes_load32(head) != CONTAINER_MAGIC) {
			at += 8;
			continue;
		}
		body = cut(span, at + head_bytes, body_bytes);
		if (head_bytes < CONTAINER_HEAD_BYTES || !body.bytes) {
			binary->damaged++;
			at += 8;
			continue;
		}
		binary->containers++;
		scan_container(binary, body);
		at += head_bytes + body_bytes;
		at = (at + 7) / 8 * 8;
		if (at > span.size)
			return;
	}
}

/* ---- files around them ---- */

static void scan_cubin(struct fat_binary *binary, struct span file)
{
	uint32_t flags = bytes_load32(file.bytes + offsetof(Elf64_Ehdr, e_flags));
	bool is_wide = file.bytes[EI_ABIVERSION] >= CUBIN_ABI_WIDE;
	uint16_t cc = is_wide ? flags >> 8 & 0xff : flags & 0xff;

	if (cc)
		add_image(binary, FAT_IMAGE_MACHINE_CODE, cc, '\0', 0, file.size);
	else
		binary->damaged++;
}

static bool is_fat_section(struct span names, uint32_t name)
{
	static const char *const wanted[] = {".nv_fatbin", "__nv_relfatbin"};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		struct span text = cut(names, name, strlen(wanted[i]) + 1);

		if (text.bytes && memcmp(text.bytes, wanted[i], text.size) == 0)
			return true;
	}
	return false;
}

static void scan_elf(struct fat_binary *binary, struct span file)
{
	Elf64_Ehdr header;
	Elf64_Shdr section;
	struct span table, names;

	memcpy(&header, file.bytes, sizeof(header));
	if (header.e_machine == MACHINE_CUDA) {
		scan_cubin(binary, file);
		return;
	}
	table = cut(file, header.e_shoff, (uint64_t)header.e_shnum * sizeof(section));
	if (header.e_shentsize != sizeof(section) || !table.bytes ||
	    header.e_shstrndx >= header.e_shnum)
		return;
	memcpy(&section, table.bytes + header.e_shstrndx * sizeof(section), sizeof(section));
	names = cut(file, section.sh_offset, section.sh_size);
	for (size_t i = 0; names.bytes && i < header.e_shnum; i++) {
		struct span content;

		memcpy(&section, table.bytes + i * sizeof(section), sizeof(section));
		if (section.sh_type == SHT_NOBITS || !is_fat_section(names, section.sh_name))
			continue;
		content = cut(file, section.sh_offset, section.sh_size);
		if (content.bytes)
			scan_containers(binary, content);
		else
			binary->damaged++;
	}
}

/* A number in a line "\n.target sm_90a". */
static void scan_ptx(struct fat_binary *binary, struct span file)
{
	const uint8_t *end = file.bytes + file.size;
	const uint8_t *at = memmem(file.bytes, file.size, "\n.target sm_", 12);
	const uint8_t *version = memmem(file.bytes, file.size, "\n.version ", 10);
	uint16_t cc = 0, isa = 0;

	for (at = at ? at + 12 : end; at < end && *at >= '0' && *at <= '9' && cc < CC_LIMIT; at++)
		cc = (uint16_t)(cc * 10 + (*at - '0'));
	for (version = version ? version + 10 : end;
	     version < end && ((*version >= '0' && *version <= '9') || *version == '.') &&
	     isa < CC_LIMIT;
	     version++)
		isa = *version == '.' ? isa : (uint16_t)(isa * 10 + (*version - '0'));
	if (cc && cc < CC_LIMIT)
		add_image(binary, FAT_IMAGE_PTX, cc,
			  at < end && (*at == 'a' || *at == 'f') ? (char)*at : '\0', isa,
			  file.size);
}

static int compare(const void *left, const void *right)
{
	const struct fat_image *one = left, *two = right;

	if (one->kind != two->kind)
		return one->kind > two->kind ? -1 : 1;
	if (one->cc != two->cc)
		return one->cc < two->cc ? -1 : 1;
	return one->suffix - two->suffix;
}

bool fat_binary_scan(const void *bytes, size_t size, struct fat_binary *binary)
{
	const struct span file = {bytes, size};
	bool is_known = true;

	memset(binary, 0, sizeof(*binary));
	if (size >= CONTAINER_HEAD_BYTES && bytes_load32(bytes) == CONTAINER_MAGIC) {
		scan_containers(binary, file);
	} else if (size >= sizeof(Elf64_Ehdr) && memcmp(bytes, ELFMAG, SELFMAG) == 0 &&
		   file.bytes[EI_CLASS] == ELFCLASS64 && file.bytes[EI_DATA] == ELFDATA2LSB) {
		scan_elf(binary, file);
	} else {
		scan_ptx(binary, file);
		is_known = binary->image_count > 0;
	}
	qsort(binary->images, binary->image_count, sizeof(binary->images[0]), compare);
	return is_known;
}

int fat_binary_read(const char *path, struct fat_binary *binary, struct error *err)
{
	struct stat status;
	void *bytes;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int rc = 0;

	if (fd < 0)
		return error_set(err, -errno, "cannot open %s: %s", path, strerror(errno));
	if (fstat(fd, &status) < 0) {
		rc = error_set(err, -errno, "cannot read %s: %s", path, strerror(errno));
	} else if (!S_ISREG(status.st_mode) || status.st_size == 0) {
		rc = error_set(err, -EINVAL, "%s is no file with code in it", path);
	} else {
		/* Only pages with heads are touched, also of libraries of several GiB. */
		bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (bytes == MAP_FAILED) {
			rc = error_set(err, -errno, "cannot map %s: %s", path, strerror(errno));
		} else {
			if (!fat_binary_scan(bytes, (size_t)status.st_size, binary))
				rc = error_set(err, -EINVAL,
					       "%s is no 64-bit ELF file, fat binary, cubin or PTX",
					       path);
			munmap(bytes, (size_t)status.st_size);
		}
	}
	close(fd);
	return rc;
}

static bool image_runs(const struct fat_image *image, unsigned int major, unsigned int minor)
{
	unsigned int image_major = image->cc / 10, image_minor = image->cc % 10;

	if (image->suffix == 'a')
		return image_major == major && image_minor == minor;
	if (image->suffix == 'f' || image->kind == FAT_IMAGE_MACHINE_CODE)
		return image_major == major && image_minor <= minor;
	return image_major < major || (image_major == major && image_minor <= minor);
}

enum fat_support fat_binary_support(const struct fat_binary *binary, uint16_t cc_major,
				    uint16_t cc_minor)
{
	enum fat_support support = FAT_FAILS;

	for (size_t i = 0; i < binary->image_count; i++) {
		if (!image_runs(&binary->images[i], cc_major, cc_minor))
			continue;
		if (binary->images[i].kind == FAT_IMAGE_MACHINE_CODE)
			return FAT_RUNS;
		support = FAT_COMPILES;
	}
	return support;
}
