/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32C (Castagnoli, reflected, as in iSCSI): the checksum of heads, chunk headers, payloads. */
#ifndef GPUTRACE_FORMAT_CRC32C_H
#define GPUTRACE_FORMAT_CRC32C_H

#include <stddef.h>
#include <stdint.h>

uint32_t crc32c(const void *data, size_t bytes);
/* The same without the machine's CRC instruction, for tests. */
uint32_t crc32c_portable(const void *data, size_t bytes);

#endif
