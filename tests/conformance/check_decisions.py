#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs `berth simulate --single-pass` over recorded scenarios and holds its decisions against what was recorded.

    check_decisions.py --berth build/release/berth --data tests/conformance/data/recorded [--family basic] [--name …]

A folder, or all of it in one file: `data/devices.json.gz`, by name of the scenario.

README.md in the folder of this file says what a scenario is and what is compared. Prints the first differences of each scenario,
then one line per family, and as last line "N passed, N failed", counted in scenarios.
"""
import argparse
import gzip
import json
import pathlib
import re
import subprocess
import sys
import tempfile

# Differences shown per scenario: the first one usually explains the others.
SHOWN = 3
TIMEOUT_S = 120

# Absent and empty mean the same in these.
COMPARED = ("node", "message", "evaluatedNodes", "feasibleNodes", "nominatedNode", "victims", "preBind")
# PostFilter ran in these families only; in the others nothing is known about whom upstream would have evicted.
POST_FILTER_FAMILY = "preemption"
POST_FILTER_FIELDS = ("nominatedNode", "victims")


def without_cel_words(text):
    """What follows these words is the expression language's own text."""
    return re.sub(r"(CEL (?:compile|runtime) error):.*", r"\1", text, flags=re.S) if isinstance(text, str) else text


def comparable_claim(value, key=""):
    """Without empty values and times, with "*" for the id of a share. Parameters belong to the driver: they stay as they are."""
    if isinstance(value, dict):
        inner = {k: comparable_claim(v, k) for k, v in value.items() if k != "allocationTimestamp"}
        if key == "parameters":
            return inner
        return {k: v for k, v in inner.items() if v not in (None, [], {}, "") or k in ("operator", "value")}
    if isinstance(value, list):
        return [comparable_claim(v, key) for v in value]
    return "*" if key == "shareID" and value else value


def is_scalar_shortage(reason):
    """Several of these stand in one status in the order of a hash map, so their order says nothing."""
    prefix = "Insufficient "
    resource = reason[len(prefix):]
    return reason.startswith(prefix) and ("/" in resource or resource.startswith("hugepages"))


def comparable_rejection(rejection):
    reasons = [without_cel_words(r) for r in rejection.get("reasons") or []]
    fixed = [r for r in reasons if not is_scalar_shortage(r)]
    return {**rejection, "reasons": fixed + sorted(r for r in reasons if is_scalar_shortage(r))}


def map_differences(field, want, got):
    for key in sorted(set(want) | set(got)):
        if want.get(key) != got.get(key):
            yield f"{field}[{key}]: recorded {json.dumps(want.get(key))}, decided {json.dumps(got.get(key))}"


def record_differences(want, got, without=()):
    for field in COMPARED:
        if field in without:
            continue
        if field == "preBind" and "claims" not in want:
            continue
        a, b = want.get(field) or None, got.get(field) or None
        if without_cel_words(a) != without_cel_words(b):
            yield f"{field}: recorded {json.dumps(a)}, decided {json.dumps(b)}"
    # A recording without judgements per node (family sampling) demands none.
    if "rejected" in want:
        yield from map_differences("rejected", *({node: comparable_rejection(r) for node, r in rejected.items()}
                                                 for rejected in (want["rejected"], got.get("rejected") or {})))
    if "claims" in want:
        yield from map_differences("claims", *({claim["claim"]: comparable_claim(claim) for claim in claims}
                                               for claims in (want["claims"] or [], got.get("claims") or [])))
    if "scores" in want:
        yield from map_differences("scores", want["scores"], got.get("scores") or {})


def scenario_differences(want, got, without=(), ends_early=False):
    """(decisions that agree, sentences about those that do not). `without`: fields that are not compared;
    `ends_early`: the recording ends with the first nomination, berth goes on."""
    decided = {record["pod"]: record for record in got}
    agree, sentences = 0, []
    for record in want:
        pod = record["pod"]
        if pod not in decided:
            sentences.append(f"{pod}: no decision")
            continue
        differences = list(record_differences(record, decided[pod], without))
        agree += not differences
        sentences += [f"{pod}: {d}" for d in differences]
    recorded_order = [r["pod"] for r in want]
    decided_order = [r["pod"] for r in got][: len(want) if ends_early else None]
    if not sentences and recorded_order != decided_order:
        sentences.append(f"order of attempts: recorded {recorded_order}, decided {decided_order}")
    return agree, sentences


def recorded_in(data, folder):
    """The folder with the scenarios of `data`, which may be one file with all of them."""
    if data.is_dir():
        return data
    with gzip.open(data, "rt") as file:
        for name, scenario in json.load(file).items():
            for part, value in scenario.items():
                (folder / f"{name}.{part}.json").write_text(json.dumps(value))
    return folder


def configuration(scenario, isolated, folder):
    """The scenario's, in which these plugin files run in processes of their own."""
    given = pathlib.Path(f"{scenario}.config.json")
    if not isolated:
        return given
    files = [{"file": name, "isolation": "process", "callTimeout": "30s"} for name in isolated]
    document = {"apiVersion": "config.berth.dev/v1alpha1", "kind": "BerthConfiguration", "plugins": {"files": files}}
    out = folder / "config.yaml"
    out.write_text(f"{given.read_text()}\n---\n{json.dumps(document)}\n")
    return out


def decide(berth, plugin_dir, scenario, folder, isolated=()):
    """The decisions of berth, or a sentence why there are none."""
    out = folder / "decisions.json"
    command = [berth, "simulate", "--single-pass", "--cluster", f"{scenario}.cluster.json", "--config",
               str(configuration(scenario, isolated, folder)), "--decisions", str(out)]
    if plugin_dir:
        command += ["--plugin-dir", plugin_dir]
    try:
        run = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return None, f"no answer within {TIMEOUT_S} s"
    if run.returncode != 0:
        return None, f"exit {run.returncode}: {run.stderr.strip()[-1500:]}"
    try:
        return json.loads(out.read_text())["decisions"] or [], None
    except (OSError, ValueError, KeyError) as problem:
        return None, f"unreadable decisions: {problem}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--berth", required=True)
    parser.add_argument("--data", required=True, type=pathlib.Path)
    parser.add_argument("--family", action="append", help="only this family; may be repeated")
    parser.add_argument("--name", action="append", help="only this scenario; may be repeated")
    parser.add_argument("--plugin-dir", help="as for berth")
    parser.add_argument("--isolate", action="append", default=[],
                        help="this plugin file runs in a process of its own; may be repeated")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory(prefix="berth-recorded-") as unpacked:
        return check(options, recorded_in(options.data, pathlib.Path(unpacked)))


def known_differences(data):
    """{name: why} of the scenarios of this set that are decided differently."""
    listed = pathlib.Path(__file__).parent / "data" / "differs.txt"
    known = {}
    for line in listed.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            where, why = line.split(" | ", 1)
            of_set, name = where.split()
            if of_set == data.name.split(".")[0]:
                known[name] = why
    return known


def check(options, data):
    known = known_differences(options.data)
    names = sorted(path.name[: -len(".decisions.json")] for path in data.glob("*.decisions.json"))
    if options.family:
        names = [n for n in names if n.split("-")[0] in options.family]
    if options.name:
        names = [n for n in names if n in options.name]

    families, passed, failed = {}, 0, 0
    for name in names:
        want = json.loads((data / f"{name}.decisions.json").read_text())["decisions"] or []
        with tempfile.TemporaryDirectory(prefix="berth-conformance-") as folder:
            got, problem = decide(options.berth, options.plugin_dir, data / name, pathlib.Path(folder),
                                  options.isolate)
        without = () if name.split("-")[0].startswith(POST_FILTER_FAMILY) else POST_FILTER_FIELDS
        agree, sentences = (0, [problem]) if problem else scenario_differences(want, got, without, not without)
        family = families.setdefault(name.split("-")[0], [0, 0])
        family[0] += agree
        family[1] += len(want)
        if name in known:
            if sentences:
                print(f"{name}: differs, as is known: {known[name]}")
            else:
                failed += 1
                print(f"{name}: agrees now; take it out of data/differs.txt")
        elif sentences:
            failed += 1
            print(f"{name}: {len(sentences)} differences")
            for sentence in sentences[:SHOWN]:
                print(f"  {sentence}")
        else:
            passed += 1
    for family, (agree, total) in sorted(families.items()):
        print(f"{family}: {agree}/{total}")
    print(f"{passed} passed, {failed} failed")
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
