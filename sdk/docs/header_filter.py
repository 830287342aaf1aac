#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows a header of the SDK to Doxygen, which reads comments of its own form only. Writes to standard output.

    header_filter.py FILE

The comment at the head of a file becomes that of the file, as it stands. In C headers every comment is about the declaration that
follows it, or about the one in front of it in the same line; in C++ also about those right below that have none. Fields that mean
the same in all structs (struct_size, reserved, the count next to an array) and say nothing have their meaning from here.
"""
import pathlib
import re
import sys

TAG = re.compile(r" *\[(load|cycle|worker|binder|watch|any)\]")


def file_comment(lines):
    """The head of a file: its first sentence in short, all of it as it stands."""
    text = "\n".join(lines).strip("\n")
    return f"/** @file\n * @brief {' '.join(text.split(chr(10) * 2)[0].split())}\n *\n@verbatim\n{text}\n@endverbatim\n */\n"


def plain(text):
    """A comment of a declaration: nothing in it is a command or a tag of HTML, and the tags of threads lead to their page."""
    parts = re.split(r"(`[^`\n]*`)", text)
    parts[::2] = [p.replace("\\", "\\\\").replace("@", "\\@").replace("<", "&lt;").replace("#", "\\#") for p in parts[::2]]
    text = "".join(parts)
    return TAG.sub(r' @ref threads_tags "[\1]"', text)


def fields(text):
    """Documents fields that mean the same everywhere."""
    def one_struct(match):
        body = match[0]
        names = set(re.findall(r"(\w+);", body))
        said = []
        for line in body.split("\n"):
            field = re.match(r"^  [\w ]*?(\w+);(?P<comment>.*)$", line)
            if field and "/*" not in line:
                name = field[1]
                owner = next((n for n in (f"{name[:-6]}s", name[:-6], f"{name[:-6]}es") if name.endswith("_count") and n in names), None)
                if name == "struct_size":
                    line += " /* what the side that allocated it was built with: see BERTH_HAS */"
                elif re.fullmatch(r"reserved_?\d?", name):
                    line += " /* 0 */"
                elif name == "flags":
                    line += " /* 0 */"
                elif owner:
                    line += f" /* entries of {owner} */"
            said.append(line)
        return "\n".join(said)
    return re.sub(r"typedef struct \w+ \{.*?^\} \w+;", one_struct, text, flags=re.M | re.S)


def functions(text):
    """What is said of a function holds for the one right below it."""
    pointer = r"  (?:[\w ]+\*? ?)\(\*\w+\)\([^;]*;(?: /\*[^\n]*\*/)?\n"
    for _ in range(4):
        text = re.sub(rf"(?P<said>  /\*(?:(?!\*/).)*\*/\n)(?P<first>{pointer})(?={pointer})", r"\g<said>\g<first>\g<said>", text, flags=re.S)
    return text


def structs(text, head):
    """A struct that says nothing of itself is what its header is about."""
    first = " ".join(head).split(". ")[0].rstrip(".")
    return re.sub(r"(?<!\*/\n)^(typedef struct \w+ \{)$", lambda match: f"/* Of {first}. */\n{match[1]}", text, flags=re.M)


def c_header(text):
    head = re.match(r"/\* SPDX[^\n]*\n(.*?)\*/\n", text, re.S)
    lines = [re.sub(r"^ \* ?", "", line).rstrip() for line in head[1].split("\n")]
    # What a struct is for, behind its brace, belongs in front of it.
    rest = re.sub(r"^(typedef struct \w+ \{) /\* (.*?) \*/", r"/* \2 */\n\1", fields(text[head.end():]), flags=re.M)
    rest = structs(functions(rest), lines)
    parts, at = [file_comment(lines)], 0
    for comment in re.finditer(r"/\*.*?\*/", rest, re.S):
        before = rest[rest.rfind("\n", 0, comment.start()) + 1:comment.start()].strip()
        parts.append(rest[at:comment.start()])
        trailing = before != "" and not before.endswith("{") and not before.startswith("#if")
        parts.append(("/**<" if trailing else "/**") + plain(comment[0][2:]))
        at = comment.end()
    return "".join(parts) + rest[at:]


def cpp_header(text):
    lines, head, body = text.split("\n"), [], []
    for number, line in enumerate(lines):
        if not line.startswith("//"):
            body = lines[number:]
            break
        if line.startswith("///"):
            head.append(line[4:])
    said, above, ends, group = [], [], True, []
    for line in body:
        comment = re.match(r"^(\s*)(///<?)(.*)$", line)
        trailing = re.match(r"^(.*\S.*?)(///<)(.*)$", line)
        if comment:
            line = comment[1] + comment[2] + plain(comment[3])
            above.append(line)
        elif trailing:
            line = trailing[1] + trailing[2] + plain(trailing[3])
            above, group = [], []
        elif not line.strip() or line.strip().startswith(("//", "#", "public:", "private:", "protected:")):
            above, group = [], []
        else:
            indent = len(line) - len(line.lstrip())
            if above:
                group, above = list(above), []
                depth = len(group[0]) - len(group[0].lstrip())
            elif group and ends and indent == depth and re.match(r"^\s*[\w:~]", line):
                said += group  # what is said of a declaration holds for those right below it
            ends = line.rstrip().endswith((";", "}")) and (not group or indent == depth)
            if group and indent < depth:
                group = []
        said.append(line)
    return file_comment(head) + "\n".join(said)


def main():
    path = pathlib.Path(sys.argv[1])
    text = path.read_text()
    sys.stdout.write(c_header(text) if path.suffix == ".h" else cpp_header(text))


if __name__ == "__main__":
    main()
