# SPDX-License-Identifier: Apache-2.0
"""Puts an interpreter together that the machine does not have, from packages on PyPI.

The wheel freeze-core carries CPython's C half (a program with libpython linked in, and the extension
modules) for versions that no distribution of ours has: 3.14, and the free-threaded ones. The Python
half is taken from the nearest version that is installed here; ctypes gets the two functions that its
C half has lost since. Good enough to run the tests of this folder, and real where they look: frames,
code objects and the interpreter's own table are those of the version.

usage: wheel_python.py TAG FOLDER LIBSITES_START.SO ARGUMENTS...     TAG: cp314 or cp314t
Becomes the interpreter with the arguments. Exit code 77: it cannot be had here, with the reason.
"""

import glob
import os
import re
import shutil
import subprocess
import sys
import zipfile

LOST = """
_pointer_type_cache = {}

def POINTER(kind):
    if kind not in _pointer_type_cache:
        _pointer_type_cache[kind] = c_void_p if kind is None else type(
            "LP_" + kind.__name__, (_Pointer,), {"_type_": kind})
    return _pointer_type_cache[kind]

def pointer(thing):
    return POINTER(type(thing))(thing)
"""
START = """#!/bin/sh
export LD_LIBRARY_PATH="{0}/{1}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}" PYTHONHOME="{0}"
export LD_PRELOAD="{2}${{LD_PRELOAD:+:$LD_PRELOAD}}"
exec "{0}/bin/{3}-program" "$@"
"""


def give_up(reason):
    print("skipped: " + reason)
    sys.exit(77)


def python_half(minor):
    """Lib of the nearest older version; its regular expressions must suit the C half."""
    for candidate in range(minor, 12, -1):
        for place in ("~/.pyenv/versions/3.%d.*/lib/python3.%d", "/usr/lib/python3.%d",
                      "/usr/local/lib/python3.%d", "/opt/python/*/lib/python3.%d"):
            pattern = place.replace("%d", str(candidate))
            for found in sorted(glob.glob(os.path.expanduser(pattern))):
                if os.path.exists(found + "/unittest/__init__.py"):
                    return found
    give_up("no Python 3.13 or later, whose library could be used")


def fetch_wheel(tag, version, folder):
    done = glob.glob(folder + "/*.whl")
    if not done:
        machine = os.uname().machine
        platforms = ["manylinux2014_" + machine, "manylinux_2_17_" + machine,
                     "manylinux_2_28_" + machine]
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
                   "--disable-pip-version-check", "--only-binary", ":all:", "--dest", folder,
                   "--python-version", version, "--implementation", "cp", "--abi", tag]
        for platform in platforms:
            command += ["--platform", platform]
        ran = subprocess.run(command + ["freeze-core"], stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, timeout=100)
        done = glob.glob(folder + "/*.whl")
        if ran.returncode or not done:
            give_up("pip cannot fetch freeze-core for " + tag)
    return done[0]


def assemble(tag, folder, start):
    digits, suffix = re.match(r"cp3(\d+)(t?)$", tag).groups()
    name = "python3.%s%s" % (digits, suffix)
    program = "%s/bin/%s" % (folder, name)
    if os.path.exists(program):
        return program
    os.makedirs(folder + "/bin", exist_ok=True)
    with zipfile.ZipFile(fetch_wheel(tag, "3." + digits, folder)) as wheel:
        wheel.extractall(folder + "/wheel")
    library = "%s/lib/%s" % (folder, name)
    shutil.rmtree(library, ignore_errors=True)
    shutil.copytree(python_half(int(digits)), library, ignore=shutil.ignore_patterns(
        "__pycache__", "site-packages", "dist-packages", "lib-dynload", "test", "idlelib"))
    os.mkdir(library + "/lib-dynload")
    for module in glob.glob(folder + "/wheel/freeze_core/lib/*.so"):
        shutil.copy(module, library + "/lib-dynload")
    if int(digits) > 13:
        path = library + "/ctypes/__init__.py"
        with open(path) as source:
            text = source.read()
        with open(path, "w") as changed:
            changed.write(text.replace(
                "from _ctypes import POINTER, pointer, _pointer_type_cache\n", LOST))
    console, = glob.glob(folder + "/wheel/freeze_core/bases/console-cpython-*")
    shutil.copy(console, program + "-program")
    os.chmod(program + "-program", 0o755)
    with open(program + ".new", "w") as script:
        script.write(START.format(folder, "wheel/freeze_core.libs", start, name))
    os.chmod(program + ".new", 0o755)
    says = subprocess.run([program + ".new", "-c", "import ctypes, unittest; print('good')"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if says.stdout != b"good\n":
        give_up("%s does not start: %s" % (name, says.stderr.decode()[-300:]))
    os.rename(program + ".new", program)
    return program


if __name__ == "__main__":
    program = assemble(sys.argv[1], os.path.abspath(sys.argv[2]), os.path.abspath(sys.argv[3]))
    os.execv(program, [program] + sys.argv[4:])
