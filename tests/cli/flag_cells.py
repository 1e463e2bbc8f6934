# SPDX-License-Identifier: Apache-2.0
"""Fills cells of the table of flags (flags_table.py): what a finding says, in its own number."""
import os
from pathlib import Path

# What the finding rests on, from its evidence; *_mib are made of *_bytes.
NUMBERS = {
    "GT101": "{h2d_achieved_gbs:.2f} GB/s",
    "GT102": "{pageable_gbs:.2f} of {pinned_gbs:.2f} GB/s",
    "GT103": "{waits_per_step:.0f} per step",
    "GT106": "gen {link_gen:.0f} x{link_width:.0f} of gen {link_gen_able:.0f} x{link_width_able:.0f}",
    "GT108": "pinned, on the stream that computes",
    "GT109": "{achieved_gbs:.2f} GB/s between GPU {from_gpu:.0f} and {to_gpu:.0f}",
    "GT110": "{calls_per_step:.1f} calls per step",
    "GT111": "{shared_gbs:.2f} of {solo_gbs:.2f} GB/s",
    "GT201": "{extent:.0f} for {padded_extent:.0f}",
    "GT301": "node {process_node:.0f} for {gpu_node:.0f}, {far_calls_percent:.0f} % of calls",
    "GT302": "{far_pages_percent:.0f} % of pages on node {pages_node:.0f}",
    "GT401": "{fragmented_mib:.0f} of {reserved_mib:.0f} MiB fragmented",
    "GT402": "{requested_mib:.0f} of {capacity_mib:.0f} MiB asked for",
    "GT403": "{requested_mib:.0f} MiB asked for",
    "GT404": "{fragmented_mib:.0f} MiB fragmented",
    "GT406": "{pairs_per_step:.1f} pairs per step",
    "GT408": "{peak_percent:.0f} % of memory",
    "GT501": "{kernels_per_step:.0f} kernels per step",
    "GT502": "{waits_per_step:.0f} per step",
    "GT503": "{waits_per_step:.0f} per step",
    "GT504": "every {period_steps:.0f} steps",
    "GT601": "{exposed_percent:.0f} % exposed, {kernels_per_step:.0f} sums",
    "GT603": "{collectives_per_step:.0f} sums of {median_bytes:.0f} bytes per step",
    "GT705": "{code} from {call}",
    "GT706": "{variable}={value}",
}


def say_cell(row, cell, text):
    """Nothing where ctest did not ask this test for that cell."""
    name = f"{row}@{os.environ.get('FLAGS_VARIANT', '')}@{cell}"
    if name in os.environ.get("FLAGS_CELLS", "").split("|"):
        (Path(os.environ["FLAGS_FOLDER"]) / name).write_text(text + "\n", encoding="utf-8")


def say_findings(row, findings):
    """Every planted finding once, with its number and, where it has one, its cost in a step."""
    say_cell(row, "finding", "; ".join(describe(finding) for finding in findings))


def describe(finding):
    evidence = dict(finding["evidence"])
    for key, value in finding["evidence"].items():
        if key.endswith("_bytes"):
            evidence[key[:-len("bytes")] + "mib"] = (value or 0) / (1 << 20)
    cost = f" ({finding['cost_ms']:.2f} ms)" if finding.get("cost_ms") else ""
    return f"{finding['id']} {NUMBERS[finding['id']].format(**evidence)}{cost}"
