#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Executes what the documentation shows.

    documentation.py --root DIR --build DIR [--keep DIR] FILE.md…

Fenced blocks are read in order. A file's blocks share one scratch folder that looks like the source tree: build/release
is the build at hand, whatever a command writes stays in the scratch folder. With --keep it is DIR, and stays there for tests
that go on with what the commands made.

    ```console test      lines starting with "$ " are run by bash from the scratch folder, a line ending in a backslash
                         goes on in the next; the lines below are the expected output, both streams together. A line "..."
                         stands for any lines, "..." inside a line for any characters; "[exit N]" as last line says that
                         the command ends with N instead of 0
    ```yaml berth        goes through `berth config check`
    ```LANG file=NAME    is written to NAME in the scratch folder first, for the commands that follow

$BERTH_SDK is the installed SDK, $BERTH the program; `berth` is on the PATH. Ends with "N passed, N failed", counted in
commands and checked blocks.
"""
import argparse
import contextlib
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=indent)```[ ]*$", re.M | re.S)
TIMEOUT_S = 300


@dataclasses.dataclass
class Block:
    line: int
    language: str
    tags: set
    body: str
    file: str = ""


@dataclasses.dataclass
class Command:
    line: int
    text: str
    expected: list
    status: int = 0


def blocks(text):
    for match in FENCE.finditer(text):
        words = match["info"].split()
        body = re.sub(f"^{match['indent']}", "", match["body"], flags=re.M)
        file = next((w[len("file="):] for w in words if w.startswith("file=")), "")
        yield Block(text.count("\n", 0, match.start()) + 2, words[0] if words else "", set(words[1:]), body, file)


def commands(block):
    found, continued = [], False
    for number, line in enumerate(block.body.splitlines(), block.line):
        if continued:
            found[-1].text += "\n" + line
            continued = line.endswith("\\")
        elif line.startswith("$ "):
            found.append(Command(number, line[2:], []))
            continued = line.endswith("\\")
        elif not found:
            raise SystemExit(f"line {number}: a console block starts with a command: {line}")
        elif re.fullmatch(r"\[exit \d+\]", line):
            found[-1].status = int(line[6:-1])
        else:
            found[-1].expected.append(line)
    return found


def agrees(expected, output):
    """Whether output, a list of lines, is what the expected lines describe."""
    pattern = ""
    for line in expected:
        if line.strip() == "...":
            pattern += r"(?:[^\n]*\n)*"
        else:
            pattern += ".*".join(re.escape(part) for part in line.rstrip().split("...")) + r"[ ]*\n"
    return re.fullmatch(pattern, "".join(line + "\n" for line in output)) is not None


@contextlib.contextmanager
def scratch_folder(kept):
    """An empty folder, removed afterwards unless it is to be kept."""
    if kept:
        shutil.rmtree(kept, ignore_errors=True)
        kept.mkdir(parents=True)
        yield kept
    else:
        with tempfile.TemporaryDirectory(prefix="berth-documentation-") as temporary:
            yield pathlib.Path(temporary)


def scratch_tree(root, build, folder):
    """Links to the sources, but no writing into them: the top level and build/ belong to the scratch folder."""
    for entry in root.iterdir():
        if entry.name not in {"build", ".git"}:
            (folder / entry.name).symlink_to(entry)
    (folder / "build").mkdir()
    (folder / "build" / "release").symlink_to(build)


def run(text, folder, environment):
    try:
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", text], cwd=folder, env=environment, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT_S)
        return done.returncode, done.stdout.splitlines()
    except subprocess.TimeoutExpired:
        return -1, [f"no end within {TIMEOUT_S} s"]


def check_document(path, name, root, build, environment, kept=None):
    """(number of checks, sentences about what is wrong) of one document."""
    checks, problems = 0, []
    with scratch_folder(kept) as folder:
        scratch_tree(root, build, folder)
        for block in blocks(path.read_text()):
            if block.file:
                target = folder / block.file
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(block.body)
            if block.language == "yaml" and "berth" in block.tags:
                checks += 1
                shown = folder / "shown.yaml"
                shown.write_text(block.body)
                status, output = run(f'"$BERTH" config check {shown.name}', folder, environment)
                if status:
                    problems.append(f"{name}:{block.line}: berth config check:\n    " + "\n    ".join(output))
            if block.language == "console" and "test" in block.tags:
                for command in commands(block):
                    checks += 1
                    status, output = run(command.text, folder, environment)
                    if status != command.status or not agrees(command.expected, output):
                        problems.append(f"{name}:{command.line}: $ {command.text}\n  ended with {status}, printed:\n    " +
                                        "\n    ".join(output[-40:]) + f"\n  documented, ending with {command.status}:\n    " +
                                        "\n    ".join(command.expected))
    return checks, problems


def install_sdk(build, prefix):
    """The SDK as an author has it; documents that need none do not pay for it."""
    run_install = subprocess.run(["cmake", "--install", str(build), "--component", "sdk", "--prefix", str(prefix)],
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if run_install.returncode:
        raise SystemExit(f"the SDK does not install:\n{run_install.stdout}\n0 passed, 1 failed")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", required=True, type=pathlib.Path)
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path, help="run there, for one document, and leave everything")
    parser.add_argument("documents", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    build = options.build.resolve()
    if options.keep and len(options.documents) != 1:
        parser.error("--keep is for one document")

    total, problems = 0, []
    sdk = pathlib.Path(tempfile.mkdtemp(prefix="berth-sdk-"))
    try:
        environment = {**os.environ, "BERTH": str(build / "berth"), "BERTH_SDK": str(sdk), "CI": "true",
                       "PATH": f"{build}:{os.environ['PATH']}"}
        if shutil.which("ccache"):
            environment.update(CMAKE_C_COMPILER_LAUNCHER="ccache", CMAKE_CXX_COMPILER_LAUNCHER="ccache")
        environment.pop("BERTH_PLUGIN_DIR", None)
        if any("BERTH_SDK" in d.read_text() for d in options.documents):
            install_sdk(build, sdk)
        for document in options.documents:
            checks, found = check_document(document, os.path.relpath(document, options.root), options.root.resolve(), build,
                                           environment, options.keep and options.keep.resolve())
            total += checks
            problems += found
    finally:
        shutil.rmtree(sdk)
    for problem in problems:
        print(problem)
    print(f"{total - len(problems)} passed, {len(problems)} failed")
    return 0 if total and not problems else 1


if __name__ == "__main__":
    sys.exit(main())
