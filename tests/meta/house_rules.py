#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the tree against the rules of the house.

    house_rules.py --root DIR [--rule NAME]

Prints each violation as file:line, then a line per rule, and as last line "N passed, N failed", counted in rules.
Exceptions stand in allowed.txt with their reasons; one that excuses nothing any more is a failure of its own. Long files
are listed for information only.
"""
import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from rules import includes, layout, sources  # noqa: E402
from rules.tree import Tree  # noqa: E402

RULES = layout.RULES + includes.RULES + sources.RULES


def read_allowed(path):
    """{(rule, path, what): reason}"""
    allowed = {}
    for line in path.read_text().splitlines() if path.is_file() else []:
        if line.strip() and not line.startswith("#"):
            fields = [f.strip() for f in line.split("|")]
            if len(fields) != 4 or not all(fields):
                raise SystemExit(f"{path}: not 'rule | path | what | reason': {line}")
            allowed[tuple(fields[:3])] = fields[3]
    return allowed


def judge(tree, allowed, rules=None):
    """({rule name: violations}, unused exceptions)."""
    found, used = {}, set()
    for rule in rules or RULES:
        found[rule.__name__] = []
        for violation in rule(tree):
            key = (rule.__name__, violation.path, violation.what)
            if key in allowed:
                used.add(key)
            else:
                found[rule.__name__].append(violation)
    return found, sorted(k for k in allowed if k not in used and k[0] in found)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", required=True, type=pathlib.Path)
    parser.add_argument("--rule", action="append", help="only this rule; may be repeated")
    options = parser.parse_args()
    tree = Tree(options.root)
    rules = [r for r in RULES if not options.rule or r.__name__ in options.rule]
    found, unused = judge(tree, read_allowed(pathlib.Path(__file__).parent / "allowed.txt"), rules)

    for violations in found.values():
        for violation in violations:
            print(violation)
    for key in unused:
        print(f"allowed.txt: excuses nothing any more: {' | '.join(key)}")
    for count, path in sorted(sources.long_files(tree), reverse=True):
        print(f"for information: {path} has {count} lines")
    failed = sum(1 for violations in found.values() if violations) + bool(unused)
    for name, violations in found.items():
        print(f"{name}: {len(violations) or 'ok'}")
    print(f"{len(found) + 1 - failed} passed, {failed} failed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
