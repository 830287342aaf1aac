#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/lib/tally.py: how results are counted. Ends with "N passed, N failed"."""
import pathlib
import subprocess
import sys
import tempfile
from xml.sax.saxutils import escape

TALLY = pathlib.Path(__file__).parents[2] / "scripts" / "lib" / "tally.py"

GTEST = "[==========] Running 2 tests from 1 test suite.\n[       OK ] A.B (0 ms)\n"
# name, ctest's verdict, output, passed, failed
CASES = [
    ("GoogleTest counts cases", "run", GTEST + "[       OK ] A.C (0 ms)\n[  PASSED  ] 2 tests.\n", 2, 0),
    ("a failed case, named twice by GoogleTest, counts once", "fail",
     GTEST + "[  FAILED  ] A.C (0 ms)\n[  FAILED  ] 1 test, listed below:\n[  FAILED  ] A.C\n\n 1 FAILED TEST\n", 1, 1),
    ("a failed parameterised case", "fail", GTEST + "[  FAILED  ] A/T.C/x, where GetParam() = 4 (0 ms)\n", 1, 1),
    ("a crash after a good case", "fail", GTEST + "[ RUN      ] A.C\n", 1, 1),
    ("a sanitizer's verdict after good cases", "fail", GTEST + "[  PASSED  ] 1 test.\nLeakSanitizer\n", 1, 1),
    ("no case at all", "run", "[==========] Running 0 tests from 0 test suites.\n", 0, 1),
    ("a script with a count", "run", "x\n12 passed, 0 failed\n", 12, 0),
    ("a script with failures", "fail", "10 passed, 2 failed\n", 10, 2),
    ("a script that checked nothing", "run", "0 passed, 0 failed\n", 0, 1),
    ("a script that crashed after its count", "fail", "10 passed, 0 failed\n", 10, 1),
    ("any other program", "run", "fine\n", 1, 0),
    ("any other program that fails", "fail", "not fine\n", 0, 1),
    ("a program that is not there", "notrun", "", 0, 1),
]


def tally(entries):
    cases = "".join(f'<testcase name="t" status="{status}">{"<failure/>" if status == "fail" else ""}'
                    f"<system-out>{escape(output)}</system-out></testcase>" for status, output in entries)
    with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
        file.write(f"<testsuite>{cases}</testsuite>")
        file.flush()
        run = subprocess.run([sys.executable, TALLY, "x", file.name], capture_output=True, text=True, check=True)
    return run.stdout.splitlines()[-1]


failures = []
for name, status, output, passed, failed in CASES:
    answer = tally([(status, output)])
    if answer != f"x: {passed} passed, {failed} failed":
        failures.append(f"{name}: {answer}")
together = tally([(status, output) for _, status, output, _, _ in CASES])
if together != f"x: {sum(c[3] for c in CASES)} passed, {sum(c[4] for c in CASES)} failed":
    failures.append(f"all together: {together}")
for failure in failures:
    print(f"failed: {failure}")
print(f"{len(CASES) + 1 - len(failures)} passed, {len(failures)} failed")
sys.exit(bool(failures))
