#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: nccl_calls.sh BUILD NAME: every call to NCCL is in the trace with its communicator, number and
# group, a failed one as failed and not counted; a program that looks NCCL up by ctypes is the same.
. "$(dirname "$0")/cli.sh" "$1" "$2"
export SIMCUDA_TIME_SCALE=0 SIMCUDA_NCCL_DIRECTORY=$work/node
mkdir -p node
python3 "$here/call_nccl.py" >plain.txt || fail "exit code $? without the shim"
record traces python3 "$here/call_nccl.py" >traced.txt 2>errors.txt || fail "exit code $? with the shim"
cmp plain.txt traced.txt || fail "results differ with the shim"
[ -s errors.txt ] && fail "the shim printed $(cat errors.txt)"
trace=$(trace_in traces) || exit 1
"$gputrace" dump --format tsv "$trace" >dump.tsv || fail "dump gave $?"
python3 - "$here" dump.tsv <<'END' || fail "the calls are not what was made, see $work"
import sys
sys.path.insert(0, sys.argv[1])
from compare_log import read_dump
tables = read_dump(sys.argv[2])
rows = tables["collective"]
got = [(r["op"], int(r["sequence"]), int(r["group"]), int(r["status"])) for r in rows]
kinds = ["all_reduce", "reduce", "broadcast", "broadcast", "all_gather", "reduce_scatter",
         "all_to_all", "gather", "scatter"]
wanted = [(kind, i + 1, 0, 0) for i, kind in enumerate(kinds)]
wanted += [("send", 1, 1, 0), ("recv", 1, 1, 0), ("send", 2, 2, 0), ("recv", 2, 2, 0)]
wanted += [("all_reduce", 0, 0, 4), ("all_reduce", 10, 0, 0), ("all_reduce", 1, 0, 0)]
assert got == wanted, f"collectives\n  {got}\nare not\n  {wanted}"
assert all(int(r["size_bytes"]) == 4096 for r in rows[:-3]), "payloads"
made = [(r["op"], r["rank"], r["rank_count"]) for r in tables["communicator"]]
assert made == [("init", "0", "1"), ("split", "0", "1"), ("destroy", "0", "1"),
                ("finalize", "0", "1"), ("destroy", "0", "1"), made[-1]], made
first, split = tables["communicator"][:2]
assert split["parent"] == first["hash"] != split["hash"], "the split's name"
assert rows[0]["hash"] == first["hash"] and rows[-1]["hash"] == split["hash"], "whose call"
ends = [r["call_id"] for r in tables["call"] if r["api"] == "ncclGroupEnd"]
inside = [r["parent_id"] for r in tables["launch"] if "SendRecv" in r["kernel"]]
assert len(ends) == 2 and set(ends) <= set(inside), "a group's messages are one launch of its end"
END
