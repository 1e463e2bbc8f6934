#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: cupti_soak.sh BUILD NAME
# Launches at 100,000 a second for 8 s, or GPUTRACE_SOAK_S: neither the program with the shim nor the
# collector grows after the first half (rings and tables do until then, and a busy machine may need one
# more buffer of 4 MiB), the file stays within its limit of 64 MiB and has its end, and what a ring
# could not take on a busy machine is counted. From 60 s on 95 % of the rate must be reached,
# and of launches no more than one in 100,000 be blocked for 1 ms. GPUTRACE_SOAK_RATE: another rate.
# Printed, and not judged, since other programs are on the same CPUs: how long launches took with the shim
# and without it (5 s), memory at the start, in the middle and at the end, what was lost by which reason.
soak_s=${GPUTRACE_SOAK_S:-8} rate=${GPUTRACE_SOAK_RATE:-100000}
. "$(dirname "$0")/cli.sh" "$1" "$2"
program=$build/tests/shim-programs/prog_launches
need_program "$program"
export SIMCUDA_TIME_SCALE=0 GPUTRACE_MAX_SIZE=64M

mkdir traces
record traces "$program" "$rate" "$soak_s" >program.txt &
pid=$!
# The collector is no child of ours: it is the one that writes here.
collector_of() {
	local process
	for process in /proc/[0-9]*; do
		[ "$process/exe" -ef "$build/bin/gputrace-collector" ] &&
			ls -l "$process/fd" 2>/dev/null | grep -q "$work/traces" && echo "$process"
	done
}
collector=
while kill -0 $pid 2>/dev/null; do
	[ -n "$collector" ] || collector=$(collector_of | head -n 1)
	[ -z "$collector" ] || awk '/^VmRSS/ { print $2 }' "$collector/status" 2>/dev/null
	sleep 0.5
done >collector.txt
wait $pid || fail "exit code $? of the program"
trace=$(trace_in traces) || exit 1

# growth FILE: most of the second half less the most of the first one, in KiB.
growth() {
	awk '{ kib[NR] = $1 } END {
		if (NR < 8) { print "few"; exit }
		for (i = 1; i <= NR; i++)
			if (i <= NR / 2) { if (kib[i] > first) first = kib[i] }
			else if (kib[i] > rest) rest = kib[i]
		print (rest > first ? rest - first : 0)
	}' "$1"
}
sed -n 's/.*resident_kib=//p' program.txt >own.txt
# over_time FILE: the first, the middle and the last line.
over_time() {
	awk '{ kib[NR] = $1 } END { print kib[1] ", " kib[int((NR + 1) / 2)] ", " kib[NR] }' "$1"
}
"$program" "$rate" 5 >plain.txt || fail "exit code $? without the shim"
# times FILE: of its launches.
times() {
	sed -n 's/^launched=.* wall_p50_us=\([0-9.]*\) wall_p999_us=[0-9.]* wall_p9999_us=\([0-9.]*\) wall_longest_us=\([0-9.]*\)/median \1, p99.99 \2, longest \3/p' "$1"
}
own=$(growth own.txt) collector=$(growth collector.txt)
launched=$(sed -n 's/^launched=\([0-9]*\).*/\1/p' program.txt)
"$gputrace" dump --kind loss --format tsv "$trace" >loss.tsv || fail "dump gave $?"
lost=$(awk -F '\t' 'NR > 2 { n += $3 } END { print n + 0 }' loss.tsv)
reached=$((launched / soak_s)) file_kib=$(($(stat -c %s "$trace") / 1024))
blocked=$(sed -n 's/^launched=.* blocked_over_1ms=\([0-9]*\).*/\1/p' program.txt)
"$gputrace" info "$trace" >info.txt || fail "info gave $?"
cat <<TABLE
soak: $launched launches in $soak_s s ($reached a second, asked for $rate); $(tail -n 1 program.txt)
launch by the wall clock, us, with the shim: $(times program.txt)
launch by the wall clock, us, without it:    $(times plain.txt)
program with shim, KiB at start, middle, end: $(over_time own.txt); grown by $own
collector, KiB at start, middle, end:         $(over_time collector.txt); grown by $collector
file, KiB: $file_kib; blocked for more than 1 ms: $blocked launches
lost and counted: $lost$(awk -F '\t' 'NR > 2 { printf ", %s", $0 }' loss.tsv | tr '\t' ' ')
TABLE
[ -n "$(times program.txt)" ] && [ -n "$(times plain.txt)" ] || fail "the program told no times"
[ "$own" != few ] && [ "$collector" != few ] || fail "too few samples of memory"
[ "$own" -le 6144 ] || fail "the program grew by $own KiB"
[ "$collector" -le 8192 ] || fail "the collector grew by $collector KiB"
[ "$file_kib" -le 67584 ] || fail "the file has $file_kib KiB"
grep -q 'ending  *exited' info.txt || fail "the file has no end"
[ "$soak_s" -lt 60 ] || [ $((reached * 100)) -ge $((rate * 95)) ] || fail "only $reached launches a second"
[ "$soak_s" -lt 60 ] || [ "$blocked" -le $((launched / 100000)) ] || fail "$blocked launches were blocked for 1 ms"
