# SPDX-License-Identifier: Apache-2.0
"""A million walks without the GIL while other threads do to frames and code objects whatever Python
allows: garbage collection, exec of new code at old addresses, tracing, frame objects made from
outside, monitoring. Every walk must equal the first one of its thread, and every cell must get its
own line although its code object lies where another one was.

usage: sites_churn.py libsite_probe.so [walks]
"""

import ctypes
import gc
import sys
import threading

if not (3, 8) <= sys.version_info[:2] <= (3, 14) or sys.implementation.name != "cpython":
    print("skipped: Python %d.%d is not one whose frames are read" % sys.version_info[:2])
    sys.exit(77)

library = ctypes.CDLL(sys.argv[1])
WALKS = int(sys.argv[2]) if len(sys.argv) > 2 else 1000000
WALKERS = 2
CELLS = 4000
COPY = 1
library.probe_call.restype = ctypes.c_uint64
library.probe_site.restype = ctypes.c_size_t
library.probe_site.argtypes = [ctypes.c_uint64, ctypes.c_char_p, ctypes.c_size_t]
library.probe_walk_rounds.restype = ctypes.c_uint64
library.probe_walk_rounds.argtypes = [ctypes.c_uint64]

is_over = threading.Event()
problems = []


def churn_garbage():
    while not is_over.is_set():
        knots = [[] for _ in range(50)]
        for knot in knots:
            knot.append(knot)
        del knots
        gc.collect()


def churn_code():
    number = 0
    while not is_over.is_set():
        number += 1
        source = "\n" * (number % 50) + "def f():\n return 1\nf()"
        exec(compile(source, "<churn %d>" % number, "exec"), {})


def churn_frames():
    while not is_over.is_set():
        for frame in sys._current_frames().values():
            while frame is not None:
                frame.f_lineno
                frame.f_locals
                frame = frame.f_back


def churn_trace():
    def trace(frame, event, argument):
        return trace

    def traced():
        return sum(n for n in range(20))

    while not is_over.is_set():
        sys.settrace(trace)
        traced()
        sys.settrace(None)
        sys.setprofile(trace)
        traced()
        sys.setprofile(None)


def churn_monitoring():
    monitoring = sys.monitoring
    monitoring.use_tool_id(3, "churn")
    while not is_over.is_set():
        monitoring.set_events(3, monitoring.events.LINE | monitoring.events.PY_START)
        sum(n for n in range(20))
        monitoring.set_events(3, 0)
    monitoring.free_tool_id(3)


def deep(depth, rounds):
    if depth:
        return deep(depth - 1, rounds)
    return library.probe_walk_rounds(rounds)


def walk(depth):
    left = WALKS // WALKERS
    while left > 0:
        differing = [deep(depth, rounds) for rounds in [min(left, 20000)]][0]
        if differing:
            problems.append("%d walks differed at depth %d" % (differing, depth))
        left -= 20000


def last_line_of(site):
    text = ctypes.create_string_buffer(1 << 16)
    size = library.probe_site(site, text, len(text))
    for line in text.raw[:size].decode().splitlines():
        if line.startswith("P"):
            return line.split("\t")[2:]
    return None


def run_cells():
    """Cells of equal shape, so that their code objects and strings often share addresses."""
    space = {"call": library.probe_call}
    addresses = set()
    for cell in range(CELLS):
        if cell % 500 == 0:
            library.probe_begin(b"python")
        name = "/tmp/ipykernel_4711/%010d.py" % (cell * 7919 % 1000003)
        line = cell * 31 % 97
        code = compile("\n" * line + "site = call(1)", name, "exec")
        addresses.add(id(code))
        exec(code, space)
        del code
        found = last_line_of(space["site"])
        if found != [name, str(line + 1)]:
            problems.append("cell %s:%d was seen as %s" % (name, line + 1, found))
    if len(addresses) > CELLS // 2:
        problems.append("code objects did not share addresses: nothing was tried")


library.probe_begin(b"python")
library.probe_call(COPY)
run_cells()
churners = [churn_garbage, churn_code, churn_frames, churn_trace]
if sys.version_info >= (3, 12):
    churners.append(churn_monitoring)
threads = [threading.Thread(target=churner) for churner in churners]
walkers = [threading.Thread(target=walk, args=(3 + 17 * n,)) for n in range(WALKERS)]
for thread in threads + walkers:
    thread.start()
for thread in walkers:
    thread.join()
is_over.set()
for thread in threads:
    thread.join()
for problem in problems[:20]:
    print(problem)
print("%d walks, %d cells, %d problems" % (WALKS, CELLS, len(problems)))
sys.exit(1 if problems else 0)
