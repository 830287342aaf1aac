#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The runner of documentation, over small documents. Ends with "N passed, N failed"."""
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from documentation import check_document  # noqa: E402

# name, document, checks, failures
CASES = [
    ("output as documented", "```console test\n$ echo a; echo b\na\nb\n```\n", 1, 0),
    ("another output", "```console test\n$ echo a\nb\n```\n", 1, 1),
    ("a line too many", "```console test\n$ echo a; echo b\na\n```\n", 1, 1),
    ("a line too few", "```console test\n$ echo a\na\nb\n```\n", 1, 1),
    ("dots stand for lines", "```console test\n$ seq 5\n1\n...\n5\n```\n", 1, 0),
    ("dots stand for no lines", "```console test\n$ seq 2\n1\n...\n2\n```\n", 1, 0),
    ("dots do not stand for everything", "```console test\n$ seq 5\n1\n...\n6\n```\n", 1, 1),
    ("dots inside a line", "```console test\n$ echo took 12 s\ntook ... s\n```\n", 1, 0),
    ("dots inside a line end at its end", "```console test\n$ echo took; echo 12 s\ntook ... s\n```\n", 1, 1),
    ("a failing command", "```console test\n$ false\n```\n", 1, 1),
    ("a documented failure", "```console test\n$ echo no; exit 3\nno\n[exit 3]\n```\n", 1, 0),
    ("a documented failure that does not happen", "```console test\n$ true\n[exit 3]\n```\n", 1, 1),
    ("several commands", "```console test\n$ echo a\na\n$ echo b\nc\n```\n", 2, 1),
    ("files live until the end of the document", "```text file=x/y.txt\nhi\n```\n```console test\n$ cat x/y.txt\nhi\n```\n", 1, 0),
    ("a continued command", "```console test\n$ echo a \\\n    b\na b\n```\n", 1, 0),
    ("blocks without the tag are only shown", "```console\n$ false\n```\n", 0, 0),
    ("an indented block", "1. first\n\n   ```console test\n   $ echo a\n   a\n   ```\n", 1, 0),
    ("a good configuration", "```yaml berth\ngood: 1\n```\n", 1, 0),
    ("a bad configuration", "```yaml berth\nbad: 1\n```\n", 1, 1),
    ("the tree is in reach", "```console test\n$ ls core build/release/berth\nbuild/release/berth\n\ncore:\nhere\n```\n", 1, 0),
]


def main():
    failures = []
    with tempfile.TemporaryDirectory() as temporary:
        root = pathlib.Path(temporary)
        (root / "core").mkdir()
        (root / "core" / "here").write_text("")
        build = root / "elsewhere"
        build.mkdir()
        berth = build / "berth"
        berth.write_text('#!/bin/sh\n[ "$1 $2" = "config check" ] && grep -q good "$3"\n')
        berth.chmod(0o755)
        environment = {**os.environ, "BERTH": str(berth)}
        for name, text, checks, wrong in CASES:
            document = root / "document.md"
            document.write_text(text)
            got_checks, problems = check_document(document, "document.md", root, build, environment)
            if (got_checks, len(problems)) != (checks, wrong):
                failures.append(f"{name}: {got_checks} checks, {problems}")
        document.write_text("```console test\n$ echo new > made\n```\n")
        kept = root / "kept"
        kept.mkdir()
        (kept / "old").write_text("")
        check_document(document, "document.md", root, build, environment, kept)
        if (kept / "old").exists() or (kept / "made").read_text() != "new\n":
            failures.append(f"a kept folder starts empty and stays: {sorted(p.name for p in kept.iterdir())}")
    for failure in failures:
        print(f"failed: {failure}")
    print(f"{len(CASES) + 1 - len(failures)} passed, {len(failures)} failed")
    return bool(failures)


sys.exit(main())
