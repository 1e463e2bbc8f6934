#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The check on a real GPU, in less than eight minutes: prints one table and writes RESULTS.md.
# usage: run.sh BUILD [--simulated] [--output FILE]
# BUILD holds bin/, lib/ and samples/ and was made elsewhere: nothing is built here. On a machine
# without a GPU --simulated runs the same steps on the simulated stack, and says so; parts that have
# no PyTorch say "skipped: no torch".
set -u -o pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$(cd "${1:?usage: run.sh BUILD [--simulated] [--output FILE]}" && pwd)
shift
is_simulated=no output=$here/RESULTS.md
while [ $# -gt 0 ]; do
	case $1 in
	--simulated) is_simulated=yes ;;
	--output) output=${2:?--output needs a file}; shift ;;
	*) echo "run.sh: unknown option $1" >&2; exit 2 ;;
	esac
	shift
done
gputrace=$build/bin/gputrace shim=$build/lib/libgputrace.so
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
deadline=$((SECONDS + 450))
failures=0
if [ $is_simulated = yes ]; then
	export LD_LIBRARY_PATH=$build/simcuda SIMCUDA_KERNEL_COSTS=$build/samples/costs.tsv
	[ -e "$SIMCUDA_KERNEL_COSTS" ] || export SIMCUDA_KERNEL_COSTS=$here/../../samples/costs.tsv
	gpu="simulated: nothing here is a measurement of a GPU"
else
	command -v nvidia-smi >/dev/null || { echo "run.sh: no nvidia-smi; --simulated runs without a GPU" >&2; exit 2; }
	gpu=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -n 1)
fi
has_torch=no
[ $is_simulated = no ] && python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null && has_torch=yes

row() { # PART WHAT RESULT
	printf '| %s | %s | %s |\n' "$1" "$2" "$3" | tee -a "$work/table"
}

late() {
	[ $SECONDS -lt $deadline ] && return 1
	row "$1" "$2" "skipped: the time is up"
}

# traced FOLDER COMMAND...
traced() {
	local folder=$1
	shift
	mkdir -p "$folder"
	env GPUTRACE_OUT="$folder" LD_PRELOAD="$shim" "$@"
}

# (a) every sample's findings.
part_samples() {
	local sample trace found count=0
	for sample in "$build"/samples/*; do
		case ${sample##*/} in *[-.]* | CMakeFiles | exposed_allreduce) continue ;; esac
		[ -f "$sample" ] && [ -x "$sample" ] || continue
		late a "${sample##*/}" && continue
		count=$((count + 1))
		if ! traced "$work/a/${sample##*/}" timeout 60 "$sample" --steps 12 >"$work/out.txt" 2>&1; then
			row a "${sample##*/}" "did not run: $(tail -n 1 "$work/out.txt" | cut -c1-80)"
			continue
		fi
		trace=$(ls "$work/a/${sample##*/}"/*.gtrace 2>/dev/null | head -n 1)
		if ! "$gputrace" report "$trace" >"$work/report.txt" 2>"$work/err.txt"; then
			failures=$((failures + 1))
			row a "${sample##*/}" "FAILED: no report: $(head -n 1 "$work/err.txt")"
			continue
		fi
		found=$(grep -oE '^ +[0-9]+\. GT[0-9]+' "$work/report.txt" | grep -oE 'GT[0-9]+' | tr '\n' ' ')
		row a "${sample##*/}" "${found:-no finding}"
	done
	[ $count -gt 0 ] || { failures=$((failures + 1)); row a samples "FAILED: none in $build/samples"; }
}

# (b) recorded kernels and copies of one step, next to torch.profiler's own counts.
part_torch() {
	local mode
	for mode in eager compile graph; do
		[ $has_torch = yes ] || { row b "PyTorch, $mode" "skipped: no torch"; continue; }
		late b "PyTorch, $mode" && continue
		traced "$work/b/$mode" timeout 90 python3 "$here/train.py" $mode 5 --profile >"$work/out.txt" 2>&1 ||
			{ failures=$((failures + 1)); row b "PyTorch, $mode" "FAILED: $(tail -n 1 "$work/out.txt")"; continue; }
		"$gputrace" report "$work/b/$mode"/*.gtrace >"$work/report.txt" 2>&1
		row b "PyTorch, $mode" "$(tr '\n' ' ' <"$work/out.txt"); recorded $(grep -o 'per [a-z]*: .*MiB back)' "$work/report.txt" | head -n 1)"
	done
}

median() {
	sort -n | awk '{ v[NR] = $1 } END { print NR ? v[int((NR + 1) / 2)] : "none" }'
}

# One run's time in ms, of PyTorch's step or of a whole sample.
time_once() { # NAME=VALUE...
	if [ $has_torch = yes ]; then
		env "$@" timeout 60 python3 "$here/train.py" eager 30 | sed -n 's/^step_ms=//p'
	else
		local begin=$(date +%s%N)
		env "$@" timeout 60 "$build/samples/launch_bound" --steps 20 >/dev/null 2>&1
		echo $((($(date +%s%N) - begin) / 1000000))
	fi
}

# (c) what recording costs: five alternating runs of each, medians.
part_overhead() {
	local round
	late c overhead && return
	[ $has_torch = yes ] || [ -x "$build/samples/launch_bound" ] || { row c overhead "skipped: no nvcc"; return; }
	mkdir -p "$work/c"
	for round in 1 2 3 4 5; do
		time_once A=1 >>"$work/off"
		time_once LD_PRELOAD="$shim" GPUTRACE_OUT="$work/c" GPUTRACE_GPU=off GPUTRACE_STACKS=off >>"$work/host"
		time_once LD_PRELOAD="$shim" GPUTRACE_OUT="$work/c" GPUTRACE_STACKS=off >>"$work/cupti"
		time_once LD_PRELOAD="$shim" GPUTRACE_OUT="$work/c" >>"$work/stacks"
	done
	row c "median of 5: off / host only / CUPTI / stacks" \
		"$(median <"$work/off") / $(median <"$work/host") / $(median <"$work/cupti") / $(median <"$work/stacks") ms"
	if [ $has_torch = yes ]; then
		for round in 1 2 3 4 5; do
			timeout 60 python3 "$here/train.py" eager 30 --profile | sed -n 's/^profiled_step_ms=//p'
		done >"$work/profiler"
		row c "next to torch.profiler: one step under it" "$(median <"$work/profiler") ms"
	else
		row c "next to torch.profiler" "skipped: no torch"
	fi
}

# (d) which driver call each runtime call made.
part_driver_calls() {
	local trace
	trace=$(ls "$work"/a/train_loop/*.gtrace 2>/dev/null | head -n 1)
	[ -n "$trace" ] || { row d "driver calls" "skipped: train_loop did not run"; return; }
	"$gputrace" dump --format tsv "$trace" >"$work/dump.tsv"
	python3 "$here/driver_calls.py" "$work/dump.tsv" >"$work/pairs.txt" || failures=$((failures + 1))
	while IFS=$'\t' read -r runtime driver; do
		row d "$runtime" "$driver"
	done <"$work/pairs.txt"
}

# (e) attainable rates of this machine, as the traces of (a) saw them.
part_rates() {
	local name
	for name in pageable_copy unpadded_gemm; do
		[ -d "$work/a/$name" ] || { row e "$name" "skipped: it did not run"; continue; }
		"$gputrace" report "$work/a/$name"/*.gtrace >"$work/report.txt" 2>&1
		row e "$name" "$(grep -oE '[0-9.]+ (GB/s|TFLOP/s)' "$work/report.txt" | sort -u | tr '\n' ' ' | sed 's/^$/no rate in its report/')"
	done
}

# (f) what only hardware can answer (see RESULTS.md for what each is for).
part_open_points() {
	if [ $is_simulated = yes ]; then
		row f "open points about CUPTI" "skipped: only a real GPU answers them"
		return
	fi
	"$gputrace" info "$work"/a/train_loop/*.gtrace 2>/dev/null | grep 'gpu_times\.' |
		while read -r key value; do row f "$key" "$value"; done
	row f "GPU work without a launch" "$("$gputrace" report "$work"/a/train_loop/*.gtrace 2>/dev/null | grep -c GT907)"
}

printf '| part | what | result |\n|---|---|---|\n' | tee "$work/table"
part_samples
part_torch
part_overhead
part_driver_calls
part_rates
part_open_points
{
	echo "# The check on a real GPU"
	echo
	[ $is_simulated = yes ] && { echo "Not yet run on hardware; this is a run on the simulated stack."; echo; }
	echo "$(date -u +%F), $gpu, $((SECONDS)) s, PyTorch: $has_torch"
	echo
	cat "$work/table"
} >"$output"
[ $failures = 0 ] || { echo "$failures parts failed" >&2; exit 1; }
