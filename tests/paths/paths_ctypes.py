# SPDX-License-Identifier: Apache-2.0
"""Calls every function of a list once by ctypes, as Python programs that load CUDA themselves do, and
prints name, result and errno of each.

usage: paths_ctypes.py HOW MAJOR ROWS FOLDER
HOW: local or global (RTLD_LOCAL, RTLD_GLOBAL, by SONAME), path (by full path), main (loaded as
global, looked up in the handle of the program itself). ROWS: lines "table<TAB>name", as prog_paths
prints them. Every argument is one address that may not be touched.
"""

import ctypes
import sys

WORD = 0x600000000000
LIBRARIES = {"driver": "libcuda.so.1", "cudart": "libcudart.so.%s", "cublas": "libcublas.so.%s",
             "cublaslt": "libcublasLt.so.%s", "cudnn": "libcudnn.so.%s", "nccl": "libnccl.so.2"}


def load(how, name, folder):
    mode = ctypes.RTLD_LOCAL if how == "local" else ctypes.RTLD_GLOBAL
    if how == "path":
        return ctypes.CDLL(folder + "/" + name, use_errno=True)
    library = ctypes.CDLL(name, mode=mode, use_errno=True)
    return ctypes.CDLL(None, use_errno=True) if how == "main" else library


def main():
    how, major, rows, folder = sys.argv[1:5]
    libraries = {}
    # As many as the longest list of parameters; numbers have registers of their own.
    words = [ctypes.c_void_p(WORD)] * 36 + [ctypes.c_double(0.25), ctypes.c_double(0.5)]
    with open(rows) as lines:
        for line in lines:
            table, name = line.split()
            if table not in libraries:
                version = "11.0" if major == "11" and table == "cudart" else major
                if table == "cudnn":
                    version = "8" if major == "11" else "9"
                library = LIBRARIES[table]
                library = library % version if "%" in library else library
                libraries[table] = load(how, library, folder)
            function = getattr(libraries[table], name)
            ctypes.set_errno(111)
            status = function(*words)
            print(name, status, ctypes.get_errno())


main()
