# SPDX-License-Identifier: Apache-2.0
# Sourced by every end-to-end test: cli.sh BUILD_FOLDER TEST_NAME. Gives a fresh folder to work in
# and the simulated stack to run on. A test fails with a sentence and exit code 1.
set -u -o pipefail

build=$1
work=$build/cli/$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
gputrace=$build/bin/gputrace
shim=$build/lib/libgputrace.so
samples=$build/samples

rm -rf "$work"
mkdir -p "$work"
cd "$work" || exit 1
# Whatever the caller's shell has set would be part of the test otherwise.
unset LD_PRELOAD
for variable in $(compgen -v | grep -E '^(GPUTRACE|SIMCUDA)_'); do
	unset "$variable"
done
export LD_LIBRARY_PATH=$build/simcuda:$build/simcuda/major12
# What is tested is the collector's own process, however busy the machine is.
export GPUTRACE_START_MS=20000
export SIMCUDA_KERNEL_COSTS=$samples/costs.tsv

# Tests that fill cells of the table of flags (flags_table.py) have FLAGS_CELLS in their environment,
# "ROW@VARIANT@CELL|...". Each of them has failed until flags_say ROW CELL TEXT says what was shown.
export FLAGS_FOLDER=$build/tests/flags-table
flags_say_all() {
	local cell
	while IFS= read -r -d '|' cell; do
		printf '%s\n' "$1" >"$FLAGS_FOLDER/$cell"
	done <<<"${FLAGS_CELLS:+$FLAGS_CELLS|}"
}

flags_say() {
	local name="$1@${FLAGS_VARIANT-}@$2"
	[[ "|${FLAGS_CELLS-}|" != *"|$name|"* ]] || printf '%s\n' "$3" >"$FLAGS_FOLDER/$name"
}

mkdir -p "$FLAGS_FOLDER"
flags_say_all FAILED

fail() {
	echo "FAILED: $*" >&2
	flags_say_all FAILED
	exit 1
}

skip() {
	echo "SKIPPED: $*"
	flags_say_all skipped
	exit 77
}

# program_of SAMPLE VARIANT: shared is the one without a suffix (samples/CMakeLists.txt).
program_of() {
	[ "$2" = shared ] && echo "$samples/$1" || echo "$samples/$1-$2"
}

# make_machine NAME: the simulated machine of that description, with a state of its own, in $work/machine.
make_machine() {
	"$build/simcuda/sim_machine" "$here/../simcuda/machines/$1.tsv" "$work/machine" ||
		fail "the machine could not be made"
	export SIMCUDA_MACHINE=$work/machine GPUTRACE_ROOT=$work/machine
	export GPUTRACE_NVML=$build/simcuda/libnvidia-ml.so.1
}

# A sample that was not built (no nvcc) is skipped, never passed over in silence.
need_program() {
	[ -x "$1" ] || skip "${1##*/} is not built here: no nvcc"
}

# record FOLDER COMMAND...: runs it with the shim; the trace goes to FOLDER. The driver API alone
# tells nobody where a libcupti is, so the test says it.
record() {
	local folder=$1
	shift
	mkdir -p "$folder"
	env LD_PRELOAD="$shim" GPUTRACE_OUT="$folder" GPUTRACE_CUPTI="$build/simcuda/libcupti.so.13" "$@"
}

# The only trace in a folder.
trace_in() {
	local found=("$1"/*.gtrace)
	[ ${#found[@]} = 1 ] && [ -f "${found[0]}" ] || fail "expected one trace in $1, found: ${found[*]}"
	echo "${found[0]}"
}

# expect_exit CODE COMMAND...: output goes to out.txt and err.txt.
expect_exit() {
	local wanted=$1 got
	shift
	"$@" >out.txt 2>err.txt
	got=$?
	[ $got = "$wanted" ] || { cat out.txt err.txt >&2; fail "exit code $got instead of $wanted: $*"; }
}

# log_compare LOG TRACE PROGRAM VARIANT: the trace equals the simulated driver's exact log; adds to
# $compared how many lines that were.
compared=0
log_compare() {
	local level=() told
	"$gputrace" dump --format tsv "$2" >dump.tsv || fail "dump gave $?"
	[ "$4" = shared ] && readelf -d "$3" | grep libcudart >/dev/null && level=(--runtime)
	told=$(python3 "$here/compare_log.py" "$1" dump.tsv "${level[@]}") ||
		fail "trace and log differ, see $work"$'\n'"$told"
	echo "$told"
	compared=$((compared + $(awk '/ equal$/ { sum += $(NF - 1) } END { print sum + 0 }' <<<"$told")))
}

# live_compare LOG TRACE [OPTION...]: what the trace says is live equals the driver's own count after
# every call (compare_live.py); adds to $states how many different counts that were.
states=0
live_compare() {
	local log=$1 trace=$2 told
	shift 2
	"$gputrace" export --to memory "$trace" >live.tsv || fail "cannot export $trace"
	told=$(python3 "$here/compare_live.py" "$log" live.tsv "$@") ||
		fail "live memory is not what the driver counted, see $work"$'\n'"$told"
	echo "$told"
	states=$((states + $(awk '/ states, / { sum += $3 } END { print sum + 0 }' <<<"$told")))
}
