#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: import_large.py GPUTRACE [MEGABYTES]

Generates PyTorch profiler JSON of 300 MB and of a third of that, with operators, shapes, launches,
kernels and copies, imports both and holds the peak memory: an import streams, and what waits for its
launch or operator lies in files, so three times the recording takes no more. Once in the order of the
profiler and once with the GPU's events first, so that each side waits for the other. With less than
100 MB the memory for arrays is smaller too, so that files are used. The trace must be the one that is
made with all memory there is. Prints time and memory.
"""
import os
import subprocess
import sys
import tempfile
import time

LIMITS_MIB = (80, 40)  # whatever the size; for three times the events
SMALL_LIMITS_MIB = (26, 10)  # where arrays may have 16 MiB

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


def generate(path, size, kinds=KINDS):
    """Kind by kind, as the profiler does, so that a launch is far from its kernel."""
    count = size // sum(len(kind(123456)) + 2 for kind in KINDS)
    with open(path, "w", buffering=1 << 20) as file:
        file.write('{"schemaVersion": 1, "traceEvents": [\n')
        for kind in kinds:
            for number in range(count):
                file.write(kind(number) + ",\n")
        file.write('{"ph": "i", "name": "end", "ts": 100, "pid": 99, "tid": 99, "s": "g"}]}\n')
    return len(kinds) * count


def run(gputrace, path, trace, memory):
    """Seconds and peak MiB."""
    environment = {key: value for key, value in os.environ.items() if key != "GPUTRACE_MEMORY"}
    if memory:
        environment["GPUTRACE_MEMORY"] = memory
    began = time.monotonic()
    child = subprocess.Popen([gputrace, "import", "-f", "-o", trace, path],
                             stdout=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"import gave {child.returncode}")
    return time.monotonic() - began, usage.ru_maxrss / 1024


def content(trace):
    """All but the head, in which the session has a number of its own."""
    with open(trace, "rb") as file:
        return file.read()[64:]


def main():
    gputrace = sys.argv[1]
    size = int(sys.argv[2]) if len(sys.argv) > 2 else 300
    memory, (limit, growth) = (None, LIMITS_MIB) if size >= 100 else ("16M", SMALL_LIMITS_MIB)
    for kinds in (KINDS, KINDS[::-1]):
        peaks = []
        with tempfile.TemporaryDirectory() as folder:
            path, trace = os.path.join(folder, "large.json"), os.path.join(folder, "large.gtrace")
            for megabytes in (size // 3, size):
                count = generate(path, megabytes * 10**6, kinds)
                seconds, mebibytes = run(gputrace, path, trace, memory)
                peaks.append(mebibytes)
                print(f"{megabytes} MB of JSON, {kinds[0].__name__} first, {count} events: "
                      f"{seconds:.2f} s, {mebibytes:.1f} MiB at most, trace of "
                      f"{os.path.getsize(trace) / 1e6:.1f} MB", flush=True)
            run(gputrace, path, trace + ".memory", "0")
            if content(trace) != content(trace + ".memory"):
                sys.exit("with more memory the trace is another one")
        if max(peaks) > limit:
            sys.exit(f"importing takes {max(peaks):.1f} MiB, more than {limit}")
        if peaks[1] - peaks[0] > growth:
            sys.exit(f"three times the events take {peaks[1] - peaks[0]:.1f} MiB more")


if __name__ == "__main__":
    main()
