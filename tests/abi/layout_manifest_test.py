#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The gate itself: which edits of the headers it lets pass and which it stops. Ends with "N passed, N failed".

Each case edits a copy of a small header set after its manifest was written, and says what the gate must answer.
"""
import pathlib
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import layout_manifest as gate  # noqa: E402

COMPILER = sys.argv[1] if len(sys.argv) > 1 else "cc"

HEADER = """#include <stdint.h>
#define BERTH_ABI_MAJOR {major}u
#define BERTH_ABI_MINOR {minor}u
#define BERTH_SDK_VERSION "0"
#define BERTH_LIMIT 7
typedef struct berth_str {{ const char* ptr; uint64_t len; }} berth_str;
enum {{ BERTH_OK = 0, BERTH_ERROR = 1 }};
typedef struct berth_ops_v1 {{
  uint32_t struct_size;
  uint32_t flags;
  uint64_t (*first)(void* self, berth_str name);
  uint64_t (*second)(void* self);
}} berth_ops_v1;
typedef struct berth_draft_v0 {{ uint32_t struct_size; uint32_t flags; }} berth_draft_v0;
const void* berth_library_entry_v1(void);
"""
SECOND = "  uint64_t (*second)(void* self);\n"

# name, (major, minor) of the later header, edits, changelog line, must the gate pass?
CASES = [
    ("nothing changed", (1, 0), [], "", True),
    ("same version, field appended", (1, 0), [(SECOND, SECOND + "  uint64_t third;\n")], "", False),
    ("field appended to a sized struct", (1, 1), [(SECOND, SECOND + "  uint64_t third;\n")], "", True),
    ("field inserted", (1, 1), [(SECOND, "  uint64_t third;\n" + SECOND)], "", False),
    ("fields swapped", (1, 1), [("(*first)(void* self, berth_str name)", "(*swap)(void* self)"),
                                ("(*second)(void* self)", "(*first)(void* self, berth_str name)"),
                                ("(*swap)", "(*second)")], "", False),
    ("field retyped at equal size", (1, 1), [("uint32_t flags;\n  uint64_t", "int32_t flags;\n  uint64_t")], "", False),
    ("field resized", (1, 1), [("uint32_t flags;\n  uint64_t", "uint64_t flags;\n  uint64_t")], "", False),
    ("field renamed", (1, 1), [("uint32_t flags;\n  uint64_t", "uint32_t bits;\n  uint64_t")], "", False),
    ("last field removed", (1, 1), [(SECOND, "")], "", False),
    ("parameter type changed", (1, 1), [("(*second)(void* self)", "(*second)(const void* self)")], "", False),
    ("parameter added", (1, 1), [("(*second)(void* self)", "(*second)(void* self, int32_t more)")], "", False),
    ("parameter renamed", (1, 1), [("(*second)(void* self)", "(*second)(void* me)")], "", True),
    ("closed struct grows", (1, 1), [("uint64_t len; }", "uint64_t len; uint64_t more; }")], "", False),
    ("enumerator added", (1, 1), [("BERTH_ERROR = 1", "BERTH_ERROR = 1, BERTH_WAIT = 4")], "", True),
    ("enumerator renumbered", (1, 1), [("BERTH_ERROR = 1", "BERTH_ERROR = 2")], "", False),
    ("enumerator removed", (1, 1), [(", BERTH_ERROR = 1", "")], "", False),
    ("constant changed", (1, 1), [("BERTH_LIMIT 7", "BERTH_LIMIT 8")], "", False),
    ("entry changed", (1, 1), [("entry_v1(void)", "entry_v1(int32_t)")], "", False),
    ("struct removed", (1, 1), [("typedef struct berth_ops_v1 {", "typedef struct berth_other_v1 {"),
                                ("} berth_ops_v1;", "} berth_other_v1;")], "", False),
    ("draft dropped", (1, 1), [("typedef struct berth_draft_v0 { uint32_t struct_size; uint32_t flags; } berth_draft_v0;",
                                "")], "", True),
    ("draft made permanent, and grown", (1, 1),
     [("typedef struct berth_draft_v0 { uint32_t struct_size; uint32_t flags; } berth_draft_v0;",
       "typedef struct berth_draft_v1 { uint32_t struct_size; uint32_t flags; uint32_t more; } berth_draft_v1;")], "", True),
    ("draft made permanent, and changed", (1, 1),
     [("typedef struct berth_draft_v0 { uint32_t struct_size; uint32_t flags; } berth_draft_v0;",
       "typedef struct berth_draft_v1 { uint32_t struct_size; uint32_t bits; } berth_draft_v1;")], "", False),
    ("another major may break", (2, 0), [(SECOND, "")], "", True),
    ("a changelog line excuses nothing", (1, 1), [(SECOND, "")], "- Break: berth_ops_v1 gone", False),
]


def header(version, edits):
    text = HEADER.format(major=version[0], minor=version[1])
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


def published(folder, version):
    """A header set and a history in which `version` is published."""
    headers, history = folder / "include", folder / "abi"
    (headers / "berth").mkdir(parents=True)
    history.mkdir()
    (headers / "berth" / "plugin.h").write_text(header(version, []))
    gate.write(*gate.manifest_text(headers, COMPILER), history)
    return headers, history


def passes(headers, history):
    return not gate.check(*gate.manifest_text(headers, COMPILER), history)[0]


def run_case(folder, version, edits, line):
    headers, history = published(folder, (version[0], 0) if version != (2, 0) else (1, 0))
    (headers / "berth" / "plugin.h").write_text(header(version, edits))
    current = gate.manifest_text(headers, COMPILER)
    (history / "CHANGELOG.md").write_text(f"## {current[0]}\n\n{line}\n\n## 9.9\n- Break: berth_ops_v1 elsewhere\n")
    if version[1] or version[0] == 2:
        gate.write(*current, history)
    return passes(headers, history)


def rewriting_is_refused(folder):
    headers, history = published(folder, (1, 0))
    (headers / "berth" / "plugin.h").write_text(header((1, 0), [(SECOND, SECOND + "  uint64_t third;\n")]))
    try:
        gate.write(*gate.manifest_text(headers, COMPILER), history)
    except SystemExit:
        return True
    return False


def missing_history(folder, damage):
    headers, history = published(folder, (1, 0))
    (history / "CHANGELOG.md").write_text("## 1.0\n")
    assert passes(headers, history)
    damage(history)
    return passes(headers, history)


DAMAGE = {
    "no history at all": lambda h: shutil.rmtree(h),
    "HISTORY is missing": lambda h: (h / "HISTORY").unlink(),
    "a manifest is missing": lambda h: (h / "manifests" / "1.0.txt").unlink(),
    "a published manifest was edited": lambda h: (h / "manifests" / "1.0.txt").write_text("abi 1.0\n"),
    "the version is not listed": lambda h: (h / "HISTORY").write_text("0.9 " + "0" * 64 + "\n"),
    "no section in the changelog": lambda h: (h / "CHANGELOG.md").write_text("## 0.9\n"),
}


def main():
    results = {}
    for name, version, edits, line, want in CASES:
        with tempfile.TemporaryDirectory() as folder:
            results[name] = run_case(pathlib.Path(folder), version, edits, line) == want
    with tempfile.TemporaryDirectory() as folder:
        results["a published version is not written again"] = rewriting_is_refused(pathlib.Path(folder))
    for name, damage in DAMAGE.items():
        with tempfile.TemporaryDirectory() as folder:
            results[name] = not missing_history(pathlib.Path(folder), damage)
    failures = [name for name, right in results.items() if not right]
    for name in failures:
        print(f"failed: {name}")
    print(f"{len(results) - len(failures)} passed, {len(failures)} failed")
    return bool(failures)


sys.exit(main())
