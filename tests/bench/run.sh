#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Measures what recording costs and prints one table: gputrace, and uftrace, LTTng-UST and heaptrack
# on the same program in the same run. Ratios within one table count; nanoseconds of different runs
# do not compare. The machine should be quiet.
# usage: tests/bench/run.sh [--build-dir DIR] [--pairs N] [--no-install] [--raw FILE]
set -eu -o pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repository=$(cd "$here/../.." && pwd)
build=$repository/build
pairs=3
install=yes
raw=/dev/null
while [ $# -gt 0 ]; do
	case $1 in
	--build-dir) build=$(cd "${2:?--build-dir needs a folder}" && pwd); shift ;;
	--pairs) pairs=${2:?--pairs needs a number}; shift ;;
	--no-install) install=no ;;
	--raw) raw=${2:?--raw needs a file for the figures behind the table}; shift ;;
	--help | -h) sed -n '3,7s/^# //p' "${BASH_SOURCE[0]}"; exit 0 ;;
	*) echo "run.sh: unknown option $1 (see --help)" >&2; exit 2 ;;
	esac
	shift
done
bench=$build/bench/bench_call
shim=$build/lib/libgputrace.so
[ -x "$bench" ] && [ -e "$shim" ] || {
	echo "run.sh: $build holds no build of gputrace with tests: cmake --preset release && cmake --build --preset release" >&2
	exit 1
}
out=$(mktemp -d)
# A session daemon of LTTng that was started here ends here.
finish() {
	[ ! -s "$out/sessiond.pid" ] || kill "$(cat "$out/sessiond.pid")"
	rm -rf "$out"
}
trap finish EXIT
note() { echo "run.sh: $*" >&2; }
has() { command -v "$1" >/dev/null; }

if [ $install = yes ] && [ "$(id -u)" = 0 ] && has apt-get; then
	for peer in uftrace:uftrace lttng:"lttng-tools liblttng-ust-dev" heaptrack:heaptrack; do
		has "${peer%%:*}" || DEBIAN_FRONTEND=noninteractive apt-get install -y -q \
			--no-install-recommends ${peer#*:} >"$out/apt" 2>&1 || note "cannot install ${peer#*:}"
	done
fi

# ---- what a call costs: every mode once per round, so that all see the same machine ----

record_environment="GPUTRACE_GPU=off GPUTRACE_RING_KIB=4096"
file_bytes() { du -sb "$1" | cut -f 1; }

lttng_library=
if has lttng && gcc -O2 -shared -fPIC -I"$here/lttng" -o "$out/liblttng_calls.so" \
	"$here/lttng/lttng_calls.c" -llttng-ust -ldl 2>"$out/gcc"; then
	lttng_library=$out/liblttng_calls.so
	pgrep -x lttng-sessiond >/dev/null || lttng-sessiond --daemonize --pidfile="$out/sessiond.pid" >/dev/null 2>&1 || lttng_library=
fi

one() { # MODE ARGUMENT: prints "clock copy wait" and leaves what was written in $out/MODE.d
	local traced=$out/$1.d
	rm -rf "$traced"
	mkdir "$traced"
	case $1 in
	plain) "$bench" $2 ;;
	off) GPUTRACE=off LD_PRELOAD=$shim "$bench" $2 ;;
	recorded) env $record_environment GPUTRACE_OUT="$traced" GPUTRACE_STACKS=off LD_PRELOAD="$shim" "$bench" $2 ;;
	summed) env $record_environment GPUTRACE_OUT="$traced" GPUTRACE_STACKS=off GPUTRACE_MODE=summary LD_PRELOAD="$shim" "$bench" $2 ;;
	native) env $record_environment GPUTRACE_OUT="$traced" GPUTRACE_STACKS=native LD_PRELOAD="$shim" "$bench" $2 ;;
	uftrace) uftrace record --force -d "$traced/data" "$bench" $2 2>/dev/null ;;
	lttng)
		{ lttng create bench --output="$traced"; lttng enable-channel -u c --subbuf-size 8M --num-subbuf 8
		  lttng enable-event -u -c c 'bench:call'; lttng start; } >/dev/null 2>&1
		LD_PRELOAD=$lttng_library "$bench" $2
		lttng destroy bench >/dev/null 2>&1 ;;
	heaptrack) heaptrack -o "$traced/heap" "$bench" $2 2>/dev/null | grep -E '^[0-9.]+ [0-9.]+ [0-9.]+$' ;;
	esac
}

modes="plain off recorded summed native"
has uftrace && modes="$modes uftrace"
[ -n "$lttng_library" ] && modes="$modes lttng"
note "calls: $pairs rounds of $modes"
for ((i = 0; i < pairs; i++)); do
	for mode in $modes; do echo "$mode.1 $(one $mode 1)"; done
	for mode in plain recorded native; do echo "$mode.2 $(one $mode 2)"; done
	for mode in plain off recorded native; do echo "$mode.g $(one $mode graph)"; done
	for mode in plain $(has heaptrack && echo heaptrack); do echo "$mode.m $(one $mode malloc)"; done
done >"$out/calls"
calls=$((61 * 40000))
for mode in uftrace lttng; do # ours: the codec's figure, since rings that are full lose calls
	[ -d "$out/$mode.d" ] && echo "$mode $(file_bytes "$out/$mode.d")"
done >"$out/bytes"

# ---- Python lines ----

python=$(command -v python3 || true)
if [ -n "$python" ] && [ -e "$build/tests/libsite_probe.so" ]; then
	note "Python lines"
	"$python" "$here/bench_site.py" "$build/tests/libsite_probe.so" >"$out/python" 2>/dev/null || true
fi

# ---- file and collector ----

note "codec"
"$build/bench/bench_codec" 2000000 >"$out/codec"
note "collector"
"$build/bench/bench_collector" "$build/bin/gputrace-collector" 2 >"$out/collector"
for rate in 1e6 2e6 3e6; do
	"$build/bench/bench_collector" "$build/bin/gputrace-collector" 2 4 $rate
done >"$out/rings"
# Every write of the collector takes 20 ms longer: what a network file system does.
slow=$build/tests/survival-slow
[ ! -x "$slow" ] || "$slow" 20 "$build/bench/bench_collector" "$build/bin/gputrace-collector" 2 4 1e6 \
	>"$out/slow" || true

# ---- from the end of main() to a complete file: the job waits for its collector ----

for ((i = 0; i < 5; i++)); do
	rm -rf "$out/exit.d"
	mkdir "$out/exit.d"
	ended=$(env $record_environment GPUTRACE_OUT="$out/exit.d" GPUTRACE_STACKS=off LD_PRELOAD="$shim" \
		"$build/bench/bench_budget" 50000 when)
	for trace in "$out"/exit.d/*; do flock -s "$trace" true; done
	echo $((($(date +%s%N) - ended) / 1000000))
done | sort -n >"$out/exit"

# ---- step time of a sample: wall time of 300 steps, on the simulated stack or a real GPU ----

sample=$build/samples/launch_bound
step_environment=()
if ! nvidia-smi -L >/dev/null 2>&1; then
	step_environment=(LD_LIBRARY_PATH="$build/simcuda" SIMCUDA_KERNEL_COSTS="$build/samples/costs.tsv"
		GPUTRACE_CUPTI="$build/simcuda/libcupti.so.13")
fi
step() { # MODE: ms per step
	local extra=() begin end
	case $1 in
	off) extra=(GPUTRACE=off LD_PRELOAD="$shim") ;;
	host) extra=(GPUTRACE_GPU=off GPUTRACE_STACKS=off LD_PRELOAD="$shim") ;;
	cupti) extra=(GPUTRACE_STACKS=off LD_PRELOAD="$shim") ;;
	stacks) extra=(LD_PRELOAD="$shim") ;;
	esac
	rm -rf "$out/step.d"
	mkdir "$out/step.d"
	begin=$(date +%s%N)
	env "${step_environment[@]}" GPUTRACE_OUT="$out/step.d" "${extra[@]}" "$sample" --steps 300 >/dev/null
	end=$(date +%s%N)
	awk -v ns=$((end - begin)) 'BEGIN { printf "%.4f\n", ns / 300 / 1e6 }'
}
if [ -x "$sample" ] && step plain >/dev/null 2>&1; then
	note "steps of $(basename "$sample")"
	for ((i = 0; i < pairs; i++)); do
		for mode in plain off host cupti stacks; do echo "$mode $(step $mode)"; done
	done >"$out/steps"
fi

for part in calls bytes python codec collector rings slow exit steps; do
	[ -s "$out/$part" ] && sed "s/^/$part /" "$out/$part"
done | tee "$raw" | python3 "$here/bench_table.py" --calls "$calls" --commit \
	"$(git -C "$repository" rev-parse --short HEAD 2>/dev/null || echo unknown)"
