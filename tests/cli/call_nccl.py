#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Calls every function of NCCL that the simulated library has, by ctypes, alone in its communicator.
Prints the results, one per line; they must be the same with and without the shim."""
import ctypes
from ctypes import byref, c_int, c_size_t, c_void_p

F32, SUM, COUNT = 7, 0, 1024


class UniqueId(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_char * 128)]


nccl = ctypes.CDLL("libnccl.so.2")


def call(name, *arguments):
    result = getattr(nccl, name)(*arguments)
    print(name, result)
    return result


def main():
    identity, comm, half, window = UniqueId(), c_void_p(), c_void_p(), c_void_p()
    memory, handle, number = c_void_p(), c_void_p(), c_int(-1)
    call("ncclGetVersion", byref(number))
    call("ncclGetUniqueId", byref(identity))
    call("ncclCommInitRank", byref(comm), 1, identity, 0)
    call("ncclMemAlloc", byref(memory), c_size_t(1 << 20))
    call("ncclCommRegister", comm, memory, c_size_t(1 << 20), byref(handle))
    call("ncclCommWindowRegister", comm, memory, c_size_t(1 << 20), byref(window), 0)
    count, send, receive = c_size_t(COUNT), memory, c_void_p(memory.value + (1 << 19))
    call("ncclAllReduce", send, receive, count, F32, SUM, comm, None)
    call("ncclReduce", send, receive, count, F32, SUM, 0, comm, None)
    call("ncclBroadcast", send, receive, count, F32, 0, comm, None)
    call("ncclBcast", send, count, F32, 0, comm, None)
    call("ncclAllGather", send, receive, count, F32, comm, None)
    call("ncclReduceScatter", send, receive, count, F32, SUM, comm, None)
    call("ncclAlltoAll", send, receive, count, F32, comm, None)
    call("ncclGather", send, receive, count, F32, 0, comm, None)
    call("ncclScatter", send, receive, count, F32, 0, comm, None)
    for _ in range(2):
        call("ncclGroupStart")
        call("ncclSend", send, count, F32, 0, comm, None)
        call("ncclRecv", receive, count, F32, 0, comm, None)
        call("ncclGroupEnd")
    call("ncclAllReduce", send, receive, count, 99, SUM, comm, None)  # no such type
    call("ncclAllReduce", send, receive, count, F32, SUM, comm, None)
    call("ncclCommSplit", comm, 0, 0, byref(half), None)
    call("ncclAllReduce", send, receive, count, F32, SUM, half, None)
    call("ncclCommGetAsyncError", comm, byref(number))
    call("ncclCommCount", half, byref(number))
    call("ncclCommUserRank", half, byref(number))
    call("ncclCommCuDevice", half, byref(number))
    call("ncclCommWindowDeregister", comm, window)
    call("ncclCommDeregister", comm, handle)
    call("ncclCommDestroy", half)
    call("ncclMemFree", memory)
    call("ncclCommFinalize", comm)
    call("ncclCommDestroy", comm)
    call("ncclCommAbort", None)


if __name__ == "__main__":
    main()
