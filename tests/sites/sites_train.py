# SPDX-License-Identifier: Apache-2.0
"""A training loop on the CUDA runtime and cuBLAS by ctypes, run under the shim. Copies, allocations,
memsets and products have a size of their own each, waits come in order, so that sites_check.py finds
every event in the trace and compares its frames with what the interpreter said at that moment.

usage: LD_PRELOAD=libgputrace.so sites_train.py libsites_helper.so EXPECTED.json
"""

import contextlib
import ctypes
import json
import queue
import sys
import threading

runtime = ctypes.CDLL("libcudart.so.13")
blas = ctypes.CDLL("libcublas.so.13")
helper = ctypes.CDLL(sys.argv[1])
copy_address = ctypes.cast(runtime.cudaMemcpy, ctypes.c_void_p)
host = ctypes.create_string_buffer(1 << 16)
device, handle = ctypes.c_void_p(), ctypes.c_void_p()
expected = []  # kind, key, frames, whether another thread waits for it, how often
next_size = [1024]
lock = threading.Lock()


def frames_of(frame):
    frames = []
    while frame is not None:
        code = frame.f_code
        name = getattr(code, "co_qualname", code.co_name)
        frames.append([name, code.co_filename, frame.f_lineno])
        frame = frame.f_back
    return frames


def expect(kind, key, frame, count=1, is_waiting=False):
    expected.append({"kind": kind, "key": key, "frames": frames_of(frame), "count": count,
                     "waiting": is_waiting})


def new_size(kind, **more):
    """A size that no other event has, expected from the caller's caller."""
    with lock:
        next_size[0] += 8
    expect(kind, next_size[0], sys._getframe(2), **more)
    return next_size[0]


def to_device():
    """A copy; its own frame is the innermost one."""
    size = new_size("copy")
    assert runtime.cudaMemcpy(device, host, ctypes.c_size_t(size), 1) == 0


def deep_to_device(depth):
    size = new_size("copy")
    assert helper.helper_copy_deep(copy_address, device, host, ctypes.c_size_t(size), depth) == 0


def clear():
    size = new_size("set")
    assert runtime.cudaMemset(device, 0, ctypes.c_size_t(size)) == 0


def allocate():
    memory = ctypes.c_void_p()
    size = new_size("memory")
    assert runtime.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(size)) == 0
    return memory


def multiply():
    """A product and its kernel; calls like this get their frames as long as they are not too many."""
    size = new_size("gemm") // 8
    one = ctypes.byref(ctypes.c_float(1))
    assert blas.cublasSgemm_v2(handle, 0, 0, size, 16, 16, one, device, size, device, 16, one, device,
                               size) == 0


def wait():
    expect("sync", None, sys._getframe(1))
    assert runtime.cudaDeviceSynchronize() == 0


def backward():
    """Named as autograd's entry is; the copies happen on a thread without Python."""
    size = new_size("copy", count=3, is_waiting=True)
    assert helper.helper_run_engine(copy_address, device, host, ctypes.c_size_t(size), 3) == 0


class Loader(threading.Thread):
    def __init__(self, batches):
        super().__init__(daemon=True)
        self.batches, self.queue = batches, queue.Queue(2)

    def run(self):
        for batch in range(self.batches):
            to_device()
            self.queue.put(batch)
        self.queue.put(None)

    def __iter__(self):
        return iter(self.queue.get, None)


class Block:
    """Built anew for every batch, as often as it takes to be specialised."""

    def __init__(self, is_used):
        if is_used:
            self.memory = allocate()
            clear()


class Model:
    def forward(self, batch):
        for layer in range(3):
            self.layer(layer)
        deep_to_device(batch % 4 + 3)
        multiply()
        for block in range(40):
            Block(block == 39)

    def layer(self, depth):
        if depth:
            return self.layer(depth - 1)
        return [to_device() for _ in range(1)]


@contextlib.contextmanager
def autocast():
    to_device()
    yield
    clear()


def metrics(steps):
    for _ in range(steps):
        wait()
        yield


def train():
    loader, model, log = Loader(6), Model(), metrics(100)
    loader.start()
    for batch in loader:
        with autocast():
            model.forward(batch)
        to_device(); backward()
        next(log)
        (lambda: to_device())()
        exec(compile("\n" * batch + "to_device(); wait()", "/tmp/ipykernel_1/%d.py" % batch, "exec"))
        sorted([2, 1], key=lambda n: allocate().value)
        wait()


assert runtime.cudaMalloc(ctypes.byref(device), ctypes.c_size_t(1 << 24)) == 0
assert blas.cublasCreate_v2(ctypes.byref(handle)) == 0
train()
assert runtime.cudaFree(device) == 0
with open(sys.argv[2], "w") as out:
    json.dump(expected, out)
