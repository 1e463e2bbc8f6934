#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: set_version.py TRACE MAJOR: makes a trace of another major version, with a valid checksum
(collector/format/trace_file.h, "File head")."""
import struct
import sys


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


with open(sys.argv[1], "r+b") as trace:
    head = bytearray(trace.read(64))
    if struct.unpack_from("<I", head, 60)[0] != crc32c(head[:60]):
        sys.exit("the head's checksum is not what the format says")
    struct.pack_into("<H", head, 16, int(sys.argv[2]))
    struct.pack_into("<I", head, 60, crc32c(head[:60]))
    trace.seek(0)
    trace.write(head)
