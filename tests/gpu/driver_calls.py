# SPDX-License-Identifier: Apache-2.0
"""Which driver calls each runtime call made, from `gputrace dump --format tsv`.

usage: driver_calls.py DUMP...   prints lines of runtime call, tab, driver calls with how often each
"""
import collections
import sys


def read_calls(path):
    """{(thread, call): (function, the call around it)}"""
    calls, columns = {}, []
    with open(path, encoding="utf-8", errors="replace") as dump:
        for line in dump:
            fields = line.rstrip("\n").split("\t")
            if line.startswith("#"):
                columns = []
            elif not columns:
                columns = fields
            elif "api" in columns and "parent_id" in columns:
                row = dict(zip(columns, fields))
                calls[row["thread"], row["call_id"]] = (row["api"], row["parent_id"])
    return calls


def main():
    inside, all_calls = collections.defaultdict(collections.Counter), 0
    for path in sys.argv[1:]:
        calls = read_calls(path)
        all_calls += len(calls)
        for (thread, _), (api, parent) in calls.items():
            outer = calls.get((thread, parent))
            if outer and outer[0].startswith(("cuda", "__cuda")) and not api.startswith("cuda"):
                inside[outer[0]][api] += 1
    for runtime in sorted(inside):
        told = ", ".join(f"{name} x{count}" for name, count in sorted(inside[runtime].items()))
        print(f"{runtime}\t{told}")
    return 0 if all_calls else 1


sys.exit(main())
