#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the live memory of a trace, after every call, against the simulated driver's own count.

usage: compare_live.py LOG EXPORT.tsv [--freed] [--imports-late]
  --freed         in the end nothing may be live
  --imports-late  how much was imported a trace knows only when it is mapped: compare the peaks
"""
import sys

from simlog import read_log

KINDS = ("plain", "array", "pool", "physical", "managed", "addresses", "mapped", "pinned",
         "imported")


def from_log(path):
    """Per device the sequence of states, without repetitions."""
    states = {}
    for event in read_log(path):
        if event["tag"] != "live":
            continue
        event["pinned"] += event["registered"]
        add(states, event["device"], tuple(event[kind] for kind in KINDS))
    return states


def add(states, device, state):
    known = states.setdefault(device, [(0,) * len(KINDS)])
    if known[-1] != state:
        known.append(state)


def from_export(path):
    states, names = {}, None
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            cells = line.rstrip("\n").split("\t")
            if line.startswith("#"):
                names = None
            elif names is None:
                names = cells
            else:
                row = dict(zip(names, cells))
                add(states, int(row["device"]), tuple(int(row[f"{kind}_bytes"]) for kind in KINDS))
    return states


def without(states, kind):
    at, short = KINDS.index(kind), {}
    for device, sequence in states.items():
        for state in sequence[1:]:
            add(short, device, state[:at] + (0,) + state[at + 1:])
    return short


def main():
    wanted, got = from_log(sys.argv[1]), from_export(sys.argv[2])
    if not wanted:
        sys.exit("the log counts no memory at all")
    for device, sequence in sorted(wanted.items()):
        peaks = [max(state[i] for state in sequence) for i in range(len(KINDS))]
        found = [max(state[i] for state in got.get(device, [(0,) * len(KINDS)]))
                 for i in range(len(KINDS))]
        print(f"device {device}: {len(sequence) - 1} states, peaks " +
              ", ".join(f"{k} {p}" for k, p in zip(KINDS, peaks) if p))
        if peaks != found:
            sys.exit(f"the trace's peaks are {dict(zip(KINDS, found))}")
    if "--imports-late" in sys.argv:
        wanted, got = without(wanted, "imported"), without(got, "imported")
    for device, sequence in sorted(wanted.items()):
        other = got.get(device, [])
        for i, state in enumerate(sequence):
            if i >= len(other) or other[i] != state:
                sys.exit(f"device {device}, state {i}:\n  driver {dict(zip(KINDS, state))}\n"
                         f"  trace  {dict(zip(KINDS, other[i])) if i < len(other) else 'ends'}")
        if len(other) != len(sequence):
            sys.exit(f"device {device}: the trace goes on to {dict(zip(KINDS, other[len(sequence)]))}")
        if "--freed" in sys.argv and any(sequence[-1]):
            sys.exit(f"device {device}: not all was freed: {dict(zip(KINDS, sequence[-1]))}")


if __name__ == "__main__":
    main()
