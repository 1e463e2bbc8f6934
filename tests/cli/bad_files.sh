#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: bad_files.sh BUILD NAME
# What is no trace gets one sentence and exit code 4 from every command; what is a damaged trace is
# read as far as it goes. Nothing crashes.
. "$(dirname "$0")/cli.sh" "$1" "$2"
need_program "$samples/train_loop"
export GPUTRACE_CUPTI=$build/simcuda/libcupti.so.13
SIMCUDA_TIME_SCALE=0 record traces "$samples/train_loop" --steps 100 >/dev/null || fail "cannot record"
good=$(trace_in traces) || exit 1
bytes=$(stat -c %s "$good")

commands=("info" "info --json" "dump" "dump --format tsv" "report" "report --json"
	"gate --max step_time_ms=1000")

# unreadable FILE WORD...: every command refuses it in one sentence that has all the words.
unreadable() {
	local file=$1 command word
	shift
	for command in "${commands[@]}"; do
		expect_exit 4 "$gputrace" $command "$file"
		[ ! -s out.txt ] || fail "$command prints something on standard output for $file"
		[ "$(wc -l <err.txt)" = 1 ] || { cat err.txt >&2; fail "$command: not one sentence for $file"; }
		for word in "$@"; do
			grep -q -- "$word" err.txt || { cat err.txt >&2; fail "$command does not say \"$word\""; }
		done
	done
	sed "s/^/  /" err.txt
}

# u16 and u32 of little-endian bytes, written in place.
poke() {
	printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

echo "foreign:"
unreadable missing.gtrace missing.gtrace
: >empty.gtrace
unreadable empty.gtrace empty.gtrace
echo "This is a letter, not a trace, and long enough to have a head of sixty-four bytes." >text.gtrace
unreadable text.gtrace text.gtrace
head -c 100000 /bin/ls >elf.gtrace
unreadable elf.gtrace elf.gtrace
head -c 100000 /dev/zero >zeros.gtrace
unreadable zeros.gtrace zeros.gtrace
mkdir nothing
unreadable nothing nothing
gzip -c "$good" >packed.gtrace
unreadable packed.gtrace packed.gtrace

echo "damaged beyond use:"
head -c 40 "$good" >cut40.gtrace
unreadable cut40.gtrace cut40.gtrace
cp "$good" newer.gtrace
python3 "$here/set_version.py" newer.gtrace 3 || fail "cannot change the version"
unreadable newer.gtrace newer.gtrace version
cp "$good" head.gtrace
poke head.gtrace 20 '\377'
unreadable head.gtrace head.gtrace

echo "cut short, and still read:"
launches_of() {
	"$gputrace" dump --format tsv --kind launch "$1" | wc -l
}
all=$(launches_of "$good")
before=0
for percent in 30 60 90; do
	head -c $((bytes * percent / 100)) "$good" >"cut$percent.gtrace"
	expect_exit 0 "$gputrace" info "cut$percent.gtrace"
	grep -q "ending *exited" out.txt && fail "a file cut at $percent % claims to be whole"
	launches=$(launches_of "cut$percent.gtrace")
	echo "  $percent %: $((launches - 2)) of $((all - 2)) launches, $(grep "host complete" out.txt | tr -s ' ')"
	[ $launches -ge $before ] && [ $launches -le $all ] || fail "a longer file has less"
	before=$launches
	expect_exit 0 "$gputrace" dump --format tsv "cut$percent.gtrace"
	expect_exit 0 "$gputrace" report "cut$percent.gtrace"
done

echo "one byte changed, in 30 places of a small file:"
SIMCUDA_TIME_SCALE=0 record small "$samples/sync_in_loop" --steps 12 >/dev/null || fail "cannot record"
good=$(trace_in small) || exit 1
bytes=$(stat -c %s "$good")
for i in $(seq 0 29); do
	cp "$good" flipped.gtrace
	poke flipped.gtrace $((64 + (bytes - 65) * i / 29)) "\\$(printf %03o $((i * 37 % 256)))"
	for command in "${commands[@]}"; do
		"$gputrace" $command flipped.gtrace >out.txt 2>err.txt
		status=$?
		case $status in
		0 | 1 | 3) ;;
		4) [ "$(wc -l <err.txt)" = 1 ] || { cat err.txt >&2; fail "place $i: not one sentence"; } ;;
		*) cat err.txt >&2; fail "place $i: $command ends with $status" ;;
		esac
	done
done
