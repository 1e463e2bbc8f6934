# SPDX-License-Identifier: Apache-2.0
"""Nanoseconds per event for each policy of GPUTRACE_STACKS in a Python program, by depth of the
Python stack and by kind of call. Run with each interpreter: bench_site.py libsite_probe.so

The frames are of different functions, three to a file, as a training loop's are; the same function
over and over would find everything of it in registers.
"""

import ctypes
import functools
import sys

library = ctypes.CDLL(sys.argv[1])
library.probe_event_ns.restype = ctypes.c_double
library.probe_event_ns.argtypes = [ctypes.c_int, ctypes.c_uint64]
library.probe_launch_ns.restype = ctypes.c_double
library.probe_launch_ns.argtypes = [ctypes.c_uint64, ctypes.c_uint64]
COPY = 1
DEPTHS = (2, 11, 30)


def chain(depth):
    """The outermost of depth functions, of which the last one measures."""
    space = {}
    for level in range(depth):
        call = "layer_%d(measure)" % (level - 1) if level else "measure()"
        source = "\n" * (level * 7 % 40) + "def layer_%d(measure):\n    return %s\n" % (level, call)
        exec(compile(source, "/site-packages/model/part_%02d/layers.py" % (level // 3), "exec"), space)
    return space["layer_%d" % (depth - 1)]


cases = [(policy, policy + ": copies, allocations, waits", library.probe_event_ns, (COPY, 3000))
         for policy in ("off", "native", "python", "all")]
cases += [("all", "all: launches %d us apart" % (ns // 1000), library.probe_launch_ns, (3000, ns))
          for ns in (5000, 1000)]
print("%-34s%8d%8d%8d" % (("Python %d.%d.%d, ns at depth" % sys.version_info[:3],) + DEPTHS))
for policy, title, function, arguments in cases:
    library.probe_begin(policy.encode())
    measure = functools.partial(function, *arguments)
    best = []
    for depth in DEPTHS:
        outermost = chain(depth - 1)  # the module's own frame is one, too
        figures = []
        for _ in range(200):
            figures.append(outermost(measure))
        best.append(min(figures))
    print("%-34s%8.1f%8.1f%8.1f" % ((title,) + tuple(best)))
