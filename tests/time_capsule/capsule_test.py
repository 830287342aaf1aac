#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plugins of published SDKs against this berth; README.md says what is promised. Ends with "N passed, N failed".

    capsule_test.py --berth build/release/berth --plugins build/release/plugins --root DIR
"""
import argparse
import json
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
FILES = ("every_point_c.so", "every_point_cpp.so", "pod_ceiling.so", "pod_density.so", "prefer_rack.so")
PREVIEW = HERE / "0.6" / "prefer_rack.so"


def run(*command):
    return subprocess.run([str(c) for c in command], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600)


def simulate(berth, plugins, file, project):
    """What becomes of a project's example pods with its plugin from the capsule, next to berth's own."""
    with tempfile.TemporaryDirectory(prefix="berth-capsule-") as folder:
        for each in [*plugins.glob("*.so"), file]:
            shutil.copy(each, folder)
        return run(berth, "simulate", "--cluster", project / "cluster.yaml", "--config", project / "berth.yaml",
                   "--plugin-dir", folder, "-o", "json")


def misplaced(simulated, expected):
    """Sentences about pods that are not where they were when the file was new."""
    if simulated.returncode:
        return [f"does not load:\n{simulated.stderr[-2000:]}"]
    pods = {p["name"]: p["node"] for p in json.loads(simulated.stdout)["pods"]}
    return [f"{name} is on {pods.get(name)!r}, not on {node!r}" for name, node in expected.items() if pods.get(name) != node]


def check_capsule(version, options):
    """Sentences about what the files of a version do not do as they did."""
    capsule, sdk = HERE / version, options.root / "sdk"
    missing = [name for name in FILES if not (capsule / name).is_file()]
    if missing:
        return [f"{', '.join(missing)} is missing: capsules are never taken away"]
    problems = misplaced(simulate(options.berth, options.plugins, capsule / "prefer_rack.so", sdk / "template"),
                         {"web": "in-r1"})
    problems += misplaced(simulate(options.berth, options.plugins, capsule / "pod_density.so", sdk / "examples/rust_pod_density"),
                          {"new-1": "small", "new-4": None})
    problems += misplaced(simulate(options.berth, options.plugins, capsule / "pod_ceiling.so", sdk / "examples/zig_pod_ceiling"),
                          {"new-1": "small", "new-4": None})
    cases = run(sys.executable, HERE.parent / "sdk_install" / "every_point_test.py", "--berth", options.berth, "--plugins",
                options.plugins, "--built", capsule)
    if cases.returncode:
        problems.append(cases.stdout[-3000:] + cases.stderr[-1000:])
    return problems


def check_preview(options):
    """Sentences about how the file of a preview is not refused."""
    wanted = ["BERTH-P015 plugin was built for a preview of the ABI", "built for ABI 0.6, a preview;",
              "rebuild the plugin against SDK 1.0 or later: what changed stands in the SDK's CHANGELOG.md"]
    said = {"simulate": simulate(options.berth, options.plugins, PREVIEW, options.root / "sdk" / "template"),
            "inspect": run(options.berth, "plugin", "inspect", PREVIEW)}
    return [f"{what} ends with {done.returncode} and says:\n{done.stdout}{done.stderr}" for what, done in said.items()
            if done.returncode != 1 or not all(text in done.stdout + done.stderr for text in wanted)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--berth", required=True, type=pathlib.Path)
    parser.add_argument("--plugins", required=True, type=pathlib.Path)
    parser.add_argument("--root", required=True, type=pathlib.Path)
    options = parser.parse_args()
    if platform.machine() != "x86_64":
        print("the capsules are for x86-64")
        return 0

    history = (options.root / "sdk/abi/HISTORY").read_text()
    published = re.findall(r"^([1-9]\d*\.\d+) ", history, re.M)
    results = {version: check_capsule(version, options) for version in published}
    results["the preview 0.6"] = check_preview(options)
    for version, problems in results.items():
        for problem in problems:
            print(f"{version}: {problem}")
    failed = sum(1 for problems in results.values() if problems)
    print(f"{len(results) - failed} passed, {failed} failed")
    return 0 if published and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
