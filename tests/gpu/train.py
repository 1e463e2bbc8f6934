# SPDX-License-Identifier: Apache-2.0
"""A small training script for tests/gpu/run.sh: linear layers, attention, a convolution.

usage: train.py eager|compile|graph STEPS [--profile TRACE.json | --under-profiler]   prints key=value lines.
With --profile one more step runs in a range named check_step, and then the same step again under
torch.profiler, whose trace is written. With --under-profiler that profiler sees all steps.
"""
import contextlib
import sys
import time

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution = nn.Conv1d(256, 256, 3, padding=1)
        self.attention = nn.MultiheadAttention(256, 8, batch_first=True)
        self.layers = nn.Sequential(nn.Linear(256, 1024), nn.GELU(), nn.Linear(1024, 256))

    def forward(self, x):
        x = self.convolution(x.transpose(1, 2)).transpose(1, 2)
        x = x + self.attention(x, x, x, need_weights=False)[0]
        return self.layers(x)


def main():
    mode, steps = sys.argv[1], int(sys.argv[2])
    profile_to = sys.argv[4] if sys.argv[3:4] == ["--profile"] else None
    torch.manual_seed(1)
    model = Model().cuda()
    run = torch.compile(model) if mode == "compile" else model
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    host = torch.randn(16, 128, 256)
    batch = host.cuda()

    def step():
        batch.copy_(host)
        optimizer.zero_grad(set_to_none=False)
        run(batch).square().mean().backward()
        optimizer.step()

    for _ in range(3):
        step()
    torch.cuda.synchronize()
    if mode == "graph":
        graph = torch.cuda.CUDAGraph()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                optimizer.zero_grad(set_to_none=False)
                run(batch).square().mean().backward()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(graph):
            optimizer.zero_grad(set_to_none=False)
            run(batch).square().mean().backward()
            optimizer.step()

        def step():
            batch.copy_(host)
            graph.replay()

    times = []
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    is_profiled = "--under-profiler" in sys.argv
    with torch.profiler.profile(activities=activities) if is_profiled else contextlib.nullcontext():
        for _ in range(steps):
            torch.cuda.synchronize()
            begin = time.perf_counter()
            step()
            torch.cuda.synchronize()
            times.append(time.perf_counter() - begin)
    print(f"step_ms={sorted(times)[len(times) // 2] * 1e3:.3f}")
    if not profile_to:
        return
    torch.cuda.nvtx.range_push("check_step")
    step()
    torch.cuda.synchronize()
    torch.cuda.nvtx.range_pop()
    for _ in range(2):  # the first one pays for setting the profiler up
        with torch.profiler.profile(activities=activities) as profile:
            begin = time.perf_counter()
            step()
            torch.cuda.synchronize()
            profiled_s = time.perf_counter() - begin
    print(f"profiled_step_ms={profiled_s * 1e3:.3f}")
    profile.export_chrome_trace(profile_to)
    for _ in range(3):  # and the recorder has its GPU times back
        step()
    torch.cuda.synchronize()


main()
