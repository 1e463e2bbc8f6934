# SPDX-License-Identifier: Apache-2.0
"""Rates that gpu_rates reached, next to what the knowledge base says of this GPU and its link.

usage: compare_rates.py RATES GPUS.tsv INFO   RATES is gpu_rates' output, INFO that of `gputrace info`
Prints lines of what, tab, result.
"""
import re
import sys

# Raw GB/s of one lane and direction, by generation, after line coding.
LANE_GBS = {1: 0.25, 2: 0.5, 3: 0.985, 4: 1.969, 5: 3.938, 6: 7.563}


def read_rates(path):
    with open(path, encoding="utf-8") as lines:
        return {key: float(value) for key, value in re.findall(r"^(\w+)=([0-9.]+)$", lines.read(), re.M)}


def find_gpu(path, name):
    with open(path, encoding="utf-8") as lines:
        header = next(lines).rstrip("\n").split("\t")
        for line in lines:
            row = dict(zip(header, line.rstrip("\n").split("\t")))
            if row.get("name_pattern") and re.search(row["name_pattern"], name):
                return row
    return None


def number(gpu, column):
    try:
        return float(gpu[column]) if gpu else None
    except (KeyError, ValueError):
        return None


def beside(rate, limit, what):
    return f"{rate:.1f}; {what} {limit:.1f} ({100 * rate / limit:.0f} %)" if limit else f"{rate:.1f}; {what} unknown"


def main():
    rates = read_rates(sys.argv[1])
    with open(sys.argv[3], encoding="utf-8") as lines:
        found = re.search(r"^GPU \d+\n +name +(.*)$", lines.read(), re.M)
    name = found.group(1) if found else None
    gpu = find_gpu(sys.argv[2], name) if name else None
    print(f"the GPU in the knowledge base\t{gpu['name'] if gpu else 'none for ' + (name or 'a trace without a GPU')}")
    generation, width = number(gpu, "pcie_gen"), number(gpu, "pcie_width")
    link = LANE_GBS.get(int(generation), 0) * width if generation and width else None
    for key in ("h2d_pinned", "d2h_pinned"):
        print(f"{key.replace('_', ', ')}, GB/s\t{beside(rates[key + '_gbs'], link, 'raw link')}")
    for way in ("h2d", "d2h"):
        share = rates[way + "_pageable_gbs"] / rates[way + "_pinned_gbs"]
        print(f"{way}, pageable, GB/s\t{rates[way + '_pageable_gbs']:.1f}; of pinned {100 * share:.0f} %")
    peak = number(gpu, "bf16_tflops")
    print(f"bf16 product, aligned rows, TFLOP/s\t{beside(rates['gemm_aligned_tflops'], peak, 'dense peak')}")
    share = rates["gemm_unaligned_tflops"] / rates["gemm_aligned_tflops"]
    print(f"bf16 product, rows of one element less, TFLOP/s\t{rates['gemm_unaligned_tflops']:.1f}; of aligned {100 * share:.0f} %")


main()
