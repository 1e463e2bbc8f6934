#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every sample and its cured twin, in several ways to reach the driver, with and without the shim: the
# same standard output, standard error and exit code; where calls go through the linker, also every
# call's result, last error and errno (lib_witness.c). The samples print no times, so nothing is left out.
. "$(dirname "$0")/../shim/shim_lib.sh"

samples=$build/samples
witness=$build/tests/path-programs/lib/libpaths_witness.so
export GPUTRACE_COLLECTOR=$build/bin/gputrace-collector
[ -x "$GPUTRACE_COLLECTOR" ] && [ -x "$build/bin/gputrace" ] || skip "no collector or no viewer"
export SIMCUDA_GPUS=4 SIMCUDA_KERNEL_COSTS=$samples/costs.tsv

arguments() { # SAMPLE
	case $1 in
	oom_fragmentation) ;;
	exposed_allreduce) echo --ranks 2 --steps 3 ;;
	*) echo --steps 3 ;;
	esac
}

# Under the shim the program has one library more before its own, and nothing else is different.
run() { # plain|with COMMAND...
	local how=$1 rc=0
	shift
	rm -rf "$work/$how"
	mkdir "$work/$how"
	export WITNESS_OUT=$work/$how/witness
	if [ "$how" = with ]; then
		preload=${watch:+$watch:}$shim traced timeout 60 "$@" >"$work/with.txt" 2>"$work/with-err.txt" || rc=$?
	else
		LD_PRELOAD=$watch timeout 60 "$@" >"$work/plain.txt" 2>"$work/plain-err.txt" || rc=$?
	fi
	echo "exit code $rc" >"$work/$how/code"
	# Ranks print in any order.
	sort "$work/$how.txt" >"$work/$how/stdout"
	sort "$work/$how-err.txt" >"$work/$how/stderr"
}

all_samples() { # VARIANT [--cured]
	local seen=0 recorded=0 program sample suffix=-$1
	[ "$1" = shared ] && suffix=""
	shift
	watch=""
	[ -n "$suffix" ] || watch=$witness
	for program in "$samples"/*-driver; do
		sample=${program##*/}
		sample=${sample%-driver}
		[ -x "$samples/$sample$suffix" ] || skip "the samples of this kind are not built"
		rm -f "$out"/*
		for how in plain with; do
			run $how "$samples/$sample$suffix" $(arguments $sample) "$@"
		done
		diff -r "$work/plain" "$work/with" >"$work/diff.txt" || fail "$sample$suffix $*: $(cat "$work/diff.txt")"
		seen=$((seen + 1))
		[ -z "$(ls "$out")" ] || recorded=$((recorded + 1))
		[ -n "$watch" ] || continue
		# The witness is in front of the shim, not instead of it.
		for file in "$out"/*.gtrace; do
			"$build/bin/gputrace" dump --format tsv --kind memory "$file" >"$work/memory.txt"
			grep -qP '\tcudaMalloc' "$work/memory.txt" || fail "$sample: its calls were not recorded"
		done
		for file in "$work/with"/witness*; do
			has "$file" '^calls=[1-9][0-9]* .*errno_changed=0 ' "$sample: calls that the witness saw"
		done
	done
	[ $seen -ge 15 ] || fail "only $seen samples"
	[ $recorded -eq $seen ] || fail "$recorded of $seen samples were recorded"
	echo "$seen samples alike"
}

case_samples_see_the_same_results_errno_and_last_error() { all_samples shared; }
case_cured_samples_see_the_same_results_errno_and_last_error() { all_samples shared --cured; }
case_samples_with_a_static_runtime_behave_the_same() { all_samples static-simulated; }
case_samples_of_the_driver_behave_the_same() { all_samples driver; }
case_cured_samples_of_the_driver_behave_the_same() { all_samples driver --cured; }
case_samples_that_ask_for_addresses_behave_the_same() { all_samples get-proc-address; }

# The witness itself must see a difference: without it the cases above would show nothing.
case_the_witness_sees_a_changed_result_and_errno() {
	[ -x "$samples/sync_in_loop" ] || skip "the samples are not built"
	cat >"$work/meddler.c" <<-END
		#include <dlfcn.h>
		#include <errno.h>
		int cudaEventRecord(void *event, void *stream) {
			int (*next)(void *, void *);
			*(void **)&next = dlvsym(RTLD_NEXT, "cudaEventRecord", "libcudart.so.13");
			next(event, stream);
			next((void *)0, stream); /* leaves a last error */
			errno = EINTR;
			return 0;
		}
	END
	echo 'libcudart.so.13 { global: cuda*; local: *; };' >"$work/meddler.map"
	cc -shared -fPIC -D_GNU_SOURCE "$work/meddler.c" -o "$work/meddler.so" \
		-Wl,--version-script="$work/meddler.map" || skip "no compiler"
	WITNESS_OUT=$work/plain.txt LD_PRELOAD=$witness "$samples/sync_in_loop" --steps 3 >/dev/null
	WITNESS_OUT=$work/with.txt LD_PRELOAD=$witness:$work/meddler.so \
		"$samples/sync_in_loop" --steps 3 >/dev/null 2>&1 || true
	has "$work/plain.txt" 'errno_changed=0 last=0,0,0$' "the sample as it is"
	has "$work/with.txt" 'failed=[1-9][0-9]* ' "the error that was left behind"
	has "$work/with.txt" 'errno_changed=[1-9][0-9]* ' "the changed errno"
	[ "$(sed 's/.*sum=\([0-9a-f]*\).*/\1/' "$work/plain.txt")" != "$(sed 's/.*sum=\([0-9a-f]*\).*/\1/' "$work/with.txt")" ] ||
		fail "the sums are the same"
}

shim_main "$@"
