# SPDX-License-Identifier: Apache-2.0
"""A program on the simulated stack that loads runtime, driver, cuBLAS and NCCL by ctypes and notes
every call that it makes: name, result, bytes, and the line of its caller.

usage: paths_program.py HOW FOLDER CALLS.json     HOW: local, global or path, as in paths_ctypes.py
"""

import ctypes
import json
import sys
from ctypes import byref, c_char, c_float, c_int, c_size_t, c_void_p

HOW, FOLDER, OUT = sys.argv[1:4]
MIB = 1 << 20
calls = []


def load(name):
    if HOW == "path":
        return ctypes.CDLL(FOLDER + "/" + name)
    return ctypes.CDLL(name, mode=ctypes.RTLD_LOCAL if HOW == "local" else ctypes.RTLD_GLOBAL)


class UniqueId(ctypes.Structure):
    _fields_ = [("internal", c_char * 128)]


def call(function, *arguments, **expected):
    status = function(*arguments)
    caller = sys._getframe(1)
    calls.append({"api": function.__name__, "status": status, "bytes": expected.get("size"),
                  "line": caller.f_lineno, "function": caller.f_code.co_name})
    return status


runtime, driver = load("libcudart.so.13"), load("libcuda.so.1")
blas, nccl = load("libcublas.so.13"), load("libnccl.so.2")
host = ctypes.create_string_buffer(MIB)
device, second, pinned, stream, event = (c_void_p() for _ in range(5))


def memory():
    call(runtime.cudaMalloc, byref(device), c_size_t(4 * MIB), size=4 * MIB)
    call(runtime.cudaMalloc, byref(second), c_size_t(1 << 60), size=1 << 60)
    call(driver.cuMemAlloc_v2, byref(second), c_size_t(3 << 30), size=3 << 30)
    call(driver.cuMemFree_v2, second)
    call(runtime.cudaMallocHost, byref(pinned), c_size_t(MIB), size=MIB)
    call(runtime.cudaMallocAsync, byref(second), c_size_t(12345), stream, size=12345)
    call(runtime.cudaFreeAsync, second, stream)
    call(runtime.cudaMalloc, None, c_size_t(10), size=10)
    call(runtime.cudaFree, None)
    call(runtime.cudaFree, c_void_p(0x123456))


def copies():
    for size in (1, 4096, MIB):
        call(runtime.cudaMemcpy, device, host, c_size_t(size), 1, size=size)
        call(runtime.cudaMemcpyAsync, host, device, c_size_t(size), 2, stream, size=size)
    call(runtime.cudaMemcpy, device, None, c_size_t(100), 1, size=100)
    call(runtime.cudaMemcpy2D, device, c_size_t(512), host, c_size_t(100), c_size_t(100), c_size_t(7), 1,
         size=700)
    call(driver.cuMemcpyHtoD_v2, device, host, c_size_t(777), size=777)
    call(runtime.cudaMemset, device, 0, c_size_t(2 * MIB), size=2 * MIB)
    call(driver.cuMemsetD8Async, device, 1, c_size_t(333), stream, size=333)


def waits():
    call(runtime.cudaEventCreate, byref(event))
    call(runtime.cudaEventRecord, event, stream)
    call(runtime.cudaStreamWaitEvent, stream, event, 0)
    call(runtime.cudaEventSynchronize, event)
    call(runtime.cudaStreamSynchronize, stream)
    call(runtime.cudaDeviceSynchronize)
    call(runtime.cudaEventDestroy, event)


def graphs():
    graph, executable = c_void_p(), c_void_p()
    call(runtime.cudaStreamBeginCapture, stream, 0)
    call(runtime.cudaMemcpyAsync, device, pinned, c_size_t(640), 1, stream, size=640)
    call(runtime.cudaMemsetAsync, device, 0, c_size_t(64), stream, size=64)
    call(runtime.cudaStreamEndCapture, stream, byref(graph))
    call(runtime.cudaGraphInstantiate, byref(executable), graph, 0)
    for _ in range(3):
        call(runtime.cudaGraphLaunch, executable, stream)
    call(runtime.cudaStreamSynchronize, stream)
    call(runtime.cudaGraphExecDestroy, executable)
    call(runtime.cudaGraphDestroy, graph)


def products():
    handle, one = c_void_p(), byref(c_float(1))
    call(blas.cublasCreate_v2, byref(handle))
    for m in (64, 128):
        call(blas.cublasSgemm_v2, handle, 0, 0, m, 32, 16, one, device, m, device, 16, one, device, m)
    call(blas.cublasDestroy_v2, handle)


def collectives():
    identity, comm = UniqueId(), c_void_p()
    nccl.ncclGetUniqueId(byref(identity))
    call(nccl.ncclCommInitRank, byref(comm), 1, identity, 0)
    call(nccl.ncclAllReduce, device, device, c_size_t(1000), 7, 0, comm, stream, size=4000)
    call(nccl.ncclAllReduce, device, device, c_size_t(1000), 99, 0, comm, stream, size=0)
    call(nccl.ncclCommDestroy, comm)


def main():
    call(runtime.cudaStreamCreate, byref(stream))
    for part in (memory, copies, waits, graphs, products, collectives):
        part()
    call(runtime.cudaFreeHost, pinned)
    call(runtime.cudaFree, device)
    call(runtime.cudaStreamDestroy, stream)


main()
with open(OUT, "w") as out:
    json.dump(calls, out)
