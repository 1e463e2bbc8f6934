#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# gputrace import as people call it: names of outputs, exit codes, what is said and what is left behind.
# usage: import_command.sh GPUTRACE FOLDER
set -u -o pipefail

gputrace=$1
rm -rf "$2" && mkdir -p "$2" && cd "$2" || exit 1

fail() {
	echo "FAILED: $*" >&2
	exit 1
}

# expect CODE TEXT COMMAND...: the exit code, and a text somewhere in the output
expect() {
	local code=$1 text=$2 output got
	shift 2
	output=$("$@" 2>&1)
	got=$?
	[ $got = "$code" ] || fail "$* gave $got instead of $code: $output"
	[[ $output == *"$text"* ]] || fail "$* did not say \"$text\": $output"
}

event='{"ph": "X", "cat": "kernel", "name": "k", "ts": 10, "dur": 5, "args": {"device": 0, "correlation": 1}}'
mkdir a b
echo "{\"distributedInfo\": {\"rank\": 0}, \"traceEvents\": [$event]}" >a/trace.json
echo "{\"distributedInfo\": {\"rank\": 0}, \"traceEvents\": [$event]}" | gzip >b/trace.json.gz
echo "[$event]" >no_rank.pt.trace.json
echo "[$event, {\"ph\"" >cut.json
echo "hello" >text.json

# Traces without a rank, with the same rank, gzip and plain: each is one output.
expect 0 'trace.gtrace: PyTorch profiler, rank 0, 1 event ' "$gputrace" import a/trace.json b/trace.json.gz no_rank.pt.trace.json
[ -s trace.gtrace ] && [ -s trace-2.gtrace ] && [ -s no_rank.gtrace ] || fail "outputs are missing: $(ls)"
expect 0 '' "$gputrace" info trace.gtrace

# An import is complete up to its last event, on the GPU too. Cut inside its only group nothing is.
echo "[$event, ${event/\"ts\": 10/\"ts\": 2000010}]" >late.json
expect 0 '' "$gputrace" import late.json
expect 0 'GPU complete up to s     2.000000' "$gputrace" info late.gtrace
head -c $(($(stat -c %s late.gtrace) / 2)) late.gtrace >half.gtrace
expect 0 'nothing for sure: cut inside its first group' "$gputrace" info half.gtrace
[[ $("$gputrace" info half.gtrace) != *0.000000* ]] || fail "a file without any promise says 0"

expect 1 'exists already (--force writes over it)' "$gputrace" import a/trace.json
expect 0 '' "$gputrace" import --force a/trace.json
expect 0 '' "$gputrace" import -o b/named.gtrace a/trace.json
[ -s b/named.gtrace ] || fail "-o did not name the output"
expect 0 '' "$gputrace" import --out-dir b a/trace.json
[ -s b/trace.gtrace ] || fail "--out-dir was not used"

# One bad recording does not stop the others, but shows in the exit code.
expect 4 'text.json: is no recording' "$gputrace" import --force text.json a/trace.json
expect 4 'No such file or directory' "$gputrace" import missing.json
expect 4 'cut short' "$gputrace" import cut.json
[ ! -e cut.gtrace ] && [ ! -e text.gtrace ] || fail "a refused recording left an output"
expect 0 'cut short' "$gputrace" import --partial cut.json
expect 1 'Cannot open the output folder' "$gputrace" import --out-dir nowhere a/trace.json
expect 4 'is a directory' "$gputrace" import a
# An nsys export of several processes gives one trace each.
python3 - <<'PYTHON' || fail "cannot make an export"
import sqlite3
db = sqlite3.connect("ranks.sqlite")
db.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)")
db.execute("INSERT INTO StringIds VALUES (1, 'k')")
db.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, \"end\" INTEGER, deviceId INTEGER, "
           "streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER)")
for pid in (4711, 815):
    db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 20, 0, 7, 1, ?, 1)", (pid << 24,))
db.commit()
PYTHON
expect 0 'ranks.815.gtrace: nsys export, 1 event ' "$gputrace" import ranks.sqlite
[ -s ranks.815.gtrace ] && [ -s ranks.4711.gtrace ] && [ ! -e ranks.gtrace ] || fail "not one trace per process: $(ls)"
expect 0 'process.pid' "$gputrace" info ranks.4711.gtrace
expect 2 'ranks.sqlite holds 2 processes' "$gputrace" import -o one.gtrace ranks.sqlite
expect 0 'one.gtrace: nsys export, 1 event ' "$gputrace" import -o one.gtrace --process 4711 ranks.sqlite
expect 4 'holds nothing of process 12' "$gputrace" import -f -o one.gtrace --process 12 ranks.sqlite
expect 4 '--process is for nsys exports' "$gputrace" import -f --process 12 a/trace.json
expect 2 '--process takes the number of a process' "$gputrace" import --process x ranks.sqlite

expect 2 'Name at least one recording' "$gputrace" import
expect 2 '--output goes with one recording' "$gputrace" import -o x.gtrace a/trace.json b/trace.json.gz
expect 2 'unknown' "$gputrace" import --nonsense a/trace.json
expect 0 'usage: gputrace import' "$gputrace" import --help

json=$("$gputrace" import --json --force a/trace.json text.json 2>/dev/null)
[ $? = 4 ] || fail "--json lost the exit code"
printf '%s' "$json" | python3 -c '
import json, sys
document = json.load(sys.stdin)
assert document["schema"] == "gputrace.import/1", document
good, bad = document["imports"]
assert good["events"] == 1 and good["rank"] == 0 and good["lost_events"] == 0, good
assert "is no recording" in bad["error"], bad
' || fail "--json printed: $json"

leftovers=$(find . -name '*.part')
[ -z "$leftovers" ] || fail "unfinished outputs were left: $leftovers"

# A folder that cannot be written is not the recording's fault.
if [ "$(id -u)" != 0 ]; then
	mkdir closed && chmod 500 closed
	expect 1 '' "$gputrace" import --out-dir closed a/trace.json
fi
echo "gputrace import: all cases as expected"
