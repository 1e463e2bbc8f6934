# SPDX-License-Identifier: Apache-2.0
"""A small training script for tests/gpu/run.sh: linear layers, attention, a convolution.

usage: train.py eager|compile|graph STEPS [--profile]   prints key=value lines; with --profile the last
step runs under torch.profiler, whose own counts of copies, bytes and kernels are printed.
"""
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
    mode, steps, profiled = sys.argv[1], int(sys.argv[2]), "--profile" in sys.argv
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
    for _ in range(steps):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        step()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - begin)
    print(f"step_ms={sorted(times)[len(times) // 2] * 1e3:.3f}")
    if not profiled:
        return
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profile:
        begin = time.perf_counter()
        step()
        torch.cuda.synchronize()
        print(f"profiled_step_ms={(time.perf_counter() - begin) * 1e3:.3f}")
    events = [e for e in profile.events() if "CUDA" in str(e.device_type)]
    copies = [e for e in events if e.name.startswith("Memcpy")]
    print(f"profiler_kernels={len(events) - len(copies)} profiler_copies={len(copies)}")


main()
