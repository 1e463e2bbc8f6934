#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: hta_values.py RECORDING...

Prints what HolisticTraceAnalysis says of each recording, as one JSON object by path; for check_hta.py. Runs with a
Python that has HTA (pip install HolisticTraceAnalysis==0.5.0). A table that HTA cannot make is null.
"""
import json
import logging
import os
import shutil
import sys
import tempfile

os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"  # else fractions of a microsecond are cut off
logging.disable(logging.CRITICAL)
NAME_LENGTH = 100  # of kernels' names

from hta.trace_analysis import TraceAnalysis  # noqa: E402


def described(row):
    row = {str(key).replace("%", ""): float(value) for key, value in row.items()}
    return {"count": row["count"], "mean": row["mean"], "std": None if row["std"] != row["std"] else row["std"],
            "min": row["min"], "p25": row["25"], "p50": row["50"], "p75": row["75"], "max": row["max"]}


def breakdown(analysis):
    row = analysis.get_temporal_breakdown(visualize=False).iloc[0]
    return {name: float(row[f"{name}(us)"]) for name in ("kernel_time", "idle_time", "compute_time", "non_compute_time")}


def overlap(analysis):
    value = float(analysis.get_comm_comp_overlap(visualize=False).iloc[0]["comp_comm_overlap_pctg"])
    return None if value != value else value


def idle(analysis):
    frame = analysis.get_idle_time_breakdown(ranks=[0], visualize=False)[0]
    streams = {}
    for row in frame.itertuples():
        streams.setdefault(str(int(row.stream)), {})[row.idle_category] = float(row.idle_time)
    return streams


def queues(analysis):
    frame = analysis.get_queue_length_summary(ranks=[0])
    return {str(int(index[1])): described(row["queue_length"]) for index, row in frame.iterrows()}


def launches(analysis):
    frame = analysis.get_cuda_kernel_launch_stats(ranks=[0], visualize=False)[0]
    named = {"call_us": "cpu_duration", "gpu_us": "gpu_duration", "delay_us": "launch_delay"}
    values = {ours: described(frame[theirs].describe()) for ours, theirs in named.items()}
    values["short_kernels"] = int(((frame.cpu_duration <= 50) & (frame.gpu_duration < frame.cpu_duration)).sum())
    values["slow_calls"] = int((frame.cpu_duration > 50).sum())
    values["delayed_launches"] = int((frame.launch_delay > 100).sum())
    return values


def bandwidth(analysis):
    frame = analysis.get_memory_bw_summary(ranks=[0])
    return {index[1]: described(row["memory_bw_gbps"]) for index, row in frame.iterrows()}


def kernel_types(analysis):
    frame = analysis.get_gpu_kernel_breakdown(visualize=False, include_memory_kernels=True, num_kernels=1 << 30)[0]
    return {row["kernel_type"].lower(): float(row["sum"]) for _, row in frame.iterrows()}


def kernels(analysis):
    frame = analysis.get_gpu_kernel_breakdown(visualize=False, num_kernels=1 << 30)[1]
    frame = frame[frame["kernel_type"] != "MEMORY"]
    frame = frame.sort_values("sum (us)", ascending=False).head(5)
    return [{"name": row["name"][:NAME_LENGTH], "kind": row["kernel_type"].lower(), "sum_us": float(row["sum (us)"]),
             "min_us": float(row["min (us)"]), "max_us": float(row["max (us)"]),
             "mean_us": float(row["mean (us)"]), "std_us": float(row["stddev"])} for _, row in frame.iterrows()]


def rounded(value):
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return float(f"{value:.8g}") if isinstance(value, float) else value


TABLES = (breakdown, overlap, idle, queues, launches, bandwidth, kernel_types, kernels)


def values_of(path):
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "rank0.json.gz" if path.endswith(".gz") else "rank0.json")
        shutil.copy(path, copy)
        analysis = TraceAnalysis(trace_files={0: copy}, trace_dir=folder)
        result = {}
        for table in TABLES:
            try:
                result[table.__name__] = rounded(table(analysis))
            except Exception as error:  # HTA has no errors of its own
                result[table.__name__] = None
                print(f"{path}: {table.__name__}: {type(error).__name__}: {error}", file=sys.stderr)
        return result


def main():
    results = {}
    for path in sys.argv[1:]:
        try:
            results[path] = values_of(path)
        except Exception as error:
            print(f"{path}: {type(error).__name__}: {error}", file=sys.stderr)
            results[path] = None
    # One recording per line: a change shows where it is.
    lines = [f"{json.dumps(path)}: {json.dumps(results[path], sort_keys=True)}" for path in sorted(results)]
    print("{\n" + ",\n".join(lines) + "\n}")


if __name__ == "__main__":
    main()
