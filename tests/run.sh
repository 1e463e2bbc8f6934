#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds with warnings as errors and runs the tests. See --help.
set -u -o pipefail

repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$repository/build
jobs=$(nproc)
labels=()
list=no
install=yes
repeat=(--repeat until-pass:2)

usage() {
	cat <<-END
	usage: tests/run.sh [options] [-- more options for ctest]
	  --suite NAME     run only this suite (a ctest label); may be given again
	  --list           list suites and tests, run nothing
	  -j N             run N tests at once (here: $jobs)
	  --build-dir DIR  build there (default: build)
	  --no-install     fail rather than install packages
	  --once           no second try: without it a test that fails runs once more, and the
	                   end says which passed only then (a busy machine, or a race to find)
	One test: tests/run.sh -- -R NAME
	END
}

while [ $# -gt 0 ]; do
	case $1 in
	--suite) labels+=("${2:?--suite needs a name}"); shift ;;
	--list) list=yes ;;
	-j) jobs=${2:?-j needs a number}; shift ;;
	-j*) jobs=${1#-j} ;;
	--build-dir) mkdir -p "${2:?--build-dir needs a folder}"; build=$(cd "$2" && pwd); shift ;;
	--no-install) install=no ;;
	--once) repeat=() ;;
	--help | -h) usage; exit 0 ;;
	--) shift; break ;;
	*) usage >&2; exit 2 ;;
	esac
	shift
done

# What takes minutes and the network at its first run: made only where it was asked for.
[[ " ${labels[*]-} " != *" slow "* ]] || export GPUTRACE_SLOW=1

mkdir -p "$build"
. "$repository/tests/setup.sh"
if [ $install = yes ]; then
	{ setup_build_packages; setup_test_packages; } | setup_packages || exit 1
	setup_toolkit "$setup_test_wheels"
	# Only where it was asked for and there is something to compare.
	if [[ " ${labels[*]-} " == *" recordings "* ]] &&
		[ -d "${GPUTRACE_RECORDINGS:-$repository/../shared/data}" ]; then
		setup_hta
	fi
fi
setup_build ci -DGPUTRACE_TEST_FOLDERS= || exit 1

if [ $list = yes ]; then
	ctest --test-dir "$build" --print-labels | sed -n 's/^  */suite /p'
	ctest --test-dir "$build" --show-only | sed -n 's/^ *Test *#[0-9]*: /test  /p'
	exit 0
fi

select=()
if [ ${#labels[@]} -gt 0 ]; then
	select=(--label-regex "^($(IFS='|'; echo "${labels[*]}"))\$")
fi

# Passes ctest's lines on as they come, keeps back its summary, and says before it what was slow and what the
# suites have shown.
summary_last() {
	awk -v tables="python3 '$repository/tests/suite_tables.py' '$build'" '
	function name_of(text) {
		sub(/^.* Test +#[0-9]+: /, "", text)
		sub(/[ .].*/, "", text)
		return text
	}
	/tests passed,|^No tests were found/ { held = held $0 "\n"; in_summary = 1; next }
	in_summary { held = held $0 "\n"; next }
	{ print; fflush() }
	match($0, /[0-9.]+ sec$/) && $1 ~ /^[0-9]+\/[0-9]+$/ {
		seconds = substr($0, RSTART, RLENGTH - 4) + 0
		if (seconds >= 5)
			slow = slow sprintf("%8.1f s  %s\n", seconds, $4)
	}
	/ Test +#[0-9]+: .*\*\*\*/ { failed[name_of($0)] = 1 }
	/ Test +#[0-9]+: .* Passed / && name_of($0) in failed { again = again "  " name_of($0) "\n" }
	END {
		if (slow != "") {
			print "\nSlow tests (5 s and more):"
			printf "%s", slow | "sort -rn"
			close("sort -rn")
		}
		n = split(held, line, "\n")
		for (i = 1; i <= n; i++)
			if (line[i] !~ /tests passed,/)
				rest = rest line[i] "\n"
			else
				verdict = line[i]
		if (again != "")
			printf "\nFailed at first and passed when tried again:\n%s", again
		fflush()
		system(tables)
		gsub(/\n+$/, "", rest)
		print rest
		print verdict
	}'
}

rm -rf "$build"/tests/*-table
say "running the tests, $jobs at once"
ctest --test-dir "$build" --output-on-failure --no-tests=error --timeout 900 -j "$jobs" \
	"${repeat[@]}" "${select[@]}" "$@" </dev/null 2>&1 | summary_last
exit "${PIPESTATUS[0]}"
