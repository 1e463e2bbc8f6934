#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: flags_table.py EXPECTED FOLDER [--check]

Prints what `tests/run.sh --suite flags` showed: a line per sample and entry variant, from cells that
the tests themselves wrote to FOLDER when, and only when, they had shown it. EXPECTED names every cell
that there should be (tests/cli/CMakeLists.txt). With --check a cell that failed, was skipped or is
missing is an error; without it lines that no test has touched are left out.
"""
import sys
from pathlib import Path

# cells of the sample and of its cured twin, under one title
TITLES = [("finding, its number (cost per step)", ("finding",)),
          ("cured twin", ("twin",)),
          ("log lines equal", ("log", "log_twin")),
          ("live memory equal at", ("live", "live_twin"))]
NOT_SHOWN = ("FAILED", "skipped", "not run")


def read(expected_path, folder):
    """{(row, variant): {cell: text}} in the order of EXPECTED."""
    table = {}
    for name in Path(expected_path).read_text(encoding="utf-8").split("\n"):
        if name:
            row, variant, cell = name.split("@")
            file = Path(folder) / name
            text = file.read_text(encoding="utf-8").strip() if file.exists() else "not run"
            table.setdefault((row, variant), {})[cell] = text
    return table


def both(cells, names):
    """120 + 96 of sample and twin; what was not shown is said instead."""
    texts = [cells[name] for name in names if name in cells]
    for word in NOT_SHOWN:
        if word in texts:
            return word
    return " + ".join(texts) if texts else "-"


def print_table(table):
    """Several findings of a sample stand below each other."""
    order = {row: i for i, row in enumerate(dict.fromkeys(row for row, _ in table))}
    lines, last = [["sample", "entry", *(title for title, _ in TITLES)]], None
    for (row, variant), cells in sorted(table.items(), key=lambda item: order[item[0][0]]):
        finding, *told = [both(cells, names) for _, names in TITLES]
        told[2] += " states" if told[2][-1:].isdigit() else ""
        first, *others = finding.split("; ")
        lines.append(["" if row == last else row, variant, first, *told])
        lines += [["", "", other, "", "", ""] for other in others]
        last = row
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    for line in lines:
        print("  " + "  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())


def main():
    table = read(sys.argv[1], sys.argv[2])
    is_check = "--check" in sys.argv
    touched = {key: cells for key, cells in table.items()
               if is_check or any(text != "not run" for text in cells.values())}
    if not touched:
        return 1 if is_check else 0
    print("\nWhat was shown of each sample, entry by entry (times and rates are simulated):")
    print_table(touched)
    bad = [(key, cell, text) for key, cells in table.items() for cell, text in cells.items()
           if text in NOT_SHOWN]
    if is_check:
        for (row, variant), cell, text in bad:
            print(f"{row}, {variant}: {cell} {text}", file=sys.stderr)
        return 77 if bad and all(text == "skipped" for _, _, text in bad) else int(bool(bad))
    return 0


if __name__ == "__main__":
    sys.exit(main())
