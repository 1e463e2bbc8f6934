#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: import_large.py GPUTRACE [MEGABYTES]

Generates PyTorch profiler JSON of 300 MB and of a third of that, with operators, shapes, launches,
kernels and copies, imports both and holds the peak memory against the size: an import streams, so
three times the recording may not take more than a little more memory. Prints time and memory.
"""
import os
import resource
import subprocess
import sys
import tempfile
import time

LIMIT_MIB = 256  # whatever the size
GROWTH_MIB = 96  # for three times the events: what waits for its launch or operator, not the text

OPERATORS = ("aten::addmm", "aten::relu", "aten::layer_norm", "aten::copy_")
KERNELS = ("ampere_sgemm_128x64_tn", "void at::native::vectorized_elementwise_kernel<4, float>(int)",
           "void layer_norm_kernel<float, float>(int, float const*)", "Memcpy DtoH (Device -> Pinned)")


def jitter(number):
    """0 to 999, the same for one number, without a pattern that compresses away."""
    return (number * 2654435761 >> 7) % 1000


def operator(number):
    return (f'{{"ph": "X", "cat": "cpu_op", "name": "{OPERATORS[number % 4]}", "pid": 99, "tid": 99, '
            f'"ts": {100 + number * 12}.{jitter(number):03}, "dur": 9.{jitter(number + 7):03}, '
            f'"args": {{"External id": {number}, "Record function id": 0, '
            f'"Input Dims": [[512], [64, {1024 + number % 97}], [{1024 + number % 97}, 512], [], []], '
            f'"Input type": ["float", "float", "float", "Scalar", "Scalar"], '
            f'"Sequence number": {number}}}}}')


def call(number):
    return (f'{{"ph": "X", "cat": "cuda_runtime", "name": '
            f'"{"cudaMemcpyAsync" if number % 4 == 3 else "cudaLaunchKernel"}", "pid": 99, '
            f'"tid": 99, "ts": {102 + number * 12}.{jitter(number):03}, '
            f'"dur": 4.{jitter(number + 3):03}, "args": {{"External id": {number}, "cbid": 211, '
            f'"correlation": {number + 1}}}}}')


def gpu_work(number):
    return (f'{{"ph": "X", "cat": "{"gpu_memcpy" if number % 4 == 3 else "kernel"}", '
            f'"name": "{KERNELS[number % 4]}", "pid": 0, "tid": 7, '
            f'"ts": {108 + number * 12}.{jitter(number + 1):03}, "dur": 7.{jitter(number + 2):03}, '
            f'"args": {{"External id": {number}, "device": 0, "context": 1, "stream": 7, '
            f'"correlation": {number + 1}, "bytes": 4096, "grid": [{number % 512 + 1}, 1, 1], '
            f'"block": [128, 1, 1]}}}}')


def arrow(number):
    return (f'{{"ph": "s", "id": {number + 1}, "pid": 99, "tid": 99, '
            f'"ts": {102 + number * 12}.{jitter(number):03}, "cat": "ac2g", "name": "ac2g"}}')


KINDS = (operator, call, gpu_work, arrow)


def generate(path, size):
    """As the profiler orders them: kind by kind, so that a launch is far from its kernel."""
    count = size // sum(len(kind(123456)) + 2 for kind in KINDS)
    with open(path, "w", buffering=1 << 20) as file:
        file.write('{"schemaVersion": 1, "traceEvents": [\n')
        for kind in KINDS:
            for number in range(count):
                file.write(kind(number) + ",\n")
        file.write('{"ph": "i", "name": "end", "ts": 100, "pid": 99, "tid": 99, "s": "g"}]}\n')
    return len(KINDS) * count


def run(gputrace, path, trace):
    """Seconds and peak MiB."""
    began = time.monotonic()
    child = subprocess.Popen([gputrace, "import", "-f", "-o", trace, path],
                             stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"import gave {child.returncode}")
    return time.monotonic() - began, usage.ru_maxrss / 1024


def main():
    gputrace = sys.argv[1]
    size = int(sys.argv[2]) if len(sys.argv) > 2 else 300
    peaks = []
    with tempfile.TemporaryDirectory() as folder:
        path, trace = os.path.join(folder, "large.json"), os.path.join(folder, "large.gtrace")
        for megabytes in (size // 3, size):
            count = generate(path, megabytes * 10**6)
            seconds, mebibytes = run(gputrace, path, trace)
            peaks.append(mebibytes)
            print(f"{megabytes} MB of JSON, {count} events: {seconds:.2f} s, "
                  f"{mebibytes:.1f} MiB at most, trace of {os.path.getsize(trace) / 1e6:.1f} MB")
    if max(peaks) > LIMIT_MIB:
        sys.exit(f"importing takes {max(peaks):.1f} MiB, more than {LIMIT_MIB}")
    if peaks[1] - peaks[0] > GROWTH_MIB:
        sys.exit(f"three times the events take {peaks[1] - peaks[0]:.1f} MiB more")


if __name__ == "__main__":
    main()
