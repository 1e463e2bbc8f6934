#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: suite_tables.py BUILD

Prints what the tests of the run that has just ended left in BUILD/tests/*-table: a table per suite,
nothing for a suite that did not run. Every cell was written by a test after it had shown it.
"""
import subprocess
import sys
from pathlib import Path

# SIMCUDA_CUPTI_VERSION and the CUDA release whose layout it is.
CUPTI_LAYOUTS = {18: "11.8", 19: "12.0", 22: "12.4", 26: "12.8", 130000: "13.0"}
HERE = Path(__file__).resolve().parent


def rows(folder):
    """The fields of every line of every file of the folder, by file name."""
    for file in sorted(folder.iterdir()) if folder.is_dir() else []:
        for line in file.read_text(encoding="utf-8").splitlines():
            yield line.split("\t")


def print_sites(tables):
    """Which Pythons saw how many events of each kind at the right line."""
    for i, (python, *pairs) in enumerate(rows(tables / "sites-table")):
        names, numbers = zip(*(pair.split("=") for pair in pairs))
        if i == 0:
            print("\nEvents whose file, line and callers were as the interpreter said:")
            print(f"  {'':<16}" + "".join(f"{name:>10}" for name in names))
        print(f"  {python:<16}" + "".join(f"{number:>10}" for number in numbers))


def print_hta(tables):
    """How long import and report take beside HTA."""
    file = tables / "hta-table"
    if file.is_file():
        print("\nImport and report beside HTA on the same file (time, peak memory; once each):")
        for line in file.read_text(encoding="utf-8").splitlines():
            print(f"  {line}")


def print_cupti(tables):
    """How many calls, waits and GPU intervals of each sample were as in the log."""
    table = {}
    for sample, layout, equal in rows(tables / "cupti-table"):
        table.setdefault(sample, {})[int(layout)] = equal
    layouts = sorted({layout for cells in table.values() for layout in cells})
    if table:
        print("\nEvents equal to the simulated driver's log, by layout of CUPTI:")
        print(f"  {'':<48}" + "".join(f"{CUPTI_LAYOUTS.get(layout, layout):>8}" for layout in layouts))
    for sample, cells in table.items():
        print(f"  {sample:<48}" + "".join(f"{cells.get(layout, '-'):>8}" for layout in layouts))


def print_survival(tables):
    """What was done to jobs and what became of them."""
    line = "  {:<31}{:>7}{:>10}{:>10}{:>10}{:>9}  {:<13}{}"
    for i, fields in enumerate(rows(tables / "survival-table")):
        if i == 0:
            print("\nSurvival (in every row that passed the result of the job is unchanged):")
            print(line.format("case", "rounds", "written", "recovered", "lost", "slower", "bound", "")
                  .rstrip())
        print(line.format(*(fields + [""] * 8)[:8]).rstrip())


def print_paths(tables):
    """How many functions of each table were called by which ways, summed over row_coverage.py's list."""
    file = tables / "paths-rows-table"
    if not file.is_file():
        return
    ways, sums = ("linked", "dlsym", "lookup", "ctypes"), {}
    for line in file.read_text(encoding="utf-8").splitlines()[1:]:
        table, _, used, majors, calls, records = line.split("\t")
        row = sums.setdefault(table, {"functions": 0, "majors": set(), "calls": 0, "records": 0,
                                      **dict.fromkeys(ways, 0)})
        row["functions"] += 1
        row["majors"].update({majors} - {"-"})
        row["calls"] += int(calls)
        row["records"] += int(records)
        for way in set(used.split(",")) & set(ways):
            row[way] += 1
    print("\nWrapped functions that were called, by table and way; calls whose arguments, result and "
          "errno\nwere the same with the shim, and records that were the calls "
          f"(every function: {file}):")
    print(f"  {'':<10}{'functions':>10}" + "".join(f"{way:>8}" for way in ways) +
          f"  {'majors':<10}{'calls':>8}{'records':>9}")
    for table, row in sums.items():
        print(f"  {table:<10}{row['functions']:>10}" +
              "".join(f"{row[way] or '-':>8}" for way in ways) +
              f"  {' '.join(sorted(row['majors'])) or '-':<10}{row['calls']:>8}"
              f"{row['records'] or '-':>9}")


def main():
    tables = Path(sys.argv[1]) / "tests"
    print_sites(tables)
    print_hta(tables)
    print_cupti(tables)
    print_paths(tables)
    sys.stdout.flush()
    subprocess.run([sys.executable, HERE / "cli" / "flags_table.py", tables / "flags-expected",
                    tables / "flags-table"], check=False)
    print_survival(tables)


if __name__ == "__main__":
    main()
