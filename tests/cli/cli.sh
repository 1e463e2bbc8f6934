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
export LD_LIBRARY_PATH=$build/simcuda
export SIMCUDA_KERNEL_COSTS=$samples/costs.tsv

fail() {
	echo "FAILED: $*" >&2
	exit 1
}

skip() {
	echo "SKIPPED: $*"
	exit 77
}

# program_of SAMPLE VARIANT: shared is the one without a suffix (samples/CMakeLists.txt).
program_of() {
	[ "$2" = shared ] && echo "$samples/$1" || echo "$samples/$1-$2"
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
