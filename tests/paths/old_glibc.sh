#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# In a Debian 11 with glibc 2.31: the libraries and programs that were built here load and record there, and
# programs behave as without them. The system is made by debootstrap once and kept in the build folder
# (350 MB); programs are compiled against its libc. One case, in the suite `slow`: GPUTRACE_SLOW=1.
slow=${GPUTRACE_SLOW-} mirror=${GPUTRACE_DEBIAN_MIRROR:-http://deb.debian.org/debian} # before they are unset
. "$(dirname "$0")/../shim/shim_lib.sh"

system=$build/debian-11
source=$(cd "$(dirname "$0")/../shim" && pwd)
keys=/usr/share/keyrings/debian-archive-keyring.gpg

make_system() {
	[ "$(id -u)" = 0 ] || skip "debootstrap needs root"
	command -v debootstrap >/dev/null || skip "debootstrap is not installed"
	unshare -m true 2>/dev/null || skip "no right to a mount namespace"
	[ ! -e "$system/complete" ] || return 0
	[ -n "$slow" ] || skip "made only in the suite slow (GPUTRACE_SLOW=1)"
	timeout 20 bash -c "exec 3<>/dev/tcp/$(sed 's|^[a-z]*://\([^/:]*\).*|\1|' <<<"$mirror")/80" 2>/dev/null ||
		skip "no way to $mirror"
	rm -rf "$system.new"
	timeout --kill-after=10 840 debootstrap --variant=minbase --include=libc6-dev $([ ! -e "$keys" ] || echo --keyring=$keys) \
		bullseye "$system.new" "$mirror" >"$work/debootstrap.txt" 2>&1 ||
		skip "debootstrap did not make it: $(tail -n 1 "$work/debootstrap.txt")"
	touch "$system.new/complete"
	mv "$system.new" "$system"
}

# With /proc and /dev of this system, in a mount namespace that ends with the command.
inside() { # COMMAND...
	unshare -m bash -c 'mount --rbind /proc "$0/proc" && mount --rbind /dev "$0/dev" || exit 99
		exec chroot "$0" "$@"' "$system" "$@"
}

compile() { # OUTPUT SOURCE OPTION...
	local output=$1 file=$2
	shift 2
	# The compiler looks for libraries of its own system first, whatever the sysroot: by name, then.
	local machine=$(cc -print-multiarch)
	cc --sysroot="$system" -B"$system/usr/lib/$machine" -D_GNU_SOURCE -w -fno-stack-protector "$file" \
		-o "$root/$output" "$@" -nodefaultlibs -Wl,--allow-shlib-undefined,--as-needed \
		"$system/lib/$machine/libdl.so.2" "$system/lib/$machine/libpthread.so.0" \
		"$system/lib/$machine/libc.so.6" "$system/usr/lib/$machine/libc_nonshared.a" -lgcc
}

prepare() {
	root=$system/gputrace
	rm -rf "$root"
	mkdir -p "$root/lib" "$root/bin" "$root/traces"
	cp "$shim" "$build/lib/libgputrace-nodeepbind.so" "$root/lib/"
	cp "$build/bin/gputrace-collector" "$root/bin/"
	echo 'libcudart.so.13 { global: cuda*; local: *; };' >"$work/runtime.map"
	compile lib/libcudart.so.13 "$source/lib_fake_cudart.c" -shared -fPIC -DMAJOR=13 \
		-Wl,-soname,libcudart.so.13,--version-script="$work/runtime.map"
	compile lib/libplugin.so "$source/lib_plugin.c" -shared -fPIC "$root/lib/libcudart.so.13"
	compile bin/prog_loader "$source/prog_loader.c" -rdynamic
	compile bin/prog_opened "$source/../paths/prog_opened.c"
	cat >"$root/recorded" <<-'END'
		#!/bin/bash
		export LD_LIBRARY_PATH=/gputrace/lib GPUTRACE_OUT=/gputrace/traces GPUTRACE_GPU=off
		LD_PRELOAD=/gputrace/lib/libgputrace.so exec "$@"
	END
	cat >"$root/plain" <<-'END'
		#!/bin/bash
		export LD_LIBRARY_PATH=/gputrace/lib
		exec "$@"
	END
	chmod +x "$root/recorded" "$root/plain"
}

# Standard output, standard error and exit code are the same, with and without.
same_inside() {
	local plain=0 with=0
	inside /gputrace/plain "$@" >"$work/plain.txt" 2>"$work/plain-err.txt" || plain=$?
	inside /gputrace/recorded "$@" >"$work/with.txt" 2>"$work/with-err.txt" || with=$?
	[ $plain -eq $with ] || fail "exit code $with, $plain without: $*"
	cmp -s "$work/plain.txt" "$work/with.txt" || fail "standard output differs: $*"
	cmp -s "$work/plain-err.txt" "$work/with-err.txt" || fail "standard error differs: $*: $(cat "$work/with-err.txt")"
}

case_everything_loads_and_records_with_glibc_2_31() {
	[ -x "$build/bin/gputrace-collector" ] && [ -x "$build/bin/gputrace" ] || skip "no collector or no viewer"
	make_system
	prepare
	inside ldd --version | sed -n 1p >"$work/version.txt"
	has "$work/version.txt" ' 2\.31$' "the system's glibc"
	# Programs without CUDA, and their exit codes.
	for command in true false "ls /" "cat /etc/debian_version" "bash -c 'exit 7'" "perl -e '\$p=fork; sleep 9 unless \$p; kill 9,\$p; wait; exit(\$?&127)'" "perl -e 'exit 3'"; do
		same_inside bash -c "$command"
	done
	[ -z "$(ls "$root/traces")" ] || fail "litter: $(ls "$root/traces")"
	# A program with CUDA, recorded by the collector's own process.
	same_inside /gputrace/bin/prog_loader plugins /gputrace/lib/libplugin.so
	grep -qx 'call 1013 look-up 1013' "$work/with.txt" || fail "$(cat "$work/with.txt")"
	expect_trace 2 process
	# A child that was forked inside a call: two sessions.
	same_inside /gputrace/bin/prog_opened fork-leave
	[ "$(ls "$root/traces" | wc -l)" -eq 2 ] || fail "$(ls "$root/traces")"
	rm -f "$root/traces"/*
	# The thread that takes the collector's place is linked into the shim.
	same_inside env GPUTRACE_COLLECTOR=none /gputrace/bin/prog_loader plugins /gputrace/lib/libplugin.so
	expect_trace 2 thread
	# And the library that takes RTLD_DEEPBIND away.
	inside /gputrace/plain env LD_PRELOAD=/gputrace/lib/libgputrace-nodeepbind.so:/gputrace/lib/libgputrace.so \
		GPUTRACE_OUT=/gputrace/traces GPUTRACE_GPU=off \
		/gputrace/bin/prog_loader plugins deepbind /gputrace/lib/libplugin.so >/dev/null
	expect_trace 2 process
}

expect_trace() { # CALLS MODE
	local file=("$root/traces"/*.gtrace)
	[ ${#file[@]} -eq 1 ] && [ -e "${file[0]}" ] || fail "one trace: $(ls "$root/traces")"
	"$build/bin/gputrace" check "${file[0]}" >"$work/check.txt" 2>&1 || fail "$(cat "$work/check.txt")"
	"$build/bin/gputrace" dump --format tsv --kind memory "${file[0]}" >"$work/memory.txt"
	[ "$(grep -c cudaMalloc "$work/memory.txt")" -eq "$1" ] || fail "calls: $(cat "$work/memory.txt")"
	"$build/bin/gputrace" info --json "${file[0]}" >"$work/info.txt"
	has "$work/info.txt" "\"collector.mode\": *\"$2" "who collected"
	rm -f "$root/traces"/*
}

shim_main "$@"
