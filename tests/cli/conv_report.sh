#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: conv_report.sh BUILD NAME
# A convolution is one operation with its shape, from cuDNN's call to the finding; its cured twin is silent.
. "$(dirname "$0")/cli.sh" "$1" "$2"
program=$build/tests/cli-programs/prog_conv_steps
[ -x "$program" ] || skip "no simulated cuDNN"

record odd "$program" 34 >/dev/null || fail "exit code $?"
"$gputrace" report "$(trace_in odd)" >odd.txt || fail "report gave $?"
tr -s ' \n' ' ' <odd.txt >odd.line
for what in 'GT201 unpadded Tensor Core shape' \
	'34 input channels are aligned to 4 bytes only \(fp16\)' \
	'n=64 c=34 k=256 56x56 filter 3x3 fp16, channels last, forward' \
	'in main .*cudnnConvolution' 'Make 34 channels 40' 'compute: convolutions'; do
	grep -qE -- "$what" odd.line || { cat odd.txt >&2; fail "the report does not say: $what"; }
done
[ "$("$gputrace" dump --kind conv "$(trace_in odd)" | grep -c '^conv ')" = 90 ] || fail "not 90 convolutions"

record even "$program" 40 >/dev/null || fail "exit code $?"
"$gputrace" report "$(trace_in even)" >even.txt || fail "report gave $?"
! grep -qE '^ *[0-9]+\. GT201' even.txt || { cat even.txt >&2; fail "the cured twin is blamed"; }

# What curing it brings lies in the range that was announced, in the convolutions' part of the step.
part() { sed -nE 's/^ *compute: convolutions +([0-9.]+) ms.*/\1/p' "$1"; }
range=$(sed -nE 's/.*GT201 .*gain up to ([0-9.]+) to ([0-9.]+) ms.*/\1 \2/p' odd.txt)
awk -v odd="$(part odd.txt)" -v even="$(part even.txt)" -v range="$range" 'BEGIN {
	split(range, bound, " "); gain = odd - even
	exit !(bound[2] > 0 && gain >= bound[1] - 0.01 && gain <= bound[2] + 0.01)
}' || fail "announced $range ms, gained $(part odd.txt) - $(part even.txt)"
