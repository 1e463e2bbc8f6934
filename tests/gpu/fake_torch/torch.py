# SPDX-License-Identifier: Apache-2.0
"""As much of PyTorch as train.py asks for, on the simulated driver: no numbers are computed, but every
operator copies or launches for real, so that what is recorded can be held against what was done. It is
its own profiler: it writes what it did in the form in which torch.profiler exports it.
"""
import contextlib
import ctypes
import json
import time
import types

_driver = ctypes.CDLL("libcuda.so.1")
_runtime = ctypes.CDLL("libcudart.so.13")
_driver.simcuda_library_kernel.restype = ctypes.c_void_p
_log = []  # (category, bytes) of what the GPU does
_capture = None  # what is captured instead


def _try(result):
    if result:
        raise RuntimeError(f"CUDA error {result}")


def _do(category, size):
    (_log if _capture is None else _capture).append((category, size))


def _launch(name):
    cost = (ctypes.c_double * 5)(2000.0)
    kernel = ctypes.c_void_p(_driver.simcuda_library_kernel(name.encode(), cost))
    _try(_driver.cuLaunchKernel(kernel, 4, 1, 1, 64, 1, 1, 0, cuda.now, None, None))
    _do("kernel", 0)


class Tensor:
    def __init__(self, size=16 * 128 * 256 * 4, is_host=False):
        self.size, self.address = size, ctypes.c_void_p()
        if is_host:
            self.memory = ctypes.create_string_buffer(size)
            self.address = ctypes.cast(self.memory, ctypes.c_void_p)
        else:
            self.memory = None

    def cuda(self):
        tensor = Tensor(self.size)
        _try(_runtime.cudaMalloc(ctypes.byref(tensor.address), ctypes.c_size_t(self.size)))
        return tensor.copy_(self)

    def copy_(self, other):
        _try(_runtime.cudaMemcpyAsync(self.address, other.address, ctypes.c_size_t(self.size), 1, cuda.now))
        _do("gpu_memcpy", self.size)
        return self

    def transpose(self, *_):
        return self

    def __getitem__(self, _):
        return self

    def __add__(self, _):
        _launch("add")
        return Tensor()

    def square(self):
        _launch("pow")
        return Tensor()

    def mean(self):
        _launch("reduce")
        return Tensor()

    def backward(self):
        for name in ("mean_backward", "gemm_backward", "attention_backward", "conv_backward"):
            _launch(name)


class _Module:
    def __init__(self, *parts, **_):
        self.parts = parts

    def cuda(self):
        return self

    def parameters(self):
        return []

    def __call__(self, *inputs, **options):
        return self.forward(*inputs, **options)

    def forward(self, *_, **__):
        for part in self.parts:
            if isinstance(part, _Module):
                part(None)
        _launch(type(self).__name__)
        return Tensor()


class _SGD:
    def __init__(self, *_, **__):
        self.gradients = Tensor(4096, is_host=True).cuda()

    def zero_grad(self, **_):
        _try(_runtime.cudaMemsetAsync(self.gradients.address, 0, ctypes.c_size_t(4096), cuda.now))
        _do("gpu_memset", 4096)

    def step(self):
        _launch("sgd")


class _Stream:
    def __init__(self):
        self.handle = ctypes.c_void_p()
        _try(_runtime.cudaStreamCreateWithFlags(ctypes.byref(self.handle), 1))

    def wait_stream(self, _):
        _try(_runtime.cudaDeviceSynchronize())


@contextlib.contextmanager
def _on_stream(stream):
    before, cuda.now = cuda.now, stream.handle
    yield
    cuda.now = before


class _Graph:
    def replay(self):
        _try(_runtime.cudaGraphLaunch(self.executable, cuda.now))
        _log.extend(self.nodes)


@contextlib.contextmanager
def _capturing(graph):
    global _capture
    stream, captured = _Stream(), ctypes.c_void_p()
    _capture = graph.nodes = []
    _try(_runtime.cudaStreamBeginCapture(stream.handle, 0))
    with _on_stream(stream):
        yield
    _try(_runtime.cudaStreamEndCapture(stream.handle, ctypes.byref(captured)))
    _capture, graph.executable = None, ctypes.c_void_p()
    _try(_runtime.cudaGraphInstantiate(ctypes.byref(graph.executable), captured, ctypes.c_ulonglong(0)))


class _Profile:
    """Its cost is 2 ms for each wait, so that who measures it must see it."""
    cost_s = 0

    def __init__(self, **_):
        pass

    def __enter__(self):
        self.begin = len(_log)
        _Profile.cost_s = 0.002
        return self

    def __exit__(self, *_):
        _Profile.cost_s = 0
        self.events = _log[self.begin:]

    def export_chrome_trace(self, path):
        events = [{"ph": "X", "cat": category, "args": {"bytes": size}} for category, size in self.events]
        with open(path, "w", encoding="utf-8") as out:
            json.dump({"traceEvents": events}, out)


def _synchronize():
    time.sleep(_Profile.cost_s)
    _try(_runtime.cudaDeviceSynchronize())


def _range(name):
    function = getattr(ctypes.CDLL(None), name, None)  # the shim's, where it is preloaded
    return function or (lambda *_: 0)


nn = types.SimpleNamespace(Module=_Module, Sequential=type("Sequential", (_Module,), {}))
for _name in ("Conv1d", "Linear", "GELU"):
    setattr(nn, _name, type(_name, (_Module,), {}))
nn.MultiheadAttention = type("MultiheadAttention", (_Module,), {
    "forward": lambda self, *_, **__: (_Module.forward(self), None)})
optim = types.SimpleNamespace(SGD=_SGD)
profiler = types.SimpleNamespace(profile=_Profile, ProfilerActivity=types.SimpleNamespace(CPU=0, CUDA=1))
cuda = types.SimpleNamespace(
    now=None, is_available=lambda: True, synchronize=_synchronize,
    Stream=_Stream, current_stream=_Stream, stream=_on_stream, CUDAGraph=_Graph, graph=_capturing,
    nvtx=types.SimpleNamespace(range_push=lambda text: _range("nvtxRangePushA")(text.encode()),
                               range_pop=lambda: _range("nvtxRangePop")()))
__version__ = "fake"


def manual_seed(_):
    pass


def compile(model):  # the name is PyTorch's
    return model


def randn(*shape):
    size = 4
    for extent in shape:
        size *= extent
    return Tensor(size, is_host=True)
