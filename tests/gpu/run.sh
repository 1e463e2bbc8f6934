#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The check on a real GPU, in less than eight minutes: prints one table and writes it to FILE.
# usage: run.sh BUILD [--simulated] [--parts abcdef] [--output FILE]
#        run.sh BUILD --pack FOLDER      what a machine with a GPU needs of BUILD, to be BUILD there
# Nothing is built here. On a machine without a GPU --simulated runs the same steps on the simulated
# stack, with a stand-in for PyTorch, and says so. FILE is $OUT/RESULTS.md where OUT is set, else
# RESULTS.md beside this script. Every part has its own time; one that fails or hangs leaves a row.
set -u -o pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$(cd "${1:?usage: run.sh BUILD [--simulated] [--parts abcdef] [--output FILE]}" && pwd)
shift
export IS_SIMULATED=no
parts=abcdef output=${OUT:-$here}/RESULTS.md part= pack=
while [ $# -gt 0 ]; do
	case $1 in
	--simulated) IS_SIMULATED=yes ;;
	--parts) parts=${2:?--parts needs letters of abcdef}; shift ;;
	--output) output=${2:?--output needs a file}; shift ;;
	--pack) pack=${2:?--pack needs a folder}; shift ;;
	--part) part=${2:?}; shift ;; # one part, called by the script itself
	*) echo "run.sh: unknown option $1" >&2; exit 2 ;;
	esac
	shift
done
case $parts in *[!abcdef]* | "") echo "run.sh: --parts takes letters of abcdef, not \"$parts\"" >&2; exit 2 ;; esac

if [ -n "$pack" ]; then
	mkdir -p "$pack/samples" "$pack/lib/viewer" || exit 1
	cp -r "$build/bin" "$build/lib" "$build/gpu-check" "$pack/" &&
		find "$build/samples" -maxdepth 1 -type f -exec cp {} "$pack/samples/" \; || exit 1
	rm -f "$pack"/samples/*-simulated
	# The viewer's libraries are not everywhere; the C library's own stay those of the machine.
	ldd "$build/bin/gputrace" | awk '$3 ~ /^\// && $1 !~ /^lib(c|m|dl|pthread|rt)\.so/ { print $3 }' |
		xargs -r cp -Lt "$pack/lib/viewer" || exit 1
	mv "$pack/bin/gputrace" "$pack/lib/viewer/gputrace"
	cat >"$pack/bin/gputrace" <<-'VIEWER' && chmod +x "$pack/bin/gputrace" || exit 1
		#!/bin/sh
		viewer=${0%/*}/../lib/viewer
		LD_LIBRARY_PATH=$viewer exec "$viewer/gputrace" "$@"
	VIEWER
	find "$pack" -type f -perm -u+x ! -name '*.sh' -exec strip --strip-debug {} + 2>/dev/null
	du -sh "$pack"
	exit 0
fi
gputrace=$build/bin/gputrace shim=$build/lib/libgputrace.so
. "$here/run_parts.sh"
if [ -n "$part" ]; then
	"part_$part"
	exit
fi

if [ $IS_SIMULATED = yes ]; then
	export LD_LIBRARY_PATH=$build/simcuda SIMCUDA_KERNEL_COSTS=$build/samples/costs.tsv SIMCUDA_GPUS=2
	export GPUTRACE_CUPTI=$build/simcuda/libcupti.so.13 PYTHONPATH=$here/fake_torch
	gpu="simulated: nothing here is a measurement of a GPU"
else
	command -v nvidia-smi >/dev/null || { echo "run.sh: no nvidia-smi here; --simulated runs without a GPU" >&2; exit 2; }
	gpu=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -n 1)
	[ -n "$gpu" ] || { echo "run.sh: nvidia-smi names no GPU; --simulated runs without one" >&2; exit 2; }
	# Libraries that PyTorch brought, then those of a toolkit: PyTorch would take the toolkit's where both
	# have the same name, and does not load with an older one (libnvJitLink).
	libraries=$(python3 -c 'import glob, site
print(":".join(sorted(p for s in site.getsitepackages() for p in glob.glob(s + "/nvidia/*/lib"))))' 2>/dev/null)
	export LD_LIBRARY_PATH=${libraries:+$libraries:}/usr/local/cuda/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
fi
export WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
export HAS_TORCH=no
python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null && HAS_TORCH=yes
torch=$(python3 -c 'import torch; print(torch.__version__)' 2>/dev/null || echo none)
choose_variant

declare -A limits=([a]=110 [b]=90 [c]=150 [d]=15 [e]=30 [f]=60)
begin=$SECONDS failures=0
printf '| part | what | result |\n|---|---|---|\n' | tee "$WORK/table"
for ((i = 0; i < ${#parts}; i++)); do
	part=${parts:i:1}
	export PART_END=$(($(date +%s) + ${limits[$part]} - 5))
	flag=()
	[ $IS_SIMULATED = no ] || flag=(--simulated)
	timeout --kill-after=5 "${limits[$part]}" bash "$0" "$build" "${flag[@]}" --part "$part" || {
		code=$?
		failures=$((failures + 1))
		[ $code -ge 124 ] && row "$part" "the whole part" "STOPPED after ${limits[$part]} s"
	}
done
{
	echo "# The check on a real GPU"
	echo
	[ $IS_SIMULATED = no ] || { echo "Not yet run on hardware; this is a run on the simulated stack."; echo; }
	echo "$(date -u +%F), $gpu, PyTorch: $torch, samples: ${VARIANT:-none that runs}, $((SECONDS - begin)) s"
	echo
	cat "$WORK/table"
} >"$output"
if [ -n "${OUT:-}" ]; then
	tar -czf "$OUT/details.tar.gz" -C "$WORK" --exclude='*.gtrace' . 2>/dev/null
fi
[ $failures = 0 ] || { echo "$failures parts failed or were stopped" >&2; exit 1; }
