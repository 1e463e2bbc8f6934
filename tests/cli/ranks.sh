#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: ranks.sh BUILD NAME CASE [VARIANT]: several ranks from the launcher to the report over all
# their files.
case=$3 variant=${4-driver}
. "$(dirname "$0")/cli.sh" "$1" "$2"
sample=exposed_allreduce
[[ "$case" = train* ]] && sample=train_loop
program=$(program_of $sample $variant)
need_program "$program"
export GPUTRACE_CUPTI=$build/simcuda/libcupti.so.13
export SIMCUDA_NCCL_DIRECTORY=$work/node
# The bytes are really summed, which a slow host does slower than NVLink does in the model.
export SIMCUDA_NCCL_GBS=0.5
mkdir -p "$work/node"
if [ "$case" = bound ]; then
	make_machine two-sockets
else
	export SIMCUDA_GPUS=4
fi

# What starts the job, for instance a binding of its CPUs.
launcher=()

# run FOLDER OPTION...: in a session of its own, so that a case can end all of it.
run() {
	local folder=$1
	shift
	mkdir -p "$folder"
	setsid "${launcher[@]}" "$gputrace" record -o "$folder" -- "$program" "$@" >"$folder.txt" 2>&1 &
	job=$!
}

report() {
	"$gputrace" report --json "$1" >"$1.json" || fail "report of $1 gave $?"
	"$gputrace" report --html "$1.html" "$1" >"$1.report.txt" || fail "text report of $1 gave $?"
	python3 "$here/check_ranks.py" "$case" "$1.json" "$1.report.txt" "$1.html"
}

# The work completes on the wall clock, so other programs on the same cores can spoil a run.
try_three_times() {
	local attempt
	for attempt in 1 2 3; do
		rm -rf traces*
		"$@" && return 0
	done
	fail "$case is not reported as it was, see $work"
}

finished() {
	run traces "$@"
	wait "$job" || fail "the job gave $?: $(cat traces.txt)"
	report traces
}

stopped() {
	run traces --ranks 4 --hang-rank 3 --hang-step 6
	sleep 5
	kill -KILL -- "-$job"
	wait "$job" 2>/dev/null
	sleep 0.5
	report traces
}

# What the finding promises is what its cure gains.
gained() {
	local folder
	for folder in traces traces.cured; do
		case $folder in *cured) run $folder --ranks 2 --cured ;; *) run $folder --ranks 2 ;; esac
		wait "$job" || fail "the job gave $?: $(cat $folder.txt)"
		"$gputrace" report --json $folder >$folder.json || fail "report of $folder gave $?"
	done
	python3 "$here/check_ranks.py" gain traces.json traces.cured.json
}

# One rank dies; the launcher's other ranks wait for it until they are ended too.
killed() {
	run traces --ranks 4 --steps 2000
	sleep 2
	local victim
	victim=$(pgrep -P "$(pgrep -P "$job" | head -1)" | head -1)
	[ -n "$victim" ] || victim=$(pgrep -P "$job" | head -1)
	kill -KILL "$victim"
	sleep 1
	kill -KILL -- "-$job"
	wait "$job" 2>/dev/null
	sleep 0.5
	report traces
}

# Exposed is 5 % of a step of the cured twin and 16 % of one without the cure; the rule asks for 10.
train=(--ranks 4 --steps 12 --features 2 --layers 6 --gradients 3072)
case $case in
two) try_three_times finished --ranks 2 ;;
four) try_three_times finished --ranks 4 --steps 12 --words 512 ;;
cured) try_three_times finished --ranks 2 --cured ;;
four_cured) try_three_times finished --ranks 4 --steps 12 --words 512 --cured ;;
bound)
	launcher=(taskset -c "$(python3 -c 'import os; print(min(os.sched_getaffinity(0)))')")
	try_three_times finished --ranks 4 --steps 12
	;;
accumulating) try_three_times finished --ranks 2 --micro-batches 2 --steps 12 ;;
gain) try_three_times gained ;;
train) try_three_times finished "${train[@]}" ;;
train_cured) try_three_times finished "${train[@]}" --cured ;;
late) try_three_times finished --ranks 4 --steps 12 --slow-rank 3 --slow-ms 90 ;;
stopped) try_three_times stopped ;;
killed) try_three_times killed ;;
*) fail "unknown case $case" ;;
esac
echo "$case: as it was"
