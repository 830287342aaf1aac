#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""picture.py BERTH OUT.png: the picture that README begins with; 1280 pixels wide, in light colours."""
import os
import subprocess
import sys
import tempfile

from browser import Browser, find_chromium

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WORDS = ["--cluster", os.path.join(ROOT, "conf/examples/cluster.yaml"), "--drain", "a-1", "-o", "html"]
BYTES_MAX = 150 << 10


def main():
    berth, out = sys.argv[1:]
    program = find_chromium()
    if program is None:
        sys.exit("no chromium (Debian package chromium)")
    with tempfile.TemporaryDirectory() as folder:
        page = os.path.join(folder, "page.html")
        with open(page, "wb") as file:
            subprocess.run([berth, "simulate", *WORDS], stdout=file, check=True)
        browser = Browser(program, 1280, 640)
        try:
            browser.call("Emulation.setScrollbarsHidden", hidden=True)
            browser.colours("light")
            browser.open("file://" + page)
            browser.screenshot(out)
        finally:
            browser.close()
    size = os.path.getsize(out)
    if size > BYTES_MAX:
        sys.exit(f"{out} has {size} bytes: at most {BYTES_MAX} go into the tree")


main()
