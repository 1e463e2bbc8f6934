#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every function of the installed CUDA headers is wrapped by a row of shim/api, or left out for a reason.

The headers are read as the compiler sees them. Exceptions stand in a table: a regular expression for the
whole name, and why. An exception that no function needs is wrong too, and so is one for a wrapped function.
"""
import argparse
import pathlib
import re
import subprocess
import sys

HEADERS = [
    # header, what comes before it, names, where CUDA installs it or not
    ("cuda.h", "#define __CUDA_API_VERSION_INTERNAL\n", r"cu[A-Z]\w+"),
    ("cuda_runtime_api.h", "", r"cuda[A-Z]\w+"),
    ("cuda_profiler_api.h", "", r"cuda[A-Z]\w+"),
    ("cudaProfiler.h", "", r"cu[A-Z]\w+"),
    ("cublas_v2.h", "", r"cublas[A-Z]\w+"),
    ("cublasLt.h", "", r"cublasLt[A-Z]\w+"),
    ("nccl.h", "", r"nccl[A-Z]\w+"),
    ("cudnn.h", "", r"cudnn[A-Z]\w+"),
]


def declared(compiler, include, header, before, names):
    """Functions that the header declares, without what is only a type or a call within it."""
    text = subprocess.run([compiler, "-E", "-P", "-I", include, "-x", "c", "-"], check=True, text=True,
                          input=f"{before}#include <{header}>\n", capture_output=True).stdout
    text = re.sub(r"\s+", " ", text)
    found = set()
    # A declaration or definition begins after ; or } and has a type before its name.
    for match in re.finditer(r"(?:^|[;{}])\s*([^;{}()=]*?(?:__attribute__\s*\(\([^;{}]*?\)\)\s*)*[^;{}()=]*?)\b("
                             + names + r")\s*\(", text):
        if "typedef" not in match.group(1) and "return" not in match.group(1):
            found.add(match.group(2))
    return found


def wrapped(api, compiler):
    """Names of all rows, twins included, from the program of tests/shim that prints the exports."""
    rows = set()
    for table in api.glob("*.def"):
        for kind, name in re.findall(r"^(WRAP\w*)\((?:BLAS_NAME\()?(\w+)", table.read_text(), re.M):
            rows.add(name)
            if "PTSZ" in kind:
                rows.add(name + "_ptsz")
            if "PTDS" in kind:
                rows.add(name + "_ptds")
            if table.name == "cublas.def":
                rows.add(name + "_64")
    rows |= {"cuGetProcAddress", "cuGetProcAddress_v2"}
    return rows


def read_exceptions(path):
    rules = []
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            pattern, reason = line.split("\t")
            rules.append((re.compile(pattern), reason))
    return rules


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiler", default="cc")
    parser.add_argument("--include", required=True)
    parser.add_argument("--api", type=pathlib.Path, required=True)
    parser.add_argument("--exceptions", type=pathlib.Path, required=True)
    options = parser.parse_args()
    rows = wrapped(options.api, options.compiler)
    rules = read_exceptions(options.exceptions)
    used, bad, total, covered = set(), [], 0, 0
    all_headers = True
    for header, before, names in HEADERS:
        if not (pathlib.Path(options.include) / header).exists():
            print(f"{header}: not installed, not compared")
            all_headers = False
            continue
        functions = declared(options.compiler, options.include, header, before, names)
        if not functions:
            bad.append(f"{header}: no function was found")
        with_row = 0
        for name in sorted(functions):
            matching = [index for index, rule in enumerate(rules) if rule[0].fullmatch(name)]
            used.update(matching)
            with_row += name in rows
            if name in rows and matching:
                bad.append(f"{header}: {name} is wrapped and an exception: {rules[matching[0]][0].pattern}")
            if name not in rows and not matching:
                bad.append(f"{header}: {name} is in no row of shim/api and no exception")
        print(f"{header}: {len(functions)} functions, {with_row} wrapped, {len(functions) - with_row} exceptions")
        total += len(functions)
        covered += with_row
    # With headers missing an exception may be for what they declare.
    for index, (pattern, _) in enumerate(rules):
        if all_headers and index not in used:
            bad.append(f"{options.exceptions.name}: no function is called {pattern.pattern}")
    print("\n".join(bad))
    print(f"{total} functions, {covered} wrapped")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
