# SPDX-License-Identifier: Apache-2.0
# Sourced by samples/demo.sh and tests/run.sh: installs what a bare Debian 12 machine lacks and finds
# a CUDA toolkit. Everything it does is said first; what is there already is left alone.
# Expects: $repository (the checkout), $build (the build folder).

setup_started=$SECONDS

say() {
	printf '[%3d s] %s\n' $((SECONDS - setup_started)) "$*"
}

stop() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

# Packages by what they are for. Every row: purpose, then package names.
setup_build_packages() {
	cat <<-END
	compile gputrace: build-essential cmake ninja-build pkg-config
	compress traces: libzstd-dev
	turn addresses into lines: libdw-dev
	read and write JSON: libyajl-dev
	read other tools' recordings: zlib1g-dev libsqlite3-dev
	END
}

setup_test_packages() {
	cat <<-END
	run unit tests: libcmocka-dev
	compare results: python3
	check traces with a second reader: zstd
	look into programs and kill them: binutils procps util-linux
	second compiler, formatter: clang clang-format
	check memory use: valgrind
	try an old glibc: debootstrap
	report memory through the real libc10: libtorch-dev
	try an interpreter whose frames are not read: pypy3
	preload other allocators: libjemalloc2 libtcmalloc-minimal4 libmimalloc2.0
	build and run for aarch64: gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user
	END
}

setup_as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		stop "this needs root to run: $* (or install sudo)"
	fi
}

setup_has_package() {
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Reads rows of packages on stdin and installs the missing ones in one go.
setup_packages() {
	local purpose packages package missing=() rows=()
	if ! command -v dpkg-query >/dev/null; then
		say "not a Debian system: assuming that compilers and libraries are installed"
		return
	fi
	while IFS=: read -r purpose packages; do
		for package in $packages; do
			setup_has_package "$package" && continue
			missing+=("$package")
			rows+=("$package (to $purpose)")
		done
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	say "installing with apt-get: ${rows[*]}"
	setup_as_root apt-get update -qq </dev/null || stop "apt-get update failed"
	setup_as_root env DEBIAN_FRONTEND=noninteractive \
		apt-get install -y -qq --no-install-recommends "${missing[@]}" </dev/null >"$build/apt.log" 2>&1 ||
		{ tail -n 20 "$build/apt.log" >&2; stop "apt-get install failed, see $build/apt.log"; }
}

# The CUDA toolkit: the headers that the simulated stack is generated from, and nvcc for the samples.
# Found in CUDA_HOME, CUDA_PATH, PATH or /usr/local/cuda; else the compiler and the headers are taken
# from the wheels that NVIDIA publishes on PyPI (115 MB), into build-toolkit/ of the checkout.
setup_wheels="nvidia-cuda-nvcc==13.0.* nvidia-cuda-crt==13.0.* nvidia-nvvm==13.0.* nvidia-cuda-runtime==13.0.* nvidia-cuda-cccl==13.0.* nvidia-cuda-cupti==13.0.* nvidia-cuda-profiler-api==13.0.*"
# The tests also compare with cuBLAS's headers, which come with all of cuBLAS (423 MB).
setup_test_wheels="nvidia-cublas>=13.0,<13.2 nvidia-nvtx==13.0.* nvidia-nvml-dev==13.0.*"

# The packages have no lib64 and no names to link with, where nvcc looks for both.
setup_toolkit_links() {
	local library
	ln -sfn lib "$1/lib64"
	for library in "$1"/lib/lib*.so.*; do
		ln -sf "${library##*/}" "${library%%.so.*}.so"
	done
}

# setup_toolkit [WHEELS]: more wheels for a machine that has no toolkit.
setup_toolkit() {
	local own=$repository/build-toolkit folder wheels=$setup_wheels${1:+ $1} wheel missing=no
	for folder in "${CUDA_HOME:-}" "${CUDA_PATH:-}" "$(dirname "$(dirname "$(command -v nvcc || echo /x/x)")")" \
		/usr/local/cuda; do
		if [ -n "$folder" ] && [ -x "$folder/bin/nvcc" ] && [ -f "$folder/include/cuda.h" ]; then
			export CUDA_HOME=$folder
			say "CUDA toolkit: $folder"
			return
		fi
	done
	export CUDA_HOME=$own/nvidia/cu13
	for wheel in $wheels; do
		grep -qxF -- "$wheel" "$own/fetched.txt" 2>/dev/null || missing=yes
	done
	if [ $missing = no ]; then
		say "CUDA toolkit: $CUDA_HOME, from PyPI"
		return
	fi
	echo "fetch the CUDA compiler from PyPI: python3 python3-pip" | setup_packages
	say "no CUDA toolkit here: fetching nvcc and headers from PyPI into build-toolkit/ (115 MB${1:+, and 423 MB of cuBLAS})"
	mkdir -p "$own"
	# shellcheck disable=SC2086 # a list of words
	if python3 -m pip install --quiet --no-deps --disable-pip-version-check --root-user-action=ignore --upgrade \
		--target "$own" $wheels </dev/null >"$build/pip.log" 2>&1; then
		setup_toolkit_links "$CUDA_HOME"
		printf '%s\n' $wheels >"$own/fetched.txt"
	else
		say "that did not work ($(tail -n 1 "$build/pip.log")); going on without CUDA headers"
		unset CUDA_HOME
	fi
}

# HolisticTraceAnalysis, whose numbers the suite `recordings` compares with, from PyPI into a virtual
# environment of the build folder. Without it the suite compares with what HTA said before.
setup_hta() {
	local folder=$build/hta
	[ -z "${GPUTRACE_HTA_PYTHON:-}" ] || return 0
	if [ ! -e "$folder/installed" ]; then
		echo "install Python programs: python3 python3-venv" | setup_packages
		say "fetching HolisticTraceAnalysis 0.5.0 from PyPI into ${folder##*/}/ of the build folder (one or two minutes, once)"
		if python3 -m venv "$folder" >"$build/hta.log" 2>&1 &&
			timeout 300 "$folder/bin/python" -m pip install --quiet --disable-pip-version-check \
				HolisticTraceAnalysis==0.5.0 </dev/null >>"$build/hta.log" 2>&1; then
			: >"$folder/installed"
		else
			say "that did not work ($(tail -n 1 "$build/hta.log")); comparing with HTA's numbers of before"
			return 0
		fi
	fi
	export GPUTRACE_HTA_PYTHON=$folder/bin/python
}

# What to build; empty: everything.
setup_targets=()

# setup_build PRESET [CMAKE_OPTION...]: configures and builds in $build. On a terminal the build tool
# shows its progress itself; elsewhere a line every ten seconds does.
setup_build() {
	local preset=$1 log=$build/build.log builder
	shift
	say "configuring (preset $preset) in $build"
	(cd "$repository" && cmake --preset "$preset" -B "$build" "$@") >"$build/configure.log" 2>&1 ||
		{ cat "$build/configure.log" >&2; stop "configuring failed"; }
	grep -E 'CUDA|nvcc|libunwind|WARNING' "$build/configure.log" | sed 's/^-- /        /'
	local build_command=(cmake --build "$build" --parallel "$(nproc)")
	[ ${#setup_targets[@]} -gt 0 ] && build_command+=(--target "${setup_targets[@]}")
	say "building with $(nproc) jobs"
	if [ -t 1 ]; then
		NINJA_STATUS='        [%f/%t] ' "${build_command[@]}" || stop "the build failed"
	else
		"${build_command[@]}" >"$log" 2>&1 </dev/null &
		builder=$!
		while sleep 1 && kill -0 $builder 2>/dev/null; do
			[ $(((SECONDS - setup_started) % 10)) = 0 ] && say "  $(tail -n 1 "$log" | cut -c1-90)"
		done
		wait $builder ||
			{ grep -vE '^\[[0-9]+/[0-9]+\]' "$log" | head -n 60 >&2; stop "the build failed, see $log"; }
	fi
	say "built"
}
