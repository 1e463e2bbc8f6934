# SPDX-License-Identifier: Apache-2.0
"""Nanoseconds per event for each policy of GPUTRACE_STACKS in a Python program, by depth of the
Python stack. Run with each interpreter: bench_site.py libsite_probe.so"""

import ctypes
import sys

library = ctypes.CDLL(sys.argv[1])
library.probe_event_ns.restype = ctypes.c_double
library.probe_event_ns.argtypes = [ctypes.c_int, ctypes.c_uint64]
COPY = 1


def measure(depth):
    if depth > 1:
        return measure(depth - 1)
    return library.probe_event_ns(COPY, 3000)


print("%-22s%8d%8d%8d" % ("Python %d.%d.%d, depth" % sys.version_info[:3], 2, 11, 30))
for policy in ("off", "native", "python", "all"):
    library.probe_begin(policy.encode())
    print("%-22s%8.1f%8.1f%8.1f" % ((policy,) + tuple(
        min(measure(depth) for _ in range(200)) for depth in (1, 10, 29))))
