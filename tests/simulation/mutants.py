#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Switches off guards of the host, one at a time, and has the simulation find that out.

  tests/simulation/mutants.py [--build DIRECTORY] [--seeds N]

A guard is a line of a source file in mutants.json. The file is compiled once more without it and linked before the
libraries into a program of its own: the host is not built otherwise for this. Each mutant has to break a rule within so
many seeds, and the program as it is must break none with the seed that told. Requires: simulate_faults is built.
"""
import argparse
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def compile_command(build):
    """How the simulation's own sources are compiled: with all include folders of the host."""
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if entry["file"].endswith("tests/simulation/world.cpp"):
            words = shlex.split(entry["command"])
            for option in ("-o", "-c"):
                at = words.index(option)
                del words[at:at + 2]
            return words
    sys.exit("the simulation is not part of this build")


def link_command(build):
    out = subprocess.run(["ninja", "-C", str(build), "-t", "commands", "simulate_faults"], check=True, text=True,
                         stdout=subprocess.PIPE).stdout
    return out.strip().splitlines()[-1].removeprefix(": && ").removesuffix(" && :")


def build_mutant(build, mutant, folder):
    source = (ROOT / mutant["file"]).read_text()
    if source.count(mutant["from"]) != 1:
        sys.exit(f"{mutant['file']} does not have the line of this guard once: {mutant['guard']}")
    changed = folder / "mutant.cpp"
    changed.write_text(source.replace(mutant["from"], mutant["to"]))
    command = compile_command(build) + ["-Wno-error", "-w", "-I", str(ROOT), "-I", str(ROOT / "core"), "-I",
                                        str(ROOT / "sdk/include"), "-c", str(changed), "-o", str(folder / "mutant.o")]
    subprocess.run(command, check=True, cwd=build)
    link = link_command(build).replace(" -o tests/simulate_faults",
                                       f" {folder}/mutant.o -Wl,--allow-multiple-definition -o {folder}/mutant", 1)
    # First among the objects: of two definitions the first holds.
    first = re.search(r"\S+/simulate_faults\.dir/\S+\.o", link)
    link = link.replace(f" {folder}/mutant.o", "", 1).replace(first.group(), f"{folder}/mutant.o {first.group()}", 1)
    subprocess.run(link, check=True, shell=True, cwd=build)
    return folder / "mutant"


def broken_rule(program, build, seed, flags):
    run = subprocess.run([str(program), "--plugin-dir", str(build / "plugins"), "--minutes", "5", "--seed", str(seed),
                          *flags], text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    found = re.search(r"^BROKEN: (.*)$", run.stdout, re.MULTILINE)
    if found:
        return found.group(1)
    return None if run.returncode == 0 else "the program crashed"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--seeds", type=int, default=20)
    options = parser.parse_args()
    build = options.build.resolve()
    survivors = 0
    for mutant in json.loads((ROOT / "tests/simulation/mutants.json").read_text()):
        with tempfile.TemporaryDirectory() as folder:
            program = build_mutant(build, mutant, pathlib.Path(folder))
            began = time.monotonic()
            found = None
            for seed in range(1, options.seeds + 1):
                found = broken_rule(program, build, seed, mutant["flags"])
                if found:
                    break
            took = time.monotonic() - began
        whole = found and broken_rule(build / "tests/simulate_faults", build, seed, mutant["flags"])
        if whole:
            print(f"NOT THE GUARD'S: {mutant['guard']}: the program as it is breaks a rule with seed {seed} too: {whole}")
        elif found:
            print(f"dies after {seed} seeds, {took:.0f} s: without \"{mutant['guard']}\": {found}")
        else:
            print(f"SURVIVES {options.seeds} seeds: {mutant['guard']}")
        survivors += bool(whole) or not found
        sys.stdout.flush()
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
