#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: build_variant.sh SOURCE BUILD PRESET [CTEST_LABEL]
# Builds with another preset in BUILD/variants/PRESET and, given a label, runs those tests there.
# libunwind is left out: it takes half a minute, and is not ours to check.
set -u -o pipefail
source=$1 build=$2/variants/$3 preset=$3 label=${4:-}
mkdir -p "$build"

options=(-DGPUTRACE_LIBUNWIND=OFF "-DGPUTRACE_PARTS=collector;shim;viewer;tests")
[ -n "$label" ] && options+=("-DGPUTRACE_TEST_FOLDERS=^(unit/|simcuda\$|sites\$)")
(cd "$source" && cmake --preset "$preset" -B "$build" "${options[@]}") >"$build/configure.log" 2>&1 ||
	{ tail -n 30 "$build/configure.log"; exit 1; }
cmake --build "$build" --parallel "$(nproc)" >"$build/build.log" 2>&1 ||
	{ grep -vE '^\[[0-9]+/[0-9]+\]' "$build/build.log" | head -n 60; exit 1; }
echo "built with preset $preset"
[ -n "$label" ] || exit 0
ctest --test-dir "$build" --label-regex "^$label\$" --no-tests=error --output-on-failure --timeout 300 \
	--repeat until-pass:2 \
	-j "$(nproc)" </dev/null | grep -v ' Start '
