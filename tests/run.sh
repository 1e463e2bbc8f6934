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

usage() {
	cat <<-END
	usage: tests/run.sh [options] [-- more options for ctest]
	  --suite NAME     run only this suite (a ctest label); may be given again
	  --list           list suites and tests, run nothing
	  -j N             run N tests at once (here: $jobs)
	  --build-dir DIR  build there (default: build)
	  --no-install     fail rather than install packages
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
	--help | -h) usage; exit 0 ;;
	--) shift; break ;;
	*) usage >&2; exit 2 ;;
	esac
	shift
done

export survival_table=$build/tests/survival-table
mkdir -p "$build"
rm -rf "$survival_table"
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

# Passes ctest's lines on as they come, keeps back its summary, and says before it what was slow, which events
# were compared and what was shown of each sample.
summary_last() {
	awk -v table="$build/tests/sites-table" -v cupti="$build/tests/cupti-table" -v hta_table="$build/tests/hta-table" \
		-v flags="python3 '$repository/tests/cli/flags_table.py' '$build/tests/flags-expected' '$build/tests/flags-table'" '
	# What was done to jobs and what became of them: a file per case of the survival suite.
	function print_survival(    command, row, fields, is_begun) {
		command = "cat " ENVIRON["survival_table"] "/* 2>/dev/null"
		while ((command | getline row) > 0) {
			split(row, fields, "\t")
			if (!is_begun++) {
				print "\nSurvival (in every row that passed the result of the job is unchanged):"
				printf "  %-31s%7s%10s%10s%10s%9s  %-13s%s\n", "case", "rounds", "written",
					"recovered", "lost", "slower", "bound", ""
			}
			printf "  %-31s%7s%10s%10s%10s%9s  %-13s%s\n", fields[1], fields[2], fields[3],
				fields[4], fields[5], fields[6], fields[7], fields[8]
		}
		close(command)
	}
	# Which Pythons saw how many events of each kind at the right line: a file per interpreter, written
	# by the tests named sites_shim.
	function print_sites(    command, line, fields, pair, count, i, titles, numbers, is_begun) {
		command = "cat " table "/* 2>/dev/null"
		while ((command | getline line) > 0) {
			count = split(line, fields, "\t")
			titles = numbers = ""
			for (i = 2; i <= count; i++) {
				split(fields[i], pair, "=")
				titles = titles sprintf("%10s", pair[1])
				numbers = numbers sprintf("%10s", pair[2])
			}
			if (!is_begun++) {
				print "\nEvents whose file, line and callers were as the interpreter said:"
				printf "  %-16s%s\n", "", titles
			}
			printf "  %-16s%s\n", fields[1], numbers
		}
		close(command)
	}
	# How long import and report take beside HTA: written by the test recordings_hta.
	function print_hta(    command, line, is_begun) {
		command = "cat " hta_table " 2>/dev/null"
		while ((command | getline line) > 0) {
			if (!is_begun++)
				print "\nImport and report beside HTA on the same file (time, peak memory; once each):"
			print "  " line
		}
		close(command)
	}
	/tests passed,|^No tests were found/ { held = held $0 "\n"; in_summary = 1; next }
	in_summary { held = held $0 "\n"; next }
	{ print; fflush() }
	match($0, /[0-9.]+ sec$/) && $1 ~ /^[0-9]+\/[0-9]+$/ {
		seconds = substr($0, RSTART, RLENGTH - 4) + 0
		if (seconds >= 5)
			slow = slow sprintf("%8.1f s  %s\n", seconds, $4)
	}
	# How many calls, waits and GPU intervals of each sample were as in the log, by version of CUPTI.
	function print_cupti(    command, line, fields, row, is_begun, last) {
		command = "cat " cupti "/* 2>/dev/null"
		while ((command | getline line) > 0) {
			split(line, fields, "\t")
			if (!is_begun++)
				print "\nEvents equal to the simulated driver\047s log, by layout of CUPTI (11.8 12.0 12.4 12.8 13.0):"
			if (fields[1] != last)
				printf "%s  %-48s", (is_begun > 1 ? "\n" : ""), fields[1]
			printf "%8s", fields[3]
			last = fields[1]
		}
		close(command)
		if (is_begun)
			print ""
	}
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
		print_sites()
		print_hta()
		print_cupti()
		fflush()
		system(flags) # nothing where none of these tests ran
		gsub(/\n+$/, "", rest)
		print_survival()
		print rest
		print verdict
	}'
}

rm -rf "$build/tests/sites-table" "$build/tests/flags-table" "$build/tests/hta-table" "$build/tests/cupti-table"
say "running the tests, $jobs at once"
ctest --test-dir "$build" --output-on-failure --no-tests=error --timeout 900 -j "$jobs" \
	"${select[@]}" "$@" </dev/null 2>&1 | summary_last
exit "${PIPESTATUS[0]}"
