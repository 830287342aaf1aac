# SPDX-License-Identifier: Apache-2.0
"""The source tree as the rules see it: the files that git knows or would know, read once."""
import dataclasses
import functools
import pathlib
import re
import subprocess

CPP = {".cpp", ".hpp", ".ipp", ".c", ".h"}
INCLUDE = re.compile(r'^\s*#\s*include\s*(?P<text>[<"][^">]+[>"])', re.M)


@dataclasses.dataclass(frozen=True)
class Violation:
    path: str
    what: str  # the offending piece: an include, a name; what an allow-list entry quotes
    why: str
    line: int = 0

    def __str__(self):
        place = f"{self.path}:{self.line}" if self.line else self.path
        return f"{place}: {self.what}: {self.why}"


class Tree:
    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.paths = sorted(self._list())

    def _list(self):
        try:
            listing = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=self.root, check=True,
                                     capture_output=True, text=True).stdout.splitlines()
        except (OSError, subprocess.CalledProcessError):
            listing = [str(p.relative_to(self.root)) for p in self.root.rglob("*") if p.is_file()]
        return [p for p in listing if not p.startswith("build/") and (self.root / p).is_file()]

    @functools.lru_cache(maxsize=None)
    def text(self, path):
        return (self.root / path).read_text(errors="replace")

    @functools.lru_cache(maxsize=None)
    def code(self, path):
        """The text with comments blanked out; line numbers stay. String literals stay as they are."""
        def blank(match):
            piece = match[0]
            return piece if piece[0] in "\"'" else re.sub(r"[^\n]", " ", piece)
        return re.sub(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|//[^\n]*|/\*.*?\*/', blank, self.text(path), flags=re.S)

    def under(self, *folders, suffixes=CPP):
        for path in self.paths:
            if pathlib.PurePath(path).suffix in suffixes and path.startswith(tuple(f + "/" for f in folders)):
                yield path

    def matches(self, path, pattern, text=None):
        """(line number, match) for each place where the pattern occurs in the code of a file."""
        text = self.code(path) if text is None else text
        for match in re.finditer(pattern, text, re.M):
            yield text.count("\n", 0, match.start()) + 1, match

    def includes(self, path):
        """(line number, include as written) for each include of a file."""
        for line, match in self.matches(path, INCLUDE.pattern):
            yield line, match["text"]
