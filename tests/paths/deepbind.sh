#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Libraries opened with RTLD_DEEPBIND: what is missed is named, and recorded by those who ask for it.
. "$(dirname "$0")/../shim/shim_lib.sh"

loader=$progs/prog_loader
nodeepbind=$build/lib/libgputrace-nodeepbind.so
plugin=$progs/libshim_plugin_13.so
export LD_LIBRARY_PATH=$progs/majors GPUTRACE_GPU=off

calls() { # STATUS: calls that this runtime answered
	count "$work/dump.txt" "memory\tapi=cudaMalloc\tstatus=$1\t"
}

# A session is there already; the plugin's calls are not in it, and the trace names them.
case_a_library_whose_calls_go_past_us_is_named() {
	same_with_and_without "$loader" plugins "$progs/libshim_plugin_12.so" deepbind "$plugin"
	grep -qx 'call 1013 look-up 1013' "$work/with.txt" || fail "the test itself: $(cat "$work/with.txt")"
	dump >"$work/dump.txt"
	[ "$(calls 1012)" -eq 2 ] && [ "$(calls 1013)" -eq 0 ] || fail "the calls of the other library only"
	has "$work/dump.txt" '^info\tcalls.past=libshim_plugin_13.so: cudaMalloc$' "the library and its function"
	has "$work/dump.txt" '^info\tlookups.past=libshim_plugin_13.so$' "and its look-ups"
	has_not "$work/dump.txt" '^info\tdlopen' "nothing was changed"
}

case_nothing_is_said_of_a_library_that_comes_by_us() {
	same_with_and_without "$loader" plugins "$progs/libshim_plugin_12.so" "$plugin"
	dump >"$work/dump.txt"
	[ "$(calls 1012)" -eq 2 ] && [ "$(calls 1013)" -eq 2 ] || fail "the calls of both libraries"
	has_not "$work/dump.txt" '^info\t(calls|lookups)\.past' "nobody is accused"
}

case_nothing_is_said_of_programs_as_they_are() {
	[ -x "$progs/prog_runtime" ] || skip "no simulated runtime"
	export LD_LIBRARY_PATH=$sim
	for command in "$progs/prog_runtime copy 2" "$progs/prog_driver dlsym" "$progs/prog_gemm"; do
		rm -f "$out"/*
		traced $command >/dev/null
		dump >"$work/dump.txt"
		has_not "$work/dump.txt" '^info\t(calls|lookups)\.past' "$command goes by us"
	done
}

case_who_asks_for_it_has_the_calls_recorded() {
	preload="$nodeepbind:$shim" same_with_and_without "$loader" plugins "$progs/libshim_plugin_12.so" deepbind "$plugin"
	grep -qx 'call 1013 look-up 1013' "$work/with.txt" || fail "its own runtime answers: $(cat "$work/with.txt")"
	dump >"$work/dump.txt"
	[ "$(calls 1012)" -eq 2 ] && [ "$(calls 1013)" -eq 2 ] || fail "the calls of both libraries"
	has_not "$work/dump.txt" '^info\t(calls|lookups)\.past' "nothing is missed"
	has "$work/dump.txt" '^info\tdlopen.deepbind_cleared=1$' "the trace says what was changed"
}

# The next dlopen takes RUNPATH, $ORIGIN and the namespace from its caller: it must see the real one.
case_the_callers_runpath_is_kept() {
	mkdir -p "$work/plugin/private"
	printf 'int inner(void) { return 31; }\n' |
		cc -shared -fPIC -x c - -o "$work/plugin/private/libinner.so" || skip "no compiler"
	cat >"$work/outer.c" <<-END
		#include <dlfcn.h>
		int plugin_call(void) {
			void *inner = dlopen("libinner.so", RTLD_NOW | RTLD_DEEPBIND);
			int (*function)(void) = 0;
			if (inner)
				*(void **)&function = dlsym(inner, "inner");
			return function ? function() : -1;
		}
		int plugin_look_up(void) { return dlopen("libinner.so", RTLD_NOW) ? 1 : 0; }
	END
	cc -shared -fPIC -O0 -D_GNU_SOURCE "$work/outer.c" -o "$work/plugin/libouter.so" \
		-Wl,--enable-new-dtags,-rpath,'$ORIGIN/private'
	for list in "$nodeepbind" "$nodeepbind:$shim" "$shim:$nodeepbind" "$progs/libshim_hook.so:$nodeepbind:$shim"; do
		preload=$list traced "$loader" plugins "$work/plugin/libouter.so" >"$work/with.txt"
		grep -qx 'call 31 look-up 1' "$work/with.txt" || fail "with $list: $(cat "$work/with.txt")"
	done
}

case_alone_it_changes_nothing_else() {
	for command in "bash -c true" "ls /" "$loader nothing" "$loader plugins $plugin"; do
		preload=$nodeepbind same_with_and_without $command
	done
	[ -z "$(ls "$out")" ] || fail "something was written"
}

case_it_asks_little_of_the_system() {
	readelf -dW "$nodeepbind" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' >"$work/needed.txt"
	[ "$(grep -vcE '^lib(dl\.so\.2|c\.so\.6)$' "$work/needed.txt")" -eq 0 ] || fail "needs $(cat "$work/needed.txt")"
	nm -D --undefined-only "$nodeepbind" | sed -n 's/.*@\(GLIBC_[0-9.]*\)$/\1/p' >"$work/versions.txt"
	[ "$(sort -uV "$work/versions.txt" <(echo GLIBC_2.17) | tail -n 1)" = GLIBC_2.17 ] || fail "a newer glibc"
	[ "$(nm -D --defined-only "$nodeepbind" | awk '{ print $3 }' | sort | tr '\n' ' ')" = \
		"dlopen gputrace_nodeepbind_count " ] || fail "other exports"
	objdump -d --no-show-raw-insn "$nodeepbind" >"$work/code"
	awk '/^[0-9a-f]+ <dlopen>:/ { on = 1 } on && !NF { exit } on' "$work/code" >"$work/stub.txt"
	grep -qE 'jmp +\*%rax|br +x16' "$work/stub.txt" || fail "no tail jump"
}

case_the_report_says_what_is_missed() {
	[ -x "$build/bin/gputrace-collector" ] && [ -x "$build/bin/gputrace" ] || skip "not built"
	GPUTRACE_OUT=$out LD_PRELOAD=$shim "$loader" plugins "$progs/libshim_plugin_12.so" deepbind "$plugin" >/dev/null
	"$build/bin/gputrace" report "$out"/*.gtrace >"$work/report.txt"
	has "$work/report.txt" 'GT913.*calls that went past' "the line"
	tr -s ' \n' '  ' <"$work/report.txt" >"$work/report-line.txt"
	has "$work/report-line.txt" 'libshim_plugin_13\.so: cudaMalloc' "the library"
	has "$work/report-line.txt" '--no-deepbind' "what to do"
}

shim_main "$@"
