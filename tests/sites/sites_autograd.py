# SPDX-License-Identifier: Apache-2.0
"""Two layers forward and backward as PyTorch runs them under emit_nvtx(): every operator in an NVTX
range that carries autograd's number, the backward ones on a thread without Python.

usage: LD_PRELOAD=libgputrace.so sites_autograd.py libsites_helper.so
"""

import ctypes
import sys

runtime = ctypes.CDLL("libcudart.so.13")
helper = ctypes.CDLL(sys.argv[1])
process = ctypes.CDLL(None)  # the shim's NVTX functions
address = [ctypes.cast(function, ctypes.c_void_p)
           for function in (process.nvtxRangePushA, process.nvtxRangePop, runtime.cudaMemcpy)]
host = ctypes.create_string_buffer(1 << 16)
device = ctypes.c_void_p()


def operator(name, sequence, work):
    process.nvtxRangePushA(("%s, seq = %d, op_id = 9" % (name, sequence)).encode())
    work()
    process.nvtxRangePop()


SIZE = ctypes.c_size_t(4096)


def backward(name, sequence):
    text = ("%s, seq = %d" % (name, sequence)).encode()
    assert helper.helper_run_engine_in(address[0], address[1], text, address[2], device, host,
                                       SIZE) == 0


class First:
    def forward(self, sequence):
        operator("aten::addmm", sequence,
                 lambda: runtime.cudaMemcpy(device, host, SIZE, 1))  # mark: first


class Second:
    def forward(self, sequence):
        operator("aten::relu", sequence,
                 lambda: runtime.cudaMemcpy(device, host, SIZE, 1))  # mark: second


assert runtime.cudaMalloc(ctypes.byref(device), ctypes.c_size_t(1 << 16)) == 0
for step in range(3):
    number = 41 + 10 * step  # numbers only grow
    First().forward(number)
    Second().forward(number + 1)
    backward("ReluBackward0", number + 1)
    backward("autograd::engine::evaluate_function: AddmmBackward0", number)
    backward("AccumulateGrad", number + 2)  # has no forward operator
    assert runtime.cudaDeviceSynchronize() == 0
