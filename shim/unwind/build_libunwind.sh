#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the native unwinder: libunwind from the distribution's source package plus unwind_glue.c,
# as an archive of one object that exports the names of unwind_glue.h and hides all others.
#
# usage: build_libunwind.sh SOURCE_DIR WORK_DIR
# environment: CC, LD, AR, OBJCOPY, HOST (for a cross build), LIBUNWIND_TARBALL (instead of a download)
# Output: WORK_DIR/libunwind_engine.a. Everything that is downloaded stays in WORK_DIR; nothing of the
# system is changed and no privileges are needed.
set -eu

here=$1
work=$2
cc=${CC:-cc}
ld=${LD:-ld}
ar=${AR:-ar}
objcopy=${OBJCOPY:-objcopy}
mkdir -p "$work"
cd "$work"

# One source of packages, with binary packages turned into source packages, in a place of our own.
# The system's lists usually lack source packages, and adding them would need root.
apt_try() {
	list=$1
	rm -rf apt
	mkdir -p apt/lists/partial apt/cache/archives/partial apt/parts
	case $list in
	*.sources) sed 's/^Types:.*/Types: deb-src/' "$list" >apt/parts/source.sources ;;
	*) sed -n 's/^deb\(-src\)\{0,1\}[[:space:]]/deb-src /p' "$list" >apt/parts/source.list ;;
	esac
	set -- -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$work/apt/parts" \
		-o Dir::State::lists="$work/apt/lists" -o Dir::Cache="$work/apt/cache" \
		-o APT::Sandbox::User="$(id -un)" -o Acquire::Retries=1 \
		-o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20
	apt-get "$@" -qq update >>apt.log 2>&1 || return 1
	apt-get "$@" -qq source --download-only libunwind >>apt.log 2>&1 || return 1
	ls libunwind_*.orig.tar.* 2>/dev/null | grep -q 'tar\.[a-z0-9]*$'
}

fetch() {
	if [ -n "${LIBUNWIND_TARBALL:-}" ]; then
		cp "$LIBUNWIND_TARBALL" .
		return
	fi
	command -v apt-get >/dev/null 2>&1 || {
		echo "there is no apt-get; give -DGPUTRACE_LIBUNWIND_TARBALL=FILE" >&2
		return 1
	}
	for list in /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list.d/ubuntu.sources \
		/etc/apt/sources.list /etc/apt/sources.list.d/*.sources; do
		if [ -s "$list" ] && apt_try "$list"; then
			return 0
		fi
	done
	# Containers sometimes come without lists; Debian's own address serves every release.
	codename=$(. /etc/os-release && [ "$ID" = debian ] && echo "$VERSION_CODENAME") || return 1
	echo "deb http://deb.debian.org/debian $codename main" >debian.list
	apt_try debian.list
}

tarball() {
	ls libunwind_*.orig.tar.* libunwind-*.tar.* 2>/dev/null | grep 'tar\.[a-z0-9]*$' | head -n 1
}

: >apt.log
if [ -z "$(tarball)" ]; then
	fetch || {
		echo "the source package of libunwind could not be had; see $work/apt.log" >&2
		exit 1
	}
fi
rm -rf apt source
mkdir source
tar -xf "$(tarball)" -C source --strip-components=1
cd source

./configure ${HOST:+--host="$HOST"} CC="$cc" --disable-shared --enable-static --with-pic \
	--disable-minidebuginfo --disable-zlibdebuginfo --disable-block-signals \
	--disable-cxx-exceptions --disable-coredump --disable-ptrace --disable-setjmp \
	--disable-tests --disable-documentation --disable-debug-frame --disable-per-thread-cache \
	--disable-conservative-checks --disable-dependency-tracking >../configure.log 2>&1
# The adaptation is left out of configure, whose tests must see the plain C library.
make -C src -j2 libunwind.la \
	CFLAGS="-O2 -fPIC -fvisibility=hidden \
	-fno-stack-protector -DNDEBUG -w -include $here/unwind_adapt.h" >../make.log 2>&1

machine=$("$cc" -dumpmachine | sed 's/-.*//')
"$cc" -std=gnu11 -O2 -fPIC -fvisibility=hidden -fno-stack-protector -DNDEBUG -DHAVE_CONFIG_H -w \
	-include "$here/unwind_adapt.h" -I"$here" -Iinclude "-Iinclude/tdep-$machine" -Isrc \
	"-Isrc/$machine" -c "$here/unwind_glue.c" -o ../unwind_glue.o

cd ..
"$ld" -r -o unwind_all.o unwind_glue.o source/src/.libs/libunwind.a
"$objcopy" --keep-global-symbol=unwind_walk --keep-global-symbol=unwind_flush \
	--keep-global-symbol=unwind_engine unwind_all.o unwind_engine.o
"$ar" rcs libunwind_engine.a unwind_engine.o
rm -rf unwind_all.o unwind_glue.o unwind_engine.o source
