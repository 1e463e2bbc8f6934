/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For which GPUs a file carries code: programs and libraries with fat binaries inside, .fatbin and
 * .cubin files, PTX texts. Only headers are read, nothing is decompressed; every byte is hostile.
 */
#ifndef GPUTRACE_DOCTOR_FAT_BINARY_H
#define GPUTRACE_DOCTOR_FAT_BINARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

#define FAT_BINARY_MAX_IMAGES 96

enum fat_image_kind { FAT_IMAGE_PTX = 1, FAT_IMAGE_MACHINE_CODE = 2 };

/* All images of one kind for one architecture. */
struct fat_image {
	uint8_t kind;	  /* enum fat_image_kind */
	char suffix;	  /* 'a' that GPU alone, 'f' its family, 0 none */
	uint16_t cc;	  /* 90: compute capability 9.0; 120: 12.0 */
	uint16_t ptx_isa; /* newest, 90: PTX 9.0; 0 none or unknown */
	uint64_t count;
	uint64_t bytes; /* as stored */
};

struct fat_binary {
	struct fat_image images[FAT_BINARY_MAX_IMAGES]; /* by architecture, machine code first */
	size_t image_count;
	uint64_t containers;
	uint64_t damaged; /* containers or entries that could not be read */
};

enum fat_support {
	FAT_RUNS,     /* machine code for it */
	FAT_COMPILES, /* PTX that the driver compiles at start */
	FAT_FAILS,    /* error 209 */
};

/* 0 or a negative code with the reason in *err. A file without GPU code has no images. */
int fat_binary_read(const char *path, struct fat_binary *binary, struct error *err);
/* The same of bytes in memory. False: this is no kind of file that could carry GPU code. */
bool fat_binary_scan(const void *bytes, size_t size, struct fat_binary *binary);
enum fat_support fat_binary_support(const struct fat_binary *binary, uint16_t cc_major,
				    uint16_t cc_minor);

#endif
