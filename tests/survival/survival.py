#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: survival.py BUILD CASE | survival.py --list

One case of the survival suite: a job is killed, starved, stopped or badly housed while it is traced.
Its result must be what it is without the shim, its time within the bound that the table states, and
what it recorded in the file or counted as lost. A row per case goes to BUILD/tests/survival-table."""
import sys

import survival_kills
import survival_places
import survival_storage
import survival_totals
from survival_run import Case, Failure, Skip

MODULES = (survival_kills, survival_storage, survival_places, survival_totals)
CASES = {function.__name__: function for module in MODULES for function in module.CASES}


def main():
    if sys.argv[1:] == ["--list"]:
        print(*CASES, sep="\n")
        return 0
    build, name = sys.argv[1:]
    case = Case(build, name)
    try:
        CASES[name](case)
    except Skip as reason:
        case.skip(str(reason))
    except Failure as failure:
        print(f"FAILED: {failure}; see {case.work}", file=sys.stderr)
        return 1
    case.finish()
    return 0


if __name__ == "__main__":
    sys.exit(main())
