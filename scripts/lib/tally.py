#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tally.py NAME JUNIT…: counts single checks in ctest's JUnit files and prints "NAME: N passed, N failed".

A GoogleTest program counts once per case, a script that ends with "N passed, N failed" by what it says, anything else
once. A test that ctest calls failed counts at least one failure, whatever it printed: a crash prints no summary. A
program that ran no case at all is a failure too, so that an emptied test cannot pass.
"""
import re
import sys
import xml.etree.ElementTree as xml

CASE_PASSED = re.compile(r"^\[       OK \] ", re.M)
CASE_FAILED = re.compile(r"^\[  FAILED  \] \S+(?:, where .*)? \(\d+ ms\)$", re.M)
CASE_SKIPPED = re.compile(r"^\[  SKIPPED \] \S+ \(\d+ ms\)$", re.M)
SUMMARY = re.compile(r"^(\d+) passed, (\d+) failed$", re.M)


def count(case):
    """(passed, failed, skipped) of one ctest entry."""
    output = "".join(node.text or "" for node in case.iter("system-out"))
    ctest_failed = case.get("status") != "run" or case.find("failure") is not None
    if "[==========]" in output:
        passed, failed = len(CASE_PASSED.findall(output)), len(CASE_FAILED.findall(output))
        skipped = len(CASE_SKIPPED.findall(output))
        if passed + failed + skipped == 0:
            failed = 1
    elif SUMMARY.search(output):
        passed, failed = map(int, SUMMARY.findall(output)[-1])
        skipped = 0
        if passed + failed == 0:
            failed = 1
    else:
        passed, failed, skipped = (0, 1, 0) if ctest_failed else (1, 0, 0)
    if ctest_failed and failed == 0:
        failed = 1
    return passed, failed, skipped


def main():
    name, passed, failed, skipped = sys.argv[1], 0, 0, 0
    for path in sys.argv[2:]:
        for case in xml.parse(path).getroot().iter("testcase"):
            p, f, s = count(case)
            passed, failed, skipped = passed + p, failed + f, skipped + s
            if f:
                print(f"  failed: {case.get('name')} ({f})")
    if skipped:
        print(f"  skipped: {skipped}")
    print(f"{name}: {passed} passed, {failed} failed")


main()
