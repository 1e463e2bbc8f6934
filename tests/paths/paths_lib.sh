# SPDX-License-Identifier: Apache-2.0
# What the scripts share that call every wrapped function: sourced with BUILD_DIR CASE. The libraries in
# path-programs/lib write down what arrives (lib_paths.c).
. "$(dirname "${BASH_SOURCE[0]}")/../shim/shim_lib.sh"

here=$(cd "$(dirname "$0")" && pwd)
paths=$build/tests/path-programs
export LD_LIBRARY_PATH=$paths/lib

# Runs a program with and without the shim: the same arguments arrive, the same comes back. $way and
# $major say how it calls.
same_calls_of() { # STATUS COMMAND...
	local plain=0 with=0
	export PATHS_STATUS=$1
	shift
	rm -f "$work"/calls-* "$out"/*
	PATHS_LOG=$work/calls-plain "$@" >"$work/plain.txt" 2>&1 || plain=$?
	[ $plain -eq 77 ] && skip "$(tail -n 1 "$work/plain.txt")"
	PATHS_LOG=$work/calls-with traced "$@" >"$work/with.txt" 2>&1 || with=$?
	[ $plain -eq $with ] || fail "exit code $with under the shim, $plain without: $*"
	[ -s "$work/plain.txt" ] || fail "the program called nothing"
	cmp -s "$work/plain.txt" "$work/with.txt" || {
		diff "$work/plain.txt" "$work/with.txt" | head -20 >&2
		fail "results or errno differ: $*"
	}
	cmp -s "$work/calls-plain" "$work/calls-with" || {
		diff "$work/calls-plain" "$work/calls-with" | head -20 >&2
		fail "other arguments arrived: $*"
	}
}

# ... a program that is made from the tables.
same_calls() { # PROGRAM STATUS WAY WORDS WHERE
	local program=$paths/$1 status=$2
	major=${1##*_} way=$3
	shift 2
	same_calls_of "$status" "$program" "$@"
}

# What has been compared, for row_coverage.py: function, way, major, calls, and of these recorded.
exercised() { # CASE
	mkdir -p "$build/tests/paths-table"
	awk -F '\t' -v way="$way" -v major="$major" '
		NR == FNR { if ($1 !~ /^#/) quiet[$1] = 1; next }
		{ base = $1; sub(/_pt[ds][sz]$/, "", base); calls[$1]++
		  records[$1] += major != "marks" && !(base in quiet) && !(base ~ /Query$/ && $3 == 600) }
		END { for (name in calls) print name, way, major, calls[name], records[name] }' OFS='\t' \
		"$here/no_record.tsv" "$work/calls-with" >"$build/tests/paths-table/$1.$way.$major"
}

# The records are the calls of the log, one by one and in order: but the rows that record nothing,
# and what asks and is told that it is not ready (600).
records_equal_log() {
	dump >"$work/dump.txt"
	has_not "$work/dump.txt" 'UNNAMED-|=UNKNOWN' "every number has its name"
	# A collective's first call may also tell the rank that its communicator has.
	sed -nE '/^communicator\tapi=nccl[^C]/d; s/^[a-z_]+\tapi=([A-Za-z0-9_]+)\tstatus=(-?[0-9]+)\t.*/\1 \2/p' "$work/dump.txt" >"$work/records.txt"
	awk -F '\t' 'NR == FNR { if ($1 !~ /^#/) quiet[$1] = 1; next }
		{ sub(/_pt[ds][sz]$/, "", $1)
		  if (!($1 in quiet) && !($1 ~ /Query$/ && $3 == 600)) print $1, $3 }' \
		"$here/no_record.tsv" "$work/calls-with" >"$work/log.txt"
	cmp -s "$work/records.txt" "$work/log.txt" || {
		diff "$work/log.txt" "$work/records.txt" | head -30 >&2
		fail "records and calls differ (< call, > record)"
	}
}
