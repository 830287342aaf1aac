# SPDX-License-Identifier: Apache-2.0
"""The tree is the map: what may lie where, and how it is called."""
import collections
import fnmatch
import posixpath
import re

from .tree import CPP, Violation

TOP_LEVEL = {"CMakeLists.txt", "core", "sdk", "plugins", "loader", "conf", "scripts", "tests", "README.md", "LICENSE", "SECURITY.md",
             "CMakePresets.json"}
# Sources in one folder of core/, loader/, plugins/, sdk/ or tests/; those that folder_sizes.txt names may have more.
FOLDER_FILES_MAX = 25
FOLDER_SIZES = "tests/meta/folder_sizes.txt"
SNAKE_CASE = re.compile(r"[a-z][a-z0-9_]*")
# A block that documentation.py runs.
RUNNABLE = r"^ *```(?:console\b.*\btest\b|yaml\b.*\bberth\b)"
# Headings that every policy's README has, in this order.
PLUGIN_README = ["Decides", "Arguments", "Source"]


def top_level(tree):
    for name in sorted({p.split("/")[0] for p in tree.paths}):
        if name not in TOP_LEVEL and not name.startswith("."):
            yield Violation(name, name, f"the top level holds {', '.join(sorted(TOP_LEVEL))} and dot files only")
    for name in sorted(TOP_LEVEL - {p.split("/")[0] for p in tree.paths}):
        yield Violation(name, name, "is missing at the top level")


def file_names(tree):
    """snake_case; .h is C, .hpp, .ipp and .cpp are C++."""
    for path in tree.paths:
        name = path.split("/")[-1]
        stem, _, suffix = name.partition(".")
        if f".{suffix}" in CPP | {".py"} and not SNAKE_CASE.fullmatch(stem) and stem != "__init__":
            yield Violation(path, name, "file names are snake_case")
        if name.endswith(".h") and path.startswith(("core/", "loader/", "plugins/")):
            yield Violation(path, name, ".h is the C ABI's suffix; C++ headers end in .hpp")


def folder_size(tree):
    """A folder holds what fits into one look; a larger one has rooms of its own."""
    count = collections.Counter(posixpath.dirname(p) for p in tree.under("core", "loader", "plugins", "sdk", "tests"))
    listed = re.findall(r"^([\w/]+) (\d+)$", tree.text(FOLDER_SIZES), re.M) if FOLDER_SIZES in tree.paths else []
    limits = {folder: int(limit) for folder, limit in listed}
    for folder, files in sorted(count.items()):
        limit = limits.get(folder, FOLDER_FILES_MAX)
        if files > limit:
            yield Violation(folder, f"{files} sources", f"this folder holds {limit} at most: divide it by subject")
    for folder in limits:
        if count[folder] <= FOLDER_FILES_MAX:
            yield Violation(FOLDER_SIZES, folder, f"has {count[folder]} sources and needs no exception any more: remove its line")


def plugin_folders(tree):
    """A policy is a folder that explains and tests itself; plugins/shared is what policies have in common."""
    folders = {p.split("/")[1] for p in tree.paths if p.startswith("plugins/") and p.count("/") > 1}
    for folder in sorted(folders - {"shared"}):
        base = f"plugins/{folder}"
        for wanted in (f"{folder}.cpp", "CMakeLists.txt", "README.md"):
            if f"{base}/{wanted}" not in tree.paths:
                yield Violation(base, wanted, "is missing from the plugin's folder")
        readme = f"{base}/README.md"
        if readme in tree.paths:
            headings = re.findall(r"^## (.+)$", tree.text(readme), re.M)
            missing = [h for h in PLUGIN_README if h not in headings]
            if missing:
                yield Violation(readme, ", ".join(missing), "sections that every plugin's README has")


def documentation_runs(tree):
    """Commands and configurations that a document shows as tested are: it is listed, or a sample."""
    listed = set()
    for path in ("tests/meta/CMakeLists.txt", "tests/samples/CMakeLists.txt"):
        if path in tree.paths:
            listed |= set(re.findall(r"[\w./*-]+\.md", tree.text(path)))
    for path in tree.paths:
        if not path.endswith(".md"):
            continue
        line, _ = next(tree.matches(path, RUNNABLE, tree.text(path)), (None, None))
        if line and not any(fnmatch.fnmatchcase(path, each.lstrip("/")) for each in listed):
            yield Violation(path, path, "shows something as tested, and tests/meta/CMakeLists.txt does not list it", line)


RULES = [top_level, file_names, folder_size, plugin_folders, documentation_runs]
