#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds shim/cupti_abi.h, and the sizes of the simulated CUPTI's records, against the headers of CUPTI's releases.

usage: cupti_headers.py FOLDER CUDA_INCLUDE [CC]   prints one line per release; 77: there is no header to look at
The headers come from NVIDIA's wheels on PyPI (220 MB, of which headers are kept in FOLDER); nothing of them is in
this repository. Fetched only with GPUTRACE_SLOW=1 (the suite `slow`); else what FOLDER has is looked at.
A release names a record by the highest number that its own header declares; that is the one that it fills.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CU11, CU12, CU13 = "nvidia-cuda-cupti-cu11", "nvidia-cuda-cupti-cu12", "nvidia-cuda-cupti"
RELEASES = [(CU11, "11.8.87")] + [(CU12, version) for version in (
    "12.0.146", "12.1.105", "12.2.142", "12.3.101", "12.4.127", "12.5.82", "12.6.80", "12.8.90", "12.9.79")] + [
        (CU13, version) for version in ("13.0.85", "13.1.115", "13.2.86", "13.3.75", "13.4.92", "13.5.25")]
# Prints where the fields are; names of records are turned into those of the release.
PROGRAM = """#include <stdio.h>
#include <stddef.h>
#include <cupti.h>
%(renames)s
#include "cupti_abi.h"
#define CHECK(record, field, type, offset, header_struct, member) \\
	if (offsetof(header_struct, member) != (offset) || sizeof(((header_struct *)0)->member) != sizeof(type)) \\
		printf("differs\\t%%s.%%s\\t%%zu of %%zu bytes, here %%d of %%zu\\n", #record, #field, \\
			offsetof(header_struct, member), sizeof(((header_struct *)0)->member), (int)(offset), sizeof(type)); \\
	else \\
		printf("same\\t%%s.%%s\\n", #record, #field);
int main(void)
{
	CUPTI_FIELDS(CHECK)
%(sizes)s
	printf("version\\t%%d\\n", (int)CUPTI_API_VERSION);
	return 0;
}
"""


def headers_of(folder, package, version):
    """The include folder of a release, fetched unless it is there; None with a reason when it cannot be had."""
    include = folder / f"{package}-{version}" / "include"
    if include.exists():
        return include, None
    if not os.environ.get("GPUTRACE_SLOW"):
        return None, "only the suite slow fetches it (GPUTRACE_SLOW=1)"
    with tempfile.TemporaryDirectory() as fetched:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-cache-dir", "--only-binary",
                   ":all:", "-d", fetched, f"{package}=={version}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        wheels = list(pathlib.Path(fetched).glob("*.whl"))
        if done.returncode or not wheels:
            return None, (done.stderr.strip().splitlines() or ["pip gave nothing"])[-1]
        part = include.with_name("part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        with zipfile.ZipFile(wheels[0]) as wheel:
            for name in wheel.namelist():
                inside = re.search(r"/include/(.+\.h(?:pp)?)$", name)
                if inside and ".." not in name:
                    (part / inside[1]).parent.mkdir(parents=True, exist_ok=True)
                    (part / inside[1]).write_bytes(wheel.read(name))
        part.rename(include)
    return include, None


def newest_records(include):
    """Base name of a record -> the highest numbered name in the header that is not of deprecated ones."""
    newest = {}
    for base, number in re.findall(r"\}\s*(CUpti_Activity[A-Za-z]*?)(\d*)\s*;", (include / "cupti_activity.h").read_text()):
        newest[base] = max(newest.get(base, 0), int(number or 1))
    return {base: base + (str(number) if number > 1 else "") for base, number in newest.items()}


def simulated_sizes():
    """Kind -> [(since, bytes)], the newest first, of the simulated CUPTI."""
    text = (ROOT / "tests/simcuda/simcupti_record.c").read_text()
    sizes = {}
    for kind, since, size in re.findall(r"\{CUPTI_ACTIVITY_KIND_(\w+), (\d+), (\d+)\}", text):
        sizes.setdefault(kind, []).append((int(since), int(size)))
    return sizes


KIND_RECORDS = {"CONCURRENT_KERNEL": "Kernel", "MEMCPY": "Memcpy", "MEMCPY2": "MemcpyPtoP", "MEMSET": "Memset",
                "SYNCHRONIZATION": "Synchronization", "GRAPH_TRACE": "GraphTrace", "OVERHEAD": "Overhead",
                "UNIFIED_MEMORY_COUNTER": "UnifiedMemoryCounter", "MEMORY2": "Memory", "MEMORY_POOL": "MemoryPool",
                "RUNTIME": "API", "DRIVER": "API"}


def compile_and_run(compiler, include, cuda, newest, folder):
    used = sorted(set(re.findall(r"\bCUpti_Activity\w+", (ROOT / "shim/cupti_abi.h").read_text())))
    renames = []
    for name in used:
        base = name.rstrip("0123456789")
        if newest.get(base, name) != name:
            renames.append(f"#define {name} {newest[base]}")
    sizes = [f'\tprintf("size\\t{kind}\\t%zu\\n", sizeof({newest["CUpti_Activity" + record]}));'
             for kind, record in KIND_RECORDS.items()]
    source, program = folder / "fields.c", folder / "fields"
    source.write_text(PROGRAM % {"renames": "\n".join(renames), "sizes": "\n".join(sizes)})
    includes = [f"-I{ROOT / 'shim'}", *(word for path in (include, *cuda) for word in ("-isystem", path))]
    done = subprocess.run([compiler, "-std=gnu11", *includes, source, "-o", program], capture_output=True, text=True, check=False)
    if done.returncode:
        return None, done.stderr
    # The constants, and where the data of callbacks lie.
    check = ROOT / "shim/api/abi_check_cupti.c"
    done = subprocess.run([compiler, "-std=gnu11", "-fsyntax-only", *includes, check], capture_output=True, text=True, check=False)
    if done.returncode:
        return None, done.stderr
    return subprocess.run([program], capture_output=True, text=True, check=True).stdout, None


def check(package, version, folder, cuda, compiler):
    """Whether a release agrees; None when it could not be fetched."""
    include, reason = headers_of(folder, package, version)
    if not include:
        print(f"{version}: not fetched: {reason}")
        return None
    newest = newest_records(include)
    cuda = [cuda]
    if package == CU13 and version >= "13.1":
        # Newer than the toolkit here: its own declarations of CUDA.
        minor = ".".join(version.split(".")[:2]) + ".*"
        runtime, reason = headers_of(folder, "nvidia-cuda-runtime", minor)
        if not runtime:
            print(f"{version}: its CUDA headers were not fetched: {reason}")
            return None
        cuda.insert(0, runtime)
    told, errors = compile_and_run(compiler, include, cuda, newest, include.parent)
    if errors:
        print(f"{version}: does not compile:\n{errors}")
        return False
    rows = [line.split("\t") for line in told.splitlines()]
    api = next(int(row[1]) for row in rows if row[0] == "version")
    wrong = [f"{row[1]} {row[2]}" for row in rows if row[0] == "differs"]
    same = sum(row[0] == "same" for row in rows)
    kernel = newest["CUpti_ActivityKernel"].replace("CUpti_Activity", "")
    simulated = simulated_sizes()
    # The headers of 12.0 and 12.1 call themselves 18, as that of 11.8 does; the simulated CUPTI says 19.
    layout = 19 if (api, kernel) == (18, "Kernel9") else api
    for kind, size in ((row[1], int(row[2])) for row in rows if row[0] == "size"):
        here = next((size for since, size in simulated.get(kind, []) if since <= layout), None)
        # Later releases than the newest that is simulated append: a prefix is what is read.
        if here != size and (api < 130100 or not here or here > size):
            wrong.append(f"size of {kind} {size}, in the simulated CUPTI {here}")
    print(f"{version}: version {api}, {kernel}, {same} fields agree" + "".join(f"\n  DIFFERS: {what}" for what in wrong))
    return not wrong and same > 100


def main():
    folder, cuda = pathlib.Path(sys.argv[1]), sys.argv[2]
    compiler = sys.argv[3] if len(sys.argv) > 3 else "cc"
    results = [check(package, version, folder, cuda, compiler) for package, version in RELEASES]
    if all(result is None for result in results):
        print("skipped: there is no header of CUPTI's releases")
        return 77
    return 1 if False in results else 0


if __name__ == "__main__":
    sys.exit(main())
