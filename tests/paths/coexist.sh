#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Beside everything else that is preloaded, forked, executed or protected.
. "$(dirname "$0")/../shim/shim_lib.sh"

paths=$build/tests/path-programs
runtime=$progs/prog_runtime

need_runtime() {
	[ -x "$runtime" ] || skip "no simulated runtime"
}

# With an allocator before and behind the shim.
with_allocator() { # NAME
	need_runtime
	local library=$(ldconfig -p | sed -n "s|^.*=> \(.*/$1\.so[.0-9]*\)\$|\1|p" | head -n 1)
	[ -n "$library" ] || skip "$1 is not installed"
	for list in "$library:$shim" "$shim:$library"; do
		rm -f "$out"/*
		preload=$list same_with_and_without "$runtime" copy 3
		dump >"$work/dump.txt"
		[ "$(count "$work/dump.txt" '^copy\tapi=cudaMemcpy')" -ge 3 ] || fail "no copies with $list"
	done
}
case_jemalloc_works_in_both_orders() { with_allocator libjemalloc; }
case_tcmalloc_works_in_both_orders() { with_allocator libtcmalloc_minimal; }
case_mimalloc_works_in_both_orders() { with_allocator libmimalloc; }

case_lists_with_colons_and_spaces_are_kept() {
	need_runtime
	for list in "$progs/libshim_named_a.so:$shim" "$progs/libshim_named_a.so $shim" "$shim::$progs/libshim_named_a.so" " $shim "; do
		rm -f "$out"/*
		preload=$list same_with_and_without "$runtime" copy 3
		dumps 1
	done
	preload="$progs/libshim_named_a.so $shim" traced env >"$work/env.txt"
	has "$work/env.txt" "^LD_PRELOAD=$progs/libshim_named_a.so $shim\$" "the list is the user's"
}

# ld.so drops a path from the list of a program with more rights; the program runs as if there were none.
case_a_program_with_more_rights_is_left_alone() {
	need_runtime
	[ "$(id -u)" = 0 ] && command -v setpriv >/dev/null || skip "needs root and setpriv"
	chmod 755 "$work"
	chmod 777 "$out"
	cat >"$work/program.c" <<-END
		#include <stdio.h>
		#include <string.h>
		int main(void) {
			char line[4096];
			FILE *maps = fopen("/proc/self/maps", "r");
			while (maps && fgets(line, sizeof(line), maps))
				if (strstr(line, "libgputrace.so"))
					return 8;
			return maps ? 7 : 6;
		}
	END
	cc "$work/program.c" -o "$work/protected" || skip "no compiler"
	cp "$shim" "$work/libgputrace.so"
	chmod 755 "$work/libgputrace.so"
	for mode in 755:8 4755:7; do
		local rc=0
		chmod ${mode%:*} "$work/protected"
		preload=$work/libgputrace.so traced setpriv --reuid 65534 --regid 65534 --clear-groups \
			"$work/protected" >"$work/with.txt" 2>&1 || rc=$?
		[ $rc -eq ${mode#*:} ] || fail "exit code $rc of a program with mode ${mode%:*}"
		[ ! -s "$work/with.txt" ] || [ $rc -eq 7 ] || fail "it said something"
	done
	[ -z "$(ls "$out")" ] || fail "something was written"
}

# A child of 32 bits cannot load us; it runs, and says no more than ld.so says of any such library.
case_a_child_of_32_bits_runs() {
	printf 'int main(void) { return 5; }\n' >"$work/small.c"
	cc -m32 "$work/small.c" -o "$work/small" 2>"$work/compiler.txt" || skip "cannot compile for 32 bits"
	local rc=0
	traced bash -c "'$work/small'; exit \$?" >"$work/with.txt" 2>"$work/err.txt" || rc=$?
	[ $rc -eq 5 ] || fail "exit code $rc"
	[ ! -s "$work/with.txt" ] || fail "standard output: $(cat "$work/with.txt")"
	[ -z "$(grep -v 'ld\.so: .*wrong ELF class: ELFCLASS64' "$work/err.txt")" ] || fail "not only ld.so's words"
	[ -z "$(ls "$out")" ] || fail "something was written"
}

# As in conda: libraries of names that the shim links statically belong to the program.
case_private_libraries_stay_the_programs_own() {
	mkdir "$work/private"
	printf 'unsigned ZSTD_versionNumber(void) { return 99; }\n' |
		cc -shared -fPIC -x c - -o "$work/private/libzstd.so.1" -Wl,-soname,libzstd.so.1 || skip "no compiler"
	printf 'int own(void) { return 42; }\n' |
		cc -shared -fPIC -x c - -o "$work/private/libstdc++.so.6" -Wl,-soname,libstdc++.so.6
	cat >"$work/program.c" <<-END
		#include <stdio.h>
		int own(void); unsigned ZSTD_versionNumber(void); int cudaMalloc(void **, unsigned long);
		int main(void) {
			void *p = 0;
			int status = cudaMalloc(&p, 100);
			printf("%d %d %u\n", status, own(), ZSTD_versionNumber());
			return 0;
		}
	END
	cc "$work/program.c" -o "$work/program" "$work/private/libzstd.so.1" "$work/private/libstdc++.so.6" \
		"$paths/lib/libcudart.so.13"
	export LD_LIBRARY_PATH=$work/private:$paths/lib
	# Also where the collector is a thread of the program, with its own zstd linked in.
	for collector in "$progs/ring_dump" none; do
		rm -f "$out"/*
		GPUTRACE_COLLECTOR=$collector same_with_and_without "$work/program"
		grep -qx '0 42 99' "$work/with.txt" || fail "the program's own libraries: $(cat "$work/with.txt")"
		# The job does not wait for a collector that only dumps its ring.
		for _ in $(seq 100); do
			[ -z "$(ls "$out")" ] || break
			sleep 0.05
		done
		[ -n "$(ls "$out")" ] || fail "nothing was recorded"
	done
}

# A thousand children that call, end, become another program or are killed anywhere.
case_a_thousand_forks_execs_and_kills_end() {
	export LD_LIBRARY_PATH=$paths/lib GPUTRACE_GPU=off
	same_with_and_without timeout 100 "$paths/prog_rounds" 1000
	has "$work/with.txt" '^exit 10: 200$' "children that made a call"
	has "$work/with.txt" '^exit 1: 200$' "children that made a call and became another program"
	has "$work/with.txt" '^killed 200$' "children that were killed"
	# Each of those 400 that made a call and were not killed has a session, and so has the parent.
	local sessions=0 tries=0
	while [ $tries -lt 100 ]; do
		sessions=$(find "$out" -name 'ring.*.txt' | wc -l)
		[ $sessions -lt 401 ] || ! pgrep -f "ring_dump .*--out $out" >/dev/null || { sleep 0.1; tries=$((tries + 1)); continue; }
		[ $sessions -lt 401 ] || break
		sleep 0.1
		tries=$((tries + 1))
	done
	[ $sessions -ge 401 ] && [ $sessions -le 601 ] || fail "$sessions sessions of 601 processes that made calls"
	# 200 of them made calls until they were killed, some before the first.
	[ "$(cat "$out"/ring.*.txt | grep -cP '^end.*\tbad=0\t')" -eq $sessions ] || fail "a broken record"
	cat "$work/with.txt"
	echo "sessions recorded: $sessions, without a broken record: $sessions"
}

shim_main "$@"
