# SPDX-License-Identifier: Apache-2.0
"""A graph captured once and launched in a loop, from different functions.

usage: LD_PRELOAD=libgputrace.so sites_graph.py
"""

import ctypes

runtime = ctypes.CDLL("libcudart.so.13")
host = ctypes.create_string_buffer(1 << 16)
device, stream = ctypes.c_void_p(), ctypes.c_void_p()
graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
SIZE = ctypes.c_size_t(1 << 16)
GLOBAL = 0


def check(status):
    assert status == 0, status


def record_step():
    check(runtime.cudaStreamBeginCapture(stream, GLOBAL))  # mark: captured
    check(runtime.cudaMemsetAsync(device, 0, SIZE, stream))
    check(runtime.cudaMemsetAsync(device, 1, SIZE, stream))
    check(runtime.cudaStreamEndCapture(stream, ctypes.byref(graph)))
    check(runtime.cudaGraphInstantiate(ctypes.byref(executable), graph, ctypes.c_ulonglong(0)))


def replay():
    check(runtime.cudaGraphLaunch(executable, stream))  # mark: replayed


check(runtime.cudaStreamCreate(ctypes.byref(stream)))
check(runtime.cudaMalloc(ctypes.byref(device), SIZE))
record_step()
for _ in range(5):
    replay()
    check(runtime.cudaStreamSynchronize(stream))
