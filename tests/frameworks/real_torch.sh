#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: real_torch.sh BUILD
# A real PyTorch for CUDA, with its real libcudart, libcublas, libcudnn, libnccl and libcupti, on a machine
# without a GPU: every call answers the same with the recorder and without, nothing is left by children, and
# the trace says why it has no GPU times. GPUTRACE_TORCH_PYTHON names a Python with such a PyTorch (6 GB:
# a wheel from PyPI), else it is skipped. Where a GPU is, tests/gpu/run.sh is the check.
set -u -o pipefail
build=$1 here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=${GPUTRACE_TORCH_PYTHON-}
skip() { echo "skipped: $*"; exit 77; }
fail() { echo "FAILED: $*" >&2; exit 1; }
[ -n "$python" ] || skip "GPUTRACE_TORCH_PYTHON names no Python with a PyTorch for CUDA"
"$python" -c 'import torch; assert torch.version.cuda' || skip "$python has no PyTorch for CUDA"
! "$python" -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null || skip "there is a GPU: tests/gpu/run.sh is the check"
for variable in $(compgen -v | grep -E '^(GPUTRACE|SIMCUDA)_'); do
	unset "$variable"
done
work=$(mktemp -d "${TMPDIR:-/tmp}/gputrace-torch.XXXXXX")
trap 'rm -rf "$work"' EXIT
gputrace=$build/bin/gputrace

# run NAME PART VARIABLE=VALUE...: output without the times and process numbers of log lines.
run() {
	local name=$1 part=$2
	shift 2
	mkdir -p "$work/$name"
	env "$@" GPUTRACE_OUT="$work/$name" "$python" "$here/real_libraries.py" "$part" >"$work/$name.raw" 2>&1 ||
		fail "$name: exit code $?: $(tail -n 3 "$work/$name.raw")"
	sed -E 's/[0-9]{4}-[0-9]{2}-[0-9]{2}//; s/[0-9]{2}:[0-9]{2}:[0-9.]+//; s/[0-9]+:[0-9]+ ([A-Z])/\1/; s/^([EW])[0-9]{4} +[0-9]+/\1/' \
		"$work/$name.raw" >"$work/$name.txt"
}

run plain calls A=1
grep -q '^count [1-9]' "$work/plain.txt" || fail "the calls do not answer that there is no GPU: $(cat "$work/plain.txt")"
for setting in GPUTRACE_GPU=cupti GPUTRACE_GPU=events GPUTRACE_GPU=off GPUTRACE_MODE=summary GPUTRACE_ALLOCATIONS=on \
	GPUTRACE_STACKS=off "CUDA_INJECTION64_PATH=$build/lib/libgputrace.so"; do
	rm -rf "$work/with"
	run with calls "$setting" LD_PRELOAD="$build/lib/libgputrace.so"
	diff "$work/plain.txt" "$work/with.txt" >&2 || fail "$setting: not the same answers"
	[ "$(ls "$work/with" | wc -l)" = 1 ] || fail "$setting: not one trace: $(ls "$work/with")"
	"$gputrace" info "$work"/with/*.gtrace >"$work/info.txt" || fail "$setting: info gave $?"
	grep -q 'ending  *exited' "$work/info.txt" || fail "$setting: the trace has no end"
	case $setting in
	GPUTRACE_GPU=cupti)
		grep -q 'gpu_times.reason  *CUPTI finds no usable driver' "$work/info.txt" ||
			fail "the trace does not say why it has no GPU times: $(grep gpu_times "$work/info.txt")"
		grep -q 'python.frames  *read' "$work/info.txt" || fail "the lines of Python are not read"
		"$gputrace" dump "$work"/with/*.gtrace >"$work/dump.txt" || fail "dump gave $?"
		grep -q 'api=cudaMalloc .*\|^memory .*status=[1-9].*api=cudaMalloc ' "$work/dump.txt" || fail "cudaMalloc is not recorded"
		grep -q 'of_runtime.*real_libraries.py:' "$work/dump.txt" || fail "no line of Python" ;;
	esac
done
run plain_workers workers A=1
run workers workers LD_PRELOAD="$build/lib/libgputrace.so"
diff "$work/plain_workers.txt" "$work/workers.txt" >&2 || fail "workers: not the same results"
[ -z "$(ls "$work/workers")" ] || fail "processes that use no GPU left files: $(ls "$work/workers")"
echo "real_torch: $("$python" -c 'import torch; print(torch.__version__)'), $(wc -l <"$work/plain.txt") answers, the same in 7 modes; no file of children"
