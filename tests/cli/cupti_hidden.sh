#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: cupti_hidden.sh BUILD NAME
# A library with all of CUPTI in it and nothing of it to be seen, as one linked with the static CUPTI,
# takes the driver's records in the middle of a job: the job runs on, and the report counts the launches
# that have no time since. The same job without it is not doubted.
. "$(dirname "$0")/cli.sh" "$1" "$2"
tool=$build/tests/shim-programs/libtool_static.so
[ -e "$tool" ] || skip "no simulated CUPTI is built here"
command -v python3 >/dev/null || skip "no python3"
nm -D --defined-only "$tool" | grep -qi cupti && fail "the library shows its CUPTI"
export SIMCUDA_TIME_SCALE=0

cat >job.py <<'END'
import ctypes, sys, time
cuda = ctypes.CDLL("libcuda.so.1")
context, cost = ctypes.c_void_p(), (ctypes.c_double * 5)(2000)
cuda.simcuda_library_kernel.restype = ctypes.c_void_p
print(cuda.cuInit(0), cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), cuda.cuCtxSetCurrent(context))
function = ctypes.c_void_p(cuda.simcuda_library_kernel(b"some_kernel", cost))
def launch(times):
    print(sum(cuda.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, None, None, None) for _ in range(times)))
    print(cuda.cuCtxSynchronize())
launch(100)
time.sleep(0.3)  # what CUPTI has is fetched every 100 ms
if len(sys.argv) > 1:
    print(ctypes.CDLL(sys.argv[1]).tool_subscribe())
launch(50)
END

record alone python3 job.py >alone.txt || fail "exit code $? without the tool"
[ "$(tr '\n' ' ' <alone.txt)" = "0 0 0 0 0 0 0 " ] || fail "calls fail: $(cat alone.txt)"
"$gputrace" report "$(trace_in alone)" >report.txt || fail "report gave $?"
! grep -E 'GT902|GT915|GT916|GT917' report.txt || fail "a whole recording is doubted"

record hidden python3 job.py "$tool" >hidden.txt || fail "exit code $? with the tool"
[ "$(tr '\n' ' ' <hidden.txt)" = "0 0 0 0 0 0 0 0 " ] || fail "calls fail with the tool: $(cat hidden.txt)"
"$gputrace" report "$(trace_in hidden)" >report.txt || fail "report gave $?"
grep -qE 'GT917 .*: 50 of 150 launches have no GPU time.*none has after [0-9.]+ s\..*did not come' report.txt ||
	{ cat report.txt >&2; fail "the report does not count what has no time"; }
grep -q GT916 report.txt && fail "a hidden copy has been seen: this test does not show what it says"
exit 0
