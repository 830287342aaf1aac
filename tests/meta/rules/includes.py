# SPDX-License-Identifier: Apache-2.0
"""Who may include whom. Every arrow points down; core/README.md shows the same tables."""
import posixpath
import re

from .tree import Violation

# What the code of a folder may include of core/, directly. A name with a slash is one header, not a folder.
ARROWS = {
    "base": set(),
    "text": {"base"},
    "observe": {"base"},
    "confine": {"base"},
    "model": {"base"},
    "recording": {"base", "text", "observe", "model"},
    "decode": {"base", "text", "model"},
    "config": {"base", "text", "model"},
    "net": {"base", "observe"},
    "cluster": {"base", "observe", "text", "model", "decode", "net"},
    "cache": {"base", "model"},
    # The snapshot and what it is made of, not the cache that writes it; what is written to a cluster, as values.
    "framework": {"base", "observe", "model", "config", "cache/snapshot.hpp", "cache/columns.hpp", "cache/shapes.hpp",
                  "cache/node_row.hpp", "cache/image_table.hpp", "cache/interned_lists.hpp", "cache/resource_table.hpp",
                  "cluster/cluster_writer.hpp"},
    "queue": {"base", "observe", "model", "cache/pod_groups.hpp", "framework"},
    "preemption": {"base", "model", "cache/shapes.hpp", "cache/snapshot.hpp", "framework"},
    "extender": {"base", "observe", "text", "model", "config", "net", "cluster", "cache/snapshot.hpp", "framework",
                 "preemption"},
    "cycle": {"base", "observe", "model", "config", "cache", "framework", "queue", "preemption", "extender"},
    "binding": {"base", "observe", "model", "cache", "framework", "queue", "cluster", "cycle/placement.hpp",
                "extender/extender.hpp"},
    "ingest": {"base", "observe", "model", "cache", "queue", "cluster", "binding/waiting_pods.hpp"},
    "serving": {"base", "observe", "net/wire/record_limit.hpp"},
    "metrics": {"base", "observe", "model", "config", "net", "framework", "cycle", "binding"},
    "scheduler": {"base", "observe", "text", "model", "recording", "decode", "config", "cluster", "cache", "queue", "framework",
                  "preemption", "extender", "cycle", "binding", "ingest", "metrics"},
    "access": {"base", "observe", "text", "net", "cluster", "serving"},
    "report": {"base", "text", "model", "config", "cache", "queue", "cycle", "loader/findings.hpp"},
    "loader": {"base", "observe"},
    "isolation": {"base", "observe", "confine", "cache/snapshot.hpp", "framework", "loader"},
}
# What the code of a folder of core/app may include of the others; main.cpp includes what it needs.
APP_ARROWS = {
    "plugins": set(),
    "recording": {"plugins"},
    "cli": {"plugins", "recording"},
    "shadow": set(),
    "pages": {"plugins", "cli", "shadow"},
    "live": {"plugins", "recording", "cli", "pages", "shadow"},
    "simulate": {"plugins", "recording", "cli", "live"},
    "verify": {"plugins", "simulate"},
    "real_host": {"plugins", "simulate"},
    "commands": {"plugins", "recording", "cli", "pages", "live", "simulate", "shadow", "verify"},
}
# Files that the map names for one task at most.
TASK_FILES_MAX = 3
# The plugin ABI is for those that talk to plugins.
SDK_READERS = {"framework", "preemption", "loader", "isolation", "app"}

# Third-party headers that belong to one place: prefix of the include -> who may have it, and what the others do.
OWNED = {
    "<yaml-cpp/": (("core/text/",), "YAML with positions is core/text's; use text/parse.hpp"),
    "<simdjson": (("core/text/",), "JSON is parsed in core/text; use text/parse.hpp"),
    "<boost/dll": (("loader/",), "shared libraries are loader/'s"),
    # The fatal-signal report asks which library an address belongs to; tests outside the tree load what they test.
    "<dlfcn.h": (("loader/", "core/observe/", "sdk/testkit/"), "shared libraries are loader/'s"),
    "<seccomp.h": (("core/confine/",), "a process confines itself through confine/sandbox.hpp"),
    "<CLI/": (("core/app/",), "the command line is core/app's"),
    "<openssl/": (("loader/", "core/net/", "core/serving/", "core/access/"),
                  "digests are loader/'s, TLS is core/net's and core/serving's"),
    "<spdlog/spdlog.h": (("core/observe/",), "lines go through observe/log.hpp"),
    "<spdlog/logger.h": (("core/observe/",), "lines go through observe/log.hpp"),
    "<spdlog/sinks/": (("core/observe/",), "lines go through observe/log.hpp"),
    "<spdlog/details/": (("core/observe/",), "lines go through observe/log.hpp"),
    "<prometheus/": (("core/observe/",), "metrics go through core/observe"),
    "<gtest/": (("tests/", "sdk/testkit/", "sdk/examples/", "plugins/"), "test code lives in tests/ and beside policies"),
    "<benchmark/": (("tests/",), "benchmarks live in tests/bench"),
    "<format>": ((), "GCC 12 has none; fmt does it"),
    "<expected>": ((), "GCC 12 has none; base/result.hpp does it"),
    "<source_location>": ((), "Clang 14 has none"),
}


def folder_of(path):
    parts = path.split("/")
    return "loader" if parts[0] == "loader" else parts[1]


def is_allowed(folder, target):
    allowed = ARROWS.get(folder, set())
    return target.split("/")[0] in allowed | {folder} or target in allowed


def include_table(tree):
    """core/ and loader/ include downwards only."""
    known = {p.split("/")[1] for p in tree.under("core")}
    for path in tree.under("core", "loader"):
        folder = folder_of(path)
        if folder == "app":
            yield from app_includes(tree, path)
            continue
        if folder not in ARROWS:
            yield Violation(path, folder, "this folder has no row in the include table (tests/meta/rules/includes.py)")
            continue
        for line, include in tree.includes(path):
            target = include[1:-1]
            if target.split("/")[0] == "berth":
                if folder not in SDK_READERS:
                    yield Violation(path, include, f"{folder} may not know the plugin ABI", line)
            elif target.split("/")[0] in known | {"loader"} and "/" in target and not is_allowed(folder, target):
                yield Violation(path, include, f"{folder} may not include it; arrows point down", line)
            elif include[0] == '"' and target.startswith(".."):
                yield Violation(path, include, "write the path from core/, not a relative one", line)


def app_includes(tree, path):
    """The folders of core/app include downwards, too."""
    if path.count("/") < 3:
        return
    folder = path.split("/")[2]
    if folder not in APP_ARROWS:
        yield Violation(path, f"app/{folder}", "this folder has no row in APP_ARROWS (tests/meta/rules/includes.py)")
        return
    for line, include in tree.includes(path):
        target = include[1:-1]
        if include[0] == '"' and target.startswith(".."):
            yield Violation(path, include, "write the path from core/, not a relative one", line)
        if target.startswith("app/"):
            if target.split("/")[1] not in APP_ARROWS[folder] | {folder}:
                yield Violation(path, include, f"app/{folder} may not include it; arrows point down", line)


def third_party(tree):
    """Libraries with one owner stay with it."""
    for path in tree.under("core", "loader", "plugins", "sdk", "tests"):
        for line, include in tree.includes(path):
            for prefix, (owners, why) in OWNED.items():
                if (include.startswith(prefix) or include.startswith('"' + prefix[1:])) and not path.startswith(owners):
                    # Tests look at what they test with the same libraries.
                    if not (path.startswith("tests/") and owners):
                        yield Violation(path, include, why, line)


def sdk_headers(tree):
    """The C headers stand on <stdint.h> alone; the wrapper on them and the standard library."""
    for path in tree.under("sdk/include"):
        if not path.endswith(".h"):
            yield Violation(path, "file name", "sdk/include holds C headers only")
        for line, include in tree.includes(path):
            if include != "<stdint.h>" and include[0] != '"':
                yield Violation(path, include, "the ABI needs no other header than <stdint.h>", line)
    for path in tree.under("sdk/cpp", "sdk/template"):
        for line, include in tree.includes(path):
            target = include[1:-1]
            if "/" in target and not target.startswith(("berth/", "abi/", "ext/")):
                yield Violation(path, include, "the wrapper and the template know the ABI and the standard library", line)


def samples_know_the_sdk_only(tree):
    """A sample is built outside the tree: the SDK, the standard library, sockets, and what lies in sdk/examples."""
    for path in tree.under("sdk/examples"):
        for line, include in tree.includes(path):
            target = include[1:-1]
            beside = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
            own = include[0] == '"' and beside.startswith("sdk/examples/") and beside in tree.paths
            outside = "/" not in target or target.startswith(("berth/", "sys/", "netinet/"))
            if not (own or (include[0] == "<" and outside)):
                if not (path.endswith("_test.cpp") and target.startswith("gtest/")):
                    yield Violation(path, include, "samples include the SDK, the system's headers and what is in sdk/examples", line)


def plugins_know_the_sdk_only(tree):
    """A policy is written as a stranger would write it."""
    for path in tree.under("plugins"):
        own = {p.split("/")[-1] for p in tree.paths if p.rsplit("/", 1)[0] == path.rsplit("/", 1)[0]}
        for line, include in tree.includes(path):
            target = include[1:-1]
            standard = include[0] == "<" and "/" not in target
            # Code that several policies have in common.
            beside = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
            within = next((p for p in (beside, f"plugins/{target}") if p.startswith("plugins/") and p in tree.paths), None)
            if not (target.startswith("berth/") or standard or within or target in own):
                if not (path.endswith("_test.cpp") and target.startswith("gtest/")):
                    yield Violation(path, include, "plugins include the SDK, the standard library and what is in plugins/", line)
            # Legacy policies are earlier forms of today's and build on them.
            elif within and within.split("/")[1] not in ("shared", path.split("/")[1]) and path.split("/")[1] != "legacy":
                yield Violation(path, include, "a policy includes no other one: what two have in common goes to plugins/shared", line)


def section(text, heading):
    """What stands under a heading of a document; empty without that heading."""
    match = re.search(rf"^## {heading}$(.*?)(?=^## |\Z)", text, re.M | re.S)
    return match[1] if match else ""


def map_of_the_core(tree):
    """core/README.md lists every folder of core/ with what it may include, and its file names exist."""
    path = "core/README.md"
    if path not in tree.paths:
        yield Violation(path, "core/README.md", "is missing: the map of the core")
        return
    text = tree.text(path)
    rows = {m[1]: m[2].strip() for m in re.finditer(r"^\| `(\w+)` \|[^|\n]*\|([^|\n]*)\|$", text, re.M)}
    folders = {p.split("/")[1] for p in tree.under("core")} & (set(ARROWS) | {"app"})  # others break include_table
    for folder in sorted(folders | set(rows)):
        if folder not in rows:
            yield Violation(path, folder, "this folder of core/ is not on the map")
        elif folder not in folders:
            yield Violation(path, folder, "the map shows a folder that core/ does not have")
        elif rows[folder] != shown(folder, folders):
            yield Violation(path, folder, f"may include {shown(folder, folders) or 'nothing'}; the map says {rows[folder] or 'nothing'}")
    app_folders = {p.split("/")[2] for p in tree.under("core/app") if p.count("/") > 2} & set(APP_ARROWS)
    app_rows = dict(re.findall(r"^\| `app/(\w+)` \|[^|\n]*\|([^|\n]*)\|$", text, re.M))
    for folder in sorted(app_folders | set(app_rows)):
        may = ", ".join(each for each in APP_ARROWS if each in APP_ARROWS.get(folder, ()) and each in app_folders)
        if folder not in app_rows:
            yield Violation(path, f"app/{folder}", "this folder of core/app is not on the map")
        elif folder not in app_folders:
            yield Violation(path, f"app/{folder}", "the map shows a folder that core/app does not have")
        elif app_rows[folder].strip() != may:
            said = app_rows[folder].strip() or "nothing"
            yield Violation(path, f"app/{folder}", f"may include {may or 'nothing'}; the map says {said}")
    way = section(text, "The way of a pod")
    if way and len(re.findall(r"^\d+\. .*$", way, re.M)) != 12:
        yield Violation(path, "The way of a pod", "twelve lines, from the watch to the wire and back")
    for task, files in re.findall(r"^\| ([^|\n]+) \|([^|\n]*)\|$", section(text, "Where to start"), re.M):
        if len(re.findall(r"`[\w/<>]+\.\w+`", files)) > TASK_FILES_MAX:
            yield Violation(path, task, f"leads to more than {TASK_FILES_MAX} files")
    for line, match in tree.matches(path, r"`((?:\w+/)+\w+\.(?:cpp|hpp))`", text):
        if f"core/{match[1]}" not in tree.paths and match[1] not in tree.paths:
            yield Violation(path, match[1], "the map names a file that does not exist", line)


def shown(folder, folders):
    """The right column of the map for this folder."""
    if folder == "app":
        return "everything"
    allowed = ARROWS.get(folder, set())
    names = [f for f in ARROWS if f in allowed and f in folders | {"loader"}]
    headers = sorted(a for a in allowed if "/" in a and a.split("/")[0] in folders | {"loader"})
    if folder == "framework":
        return ", ".join(names + ["the snapshot of cache", "cluster/cluster_writer.hpp"])
    return ", ".join(names + headers)


RULES = [map_of_the_core, include_table, third_party, sdk_headers, samples_know_the_sdk_only, plugins_know_the_sdk_only]
