#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles the SDK's C headers in every language standard that is supported, with both compilers and without padding.

    header_matrix.py --headers sdk/include --manifest sdk/abi/manifests/1.0.txt

Each header alone (it includes what it needs), and all of them together with one assertion per struct on size and
alignment, taken from the manifest, so that every compiler and standard agrees on the layout. With --cpp DIR the headers
of the C++ wrapper as well, in C++20. Ends with "N passed, N failed".
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys

FLAGS = ["-fsyntax-only", "-Wall", "-Wextra", "-pedantic", "-Wpadded", "-Werror"]
STANDARDS = {"c": ["c11", "c17"], "c++": ["c++11", "c++14", "c++17", "c++20"]}
COMPILERS = {"gcc": {"c": ["gcc"], "c++": ["g++"]}, "clang": {"c": ["clang-14", "clang"], "c++": ["clang++-14", "clang++"]}}


def find(candidates):
    return next((c for c in candidates if shutil.which(c)), None)


def layout_assertions(manifest):
    """A source that includes everything and asserts each struct's size and alignment; reads as C11 and C++11."""
    lines = ["#include <berth/plugin.h>", "#ifndef __cplusplus", "#define static_assert _Static_assert",
             "#define alignof _Alignof", "#endif"]
    structs = re.findall(r"^struct (\w+) size (\d+) align (\d+)$", manifest, re.M)
    for name, size, alignment in structs:
        lines.append(f'static_assert(sizeof({name}) == {size} && alignof({name}) == {alignment}, "{name}");')
    return "\n".join(lines) + "\n", len(structs)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--headers", required=True, type=pathlib.Path)
    parser.add_argument("--manifest", required=True, type=pathlib.Path)
    parser.add_argument("--cpp", type=pathlib.Path)
    options = parser.parse_args()

    together, struct_count = layout_assertions(options.manifest.read_text())
    if not struct_count:
        print("the manifest lists no struct\n0 passed, 1 failed")
        return 1
    # An empty translation unit is no ISO C.
    sources = {str(path): f"#include <{path}>\ntypedef int declares_something;\n"
               for path in sorted(p.relative_to(options.headers) for p in options.headers.rglob("*.h"))}
    sources["all of them, with layout"] = together

    jobs, failures = [], []
    for family, commands in COMPILERS.items():
        for language, standards in STANDARDS.items():
            compiler = find(commands[language])
            if not compiler:
                failures.append(f"{family}: no {language} compiler on this machine")
                continue
            jobs += [([compiler, f"-std={standard}", *FLAGS, "-I", str(options.headers), "-x", language, "-"], name, text)
                     for standard in standards for name, text in sources.items()]
    if options.cpp:
        # Each alone with one compiler, which shows a missing include; all of them together with both.
        wrapper = [p.relative_to(options.cpp) for p in sorted(options.cpp.rglob("*.hpp"))]
        everything = "".join(f"#include <{path}>\n" for path in wrapper)
        flags = ["-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-std=c++20", "-I", str(options.headers), "-I",
                 str(options.cpp), "-x", "c++", "-"]
        gcc, clang = (find(COMPILERS[family]["c++"]) for family in ("gcc", "clang"))
        jobs += [([gcc, *flags], str(path), f"#include <{path}>\n") for path in wrapper]
        jobs += [([compiler, *flags], "the whole wrapper", everything) for compiler in (gcc, clang) if compiler]

    def compile_one(job):
        command, name, text = job
        run = subprocess.run(command, input=text, text=True, capture_output=True)
        return run.returncode == 0, f"{name} with {command[0]}:\n{' '.join(command)}\n{run.stderr[:1500]}"

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        failures += [sentence for right, sentence in pool.map(compile_one, jobs) if not right]
    for sentence in failures[:20]:
        print(sentence)
    passed = len(jobs) - len(failures)
    print(f"{max(passed, 0)} passed, {len(failures)} failed")
    return bool(failures)


sys.exit(main())
