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


def version_key(text):
    return tuple(int(part) for part in text.split("."))


def run(*command):
    return subprocess.run([str(c) for c in command], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600)


def place_with_template(berth, plugins, capsule, template):
    """The node that the template's example pod gets."""
    with tempfile.TemporaryDirectory(prefix="berth-capsule-") as folder:
        for file in [*plugins.glob("*.so"), capsule / "prefer_rack.so"]:
            shutil.copy(file, folder)
        return run(berth, "simulate", "--cluster", template / "cluster.yaml", "--config", template / "berth.yaml",
                   "--plugin-dir", folder, "-o", "json")


def breaks_after(changelog, version):
    """Whether some section later than the version names a break."""
    sections = re.split(r"^## (\d+\.\d+).*$", changelog, flags=re.M)
    return any(version_key(name) > version_key(version) and re.search(r"^- Break: ", text, re.M)
               for name, text in zip(sections[1::2], sections[2::2]))


def check(version, options):
    """Sentences about what a capsule does not do as it did."""
    capsule = HERE / version
    missing = [name for name in ("every_point_c.so", "every_point_cpp.so", "prefer_rack.so")
               if not (capsule / name).is_file()]
    if missing:
        return [f"{', '.join(missing)} is missing: capsules are never taken away"]
    placed = place_with_template(options.berth, options.plugins, capsule, options.root / "sdk" / "template")
    if placed.returncode:
        refused = "P015" in placed.stderr and version.startswith("0.")
        if refused and breaks_after((options.root / "sdk/abi/CHANGELOG.md").read_text(), version):
            return []
        return [f"does not load, and no later section of the changelog names a break:\n{placed.stderr[-2000:]}"]
    pods = {p["name"]: p["node"] for p in json.loads(placed.stdout)["pods"]}
    problems = [] if pods == {"web": "in-r1"} else [f"prefer_rack placed {pods}"]
    cases = run(sys.executable, HERE.parent / "sdk_install" / "every_point_test.py", "--berth", options.berth, "--plugins",
                options.plugins, "--built", capsule)
    if cases.returncode:
        problems.append(cases.stdout[-3000:] + cases.stderr[-1000:])
    return problems


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
    published = re.findall(r"^(\d+\.\d+) ", history, re.M)
    results = {version: check(version, options) for version in published}
    for version, problems in results.items():
        for problem in problems:
            print(f"{version}: {problem}")
    failed = sum(1 for problems in results.values() if problems)
    print(f"{len(results) - failed} passed, {failed} failed")
    return 0 if results and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
