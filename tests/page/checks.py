# SPDX-License-Identifier: Apache-2.0
"""What the tests of the page share: what came out wrong, what holds for every view, and a browser for each part."""
import json
import os
import sys
import tempfile

from browser import Browser, find_chromium

ROLES = {"button", "link", "combobox", "searchbox", "textbox", "spinbutton", "slider", "image", "img", "table", "navigation"}
problems = []


def check(what, good, seen=""):
    print(("ok    " if good else "WRONG ") + what)
    if not good:
        problems.append(f"{what}: {seen}")


def go(browser, place):
    browser.evaluate(f"location.hash = {json.dumps(place)}; new Promise((done) => setTimeout(done))")


def looks(browser, name, pictures):
    """What holds for every view, in both schemes; screenshots go to the folder `pictures`, if there is one."""
    for scheme in ("light", "dark"):
        browser.colours(scheme)
        wide = browser.evaluate("document.documentElement.scrollWidth")
        check(f"{name} in {scheme} fits 1280 pixels", wide <= 1280, wide)
        if pictures:
            browser.screenshot(os.path.join(pictures, f"{name}-{scheme}.png"))
    nameless = [role for role, text in browser.named_roles() if role in ROLES and not text.strip()]
    check(f"{name}: everything has a name", not nameless, nameless)


def run_parts(*parts):
    """Calls each part with a browser and a folder of its own, and ends the process: with 77 where there is no browser."""
    program = find_chromium()
    if program is None:
        print("no chromium (Debian package chromium)")
        sys.exit(77)
    for part in parts:
        with tempfile.TemporaryDirectory() as folder:
            browser = Browser(program)
            try:
                part(browser, folder)
            finally:
                browser.close()
    sys.exit("\n".join(problems) or 0)
