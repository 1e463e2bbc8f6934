# SPDX-License-Identifier: Apache-2.0
# What the shim's test scripts share. A script defines case_NAME functions and ends in shim_main "$@";
# usage: SCRIPT BUILD_DIR CASE. A case fails by fail() or by any command that fails; it may skip.
set -euo pipefail

build=$(cd "$1" && pwd)
shim=$build/lib/libgputrace.so
sim=$build/simcuda
progs=$build/tests/shim-programs
work=$(mktemp -d "${TMPDIR:-/tmp}/gputrace-shim.XXXXXX")
out=$work/out
mkdir "$out"
trap 'rm -rf "$work"' EXIT
# Only what a case sets itself is in effect.
unset ${!GPUTRACE_@} ${!SIMCUDA_@} LD_PRELOAD CUDA_HOME CUDA_PATH
export LD_LIBRARY_PATH=$sim
export SIMCUDA_TIME_SCALE=0
# Who reads a dump needs the collector that writes it, however busy the machine is.
export GPUTRACE_START_MS=20000

fail() {
	for file in "$work"/*.txt "$out"/*; do
		[ -f "$file" ] && { echo "--- $file"; head -n 10 "$file"; tail -n 10 "$file"; } >&2
	done
	echo "FAILED: $*" >&2
	exit 1
}

skip() {
	echo "skipped: $*"
	exit 77
}

# Runs a command under the shim, with the test's own collector.
traced() {
	GPUTRACE_COLLECTOR=${GPUTRACE_COLLECTOR-$progs/ring_dump} GPUTRACE_OUT=$out \
		LD_PRELOAD=${preload-$shim} "$@"
}

# Dumps are written when the session ends, which after a kill is a little later than the process.
dumps() { # COUNT
	local tries=0
	while [ "$(find "$out" -name 'ring.*.txt' | wc -l)" -lt "$1" ] && [ $tries -lt 100 ]; do
		sleep 0.05
		tries=$((tries + 1))
	done
	[ "$(find "$out" -name 'ring.*.txt' | wc -l)" -eq "$1" ] ||
		fail "expected $1 sessions, found: $(ls "$out")"
}

dump() { # the only dump
	dumps 1
	cat "$out"/ring.*.txt
}

has() { # DUMP_FILE REGEX WHAT
	grep -qP -- "$2" "$1" || fail "$3 (no line matches: $2)"
}

has_not() {
	! grep -qP -- "$2" "$1" || fail "$3 (a line matches: $2)"
}

count() { # FILE REGEX
	grep -cP -- "$2" "$1" || true
}

# The output of a program with and without the shim is the same, exit code included.
same_with_and_without() {
	local plain=0 with=0
	"$@" >"$work/plain.txt" 2>"$work/plain-err.txt" || plain=$?
	traced "$@" >"$work/with.txt" 2>"$work/with-err.txt" || with=$?
	# The shell's own words about a killed child.
	sed -i '/^.*: line [0-9]*: *[0-9]* \(Killed\|Aborted\)/d' "$work/plain-err.txt" "$work/with-err.txt"
	[ $plain -eq $with ] || fail "exit code $with under the shim, $plain without: $*"
	cmp -s "$work/plain.txt" "$work/with.txt" || fail "standard output differs: $*"
	cmp -s "$work/plain-err.txt" "$work/with-err.txt" || fail "standard error differs: $*"
}

# Records and the simulated driver's own log say the same: every call, size, address and name.
matches_log() { # DUMP LOG
	awk -F '\t' '
		function get(key,   i) {
			for (i = 1; i <= NF; i++)
				if (index($i, key "=") == 1)
					return substr($i, length(key) + 2)
			return ""
		}
		$1 ~ /^(copy|set|launch|memory|sync|call)$/ {
			api = get("api"); status = get("status")
			if ($1 == "copy")
				print "copy", api, status, get("bytes"), get("dst"), get("src"),
					get("stream"), get("direction")
			else if ($1 == "set")
				print "set", api, status, get("bytes"), get("dst"), get("stream")
			else if ($1 == "launch" && get("kernel") != "-")
				print "launch", api, status, get("kernel"), get("grid"),
					get("block"), get("shared"), get("stream")
			else if ($1 == "memory" && get("op") == "alloc")
				print "alloc", api, status, get("bytes"), status == 0 ? get("address") : "-"
			else if ($1 == "memory")
				print "free", api, status, get("address")
			else if ($1 == "sync")
				print "sync", api, status
		}' "$1" | sort >"$work/records.txt"
	awk -F '\t' '
		function get(key,   i) {
			for (i = 5; i <= NF; i++)
				if (index($i, key "=") == 1)
					return substr($i, length(key) + 2)
			return ""
		}
		$1 == "call" || $1 == "rt" {
			api = $4; status = $5
			sub(/_pt[ds][sz]$/, "", api)
			if (api ~ /Memcpy/)
				print "copy", api, status, get("bytes"), get("dst"), get("src"),
					get("stream") == "" ? "0x0" : get("stream"), get("direction")
			else if (api ~ /[mM]emset/)
				print "set", api, status, get("bytes"), get("dst"),
					get("stream") == "" ? "0x0" : get("stream")
			else if (api ~ /LaunchKernel/)
				print "launch", api, status, get("name"), get("grid"), get("block"),
					get("shared"), get("stream")
			else if (api ~ /MemAlloc|cudaMalloc|HostAlloc|HostRegister/)
				print "alloc", api, status, get("bytes"), status == 0 ? get("address") : "-"
			else if (api ~ /MemFree|cudaFree|HostUnregister/)
				print "free", api, status, get("address")
			else if (api ~ /Synchronize/)
				print "sync", api, status
		}' "$2" | sort >"$work/log.txt"
	[ -s "$work/log.txt" ] || fail "the simulated driver logged nothing"
	cmp -s "$work/records.txt" "$work/log.txt" || {
		diff "$work/records.txt" "$work/log.txt" | head -20 >&2
		fail "records and the driver's log differ"
	}
	# What the GPU did, with the same durations.
	awk -F '\t' '
		function get(key,   i) {
			for (i = 1; i <= NF; i++)
				if (index($i, key "=") == 1)
					return substr($i, length(key) + 2)
			return ""
		}
		$1 == "gpu_kernel" { print "kernel", get("duration_ns"), get("kernel") }
		$1 == "gpu_copy" { print "copy", get("duration_ns"), get("bytes"), get("direction") }
		$1 == "gpu_set" { print "set", get("duration_ns"), get("bytes") }' "$1" |
		sort >"$work/gpu-records.txt"
	awk -F '\t' '
		function get(key,   i) {
			for (i = 6; i <= NF; i++)
				if (index($i, key "=") == 1)
					return substr($i, length(key) + 2)
			return ""
		}
		$1 == "gpu" {
			# Numbers of 19 digits: only their last 15 fit a double exactly.
			duration = substr($5, 5) - substr($4, 5)
			if ($3 == "kernel") print "kernel", duration, get("name")
			else if ($3 == "copy") print "copy", duration, get("bytes"), get("direction")
			else if ($3 == "set") print "set", duration, get("bytes")
		}' "$2" | sort >"$work/gpu-log.txt"
	cmp -s "$work/gpu-records.txt" "$work/gpu-log.txt" || {
		diff "$work/gpu-records.txt" "$work/gpu-log.txt" | head -20 >&2
		fail "GPU records and the driver's log differ"
	}
}

shim_main() {
	local case=${2:?usage: SCRIPT BUILD_DIR CASE}
	[ -f "$shim" ] || fail "$shim is not built"
	"case_$case"
	echo "ok: $case"
}
