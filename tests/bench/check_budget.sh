#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Counts the instructions that the shim adds to a call with callgrind and compares them with
# budget.tsv; more than 5 % over it fails. Clock reads and waits cost time that is not counted here:
# for nanoseconds see run.sh.
# usage: check_budget.sh BUILD_DIR [COMPILER_ID BUILD_TYPE]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$1
skip() { echo "skipped: $1"; exit 77; }
command -v valgrind >/dev/null || skip "valgrind is not installed"
[ "$(uname -m)" = x86_64 ] || skip "the budget is one of x86-64"
[ "${2:-GNU} ${3:-RelWithDebInfo}" = "GNU RelWithDebInfo" ] ||
	skip "the budget is one of gcc and the release preset, not of ${2:-} and ${3:-}"
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# Inclusive instructions of the figures of bench_budget, a line "FIGURE N" each, after $2 calls, with settings $1.
count() {
	rm -f "$out"/callgrind.*
	# The collector runs as a thread here: valgrind does not follow the way a process is started.
	env GPUTRACE_OUT="$out" GPUTRACE_GPU=off GPUTRACE_RING_KIB=4096 \
		GPUTRACE_COLLECTOR=/nonexistent $1 \
		valgrind --tool=callgrind --callgrind-out-file="$out/callgrind.%p" \
		"$build/bench/bench_budget" "$2" >"$out/log" 2>&1 || { cat "$out/log" >&2; return 1; }
	callgrind_annotate --inclusive=yes --tree=none --threshold=100 "$out"/callgrind.* |
		awk 'match($0, /budget_[a-z]+/) { name = substr($0, RSTART + 7, RLENGTH - 7); gsub(",", "", $1)
			if (!(name in seen)) print name, $1
			seen[name] = 1 }'
}

# What a call of each figure costs.
measure() { # NAME SETTINGS -> "NAME.copy N" and so on
	count "$2" 1000 >"$out/few"
	count "$2" 3000 >"$out/many"
	awk -v name="$1" 'BEGIN { of["copies"] = "copy"; of["waits"] = "wait"; of["captured"] = "captured"
			of["launches"] = "graph" }
		NR == FNR { few[$1] = $2; next }
		$1 in of { printf "%s.%s\t%.1f\n", name, of[$1], ($2 - few[$1]) / 2000 }' "$out/few" "$out/many"
}

shim="LD_PRELOAD=$build/lib/libgputrace.so"
{
	measure plain "GPUTRACE=off"
	measure off "GPUTRACE=off $shim"
	measure recorded "GPUTRACE_STACKS=off $shim"
	measure native_stack "GPUTRACE_STACKS=native $shim"
	measure summary "GPUTRACE_STACKS=off GPUTRACE_MODE=summary $shim"
} >"$out/counted"

awk -F '\t' '
	/^#/ || NF < 2 { next }
	NR == FNR { budget[$1] = $2; next }
	$1 ~ /^plain\./ { base[substr($1, 7)] = $2; next }
	{
		split($1, part, ".")
		added = $2 - base[part[2]]
		if (!($1 in budget)) { printf "%s: %.1f, not in budget.tsv\n", $1, added; failed = 1; next }
		seen[$1] = 1
		over = added > 1.05 * budget[$1]
		under = added < 0.9 * budget[$1]
		printf "%-20s %7.1f instructions added to a call, budget %s%s%s\n", $1, added, budget[$1],
			over ? ": TOO MANY" : "", under ? " (lower the budget)" : ""
		failed = failed || over || added <= 0
	}
	END {
		for (name in budget) if (!(name in seen)) { print name " was not measured"; failed = 1 }
		exit failed
	}' "$here/budget.tsv" "$out/counted"
