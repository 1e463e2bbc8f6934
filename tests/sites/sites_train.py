# SPDX-License-Identifier: Apache-2.0
"""A training loop on the CUDA runtime by ctypes, run under the shim. Every copy has a size of its
own, so that sites_check.py finds it in the trace and compares its frames with what the interpreter
said at that moment.

usage: LD_PRELOAD=libgputrace.so sites_train.py libsites_helper.so EXPECTED.json
"""

import contextlib
import ctypes
import json
import queue
import sys
import threading

runtime = ctypes.CDLL("libcudart.so.13")
helper = ctypes.CDLL(sys.argv[1])
copy_address = ctypes.cast(runtime.cudaMemcpy, ctypes.c_void_p)
host = ctypes.create_string_buffer(1 << 16)
device = ctypes.c_void_p()
expected = {}  # size of the copy -> {"frames": ..., "waiting": ...}
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


def new_size():
    with lock:
        next_size[0] += 8
        return next_size[0]


def to_device():
    """A copy; its own frame is the innermost one."""
    size = new_size()
    expected[size] = {"frames": frames_of(sys._getframe(1)), "waiting": False, "count": 1}
    assert runtime.cudaMemcpy(device, host, ctypes.c_size_t(size), 1) == 0


def deep_to_device(depth):
    size = new_size()
    expected[size] = {"frames": frames_of(sys._getframe(1)), "waiting": False, "count": 1}
    assert helper.helper_copy_deep(copy_address, device, host, ctypes.c_size_t(size), depth) == 0


def backward():
    """Named as autograd's entry is; the copies happen on a thread without Python."""
    size = new_size()
    expected[size] = {"frames": frames_of(sys._getframe(1)), "waiting": True, "count": 3}
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


class Model:
    def forward(self, batch):
        for layer in range(3):
            self.layer(layer)
        deep_to_device(batch % 4 + 3)

    def layer(self, depth):
        if depth:
            return self.layer(depth - 1)
        return [to_device() for _ in range(1)]


@contextlib.contextmanager
def autocast():
    to_device()
    yield
    to_device()


def metrics(steps):
    for _ in range(steps):
        to_device()
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
        exec(compile("\n" * batch + "to_device()", "/tmp/ipykernel_1/%d.py" % batch, "exec"))
        assert runtime.cudaDeviceSynchronize() == 0


assert runtime.cudaMalloc(ctypes.byref(device), ctypes.c_size_t(1 << 16)) == 0
train()
assert runtime.cudaFree(device) == 0
with open(sys.argv[2], "w") as out:
    json.dump(expected, out)
