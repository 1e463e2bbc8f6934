#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: row_coverage.py SOURCE BUILD

Every row of shim/api was called in this run by every way that there is for it: holds what the cases
of paths.sh and python.sh have left in BUILD/tests/paths-table against the rows as the compiler sees
them, and writes the whole list to BUILD/tests/paths-rows-table, from which suite_tables.py prints
its sums. A row without a test fails, and so does a table without one.
"""
import re
import subprocess
import sys
from pathlib import Path

MAJORS = ("11", "12", "13")
# The ways by which each row of a table has to be called, and in which majors (none: no nodes).
WANTED = {"driver": (("linked", "dlsym", "lookup"), ()), "nccl": (("linked", "dlsym"), ()),
          "cudart": (("linked", "dlsym"), MAJORS), "cublas": (("linked", "dlsym"), MAJORS),
          "cublaslt": (("linked", "dlsym"), MAJORS), "cudnn": (("linked", "dlsym"), MAJORS),
          "nvtx2": (("linked", "dlsym"), ()),
          "c10": (("linked", "dlsym"), ())}
# CUPTI's functions are answered, not passed on: a program that uses them is compared as a whole.
BY_PROGRAM = {"cupti": "tests/shim/prog_profiler.c"}


def read_rows(build):
    """{table: [name]} of the programs that are made from the tables."""
    rows = {}
    for program in ("prog_paths_13", "prog_paths_marks"):
        folder = build / "tests" / "path-programs"
        told = subprocess.run([folder / program, "rows"], check=True, text=True, capture_output=True,
                              env={"LD_LIBRARY_PATH": str(folder / "lib")}).stdout
        for line in told.splitlines():
            table, name = line.split("\t")
            rows.setdefault(table, []).append(name)
    return rows


def read_calls(folder):
    """{name: {(way, major): [calls, records]}} of all cases."""
    calls = {}
    for file in sorted(folder.iterdir()) if folder.is_dir() else []:
        for line in file.read_text(encoding="utf-8").splitlines():
            name, way, major, count, records = line.split("\t")
            cell = calls.setdefault(name, {}).setdefault((way, major), [0, 0])
            cell[0] += int(count)
            cell[1] += int(records)
    return calls


def tables_without_a_test(api, rows):
    """A table is known by its rows; what another table includes is a part of that one."""
    parts = set()
    for table in api.glob("*.def"):
        parts.update(re.findall(r'^#include "(\w+)\.def"', table.read_text(encoding="utf-8"), re.M))
    for table in sorted(api.glob("*.def")):
        if table.stem not in rows and table.stem not in parts and table.stem not in BY_PROGRAM:
            yield f"{table.name}: no program here is made from this table"


def rows_of_programs(source):
    for table, program in BY_PROGRAM.items():
        text = (source / program).read_text(encoding="utf-8")
        api = (source / "shim" / "api" / f"{table}.def").read_text(encoding="utf-8")
        for name in re.findall(rf"^{table.upper()}\((\w+),", api, re.M):
            if not re.search(rf"\b{name}\b", text):
                yield f"{name}: a row of {table}.def that {program} does not call"


def check_row(table, name, cells):
    ways, majors = WANTED[table]
    for way in ways:
        seen = {major for (used, major) in cells if used == way}
        missing = [m for m in majors if m not in seen] if seen else [""]
        for major in missing if majors or not seen else []:
            yield f"{name}: a row of {table}.def that was not called by {way}" + \
                (f" in CUDA {major}" if major else "")


def main():
    source, build = Path(sys.argv[1]), Path(sys.argv[2])
    rows, calls = read_rows(build), read_calls(build / "tests" / "paths-table")
    bad = list(tables_without_a_test(source / "shim" / "api", rows)) + list(rows_of_programs(source))
    lines = ["# table\tfunction\tways\tmajors\tcalls compared\trecords compared"]
    for table, names in rows.items():
        if table not in WANTED:
            bad.append(f"{table}.def: nothing says here by which ways its rows are to be called")
            continue
        for name in names:
            cells = calls.pop(name, {})
            bad += check_row(table, name, cells)
            majors = sorted({major for _, major in cells if major in WANTED[table][1]})
            lines.append("\t".join([table, name, ",".join(sorted({way for way, _ in cells})),
                                    ",".join(majors) or "-",
                                    str(sum(cell[0] for cell in cells.values())),
                                    str(sum(cell[1] for cell in cells.values()))]))
    bad += [f"{name}: called, and in no table" for name in sorted(calls)]
    (build / "tests" / "paths-rows-table").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(bad[:40]))
    print(f"{len(lines) - 1} functions, {len(bad)} problems")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
