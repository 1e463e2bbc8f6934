#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: conv_report.sh BUILD NAME
# A convolution is one operation with its shape, from cuDNN's call to the finding's words. The numbers
# and the cured twin are report.sh's.
. "$(dirname "$0")/cli.sh" "$1" "$2"
program=$(program_of unpadded_conv shared)
need_program "$program"
export GPUTRACE_CUPTI=$build/simcuda/libcupti.so.13

record odd "$program" >/dev/null || fail "exit code $?"
"$gputrace" report "$(trace_in odd)" >odd.txt || fail "report gave $?"
tr -s ' \n' ' ' <odd.txt >odd.line
for what in 'GT201 unpadded Tensor Core shape' \
	'34 input channels are aligned to 4 bytes only \(fp16\)' \
	'n=256 c=34 k=256 56x56 filter 3x3 fp16, channels last, forward' \
	'in conv_step .*cudnnConvolution' 'Make 34 channels 40' 'compute: convolutions'; do
	grep -qE -- "$what" odd.line || { cat odd.txt >&2; fail "the report does not say: $what"; }
done
[ "$("$gputrace" dump --kind conv "$(trace_in odd)" | grep -c '^conv ')" = 90 ] || fail "not 90 convolutions"

# Without a usable cuDNN the sample ends with a sentence, and its exit code is kept. A file that is no
# library stands first on the path, which hides a real cuDNN of this machine.
mkdir bare
for library in "$build"/simcuda/lib*.so*; do
	[[ $library = *libcudnn* ]] || ln -s "$library" bare/
done
for version in 8 9; do echo "no library" >bare/libcudnn.so.$version; done
LD_LIBRARY_PATH=$work/bare record none "$program" >/dev/null 2>none.txt
code=$?
[ $code = 1 ] || fail "exit code $code without cuDNN"
grep -q 'this sample needs cuDNN 8 or 9' none.txt || { cat none.txt >&2; fail "no word of the missing cuDNN"; }
