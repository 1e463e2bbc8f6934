# SPDX-License-Identifier: Apache-2.0
"""Calls the CUDA libraries of a real PyTorch where no GPU is, and prints every answer.

usage: real_libraries.py calls|workers     printed lines must be the same with the recorder and without it
"""
import ctypes
import sys

import torch


def library(name):
    return ctypes.CDLL(name)


def of_torch():
    print(torch.__version__, torch.version.cuda, torch.cuda.is_available(), torch.cuda.device_count())
    for what in (lambda: torch.zeros(3).cuda(), torch.cuda.init, torch.cuda.current_stream):
        try:
            what()
            print("worked")
        except Exception as error:  # the very answer is what counts
            print(type(error).__name__, error)
    with torch.cuda.nvtx.range("real_range"):
        print(torch.cuda.nvtx.range_push("inner"), torch.cuda.nvtx.range_pop())
    x = torch.ones(64, 64, requires_grad=True)
    (x @ x).sum().backward()
    print(x.grad.sum().item())


def of_runtime():
    runtime = library(f"libcudart.so.{torch.version.cuda.split('.')[0]}")
    number, pointer = ctypes.c_int(-7), ctypes.c_void_p(0x1234)
    print("count", runtime.cudaGetDeviceCount(ctypes.byref(number)), number.value)
    print("malloc", runtime.cudaMalloc(ctypes.byref(pointer), 100), pointer.value)
    print("host", runtime.cudaMallocHost(ctypes.byref(pointer), 100), pointer.value)
    print("copies", runtime.cudaMemcpy(None, None, 0, 4), runtime.cudaMemcpyAsync(None, None, 10, 4, None))
    for name in ("cudaDeviceSynchronize", "cudaGetLastError", "cudaPeekAtLastError", "cudaDeviceReset"):
        print(name, getattr(runtime, name)())
    print("stream", runtime.cudaStreamCreate(ctypes.byref(pointer)), pointer.value)
    print("versions", runtime.cudaRuntimeGetVersion(ctypes.byref(number)), number.value,
          runtime.cudaDriverGetVersion(ctypes.byref(number)), number.value)


def of_cublas():
    major = torch.version.cuda.split(".")[0]
    cublas, lt = library(f"libcublas.so.{major}"), library(f"libcublasLt.so.{major}")
    handle, layout, product = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    print("cublas", cublas.cublasCreate_v2(ctypes.byref(handle)), lt.cublasLtCreate(ctypes.byref(handle)))
    print("descriptors", lt.cublasLtMatrixLayoutCreate(ctypes.byref(layout), 2, 64, 64, 64),
          lt.cublasLtMatmulDescCreate(ctypes.byref(product), 68, 0),
          lt.cublasLtMatmulDescDestroy(product), lt.cublasLtMatrixLayoutDestroy(layout))


def of_cudnn():
    cudnn = library("libcudnn.so.9")
    cudnn.cudnnGetErrorString.restype = ctypes.c_char_p
    handle = ctypes.c_void_p()
    print("cudnn", cudnn.cudnnGetErrorString(cudnn.cudnnCreate(ctypes.byref(handle))))
    print("tensor", cudnn.cudnnCreateTensorDescriptor(ctypes.byref(handle)),
          cudnn.cudnnSetTensor4dDescriptor(handle, 0, 0, 1, 3, 4, 4), cudnn.cudnnDestroyTensorDescriptor(handle))
    for kind in range(30):
        made = cudnn.cudnnBackendCreateDescriptor(kind, ctypes.byref(handle))
        print("descriptor", kind, made, "" if made else cudnn.cudnnBackendDestroyDescriptor(handle))


def of_nccl():
    nccl = library("libnccl.so.2")
    number, communicator, identity = ctypes.c_int(), ctypes.c_void_p(), (ctypes.c_char * 128)()

    class Identity(ctypes.Structure):
        _fields_ = [("bytes", ctypes.c_char * 128)]

    print("nccl", nccl.ncclGetVersion(ctypes.byref(number)), number.value, nccl.ncclGetUniqueId(identity))
    print("init", nccl.ncclCommInitRank(ctypes.byref(communicator), 1, Identity.from_buffer_copy(identity), 0),
          communicator.value, nccl.ncclGroupStart(), nccl.ncclGroupEnd())


def of_cupti():
    cupti = library(f"libcupti.so.{torch.version.cuda.split('.')[0]}")
    subscriber = ctypes.c_void_p()
    heard = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint, ctypes.c_void_p)(lambda *_: None)
    print("cupti", cupti.cuptiSubscribe(ctypes.byref(subscriber), heard, None), subscriber.value,
          [cupti.cuptiActivityEnable(kind) for kind in (1, 10)], cupti.cuptiActivityFlushAll(0),
          cupti.cuptiUnsubscribe(subscriber))


def workers():
    """Children of every kind: none of them uses a GPU, so none may leave a file."""
    from torch.profiler import ProfilerActivity, profile
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    data = TensorDataset(torch.randn(64, 8), torch.randn(64, 1))
    for context in ("fork", "spawn"):
        model = torch.nn.Linear(8, 1)
        for x, y in DataLoader(data, batch_size=16, num_workers=2, multiprocessing_context=context):
            ((model(x) - y) ** 2).mean().backward()
        print(context, model.weight.grad.sum().item())
    print("compiled", torch.compile(lambda x: (x.sin() + x.cos()).relu().sum())(torch.arange(10.0)).item())
    with profile(activities=[ProfilerActivity.CPU]) as recorded:
        model(data[0][0]).sum()
    print("profiled", len(recorded.events()) > 0)


if __name__ == "__main__":
    if sys.argv[1] == "workers":
        workers()
    else:
        for part in (of_torch, of_runtime, of_cublas, of_cudnn, of_nccl, of_cupti):
            part()
