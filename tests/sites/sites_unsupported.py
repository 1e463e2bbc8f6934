# SPDX-License-Identifier: Apache-2.0
"""An interpreter whose frames are not read: the reason is named, and no site shows a Python line.
Runs on any Python from 2.7 and on PyPy; one that is supported has nothing to show here.

usage: sites_unsupported.py libsite_probe.so
"""

from __future__ import print_function

import ctypes
import os
import sys


is_pypy = "__pypy__" in sys.builtin_module_names


def expected_reason():
    if is_pypy:
        return "PyPy is not supported"
    if "free-threading" in sys.version:
        return "free-threaded Python is not supported"
    if not (3, 8) <= sys.version_info[:2] <= (3, 14):
        return "this version of Python is not supported (3.8 to 3.14 are)"
    print("skipped: the frames of Python %d.%d are read" % sys.version_info[:2])
    sys.exit(77)


reason = expected_reason()
library = ctypes.CDLL(os.path.abspath(sys.argv[1]))
library.probe_call.restype = ctypes.c_uint64
library.probe_site.restype = library.probe_fact.restype = ctypes.c_size_t
library.probe_site.argtypes = [ctypes.c_uint64, ctypes.c_char_p, ctypes.c_size_t]
library.probe_fact.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t]
text = ctypes.create_string_buffer(1 << 16)
problems = []
for policy in ("python", "all"):
    library.probe_begin(policy.encode())
    sites = [library.probe_call(event) for event in (1, 1, 4)]
    if policy == "python" and any(sites):
        problems.append("sites %s although there are no frames" % sites)
    if policy == "all" and not all(sites):
        problems.append("no native frames")
    for site in sites:
        size = library.probe_site(site, text, len(text))
        frames = text.raw[:size].decode().splitlines()
        problems += [frame for frame in frames if frame[0] not in "NT"]
    size = library.probe_fact(b"python.frames", text, len(text))
    if text.raw[:size].decode() != reason:
        problems.append("the reason is %r instead of %r" % (text.raw[:size].decode(), reason))
print("%s %d.%d: %s, %d problems" % (
    ("PyPy" if is_pypy else "Python",) + sys.version_info[:2] + (reason, len(problems))))
for problem in problems:
    print(problem)
sys.exit(1 if problems else 0)
