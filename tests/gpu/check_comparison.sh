#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: check_comparison.sh BUILD: what part b compares differs when it differs. One kernel more in the
# profiler's trace, one copy of another size, and a recording without the range are all seen. Part c
# measures with the profiler when it says so.
set -u
build=$1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LD_LIBRARY_PATH=$build/simcuda GPUTRACE_CUPTI=$build/simcuda/libcupti.so.13

fail() {
	echo "FAILED: $*" >&2
	exit 1
}

GPUTRACE_OUT=$work LD_PRELOAD=$build/lib/libgputrace.so PYTHONPATH=$here/fake_torch \
	python3 "$here/train.py" eager 3 --profile "$work/whole.json" >/dev/null || fail "train.py gave $?"
"$build/bin/gputrace" dump --format tsv "$work"/*.gtrace >"$work/dump.tsv" || fail "dump gave $?"
python3 - "$work" <<'PYTHON' || fail "the variants could not be made"
import json, sys
trace = json.load(open(sys.argv[1] + "/whole.json"))
events = trace["traceEvents"]
kernel = next(e for e in events if e["cat"] == "kernel")
json.dump({"traceEvents": events + [kernel]}, open(sys.argv[1] + "/kernel.json", "w"))
copy = next(e for e in events if e["cat"] == "gpu_memcpy")
copy["args"]["bytes"] -= 1
json.dump(trace, open(sys.argv[1] + "/bytes.json", "w"))
PYTHON
compare() { # WANTED DUMP PROFILE
	python3 "$here/compare_profiler.py" "$2" "$3" >"$work/out.txt" 2>&1
	[ $? = "$1" ] || fail "not $1 for ${3##*/}: $(cat "$work/out.txt")"
}
compare 0 "$work/dump.tsv" "$work/whole.json"
compare 1 "$work/dump.tsv" "$work/kernel.json"
compare 1 "$work/dump.tsv" "$work/bytes.json"
grep -v check_step "$work/dump.tsv" >"$work/unmarked.tsv"
compare 1 "$work/unmarked.tsv" "$work/whole.json"
awk -F '\t' '/^# / { is_gpu = /gpu_kernel/ } !is_gpu || /^# |^thread/' "$work/dump.tsv" >"$work/untimed.tsv"
compare 1 "$work/untimed.tsv" "$work/whole.json"
# The stand-in's profiler takes 2 ms for each of two waits of a step.
. "$here/run_parts.sh"
plain=$(step_ms "PYTHONPATH=$here/fake_torch") profiled=$(step_ms "PYTHONPATH=$here/fake_torch" --under-profiler)
awk -v plain="$plain" -v profiled="$profiled" 'BEGIN { exit !(plain > 0 && profiled > plain + 1.5) }' ||
	fail "a step takes '$plain' ms, and under the profiler '$profiled' ms"
# What is packed for another machine brings the viewer's libraries, and reads the same.
bash "$here/run.sh" "$build" --pack "$work/pack" >/dev/null || fail "--pack gave $?"
LD_LIBRARY_PATH=$work/pack/lib/viewer ldd "$work/pack/lib/viewer/gputrace" >"$work/loaded.txt" 2>&1
sed -n 's/^\t\(lib[^ ]*\) => \(.*\) (.*/\1 \2/p' "$work/loaded.txt" | grep -vE '^lib(c|m|dl|pthread|rt)\.so' >"$work/brought.txt"
grep -q libyajl "$work/brought.txt" || fail "the packed viewer has no library of its own: $(cat "$work/loaded.txt")"
! grep -v "/pack/" "$work/brought.txt" || fail "the packed viewer takes libraries of this machine"
cmp <("$build/bin/gputrace" info "$work"/*.gtrace) <("$work/pack/bin/gputrace" info "$work"/*.gtrace) || fail "the packed viewer reads something else"
# A part that hangs is stopped and the rest goes on; wrong options are told.
bash "$here/run.sh" "$build" --parts xyz 2>"$work/err.txt" && fail "parts that are none were taken"
grep -q 'letters of abcdef' "$work/err.txt" || fail "$(cat "$work/err.txt")"
