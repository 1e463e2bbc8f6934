/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CRC-32C by the CPU's instruction (SSE 4.2, ARMv8 CRC), which every machine that carries a
 * datacenter GPU has; elsewhere four bits at a time from a table small enough to be written down.
 */
#include "crc32c.h"

#include "bytes.h"

#if defined(__aarch64__)
#include <sys/auxv.h>
#ifndef HWCAP_CRC32
#define HWCAP_CRC32 (1 << 7)
#endif
#endif

uint32_t crc32c_portable(const void *data, size_t bytes)
{
	static const uint32_t table[16] = {
		0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
		0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
		0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
	};
	const uint8_t *at = data;
	uint32_t crc = UINT32_MAX;

	for (; bytes > 0; bytes--, at++) {
		crc ^= *at;
		crc = (crc >> 4) ^ table[crc & 15];
		crc = (crc >> 4) ^ table[crc & 15];
	}
	return ~crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t crc32c_machine(const void *data, size_t bytes)
{
	const uint8_t *at = data;
	uint64_t crc = UINT32_MAX;

	for (; bytes >= 8; bytes -= 8, at += 8)
		crc = __builtin_ia32_crc32di(crc, bytes_load64(at));
	for (; bytes > 0; bytes--, at++)
		crc = __builtin_ia32_crc32qi((uint32_t)crc, *at);
	return ~(uint32_t)crc;
}

static int crc32c_has_machine(void)
{
	return __builtin_cpu_supports("sse4.2");
}
#elif defined(__aarch64__)
__attribute__((target("+crc"))) static uint32_t crc32c_machine(const void *data, size_t bytes)
{
	const uint8_t *at = data;
	uint32_t crc = UINT32_MAX;

	for (; bytes >= 8; bytes -= 8, at += 8)
		crc = __builtin_aarch64_crc32cx(crc, bytes_load64(at));
	for (; bytes > 0; bytes--, at++)
		crc = __builtin_aarch64_crc32cb(crc, *at);
	return ~crc;
}

static int crc32c_has_machine(void)
{
	return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0;
}
#else
static uint32_t crc32c_machine(const void *data, size_t bytes)
{
	return crc32c_portable(data, bytes);
}

static int crc32c_has_machine(void)
{
	return 0;
}
#endif

uint32_t crc32c(const void *data, size_t bytes)
{
	return crc32c_has_machine() ? crc32c_machine(data, bytes) : crc32c_portable(data, bytes);
}
