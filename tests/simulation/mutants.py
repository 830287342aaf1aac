#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Switches off guards of the host, one at a time, and has the simulation find that out.

  tests/simulation/mutants.py [--build DIRECTORY] [--minutes N] [--virtual-minutes N] [--seed N] [--guard WORDS]
                              [--program FILE]

A guard is a line of a source file in mutants.json, and how it reads where OFF says that it is switched off. Those files are
compiled once more, with the guards that $BERTH_MUTANT names by number off, and linked before the libraries into a program of
its own: the host is not built otherwise for this. Each mutant has to break a rule within so many minutes of seeds, where the
same program with all its guards breaks none. Prints a line of the table in README.md for each. --program keeps the program,
and does not build it again when it is there. Requires: simulate_faults is built.
"""
import argparse
import json
import os
import pathlib
import re
import resource
import shlex
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SEED_PROCESSOR_S = 120  # one that takes longer has a thread that never waits


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


def switched(mutants):
    """By file: its text with the guards of all mutants behind a switch."""
    texts = {}
    for number, mutant in enumerate(mutants, 1):
        path = mutant["file"]
        text = texts.setdefault(path, "extern const int berth_mutant;\n" + (ROOT / path).read_text())
        if text.count(mutant["line"]) != 1:
            sys.exit(f"{path} does not have the line of this guard once: {mutant['guard']}")
        texts[path] = text.replace(mutant["line"], re.sub(r"\bOFF\b", f"(berth_mutant == {number})", mutant["switched"]))
    texts["mutant.cpp"] = ("#include <cstdlib>\nextern const int berth_mutant;\n"
                           "const int berth_mutant = std::atoi(std::getenv(\"BERTH_MUTANT\"));\n")
    return texts


def build_program(build, mutants, program):
    command = compile_command(build) + ["-O1", "-w", "-I", str(ROOT), "-I", str(ROOT / "core"), "-I", str(ROOT / "sdk/include")]
    with tempfile.TemporaryDirectory() as folder:
        objects = []
        for path, text in switched(mutants).items():
            source = pathlib.Path(folder, path.replace("/", "-"))
            source.write_text(text)
            objects.append(f"{source}.o")
            subprocess.run(command + ["-c", str(source), "-o", objects[-1]], check=True, cwd=build)
        link = link_command(build).replace(" -o tests/simulate_faults",
                                           f" -Wl,--allow-multiple-definition -o {program}", 1)
        # First among the objects: of two definitions the first holds.
        first = re.search(r"\S+/simulate_faults\.dir/\S+\.o", link).group()
        subprocess.run(link.replace(first, f"{' '.join(objects)} {first}", 1), check=True, shell=True, cwd=build)


def broken_rule(program, number, seed, flags):
    def bounded():
        resource.setrlimit(resource.RLIMIT_CPU, (SEED_PROCESSOR_S, SEED_PROCESSOR_S))

    run = subprocess.run([str(program), "--seed", str(seed), *flags], text=True, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, check=False, env=os.environ | {"BERTH_MUTANT": str(number)},
                         preexec_fn=bounded)
    found = re.search(r"^BROKEN: ([^:]*)", run.stdout, re.MULTILINE)
    if found:
        return found.group(1)
    return None if run.returncode == 0 else "the program ends by itself"


def judge(mutant, number, program, flags, first_seed, minutes):
    """A line of the table, and whether the guard is seen to be missing."""
    began, seed = time.monotonic(), first_seed
    while time.monotonic() - began < 60 * minutes:
        found = broken_rule(program, number, seed, flags)
        if found and not broken_rule(program, 0, seed, flags):
            return f"| {mutant['guard']} | {seed} | {time.monotonic() - began:.0f} s | {found} |", True
        seed += 1
    return f"| {mutant['guard']} | none of {seed - first_seed} | {time.monotonic() - began:.0f} s | |", False


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--virtual-minutes", type=float, default=2, help="of faults for each seed")
    parser.add_argument("--seed", type=int, default=1, help="the first one")
    parser.add_argument("--guard", default="", help="only those whose name has these words")
    parser.add_argument("--program", type=pathlib.Path)
    options = parser.parse_args()
    build = options.build.resolve()
    mutants = json.loads((ROOT / "tests/simulation/mutants.json").read_text())
    survivors = 0
    with tempfile.TemporaryDirectory() as folder:
        program = (options.program or pathlib.Path(folder, "mutants")).resolve()
        if not program.exists():
            build_program(build, mutants, program)
        for number, mutant in enumerate(mutants, 1):
            if options.guard not in mutant["guard"]:
                continue
            flags = ["--plugin-dir", str(build / "plugins"), "--minutes", str(options.virtual_minutes), *mutant["flags"]]
            line, is_seen = judge(mutant, number, program, flags, options.seed, options.minutes)
            print(line, flush=True)
            survivors += not is_seen
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
