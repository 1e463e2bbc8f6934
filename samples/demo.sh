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
	  --sample NAME    one of samples/*.cu (default: train_loop)
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
	setup_targets+=(simcuda simrt simblas simblaslt simcudnn simcupti simnccl simnvml sim_machine)
fi
setup_build release

# Some samples suffer from their machine, or need several GPUs.
use_machine() {
	local name
	case $sample in
	cross_numa) name=cross-numa ;;
	downgraded_link) name=worn-slot ;;
	peer_staged | shared_uplink) name=small-switch ;;
	exposed_allreduce) export SIMCUDA_GPUS=2 SIMCUDA_NCCL_GBS=0.5; return ;;
	oom_fragmentation) export SIMCUDA_MEMORY_MIB=2048; return ;;
	*) return ;;
	esac
	rm -rf "$build/demo-machine"
	"$build/simcuda/sim_machine" "$repository/tests/simcuda/machines/$name.tsv" "$build/demo-machine" ||
		stop "the simulated machine could not be made"
	export SIMCUDA_MACHINE=$build/demo-machine GPUTRACE_ROOT=$build/demo-machine
	export GPUTRACE_NVML=$build/simcuda/libnvidia-ml.so.1
}

gputrace=$build/bin/gputrace
program=$build/samples/$sample
[ -x "$program" ] || stop "there is no sample $sample"
if [ $simulated = yes ]; then
	[ -f "$build/simcuda/libcuda.so.1" ] ||
		stop "the simulated GPU needs the CUDA headers, and PyPI gave none: see $build/pip.log"
	export LD_LIBRARY_PATH=$build/simcuda SIMCUDA_KERNEL_COSTS=$build/samples/costs.tsv
	export GPUTRACE_CUPTI=$build/simcuda/libcupti.so.13
	use_machine
fi

# record_to FOLDER OPTION...
record_to() {
	local folder=$1
	shift
	rm -rf "$folder"
	say "recording: gputrace record -- $sample $*"
	"$gputrace" record --output "$folder" -- "$program" "$@" || stop "$sample failed"
}

# The step time and findings of a report, as "78.1 ms per step (GT201)"; programs without steps have
# their findings only.
step_of() {
	"$gputrace" report --json "$1" | python3 -c '
import json, sys
devices = [d for d in json.load(sys.stdin)["runs"][0]["devices"] if d.get("findings") is not None]
names = " ".join(sorted({f["id"] for d in devices for f in d["findings"]})) or "no findings"
step = devices[0].get("ledger", {}).get("step_median_ms")
print("%.2f ms per step (%s)" % (step, names) if step else names)'
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
