#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The layout of the plugin ABI as text, and the rule by which it may change.

    layout_manifest.py --headers sdk/include --history sdk/abi            checks; ends with "N passed, N failed"
    layout_manifest.py --headers sdk/include --history sdk/abi --write    writes the manifest of the version in the headers

A manifest lists each struct with its fields (offset, size, type), each enumerator and constant with its value, each
typedef and function. Offsets, sizes and values come from a compiler, names and types from the preprocessed headers.
Layout is the same on every supported architecture (LP64, natural alignment), so one manifest serves all.

sdk/abi/HISTORY names every version ever published, with the digest of its manifest; a version or manifest that is
missing is a failure, not a gap. Each of them must be a prefix of the current headers: a struct that starts with
struct_size may have grown at its end, everything else is as it was (drafts, revision 0, may be dropped, and go on growing as
revision 1). The previews before 1.0, which no host loads, are not held against anything.
"""
import argparse
import difflib
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# Differ by version, compiler or target, or carry no value.
NOT_LAYOUT = {"BERTH_ABI_MAJOR", "BERTH_ABI_MINOR", "BERTH_SDK_VERSION", "BERTH_EXPORT", "BERTH_NOTE_COMPILER",
              "BERTH_NOTE_ISA", "BERTH_NOTE_TRAILER", "BERTH_MINOR_REQUIRED"}


def compile_and_run(source, headers, compiler):
    with tempfile.TemporaryDirectory(prefix="berth-abi-") as folder:
        program = pathlib.Path(folder) / "layout"
        subprocess.run([compiler, "-std=c11", "-I", str(headers), "-x", "c", "-", "-o", str(program)], input=source,
                       text=True, check=True)
        return subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout


def split_top_level(text, separator=","):
    """Splits at separators that stand outside parentheses."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if c == separator and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return [p.strip() for p in parts + [text[start:]]]


FUNCTION_POINTER = re.compile(r"^(?P<result>[^()]+?)\s*\(\s*\*\s*(?P<name>\w*)\s*\)\s*\((?P<parameters>.*)\)$")
PLAIN = re.compile(r"^(?P<type>.*[\s*])(?P<name>\w+)$")


def spell(text):
    """White space as a formatter would not dare to differ."""
    text = re.sub(r"\s+", " ", text).strip()
    return re.sub(r"\s*\*\s*", "* ", text).strip().replace("* *", "**").replace("( ", "(")


def parameter_type(text):
    """A parameter's type without its name: names may change."""
    pointer = FUNCTION_POINTER.match(text)
    if pointer:
        return function_type(pointer)
    plain = PLAIN.match(text)
    if plain and plain["type"].replace("const", "").strip():
        return spell(plain["type"])
    return spell(text)


def function_type(match):
    parameters = ", ".join(parameter_type(p) for p in split_top_level(match["parameters"]))
    return f"{spell(match['result'])} (*)({parameters})"


def declaration(text):
    """(name, type) of a field or typedef."""
    text = re.sub(r"\s+", " ", text).strip()
    match = FUNCTION_POINTER.match(text)
    if match:
        return match["name"], function_type(match)
    match = PLAIN.match(text)
    if not match or "[" in text or ":" in text:
        raise SystemExit(f"layout_manifest: the ABI may not use this form of declaration: {text}")
    return match["name"], spell(match["type"])


class Headers:
    """What the preprocessed headers declare."""

    def __init__(self, folder, compiler):
        def preprocess(*flags):
            return subprocess.run([compiler, "-std=c11", "-E", "-P", *flags, "-I", str(folder), "-x", "c", "-"], text=True,
                                  input="#include <berth/plugin.h>\n", check=True, capture_output=True).stdout

        text = preprocess()
        self.structs = {name: [declaration(f) for f in body.split(";") if f.strip()]
                        for name, body in re.findall(r"typedef struct (berth_\w+)\s*\{([^{}]*)\}\s*\1\s*;", text)}
        self.enumerators = [name for body in re.findall(r"\benum\s*\{([^{}]*)\}\s*;", text)
                            for name in re.findall(r"\b(BERTH_\w+)\s*(?:=[^,]*)?(?:,|$)", body.strip())]
        typedefs = re.findall(r"\btypedef\s+((?!struct)[^;{}]*\bberth_\w+\b[^;{}]*);", text)
        self.typedefs = dict(declaration(t) for t in typedefs)
        functions = re.findall(r"([\w* ]+?)\b(berth_\w+)\s*\(([^()]*)\)\s*;", re.sub(r"\{[^{}]*\}", "{}", text))
        self.functions = {name: f"{spell(re.sub('__attribute__.*', '', result))} ({spell(parameters)})"
                          for result, name, parameters in functions if name.startswith("berth_library_entry")}
        self.constants = {}
        for name, value in re.findall(r"^#define (BERTH_\w+) (.+)$", preprocess("-dM"), re.M):
            if name not in NOT_LAYOUT:
                self.constants[name] = value.strip()
        macro = dict(re.findall(r"^#define (BERTH_\w+) (.+)$", preprocess("-dM"), re.M))
        self.version = f"{int(macro['BERTH_ABI_MAJOR'].rstrip('u'))}.{int(macro['BERTH_ABI_MINOR'].rstrip('u'))}"


def manifest_text(folder, compiler):
    headers = Headers(folder, compiler)
    if not headers.structs or not headers.enumerators or not headers.functions:
        raise SystemExit("layout_manifest: the headers declare nothing; is the path right?")
    source = ["#include <berth/plugin.h>", "#include <stddef.h>", "#include <stdio.h>", "int main(void) {"]
    for struct, fields in headers.structs.items():
        source.append(f'printf("struct {struct} size %zu align %zu\\n", sizeof({struct}), _Alignof({struct}));')
        for name, kind in fields:
            source.append(f'printf("  %zu %zu {name} : {kind}\\n", offsetof({struct}, {name}), '
                          f"sizeof((({struct}*)0)->{name}));")
    for name in headers.enumerators:
        source.append(f'printf("enumerator {name} %lld\\n", (long long){name});')
    source.append("return 0; }")
    lines = compile_and_run("\n".join(source), folder, compiler).splitlines()
    lines += [f"constant {name} {value}" for name, value in sorted(headers.constants.items())]
    lines += [f"typedef {name} {kind}" for name, kind in sorted(headers.typedefs.items())]
    lines += [f"function {name} {kind}" for name, kind in sorted(headers.functions.items())]
    return headers.version, "\n".join([f"abi {headers.version}", *lines]) + "\n"


def parse_manifest(text):
    """{(kind, name): value}; a struct's value is (header line, field lines)."""
    items, struct = {}, None
    for line in text.splitlines()[1:]:
        if line.startswith("  "):
            items[struct][1].append(line.strip())
            continue
        kind, name, value = (line.split(" ", 2) + [""])[:3]
        if kind == "struct":
            struct = (kind, name)
            items[struct] = (value, [])
        else:
            items[(kind, name)] = value
    return items


def breaks(released, current):
    """A sentence about everything in which `released` is no prefix of `current`."""
    old, new, found = parse_manifest(released), parse_manifest(current), []
    # A draft that became permanent is still asked for by its former id, and gets the permanent table.
    permanent = {name: name[:-1] + "1" for kind, name in old
                 if name.endswith("_v0") and (kind, name) not in new and (kind, name[:-1] + "1") in new}

    def renamed(text):
        return re.sub(r"\b\w+_v0\b", lambda match: permanent.get(match[0], match[0]), text)

    for (kind, name), value in old.items():
        key = (kind, permanent.get(name, name))
        value = (value[0], [renamed(field) for field in value[1]]) if isinstance(value, tuple) else renamed(value)
        if key not in new:
            if not name.endswith("_v0"):
                found.append(f"{kind} {name} is gone")
        elif kind != "struct":
            if new[key] != value:
                found.append(f"{kind} {name} was {value}, is {new[key]}")
        else:
            (old_layout, old_fields), (new_layout, new_fields) = value, new[key]
            grows = bool(old_fields) and re.fullmatch(r"0 4 struct_size : uint32_t", old_fields[0]) is not None
            if new_fields[: len(old_fields)] != old_fields:
                at = next(i for i, f in enumerate(old_fields) if i >= len(new_fields) or new_fields[i] != f)
                now = new_fields[at] if at < len(new_fields) else "nothing"
                found.append(f"{name}: was '{old_fields[at]}', is '{now}'")
            elif not grows and new_fields != old_fields:
                found.append(f"{name} has no struct_size, so it may not grow: '{new_fields[len(old_fields)]}'")
            elif old_layout.split()[2:] != new_layout.split()[2:]:
                found.append(f"{name}: alignment was {old_layout}, is {new_layout}")
    return found


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


def history_entries(history):
    """[(version, digest)] in order of publication."""
    path = history / "HISTORY"
    if not path.is_file():
        return []
    return [tuple(line.split()) for line in path.read_text().splitlines() if line.strip() and not line.startswith("#")]


def check(version, current, history):
    """Sentences about what is wrong, and how many things were looked at."""
    problems, looked_at = [], 1
    entries = history_entries(history)
    if not entries:
        return ["sdk/abi/HISTORY is missing or empty: without history nothing can be proved"], 1
    changelog_path = history / "CHANGELOG.md"
    changelog = changelog_path.read_text() if changelog_path.is_file() else ""

    for name, recorded in entries:
        looked_at += 1
        path = history / "manifests" / f"{name}.txt"
        if not path.is_file():
            problems.append(f"the manifest of {name} is missing: {path}")
            continue
        text = path.read_text()
        if digest(text) != recorded:
            problems.append(f"the manifest of {name} is not the one that was published (HISTORY has another digest)")
        if name == version:
            if text != current:
                difference = difflib.unified_diff(text.splitlines(), current.splitlines(), f"manifest {name}", "headers",
                                                  lineterm="", n=1)
                problems.append(f"the headers say they are ABI {name}, but differ from its manifest:\n" +
                                "\n".join(list(difference)[:40]) + "\nRaise BERTH_ABI_MINOR, add a section to "
                                "sdk/abi/CHANGELOG.md, then run this script with --write.")
        elif name.split(".")[0] == version.split(".")[0]:
            problems += [f"against {name}: {sentence}" for sentence in breaks(text, current)]
    if version not in [name for name, _ in entries]:
        problems.append(f"ABI {version} has no manifest: run this script with --write")
    if not re.search(rf"^## {re.escape(version)}\b", changelog, re.M):
        problems.append(f"sdk/abi/CHANGELOG.md has no section '## {version}'")
    return problems, looked_at


def write(version, current, history):
    """Writes the manifest of the headers' version and notes it in HISTORY. What is published is not written again."""
    published = dict(history_entries(history)).get(version)
    if published not in (None, digest(current)):
        raise SystemExit(f"layout_manifest: ABI {version} is published, and the headers have another layout: raise "
                         "BERTH_ABI_MINOR, and append only")
    entries = [e for e in history_entries(history) if e[0] != version] + [(version, digest(current))]
    (history / "manifests").mkdir(parents=True, exist_ok=True)
    (history / "manifests" / f"{version}.txt").write_text(current)
    (history / "HISTORY").write_text("# SPDX-License-Identifier: Apache-2.0\n# Every version of the frozen ABI: version, "
                                     "sha256 of its manifest. Lines are added, never taken away.\n" +
                                     "".join(f"{name} {value}\n" for name, value in entries))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--headers", required=True, type=pathlib.Path)
    parser.add_argument("--history", required=True, type=pathlib.Path)
    parser.add_argument("--compiler", default=os.environ.get("CC", "cc"))
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    version, current = manifest_text(options.headers, options.compiler)
    if options.write:
        write(version, current, options.history)
    problems, looked_at = check(version, current, options.history)
    for problem in problems:
        print(problem)
    print(f"{max(0, looked_at - len(problems))} passed, {len(problems)} failed")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
