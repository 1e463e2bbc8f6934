#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What libgputrace.so asks of the system that loads it, and what it exports. usage: BUILD_DIR CASE
. "$(dirname "$0")/shim_lib.sh"
export LC_ALL=C

case_needs_only_glibc() {
	readelf -dW "$shim" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort >"$work/needed.txt"
	printf '%s\n' libc.so.6 libdl.so.2 libpthread.so.0 | cmp -s - "$work/needed.txt" ||
		fail "DT_NEEDED: $(tr '\n' ' ' <"$work/needed.txt")"
}

case_needs_no_symbol_newer_than_glibc_2_17() {
	nm -D --undefined-only "$shim" | sed -n 's/.* U \(.*\)@\(GLIBC_[0-9.]*\)$/\2 \1/p' | sort -V >"$work/versions.txt"
	[ -s "$work/versions.txt" ] || fail "no versions found"
	newest=$(tail -n 1 "$work/versions.txt")
	[ "$(printf '%s\nGLIBC_2.17\n' "${newest% *}" | sort -V | tail -n 1)" = GLIBC_2.17 ] || fail "needs $newest"
	# Nothing undefined without a version either.
	! nm -D --undefined-only "$shim" | grep -v '@GLIBC' | grep ' U ' || fail "unversioned references"
}

case_uses_little_static_tls() {
	size=$(($(readelf -lW "$shim" | awk '$1 == "TLS" { print $6 }')))
	[ "$size" -gt 0 ] && [ "$size" -le 64 ] || fail "$size bytes of thread-local storage"
	! nm -D --undefined-only "$shim" | grep __tls_get_addr || fail "TLS is not initial-exec"
}

case_exports_what_the_tables_say() {
	nm -D --defined-only "$shim" | awk '$2 != "A" { print $3 }' | sort >"$work/exported.txt"
	"$progs/export_names" | sort >"$work/expected.txt"
	cmp -s "$work/exported.txt" "$work/expected.txt" ||
		fail "$(diff "$work/exported.txt" "$work/expected.txt" | head -n 20)"
}

case_dlsym_reaches_the_real_one_by_a_jump() {
	objdump -d --no-show-raw-insn "$shim" >"$work/code"
	code=$(awk '/^[0-9a-f]+ <dlsym>:/ { on = 1 } on && !NF { exit } on' "$work/code")
	case $code in
	*jmp*\*%rax* | *br*x16*) ;;
	*) fail "no tail jump: $code" ;;
	esac
	[ "$(grep -cE '\b(call|bl)\b' <<<"$code")" -eq 1 ] || fail "dlsym calls more than the classifier"
}

case_has_no_text_relocations_and_no_executable_stack() {
	! readelf -dW "$shim" | grep -q TEXTREL || fail "text relocations"
	readelf -lW "$shim" | grep GNU_STACK | grep -q 'RWE' && fail "executable stack"
	return 0
}

case_loads_into_a_foreign_program_without_cuda() {
	LD_LIBRARY_PATH= LD_PRELOAD=$shim LD_BIND_NOW=1 /bin/true || fail "does not load"
}

case_compiles_for_aarch64() {
	command -v aarch64-linux-gnu-gcc >/dev/null || skip "no cross compiler"
	local source=$(dirname "$0")/../../shim
	for file in "$source"/*.c; do
		aarch64-linux-gnu-gcc -fsyntax-only -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Wconversion -Werror \
			-I "$source/../collector" "$file" || fail "$file"
	done
	aarch64-linux-gnu-gcc -c "$source/dlsym_stub.S" -o "$work/stub.o"
	aarch64-linux-gnu-objdump -d "$work/stub.o" >"$work/stub-code.txt"
	has "$work/stub-code.txt" '\bbti\s+c$' "the stub is a landing pad"
	has "$work/stub-code.txt" '\bbr\s+x16$' "the stub ends in a jump"
}

shim_main "$@"
