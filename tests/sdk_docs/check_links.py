#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Follows every link of a site that lies in a folder, without a network.

    check_links.py DIR

A link to a file has to find the file, one to an anchor has to find the anchor in it; in the pages, and in the scripts that draw the menu,
the tree and the results of a search. Links to other servers are not followed. Ends with "N passed, N failed".
"""
import html.parser
import pathlib
import re
import sys
import urllib.parse

# "page.html#anchor" in a script of Doxygen's: a menu, a tree, or the words of the search, which lie one folder down.
IN_SCRIPT = re.compile(r"""["']((?:\.\./)?[\w./-]+\.html(?:#\w+)?)["']""")
# Not navtreeindex*.js: that also names enumerators which pages have no anchor for, and then the page opens at its top.
SCRIPTS = ["menudata.js", "navtreedata.js", "search/*_*.js"]


class Reader(html.parser.HTMLParser):
    """The anchors of a page, and its links with their lines."""

    def __init__(self):
        super().__init__()
        self.anchors, self.links = set(), []

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id" or (name == "name" and tag == "a"):
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                self.links.append((self.getpos()[0], value))


def read_site(folder):
    """{path: anchors} and [(where, path, link)] of all that the site has."""
    anchors, links = {}, []
    for path in sorted(folder.rglob("*.html")):
        reader = Reader()
        reader.feed(path.read_text(errors="replace"))
        anchors[path] = reader.anchors
        links += [(f"{path.relative_to(folder)}:{line}", path, link) for line, link in reader.links]
    for pattern in SCRIPTS:
        for path in sorted(folder.glob(pattern)):
            links += [(str(path.relative_to(folder)), path, link) for link in IN_SCRIPT.findall(path.read_text(errors="replace"))]
    return anchors, links


def wrong_with(link, path, folder, anchors):
    """What is wrong with a link; empty when nothing is."""
    parts = urllib.parse.urlsplit(link)
    if parts.scheme in ("http", "https", "mailto", "javascript"):
        return ""
    if parts.scheme or parts.netloc:
        return "is no address that a page of this site may have"
    target = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
    if not target.is_relative_to(folder):
        return "leads out of the site"
    if not target.is_file():
        return "leads to no file"
    if parts.fragment and target in anchors and urllib.parse.unquote(parts.fragment) not in anchors[target]:
        return "leads to no anchor of that page"
    return ""


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    anchors, links = read_site(folder)
    if not anchors or not links:
        print(f"{folder}: no page, or no link\n0 passed, 1 failed")
        return 1
    problems = []
    for where, path, link in links:
        problem = wrong_with(link, path, folder, anchors)
        if problem:
            problems.append(f"{where}: {link} {problem}")
    print("\n".join(problems[:200]))
    print(f"{len(anchors)} pages")
    print(f"{len(links) - len(problems)} passed, {len(problems)} failed")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
