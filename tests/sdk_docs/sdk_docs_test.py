#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What makes the site and what follows its links, on small trees of their own.

    sdk_docs_test.py [TEST…]
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "sdk/docs"))
import header_filter  # noqa: E402
import make_site  # noqa: E402

# Members of a policy that are data about it, and no extension points.
NO_POINTS = {"args_schema", "reasons", "services", "watches", "rbac", "rejection", "minor_required", "identity"}


class Folder(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="berth-sdk-docs-")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path


class Links(Folder):
    def check(self):
        done = subprocess.run([sys.executable, HERE / "check_links.py", self.folder], capture_output=True, text=True)
        return done.returncode, done.stdout

    def test_good_links_pass(self):
        self.write("index.html", '<a href="b.html#x">b</a> <a href="#here" id="here">h</a> <a href="https://example.com/none">e</a>')
        self.write("b.html", '<a name="x"></a><a href="index.html">i</a>')
        self.assertEqual(self.check()[0], 0)

    def test_a_link_to_no_file_fails(self):
        self.write("index.html", '<p>\n<a href="gone.html">b</a>')
        status, said = self.check()
        self.assertEqual(status, 1)
        self.assertIn("index.html:2: gone.html leads to no file", said)

    def test_a_link_to_no_anchor_fails(self):
        self.write("index.html", '<a href="b.html#y">b</a>')
        self.write("b.html", '<a id="x">x</a>')
        status, said = self.check()
        self.assertEqual(status, 1)
        self.assertIn("b.html#y leads to no anchor", said)

    def test_a_link_out_of_the_site_fails(self):
        self.write("index.html", '<a href="../../etc/hostname">b</a>')
        self.assertIn("leads out of the site", self.check()[1])

    def test_links_in_the_search_are_followed(self):
        self.write("index.html", '<a href="index.html">i</a>')
        self.write("search/all_0.js", "var searchData=[['a',['a',['../gone.html#a0',1,'']]]];")
        self.assertIn("search/all_0.js: ../gone.html#a0 leads to no file", self.check()[1])

    def test_an_empty_site_fails(self):
        self.assertEqual(self.check()[0], 1)


class Examples(unittest.TestCase):
    SOURCE = """class A {
  // Why it does.
  int filter(int a) const {
    if (a) return filter(0);
    return 1;
  }
  static constexpr int list[] = {1,
                                 2};
  int other() const { return 0; }
};
"""

    def test_a_function_comes_with_its_comment(self):
        self.assertEqual(make_site.member(self.SOURCE, "filter"),
                         "// Why it does.\nint filter(int a) const {\n  if (a) return filter(0);\n  return 1;\n}")

    def test_a_list_and_a_single_line_are_whole(self):
        self.assertTrue(make_site.member(self.SOURCE, "list").endswith("2};"))
        self.assertEqual(make_site.member(self.SOURCE, "other"), "int other() const { return 0; }")

    def test_what_is_gone_is_a_problem(self):
        with self.assertRaises(make_site.Problem):
            make_site.member(self.SOURCE, "fliter")


class Headers(unittest.TestCase):
    def test_comments_of_c_headers_are_shown(self):
        shown = header_filter.c_header('/* SPDX-License-Identifier: X\n * "a/1": a thing. */\ntypedef struct berth_a_v1 { /* an A */\n'
                                       "  uint32_t struct_size;\n  int b; /* a <b> [any] */\n} berth_a_v1;\n")
        self.assertIn('@brief "a/1": a thing.', shown)
        self.assertIn("/** an A */\ntypedef struct berth_a_v1 {", shown)
        self.assertIn('/**< a &lt;b> @ref threads_tags "[any]" */', shown)

    def test_a_comment_speaks_for_the_lines_below_it(self):
        shown = header_filter.cpp_header("// SPDX\n/// Head.\n#pragma once\nclass A {\n public:\n  /// One.\n  int a();\n  int b();\n\n  int c();\n};\n")
        self.assertEqual(shown.count("/// One."), 2)


class Points(unittest.TestCase):
    def test_every_member_and_every_point_has_its_page(self):
        pages = "".join(path.read_text() for path in (ROOT / "sdk/docs/points").glob("*.md"))
        offers = (ROOT / "sdk/cpp/berth/offers.hpp").read_text().partition("// Names that are easily written for those above.")
        self.assertTrue(offers[1])
        members = set(re.findall(r"^BERTH_DETAIL_HAS\((\w+)\)", offers[0], re.M)) - NO_POINTS
        points = set(re.findall(r'list\.add\("([^"]+)"', (ROOT / "sdk/cpp/berth/describe.hpp").read_text()))
        self.assertTrue(members and points)
        self.assertEqual([], sorted(name for name in members | points if not re.search(rf"(?<![\w.]){re.escape(name)}\b", pages)))


class WholeSite(Folder):
    """A tree with one header, on which the real program runs."""

    def setUp(self):
        super().setUp()
        for name in ("docs/Doxyfile.in", "docs/header_filter.py"):
            (self.folder / "sdk/docs").mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / "sdk" / name, self.folder / "sdk" / name)
        for folder in make_site.HEADERS:
            (self.folder / "sdk" / folder).mkdir(parents=True)
        for page in make_site.OTHER_PAGES:
            self.write(f"sdk/{page}", f"# Page {page}\n\nText.\n")
        self.write("sdk/include/berth/abi/version.h", '/* SPDX\n * Version. */\n#define BERTH_SDK_VERSION "1.0.0" /* this one */\n')
        self.write("sdk/docs/threads.md", "# Threads\n\n## Tags\n\nText.\n")
        self.write("sdk/cpp/a.hpp", "// SPDX\n/// Head.\n#pragma once\n/// An A.\nstruct A {\n  /// One.\n  int one();\n};\n")
        self.main_page("[threads](threads.md)\n")

    def main_page(self, text):
        self.write("sdk/docs/README.md", f"# Main\n\n{text}")

    def make(self):
        done = subprocess.run([sys.executable, ROOT / "sdk/docs/make_site.py", "--root", self.folder, "--out", self.folder / "out"],
                              capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def test_a_good_tree_is_a_site(self):
        status, said = self.make()
        self.assertEqual(status, 0, said)
        self.assertTrue((self.folder / "out/html/index.html").is_file())

    def test_a_declaration_that_says_nothing_is_an_error(self):
        self.write("sdk/cpp/a.hpp", "// SPDX\n/// Head.\n#pragma once\n/// An A.\nstruct A {\n  int one();\n};\n")
        status, said = self.make()
        self.assertEqual(status, 1)
        self.assertIn("Member one() (function) of struct A is not documented", said)

    def test_a_link_to_no_heading_is_an_error(self):
        self.main_page("[threads](threads.md) [tags](threads.md#labels)\n")
        self.assertIn("threads.md#labels: that page has no such heading", self.make()[1])

    def test_a_page_that_nothing_leads_to_is_an_error(self):
        self.write("sdk/docs/alone.md", "# Alone\n")
        self.assertIn("does not lead to this page", self.make()[1])

    def test_an_example_that_is_gone_is_an_error(self):
        self.write("sdk/docs/threads.md", "# Threads\n\n## Tags\n\n[an A](../cpp/a.hpp#two)\n")
        self.assertIn("there is no two", self.make()[1])


if __name__ == "__main__":
    if not shutil.which("doxygen"):
        del WholeSite
    unittest.main()
