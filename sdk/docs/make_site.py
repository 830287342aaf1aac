#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the documentation of the SDK as a site: its pages, and what the headers say.

    make_site.py --root DIR --out DIR [--doxygen PROGRAM]

DIR of --root is the source tree. docs/README.md is the first page; every page of docs/ is to be reached from it. A line of a page
that is a link into a source, with names after "#", is a worked example: the site shows these members as the source has them,
and a source that lost one of them is an error. So is whatever Doxygen warns about, and a public declaration that says
nothing. Ends with "N pages, N headers, N examples"; the first file to open is OUT/html/index.html.
"""
import argparse
import dataclasses
import html
import os
import pathlib
import re
import shutil
import subprocess
import sys

FENCE = re.compile(r"^( *)```([^\n`]*)\n(.*?)^\1```[ ]*$", re.M | re.S)
LINK = re.compile(r"(!?)\[((?:[^\[\]`]|`[^`]*`)+)\]\(([^()\s]+)\)")
EXAMPLE = re.compile(r"^\[[^\]\n]+\]\((?P<file>[^()\s#]+\.(?:cpp|hpp|c|rs|zig))#(?P<names>[\w,]+)\)$", re.M)
LANGUAGES = {"cpp": "cpp", "c": "c", "rust": "unparsed", "zig": "unparsed"}
# What is a page besides docs/: paths below sdk/.
OTHER_PAGES = ["README.md", "LANGUAGES.md", "RATIONALE.md", "COMPATIBILITY.md", "abi/CHANGELOG.md", "template/README.md",
               "examples/README.md"]
HEADERS = ["include", "cpp", "testkit/include", "cel/include"]
# Declarations that need no words: fields of data, whose name and type say it; the parts that every service has; operators; what makes
# a view of what the host hands over; what is behind a macro. The test kit and the selectors are shown, and not held to it.
SPEAKS_FOR_ITSELF = [re.compile(pattern) for pattern in (
    r"Member \w+ \(variable\) of (?:struct|class)",
    r"Member (?:Table) \(typedef\) of class",
    r"Member operator.*\((?:function|friend)\) of",
    r"Member (?P<name>~?\w+)\(.*\) (?:const )?(?:noexcept )?\(function\) of (?:class|struct) (?:\w+::)*(?P=name)(?:<.*>)? is",
    r"Member BERTH_DETAIL_\w+(?:\(.*\))? \(macro definition\)",
    r"Member BERTH_(?:NOTE|NOTE_\w+|EXPORT|VECTOR_CLONES|PLUGIN_PARTS?)(?:\(.*\))? \(macro definition\)",
    r"(?:testkit|cel)/include/.* is not documented")]


class Problem(Exception):
    """A page, an example or a header that the site cannot be made of."""


@dataclasses.dataclass
class Page:
    path: pathlib.Path  # absolute
    id: str
    text: str
    anchors: dict = dataclasses.field(default_factory=dict)  # anchor as the source's readers have it -> label


def anchor_of(heading, seen):
    """The anchor that a heading has where Markdown is shown as it stands."""
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    name = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
    number = seen.get(name, 0)
    seen[name] = number + 1
    return f"{name}-{number}" if number else name


def member(source, name):
    """The declaration of `name` with the comment above it, as it stands in the source."""
    lines = source.split("\n")
    for first, line in enumerate(lines):
        if not re.match(rf"^ {{0,2}}(?!//)[\w:<>,&*\[\]{{}} ]*\b{name}(?:\(|\[\]|\{{| =)", line) or re.match(r"^ *(?:return|if)\b", line):
            continue
        if "(" in line and line.rstrip().endswith(";") and "=" not in line:
            continue  # declared only
        last, depth = first, 0
        while True:
            code = re.sub(r'"(?:[^"\\]|\\.)*"', '""', lines[last].split("//")[0])
            depth += sum(code.count(c) for c in "({[") - sum(code.count(c) for c in ")}]")
            if depth <= 0 and code.rstrip().endswith(("}", ";", "},")):
                break
            last += 1
            if last == len(lines):
                raise Problem(f"the end of {name} is not found")
        while first > 0 and re.match(r"^ *//", lines[first - 1]):
            first -= 1
        indent = min(len(each) - len(each.lstrip()) for each in lines[first:last + 1] if each.strip())
        return "\n".join(each[indent:] for each in lines[first:last + 1])
    raise Problem(f"there is no {name}")


def example(match, page):
    path = (page.path.parent / match["file"]).resolve()
    try:
        source = path.read_text()
        shown = "\n\n".join(member(source, name) for name in match["names"].split(","))
    except (Problem, OSError) as problem:
        raise Problem(f"{page.path}: example {match['file']}: {problem}") from problem
    language = LANGUAGES.get({"hpp": "cpp", "rs": "rust"}.get(path.suffix[1:], path.suffix[1:]), "unparsed")
    return f"{match[0]}\n\n```{{.{language}}}\n{shown}\n```"


class Site:
    def __init__(self, root, out):
        self.root, self.sdk, self.out = root, root / "sdk", out
        self.examples, self.files = 0, {}
        paths = [self.sdk / "docs/README.md"] + [self.sdk / each for each in OTHER_PAGES]
        paths += sorted(p for p in (self.sdk / "docs").rglob("*.md") if p != paths[0])
        paths += sorted((self.sdk / "examples").glob("*/README.md"))
        self.pages = {p: Page(p, re.sub(r"\W+", "_", str(p.relative_to(self.sdk).with_suffix(""))).lower(), p.read_text()) for p in paths}
        for page in self.pages.values():
            self.label_headings(page)

    def label_headings(self, page):
        """Gives each heading a label of its own, outside of fences."""
        seen, parts, at = {}, [], 0
        for fence in list(FENCE.finditer(page.text)) + [None]:
            end = fence.start() if fence else len(page.text)

            def labelled(match):
                anchor = anchor_of(match[2], seen)
                first = match[1] == "#" and page.id not in page.anchors.values()
                label = page.id if first else f"{page.id}_{re.sub(r'[^0-9a-z]+', '_', anchor)}"
                page.anchors[anchor] = label
                return f"{match[1]} {match[2]} {{#{label}}}"
            parts.append(re.sub(r"^(#{1,4}) (.+?) *$", labelled, page.text[at:end], flags=re.M))
            if fence:
                parts.append(fence[0])
                at = fence.end()
        page.text = "".join(parts)
        # The words for the tag of a thread lead here.
        page.text = page.text.replace("{#docs_threads_tags}", "{#threads_tags}")
        page.anchors = {name: "threads_tags" if label == "docs_threads_tags" else label for name, label in page.anchors.items()}

    def link(self, match, page):
        image, text, target = match.groups()
        if re.match(r"^[a-z]+:", target):
            return match[0]
        name, _, anchor = target.partition("#")
        path = (page.path.parent / name).resolve() if name else page.path
        if path.is_dir() and path / "README.md" in self.pages:
            path /= "README.md"
        if path in self.pages:
            goal = self.pages[path]
            if anchor and anchor not in goal.anchors:
                raise Problem(f"{page.path}: {target}: that page has no such heading")
            label = goal.anchors[anchor] if anchor else goal.id
            leads_down = page.id == "docs_readme" or (page.id == "examples_readme" and goal.id.startswith("examples_"))
            kind = "subpage" if leads_down and not anchor else "ref"
            shown = re.sub(r"[`\"]", "", text)
            return f'@{kind} {label} "{shown}"'
        if not path.is_relative_to(self.root) or not path.exists():
            raise Problem(f"{page.path}: {target} is not there")
        if path.is_dir() or image:
            return text
        # A source: the site has a copy.
        copy = "files/" + str(path.relative_to(self.root)).replace("/", "_") + ".txt"
        self.files[copy] = path
        return f'<a href="{copy}">{html.escape(re.sub("`", "", text), quote=False)}</a>'

    def rendered(self, page):
        """What Doxygen reads of a page: its links resolved, its examples filled in."""
        def filled(match):
            self.examples += 1
            return example(match, page)
        text, parts, at = EXAMPLE.sub(filled, page.text), [], 0
        for fence in list(FENCE.finditer(text)) + [None]:
            end = fence.start() if fence else len(text)
            prose = LINK.sub(lambda match: self.link(match, page), text[at:end])
            parts.append(self.escaped(prose))
            if fence:
                indent, info, body = fence.groups()
                word = (info.split() or [""])[0].strip("{}.")
                parts.append(f"{indent}```{{.{LANGUAGES.get(word, word) if word in ('cpp', 'c') else 'unparsed'}}}\n{body}{indent}```")
                at = fence.end()
        return "".join(parts)

    @staticmethod
    def escaped(prose):
        """Outside of code and links, nothing is a command or a tag."""
        kept = re.compile(r"`[^`]*`|<a href=.*?</a>|@(?:ref|subpage) \w+ \"[^\"]*\"|\{#\w+\}")
        parts, at = [], 0
        for match in list(kept.finditer(prose)) + [None]:
            end = match.start() if match else len(prose)
            plain = prose[at:end].replace("\\", "\\\\").replace("<", "&lt;").replace("@", "\\@")
            parts.append(re.sub(r"(?<=\S)#(?=\w)|(?<=\s)#(?=\w)", "\\#", plain))
            if match:
                parts.append(match[0])
                at = match.end()
        return "".join(parts)

    def write_pages(self):
        folder = self.out / "pages"
        folder.mkdir(parents=True)
        for page in self.pages.values():
            (folder / f"{page.id}.md").write_text(self.rendered(page))
        reached = set(re.findall(r"@subpage (\w+)", (folder / "docs_readme.md").read_text()))
        for page in self.pages.values():
            if page.id not in reached | {"docs_readme"} and "/docs/" in str(page.path):
                raise Problem(f"{page.path}: docs/README.md does not lead to this page")
        return folder

    def run_doxygen(self, program, pages):
        filter_program = self.sdk / "docs/header_filter.py"
        version = re.search(r'BERTH_SDK_VERSION "([^"]+)"', (self.sdk / "include/berth/abi/version.h").read_text())[1]
        values = {"@PAGES@": pages, "@VERSION@": version, "@OUT@": self.out, "@FILTER@": f"{sys.executable} {filter_program}",
                  "@HEADERS@": " ".join(str(self.sdk / each) for each in HEADERS), "@MAIN@": pages / "docs_readme.md"}
        text = (self.sdk / "docs/Doxyfile.in").read_text()
        for name, value in values.items():
            text = text.replace(name, str(value))
        (self.out / "Doxyfile").write_text(text)
        done = subprocess.run([program, str(self.out / "Doxyfile")], capture_output=True, text=True, timeout=500)
        said = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        if done.returncode:
            raise Problem("Doxygen failed:\n" + "\n".join(said[-20:]))
        wrong = sorted({line.replace(str(self.sdk) + "/", "") for line in said if not any(each.search(line) for each in SPEAKS_FOR_ITSELF)})
        if wrong:
            raise Problem(f"{len(wrong)} warnings:\n" + "\n".join(wrong))

    def finish(self):
        """Copies of the sources that pages lead to. Doxygen links to a list of nested classes also where it shows none."""
        for path in (self.out / "html").glob("class*.html"):
            text = path.read_text()
            if '<a href="#nested-classes">' in text and 'name="nested-classes"' not in text:
                path.write_text(re.sub(r'<a href="#nested-classes">Classes</a> &#124;\n?', "", text))
        for name, path in self.files.items():
            target = self.out / "html" / name
            target.parent.mkdir(exist_ok=True)
            shutil.copyfile(path, target)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", required=True, type=pathlib.Path)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--doxygen", default="doxygen")
    options = parser.parse_args()
    out = options.out.resolve()
    shutil.rmtree(out, ignore_errors=True)
    try:
        site = Site(options.root.resolve(), out)
        site.run_doxygen(options.doxygen, site.write_pages())
        site.finish()
    except Problem as problem:
        print(f"make_site: {problem}", file=sys.stderr)
        return 1
    headers = sum(1 for each in HEADERS for p in (site.sdk / each).rglob("*.h*"))
    print(f"{len(site.pages)} pages, {headers} headers, {site.examples} examples: {os.path.relpath(out / 'html/index.html')}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
