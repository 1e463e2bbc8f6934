#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The whole way on this machine: builds gputrace, records a training loop, says why it is slow, and
# shows the same loop cured. Without a GPU the simulated one is used. See --help.
set -u -o pipefail

repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$repository/build-demo
sample=train_loop
simulated=no
install=yes

usage() {
	cat <<-END
	usage: samples/demo.sh [options]
	  --simulated      use the simulated GPU although there is a real one
	  --sample NAME    pageable_copy, unpadded_gemm, sync_in_loop, starved_input,
	                   periodic_checkpoint or train_loop (default)
	  --build-dir DIR  build there (default: build-demo)
	  --no-install     fail rather than install packages
	END
}

while [ $# -gt 0 ]; do
	case $1 in
	--simulated) simulated=yes ;;
	--sample) sample=${2:?--sample needs a name}; shift ;;
	--build-dir) mkdir -p "${2:?--build-dir needs a folder}"; build=$(cd "$2" && pwd); shift ;;
	--no-install) install=no ;;
	--help | -h) usage; exit 0 ;;
	*) usage >&2; exit 2 ;;
	esac
	shift
done

mkdir -p "$build"
. "$repository/tests/setup.sh"
if [ $simulated = no ] && ! nvidia-smi -L >/dev/null 2>&1; then
	say "no GPU here (nvidia-smi does not answer): the simulated one is used"
	simulated=yes
fi
if [ $install = yes ]; then
	{ setup_build_packages; echo "read the figures of a report: python3"; } | setup_packages || exit 1
	setup_toolkit
fi
# Of the tests only the simulated GPU is built.
setup_targets=(gputrace gputrace_viewer gputrace-collector samples)
if [ $simulated = yes ] && [ -n "${CUDA_HOME:-}" ]; then
	setup_targets+=(simcuda simrt simblas simcupti)
fi
setup_build release

gputrace=$build/bin/gputrace
program=$build/samples/$sample
[ -x "$program" ] || stop "there is no sample $sample"
if [ $simulated = yes ]; then
	[ -f "$build/simcuda/libcuda.so.1" ] ||
		stop "the simulated GPU needs the CUDA headers, and PyPI gave none: see $build/pip.log"
	export LD_LIBRARY_PATH=$build/simcuda SIMCUDA_KERNEL_COSTS=$build/samples/costs.tsv
	export GPUTRACE_CUPTI=$build/simcuda/libcupti.so.13
fi

# record_to FOLDER OPTION...
record_to() {
	local folder=$1
	shift
	rm -rf "$folder"
	say "recording: gputrace record -- $sample $*"
	"$gputrace" record --output "$folder" -- "$program" "$@" || stop "$sample failed"
}

# The step time and findings of a report, as "78.1 ms, 5 findings".
step_of() {
	"$gputrace" report --json "$1" | python3 -c '
import json, sys
device = json.load(sys.stdin)["runs"][0]["devices"][0]
names = " ".join(sorted({f["id"] for f in device["findings"]})) or "no findings"
print("%.2f ms per step (%s)" % (device["ledger"]["step_median_ms"], names))'
}

traces=$build/demo
mkdir -p "$traces"
record_to "$traces/before"
"$gputrace" report --html "$traces/report.html" "$traces/before" || stop "the report failed"
record_to "$traces/after" --cured
echo
say "the cured twin:"
"$gputrace" report "$traces/after" || stop "the report failed"
cat <<END

before: $(step_of "$traces/before")
after:  $(step_of "$traces/after")
$([ $simulated = yes ] && echo "All times are those of the simulated GPU: modelled, not measured.")

What the rules mean:  $gputrace explain GT201
The report as a page: $traces/report.html
Your own job:         $gputrace record -- python train.py && $gputrace report *.gtrace
END
