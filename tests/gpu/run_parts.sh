# SPDX-License-Identifier: Apache-2.0
# The parts of run.sh, sourced by it: each writes rows of the table and returns 1 when something failed
# that should work everywhere. WORK is the folder that the parts share, PART_END when this one must end.

row() { # PART WHAT RESULT
	printf '| %s | %s | %s |\n' "$1" "$2" "${3//|/\/}" | tee -a "$WORK/table"
}

late() { # PART WHAT
	[ "$(date +%s)" -lt "$PART_END" ] && return 1
	row "$1" "$2" "skipped: the time is up"
}

# traced FOLDER COMMAND...
traced() {
	local folder=$1
	shift
	rm -rf "$folder"
	mkdir -p "$folder"
	env GPUTRACE_OUT="$folder" LD_PRELOAD="$shim" "$@"
}

trace_of() { # FOLDER
	ls "$1"/*.gtrace 2>/dev/null | head -n 1
}

# Which build of the samples runs here: the toolkit's runtime may be newer than the driver or the
# libraries of this machine.
choose_variant() {
	local suffix
	export VARIANT=
	for suffix in "" -static -driver; do
		timeout 60 "$build/samples/pageable_copy$suffix" --steps 2 --mib 1 >"$WORK/variant.txt" 2>&1 || continue
		VARIANT=runtime$suffix
		return
	done
	[ $IS_SIMULATED = no ] || cat "$WORK/variant.txt" >&2
}

sample_program() { # SAMPLE
	echo "$build/samples/$1${VARIANT#runtime}"
}

# MiB that do not fit in one piece after oom_fragmentation's blocks, but in two: see that sample.
oom_request() {
	local total=2048 reserved
	[ $IS_SIMULATED = yes ] ||
		total=$(nvidia-smi --query-gpu=memory.total --format=csv,noheader,nounits | head -n 1)
	reserved=$((4096 * 20))
	if [ $((total * 9 / 10)) -lt $reserved ]; then
		echo $((total / 5))
	else
		echo $((total - reserved + 2048))
	fi
}

# (a) every sample's findings.
part_a() {
	local gpus wanted what have=2 bad=0
	[ -n "$VARIANT" ] || { row a samples "FAILED: none of them runs: $(tail -n 1 "$WORK/variant.txt")"; return 1; }
	[ $IS_SIMULATED = yes ] || have=$(nvidia-smi --list-gpus | wc -l)
	while IFS=$'\t' read -r gpus wanted what; do
		[[ $gpus == "#"* ]] && continue
		late a "$what" && continue
		if [ "$gpus" -gt "$have" ]; then
			row a "$what" "skipped: needs $gpus GPUs, here is $have"
			continue
		fi
		one_sample "$wanted" ${what//@REQUEST@/$(oom_request)} || bad=1
	done <"$here/samples.tsv"
	return $bad
}

one_sample() { # WANTED SAMPLE OPTION...
	local wanted=$1 name=$2 found verdict=as\ expected folder
	shift 2
	folder=$WORK/a/$name$(tr -d ' ' <<<"$*")
	case $IS_SIMULATED$name in
	yesoom_fragmentation) local -x SIMCUDA_MEMORY_MIB=2048 ;;
	yesexposed_allreduce) local -x SIMCUDA_NCCL_GBS=0.5 ;;
	esac
	if ! traced "$folder" timeout 40 "$(sample_program "$name")" "$@" >"$WORK/out.txt" 2>&1; then
		row a "$name $*" "FAILED: did not run: $(tail -n 1 "$WORK/out.txt" | cut -c1-90)"
		return 1
	fi
	if ! "$gputrace" report "$folder" >"$folder/report.txt" 2>"$WORK/err.txt"; then
		row a "$name $*" "FAILED: no report: $(head -n 1 "$WORK/err.txt")"
		return 1
	fi
	found=$(grep -oE '^ +[0-9]+\. GT[0-9]+' "$folder/report.txt" | grep -oE 'GT[0-9]+' | tr '\n' ' ')
	case $wanted in
	- | "("*) verdict="expected ${wanted/-/none of its own}" ;;
	*) [[ " $found" == *" $wanted "* ]] || verdict="MISSING $wanted" ;;
	esac
	row a "$name $*" "${found:-no finding }($verdict)"
}

# (b) recorded kernels, copies, bytes and sets of one training step, next to torch.profiler's own.
part_b() {
	local mode folder bad=0
	for mode in eager compile graph; do
		[ $HAS_TORCH = yes ] || { row b "PyTorch, $mode" "skipped: no torch with a GPU"; continue; }
		late b "PyTorch, $mode" && continue
		folder=$WORK/b/$mode
		if ! traced "$folder" timeout 60 python3 "$here/train.py" $mode 5 --profile "$WORK/profile-$mode.json" \
			>"$WORK/out.txt" 2>&1; then
			bad=1
			row b "PyTorch, $mode" "FAILED: $(tail -n 1 "$WORK/out.txt")"
			continue
		fi
		"$gputrace" dump --format tsv "$(trace_of "$folder")" >"$folder/dump.tsv"
		python3 "$here/compare_profiler.py" "$folder/dump.tsv" "$WORK/profile-$mode.json" >"$WORK/counts.txt" 2>&1 ||
			{ bad=1; echo "DIFFER" >>"$WORK/counts.txt"; }
		row b "PyTorch, $mode: recorded / torch.profiler" \
			"$(awk -F '\t' 'NF == 3 { printf "%s %s / %s; ", $1, $2, $3 } NF != 3 { printf "%s ", $0 }' "$WORK/counts.txt")"
	done
	return $bad
}

median() {
	sort -n | awk '{ v[NR] = $1 } END { print NR ? v[int((NR + 1) / 2)] : "none" }'
}

step_ms() { # NAME=VALUE... [--under-profiler]
	local profiler=
	if [ "${!#}" = --under-profiler ]; then
		profiler=--under-profiler
		set -- "${@:1:$#-1}"
	fi
	env "$@" timeout 40 python3 "$here/train.py" eager 100 $profiler 2>/dev/null | sed -n 's/^step_ms=//p'
}

sample_ms() { # NAME=VALUE...: without PyTorch the whole of a sample
	local begin
	begin=$(date +%s%N)
	env "$@" timeout 40 "$(sample_program launch_bound)" --steps 20 >/dev/null 2>&1 || return
	echo $((($(date +%s%N) - begin) / 1000000))
}

# (c) what recording costs: alternating runs of each, medians.
part_c() {
	local once=step_ms what="one step of train.py, ms" mode results=
	local -i round
	[ $HAS_TORCH = yes ] || { once=sample_ms what="launch_bound --steps 20 as a whole, ms"; }
	[ -n "$VARIANT" ] || [ $HAS_TORCH = yes ] || { row c overhead "FAILED: neither PyTorch nor a sample runs"; return 1; }
	mkdir -p "$WORK/c"
	local traced=("LD_PRELOAD=$shim" "GPUTRACE_OUT=$WORK/c")
	for ((round = 0; round < 7; round++)); do
		# At least five rounds are wanted; what is left of the time decides about more.
		[ "$(date +%s)" -lt $((PART_END - (round >= 5 ? 40 : 0))) ] || break
		[ $IS_SIMULATED$round != yes5 ] || break
		$once A=1 >>"$WORK/c.off"
		$once "${traced[@]}" GPUTRACE_GPU=off GPUTRACE_STACKS=off >>"$WORK/c.host"
		$once "${traced[@]}" GPUTRACE_STACKS=off >>"$WORK/c.cupti"
		$once "${traced[@]}" >>"$WORK/c.stacks"
		[ $HAS_TORCH = no ] || $once A=1 --under-profiler >>"$WORK/c.profiler"
		rm -f "$WORK"/c/*
	done
	for mode in off host cupti stacks profiler; do
		[ -s "$WORK/c.$mode" ] || continue
		results="$results${results:+ / }$mode $(median <"$WORK/c.$mode")"
	done
	row c "$what, medians of $round" "${results:-FAILED: no run gave a time}"
	[ $HAS_TORCH = yes ] || row c "next to torch.profiler" "skipped: no torch with a GPU"
	[ -n "$results" ]
}

# (d) which driver call each runtime call made.
part_d() {
	local folder trace dumps=()
	for folder in "$WORK"/a/train_loop--steps12 "$WORK"/a/launch_bound--steps30--cured "$WORK"/b/eager "$WORK"/b/graph; do
		trace=$(trace_of "$folder")
		[ -n "$trace" ] || continue
		"$gputrace" dump --format tsv "$trace" >"$folder/dump.tsv" && dumps+=("$folder/dump.tsv")
	done
	[ ${#dumps[@]} -gt 0 ] || { row d "driver calls" "skipped: nothing of parts a and b ran"; return; }
	python3 "$here/driver_calls.py" "${dumps[@]}" >"$WORK/pairs.txt" ||
		{ row d "driver calls" "FAILED: $(tail -n 1 "$WORK/pairs.txt")"; return 1; }
	while IFS=$'\t' read -r runtime driver; do
		row d "$runtime" "$driver"
	done <"$WORK/pairs.txt"
}

# (e) attainable rates, next to the knowledge base's figures.
part_e() {
	local size=(256 8192)
	[ $IS_SIMULATED = no ] || size=(16 1024)
	if ! timeout 25 "$build/gpu-check/gpu_rates" "${size[@]}" >"$WORK/rates.txt" 2>&1; then
		row e "attainable rates" "FAILED: $(tail -n 1 "$WORK/rates.txt")"
		return 1
	fi
	"$gputrace" info "$(trace_of "$WORK/a/train_loop--steps12")" >"$WORK/info.txt" 2>/dev/null
	python3 "$here/compare_rates.py" "$WORK/rates.txt" "$here/../../viewer/knowledge/gpus.tsv" "$WORK/info.txt" \
		>"$WORK/compared.txt" || { row e "attainable rates" "FAILED: $(tail -n 1 "$WORK/compared.txt")"; return 1; }
	while IFS=$'\t' read -r what result; do
		row e "$what" "$result"
	done <"$WORK/compared.txt"
}

# Where no trace names one: that of the libraries which run.sh put on the path, or the toolkit's.
some_cupti() {
	local folders candidate
	IFS=: read -r -a folders <<<"$LD_LIBRARY_PATH"
	for candidate in ${GPUTRACE_CUPTI:+"$GPUTRACE_CUPTI"} "${folders[@]/%//libcupti.so.1[0-9]}" \
		/usr/local/cuda/extras/CUPTI/lib64/libcupti.so; do
		candidate=$(compgen -G "$candidate" | head -n 1)
		[ -n "$candidate" ] && { echo "$candidate"; return; }
	done
	echo libcupti.so
}

# (f) what facts/cupti-nccl-nvtx.md leaves open.
part_f() {
	local library probe
	local -A names=([exit]="8 what is recorded of work in atexit of Python" [nvtx]="9 ranges of libnvToolsExt (NVTX v2)")
	library=$("$gputrace" info "$(trace_of "$WORK/a/train_loop--steps12")" 2>/dev/null |
		sed -n 's/^ *gpu_times\.library *//p')
	[ -n "$library" ] || library=$(some_cupti)
	while read -r number probe what; do
		late f "$what" && continue
		row f "$number $what" "$(timeout 20 "$build/gpu-check/cupti_probe" "$probe" "$library" 2>&1 | tail -n 1)"
	done <<'PROBES'
1 correlation correlation numbers without callbacks
2 callback cost of callbacks and of external numbers
3 layout fields of records at our offsets
4 init whether cuptiSubscribe calls cuInit
5 memory memory records of mapped memory
7 growth memory taken by graphs under CUPTI
PROBES
	row f "6 sharing CUPTI with torch.profiler" "$("$gputrace" info "$(trace_of "$WORK/b/eager")" 2>/dev/null |
		sed -n 's/^ *gpu_times\.paused *//p' | grep . || echo "no torch.profiler took CUPTI in part b")"
	for probe in exit nvtx; do
		late f "$probe" && continue
		traced "$WORK/f/$probe" timeout 30 python3 "$here/probe_$probe.py" >"$WORK/out.txt" 2>&1 ||
			{ row f "${names[$probe]}" "no answer: $(tail -n 1 "$WORK/out.txt")"; continue; }
		"$gputrace" dump --format tsv "$(trace_of "$WORK/f/$probe")" >"$WORK/dump.tsv" 2>/dev/null
		case $probe in
		exit) row f "${names[exit]}" \
			"$(tail -n 1 "$WORK/out.txt"); recorded $(count_rows set) sets, GPU times of $(count_rows gpu_set)" ;;
		nvtx) row f "${names[nvtx]}" \
			"$(tail -n 1 "$WORK/out.txt"); recorded $(grep -c gputrace_probe_range "$WORK/dump.tsv")" ;;
		esac
	done
}

# Driver-level rows of a kind in the dump.
count_rows() { # KIND
	awk -F '\t' -v kind="# $1" '/^# / { is_it = $0 == kind; skip = 1; next } is_it && !skip { n++ } { skip = 0 }
		END { print n + 0 }' "$WORK/dump.tsv"
}
