#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The comparer itself: what counts as a difference and what does not. Ends with "N passed, N failed"."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from check_decisions import scenario_differences  # noqa: E402

PLACED = {"pod": "a/p", "node": "n1", "evaluatedNodes": 2, "feasibleNodes": 1,
          "rejected": {"n2": {"plugin": "Fit", "code": "Unschedulable", "reasons": ["Too many pods"]}},
          "scores": {"n1": {"total": 7, "plugins": {"Fit": 7}}}}


def two_scalars(*reasons):
    return {"pod": "a/p", "node": None, "message": "m",
            "rejected": {"n1": {"plugin": "Fit", "code": "Unschedulable", "reasons": list(reasons)}}}


def claim(device, share, time=None):
    return {"claim": "a/c", "reservedFor": None, "allocation": {"allocationTimestamp": time, "devices": {
        "results": [{"device": device, "shareID": share}]}}}


CLAIMING = {**PLACED, "claims": [claim("gpu-0", "*")]}

CASES = [
    # name, recorded, decided, differs?
    ("equal records agree", [PLACED], [PLACED], False),
    ("another node differs", [PLACED], [{**PLACED, "node": "n2"}], True),
    ("a missing decision differs", [PLACED], [], True),
    ("a decision too many differs", [PLACED], [PLACED, {**PLACED, "pod": "a/q"}], True),
    ("the order of attempts counts", [PLACED, {**PLACED, "pod": "a/q"}], [{**PLACED, "pod": "a/q"}, PLACED], True),
    ("another message differs", [two_scalars()], [{**two_scalars(), "message": "other"}], True),
    ("another code differs", [PLACED],
     [{**PLACED, "rejected": {"n2": {**PLACED["rejected"]["n2"], "code": "Error"}}}], True),
    ("another rejecting plugin differs", [PLACED],
     [{**PLACED, "rejected": {"n2": {**PLACED["rejected"]["n2"], "plugin": "Ports"}}}], True),
    ("a missing rejection differs", [PLACED], [{**PLACED, "rejected": {}}], True),
    ("a rejection too many differs", [{**PLACED, "rejected": {}}], [PLACED], True),
    ("another score differs", [PLACED], [{**PLACED, "scores": {"n1": {"total": 8, "plugins": {"Fit": 8}}}}], True),
    ("a plugin listed with 0 is not the same as one left out", [PLACED],
     [{**PLACED, "scores": {"n1": {"total": 7, "plugins": {"Fit": 7, "Ports": 0}}}}], True),
    ("fewer evaluated nodes differ", [PLACED], [{**PLACED, "evaluatedNodes": 1}], True),
    ("absent and empty agree", [{**PLACED, "nominatedNode": ""}], [PLACED], False),
    ("a recording without judgements demands none", [{"pod": "a/p", "node": "n1"}],
     [{"pod": "a/p", "node": "n1", "rejected": PLACED["rejected"], "scores": PLACED["scores"]}], False),
    ("scalar shortages have no order", [two_scalars("Insufficient x.io/a", "Insufficient x.io/b")],
     [two_scalars("Insufficient x.io/b", "Insufficient x.io/a")], False),
    ("another claim differs", [CLAIMING], [{**CLAIMING, "claims": [claim("gpu-1", "*")]}], True),
    ("a claim that is missing differs", [CLAIMING], [{**CLAIMING, "claims": []}], True),
    ("ids of shares and times do not count", [CLAIMING], [{**CLAIMING, "claims": [claim("gpu-0", "x", "now")]}], False),
    ("another end of pre-bind differs", [CLAIMING], [{**CLAIMING, "preBind": "waiting"}], True),
    ("a recording without claims demands no pre-bind", [PLACED], [{**PLACED, "preBind": "waiting"}], False),
    ("words of the expression language do not count", [two_scalars("selector #0: CEL runtime error: no such key: a")],
     [two_scalars("selector #0: CEL runtime error: unknown key")], False),
    ("the selector counts", [two_scalars("selector #0: CEL runtime error: x")],
     [two_scalars("selector #1: CEL runtime error: x")], True),
    ("other reasons have an order", [two_scalars("Insufficient cpu", "Insufficient memory")],
     [two_scalars("Insufficient memory", "Insufficient cpu")], True),
]

failures = [name for name, want, got, differs in CASES if bool(scenario_differences(want, got)[1]) != differs]
for failure in failures:
    print(f"failed: {failure}")
print(f"{len(CASES) - len(failures)} passed, {len(failures)} failed")
sys.exit(bool(failures))
