# SPDX-License-Identifier: Apache-2.0
"""Gives the GPU work until the very end: some of it in a handler of atexit, and no wait after it."""
import atexit
import ctypes

cuda = ctypes.CDLL("libcuda.so.1")


def check(result, what):
    if result:
        raise SystemExit(f"{what} gave {result}")


device, context, address = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_uint64()
check(cuda.cuInit(0), "cuInit")
check(cuda.cuDeviceGet(ctypes.byref(device), 0), "cuDeviceGet")
check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device), "cuDevicePrimaryCtxRetain")
check(cuda.cuCtxSetCurrent(context), "cuCtxSetCurrent")
check(cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(1 << 20)), "cuMemAlloc")


def give_work(times):
    for _ in range(times):
        check(cuda.cuMemsetD8Async(address, ctypes.c_ubyte(0), ctypes.c_size_t(1 << 20), None), "cuMemsetD8Async")


atexit.register(give_work, 100)
give_work(100)
print("100 sets issued, 100 more in atexit", flush=True)
