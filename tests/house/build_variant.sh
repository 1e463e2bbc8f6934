#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: build_variant.sh SOURCE BUILD PRESET [unit]
# Builds with another preset in BUILD/variants/PRESET; with `unit` only what the unit tests need, which
# then run there. Left out is what another compiler or a sanitizer says nothing of: libunwind, which is
# not ours, what nvcc compiles, and manuals. Other tests run meanwhile: building makes way for them.
set -u -o pipefail
source=$1 build=$2/variants/$3 preset=$3 label=${4:-}
mkdir -p "$build"

options=(-DGPUTRACE_LIBUNWIND=OFF -DGPUTRACE_NVCC=OFF -DGPUTRACE_PANDOC=OFF)
if [ -n "$label" ]; then
	# The shim is compiled into its tests, and without sanitizers elsewhere.
	options+=("-DGPUTRACE_PARTS=collector;viewer;tests"
		"-DGPUTRACE_TEST_FOLDERS=^(unit/|simcuda\$|sites\$)")
	target=(--target gputrace_unit_tests)
else
	# clang warns the same without optimization, in half the time; nothing of it runs.
	options+=("-DGPUTRACE_PARTS=collector;shim;viewer;tests"
		-DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-O0 -DCMAKE_CXX_FLAGS_DEBUG=-O0)
	target=()
fi
(cd "$source" && cmake --preset "$preset" -B "$build" "${options[@]}") >"$build/configure.log" 2>&1 ||
	{ tail -n 30 "$build/configure.log"; exit 1; }
nice -n 19 cmake --build "$build" --parallel "$(nproc)" "${target[@]}" >"$build/build.log" 2>&1 ||
	{ grep -vE '^\[[0-9]+/[0-9]+\]' "$build/build.log" | head -n 60; exit 1; }
echo "built with preset $preset"
[ -n "$label" ] || exit 0
ctest --test-dir "$build" --label-regex "^$label\$" --no-tests=error --output-on-failure --timeout 300 \
	--repeat until-pass:2 \
	-j $((($(nproc) + 1) / 2)) </dev/null | grep -v ' Start '
