#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Inputs that mean no good, and what berth has to make of them.

    hostile_test.py --berth PROGRAM --plugins DIR --cc COMPILER [--only REGEX] [--jobs N] [--times]

cases/*.json hold the inputs; README.md says how they are written. A case that has "waits_for" is expected to fail until
that defect is mended, and fails when it holds: then the word goes. Ends with "N passed, N failed".
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from kinds import kinds  # noqa: E402
from programs import Wrong  # noqa: E402

COMMON = {"name", "why", "waits_for"}
FIELDS = {  # of each kind: a word that is not read would be an expectation that is not checked
    "manifest": {"manifest", "configuration", "flags", "exit", "ending", "says", "never_says", "memory_mb_max", "within_s",
                 "output_bytes_max"},
    "configuration": {"configuration", "exit", "ending", "says", "never_says", "memory_mb_max", "within_s", "output_bytes_max"},
    "plugin": {"before", "source", "link", "needs", "needs_link", "bytes", "patches", "cut_to", "mode", "directory_mode",
               "configuration", "berth_configuration", "exit", "ending", "says", "never_says", "memory_mb_max", "within_s",
               "output_bytes_max"},
    "live": {"server", "rules", "objects", "files", "links", "fifos", "user", "serves", "configuration", "elects", "flags",
             "extender", "more_plugins", "first_binds", "rules_then", "unread_log", "open_files_max", "address_space_mb", "strangers", "then", "probe", "signal", "expect"},
    "request": {"send", "connections", "answer", "answers_max", "memory_mb_more", "presents", "cpu_s_more",
                "within_s"},
}
EXPECT = {"ends", "within_s", "binds", "stays_pending", "for_s", "memory_mb_max", "answers", "requests_max", "requests_min",
          "never_sends", "logs", "never_logs", "log_line_bytes_max", "ran_at_most",
          "never_holds", "mode_at_most", "may_end"}


def read_cases():
    """[(kind, case)], with what is wrong with the data as an exception."""
    cases, names = [], set()
    for path in sorted((HERE / "cases").glob("*.json")):
        data = json.loads(path.read_text())
        for case in data["cases"]:
            case["name"] = f"{path.stem}: {case['name']}"
            unknown = set(case) - COMMON - FIELDS[data["kind"]] | set(case.get("expect", {})) - EXPECT
            if unknown:
                raise SystemExit(f"{case['name']}: these words are not read: {', '.join(sorted(unknown))}")
            if case["name"] in names:
                raise SystemExit(f"{case['name']}: there are two")
            names.add(case["name"])
            cases.append((data["kind"], case))
    return cases


def run_case(run, case, folder):
    """("passed" | "failed" | "waits", why, seconds)."""
    began = time.monotonic()
    folder.mkdir()
    try:
        run(case, folder)
        outcome = ("passed", "")
    except (Wrong, OSError, RuntimeError, subprocess.SubprocessError) as wrong:
        outcome = ("failed", f"{type(wrong).__name__}: {wrong}")
    if "waits_for" in case:
        if outcome[0] == "failed":
            outcome = ("waits", outcome[1])
        else:
            outcome = ("failed", f"holds although it waits for {case['waits_for']}: take that word out of the case")
    return (*outcome, time.monotonic() - began)


def unmark(name):
    """Takes "waits_for" out of the text of a case, and leaves everything else of it as it is written."""
    stem, short = name.split(": ", 1)
    path = HERE / "cases" / f"{stem}.json"
    quoted = re.escape(json.dumps(short, ensure_ascii=False))
    marked = r'("name": ' + quoted + r',(?:(?!"name":).)*?)"waits_for": "[^"]*", ?'
    path.write_text(re.sub(marked, r"\1", path.read_text(), count=1, flags=re.S))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--berth", required=True, type=pathlib.Path)
    parser.add_argument("--plugins", required=True, type=pathlib.Path)
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--only", default="", help="cases whose name matches")
    parser.add_argument("--jobs", type=int, default=max(4, os.cpu_count() or 1))
    parser.add_argument("--times", action="store_true", help="the time of every case")
    parser.add_argument("--show", action="store_true", help="why the expected failures fail")
    parser.add_argument("--unmark", action="store_true", help='take "waits_for" out of the cases that hold')
    options = parser.parse_args()
    options.berth, options.plugins = options.berth.resolve(), options.plugins.resolve()
    options.sdk, options.zoo = HERE.parents[1] / "sdk/include", HERE.parent / "zoo/plugins"
    cases = [(kind, case) for kind, case in read_cases() if re.search(options.only, case["name"])]
    counts = {"passed": 0, "failed": 0, "waits": 0}
    waiting = {}
    with tempfile.TemporaryDirectory(prefix="berth-hostile-") as temporary:
        top = pathlib.Path(temporary)
        run, shared = kinds(options, top)
        # Requests go to one berth, one after the other.
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool, \
                concurrent.futures.ThreadPoolExecutor(1) as line:
            done = [(case, (line if kind == "request" else pool).submit(run_case, run[kind], case, top / str(n)))
                    for n, (kind, case) in enumerate(cases)]
            for case, future in done:
                outcome, why, seconds = future.result()
                counts[outcome] += 1
                if outcome == "waits":
                    waiting.setdefault(case["waits_for"], []).append(case["name"])
                if options.unmark and outcome == "failed" and why.startswith("holds although"):
                    unmark(case["name"])
                if outcome == "failed" or options.show and outcome == "waits":
                    print(f"{outcome}: {case['name']}: {why}", flush=True)
                if options.times:
                    print(f"  {seconds:6.1f} s {outcome:6} {case['name']}", flush=True)
        shared.close()
    for defect, names in sorted(waiting.items()):
        print(f"expected to fail until {defect} is mended: {', '.join(names)}")
    # A failure that is expected is not a test that passed.
    print(f"{counts['passed']} passed, {counts['failed']} failed")
    return bool(counts["failed"]) or not cases


if __name__ == "__main__":
    sys.exit(main())
