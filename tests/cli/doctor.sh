#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: doctor.sh BUILD NAME: gputrace doctor on simulated machines, their captured files and the
# fat binaries that nvcc made.
. "$(dirname "$0")/cli.sh" "$1" "$2"
nvml=$build/simcuda/libnvidia-ml.so.1
unset VIRTUAL_ENV CONDA_PREFIX

# machine NAME: its tree in ./NAME
machine() {
	"$build/simcuda/sim_machine" "$here/../simcuda/machines/$1.tsv" "$work/$1" ||
		fail "the machine $1 could not be made"
}
# field EXPRESSION: of the document in out.txt
field() {
	python3 -c 'import json, sys; d = json.load(open("out.txt")); print(eval(sys.argv[1]))' "$1"
}
expect() {
	local got
	got=$(field "$1") || fail "no $1 in out.txt"
	[ "$got" = "$2" ] || fail "$1 is $got, not $2"
}

machine two-sockets
expect_exit 0 "$gputrace" doctor --root "$work/two-sockets" --nvml "$nvml" --json
expect 'd["schema"]' gputrace.doctor/1
expect 'd["simulated"]' True
expect 'd["driver"]' 580.65.06
expect '[n["cpus"] for n in d["numa_nodes"]]' "['0,2,4,6,8,10,12,14', '1,3,5,7,9,11,13,15']"
expect '[g["numa_node"] for g in d["gpus"]]' '[0, 0, 1, 1]'
expect 'list(d["gpus"][0]["paths"].values())' "['X', 'PIX', 'SYS', 'SYS']"
expect 'list(d["gpus"][2]["paths"].values())' "['SYS', 'SYS', 'X', 'NODE']"
expect 'd["gpus"][0]["link_slot"]' "{'gen': 5, 'width': 16}"
expect '(d["gpus"][0]["cc_major"], d["gpus"][0]["ecc_errors"])' '(9, 0)'
expect 'd["findings"]' '[]'

machine nvlink8
expect_exit 0 "$gputrace" doctor --root "$work/nvlink8" --nvml "$nvml"
grep -q 'GPU0    X      NV18   NV18   NV18   NV18' out.txt || fail "no NVLinks in the topology"
grep -q 'simulated' out.txt || fail "numbers of the simulated NVML are not labelled"

# Without NVML: what it would say is unknown, links are not.
machine downgraded
expect_exit 1 "$gputrace" doctor --root "$work/downgraded" --format json
expect '[(f["id"], f["subject"], f["verdict"]) for f in d["findings"]]' "[('GT106', 'GPU 0', 'fault')]"
expect '(d["gpus"][0]["power_mw"], d["gpus"][0]["link_now"]["width"])' '(None, 8)'
expect 'd["nvml_missing_because"]' "these files are of another machine"

# A copy of the files says the same as the files.
expect_exit 0 "$gputrace" doctor --root "$work/two-sockets" --capture "$work/copy"
for tree in two-sockets copy; do
	expect_exit 0 "$gputrace" doctor --root "$work/$tree"
	sed 1d out.txt >"$tree.txt"
done
cmp two-sockets.txt copy.txt || fail "the captured files say something else"

# No GPU, kernel messages, bad input.
mkdir empty
expect_exit 3 "$gputrace" doctor --root "$work/empty"
echo '[1.0] NVRM: Xid (PCI:0000:3b:00): 79, pid=7, GPU has fallen off the bus.' >dmesg.txt
expect_exit 1 "$gputrace" doctor --root "$work/empty" --dmesg dmesg.txt
grep -q 'Xid 79 on 0000:3b:00 \[fault\]' out.txt || fail "Xid 79 is not explained"
expect_exit 4 "$gputrace" doctor --root "$work/empty" --binary /nonexistent
[ "$(wc -l <err.txt)" = 1 ] || fail "a file that is not there is not refused with one sentence"
expect_exit 4 "$gputrace" doctor --root "$work/empty" --dmesg /nonexistent
expect_exit 2 "$gputrace" doctor --format xml
expect_exit 2 "$gputrace" doctor stray

# What nvcc made: sm_80, sm_90 and PTX for what is newer.
program=$samples/pageable_copy
readelf -S "$program" >sections.txt 2>&1
grep -q nv_fatbin sections.txt || skip "the rest needs nvcc"
expect_exit 0 "$gputrace" doctor --root "$work/empty" --binary "$program" --json
expect '[i["target"] for i in d["binaries"][0]["images"]]' "['sm_80', 'sm_90', 'compute_90']"
expect 'd["binaries"][0]["unreadable_parts"]' 0
nvcc=$(sed -n 's/^GPUTRACE_NVCC:[^=]*=//p' "$build/CMakeCache.txt")
echo '__global__ void k(float *p) { p[threadIdx.x] += 1; }' >k.cu
"$nvcc" -c k.cu -o k.o -gencode arch=compute_80,code=sm_80 \
	-gencode 'arch=compute_90a,code=[sm_90a,compute_90a]' || fail "nvcc failed"
expect_exit 0 "$gputrace" doctor --root "$work/two-sockets" --binary k.o --json
expect '[i["target"] for i in d["binaries"][0]["images"]]' "['sm_80', 'sm_90a', 'compute_90a']"
"$nvcc" -cubin -arch=sm_80 k.cu -o k.cubin &&
	"$nvcc" -rdc=true -gencode arch=compute_75,code=compute_75 -c k.cu -o rdc.o || fail "nvcc failed"
expect_exit 1 "$gputrace" doctor --root "$work/two-sockets" --binary k.cubin --json
expect '[f["id"] for f in d["findings"]]' "['GT702']"
expect_exit 0 "$gputrace" doctor --root "$work/two-sockets" --binary rdc.o --json
expect '[i["target"] for i in d["binaries"][0]["images"]]' "['compute_75']"
expect '[f["id"] for f in d["findings"]]' "['GT506']"
