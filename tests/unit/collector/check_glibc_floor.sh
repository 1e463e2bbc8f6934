#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_glibc_floor.sh PROGRAM: it needs nothing newer than GLIBC_2.17 and only glibc's own libraries.
set -eu
program=$1
versions=$(objdump -T "$program" | grep -o 'GLIBC_[0-9.]*' | sort -Vu)
newest=$(printf '%s\nGLIBC_2.17\n' "$versions" | sort -V | tail -n 1)
if [ "$newest" != GLIBC_2.17 ]; then
	echo "$program needs $newest:"
	objdump -T "$program" | grep -F "$newest"
	exit 1
fi
needed=$(readelf -d "$program" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
for library in $needed; do
	case $library in
	libc.so.6 | libdl.so.2 | libpthread.so.0 | ld-linux-*) ;;
	*)
		echo "$program needs $library"
		exit 1
		;;
	esac
done
echo "$program: at most $(printf '%s\n' "$versions" | tail -n 1), needs" $needed
