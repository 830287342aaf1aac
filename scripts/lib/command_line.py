#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Man pages and shell completions, made from what the program says about itself.

    command_line.py --berth PROGRAM --out DIR [--version TEXT] [--date TEXT]

Asks `berth --help` and the --help of every command below it, so that an option stands in one place, the source. Writes
berth*.1.gz, berth (bash), _berth (zsh) and berth.fish into DIR. The same help makes the same bytes.
"""
import argparse
import dataclasses
import gzip
import pathlib
import re
import subprocess

OPTION = re.compile(r"^  (?P<names>-[^ ]+)(?P<type> [^ ]+(?: \.\.\.)?)?(?P<required> REQUIRED)?(?: +(?P<text>.+))?$")
POSITIONAL = re.compile(r"^  (?P<name>[A-Z_]+)(?P<type> [A-Z]+(?: \.\.\.)?)?(?P<required> REQUIRED)? *(?P<text>.*)$")
COMMAND = re.compile(r"^  (?P<name>[a-z][a-z-]*) +(?P<text>.+)$")

FILES = [
    ("/etc/berth/berth.yaml", "The configuration that the systemd unit uses."),
    ("/usr/lib/berth/plugins", "The policies. Another directory: --plugin-dir, plugins.directory of the configuration, "
                               "or the environment variable BERTH_PLUGIN_DIR, in this order."),
    ("/usr/lib/berth/kube-scheduler", "A link. Called by this name, the program is berth run."),
    ("/usr/share/berth", "A configuration with every default written out, and an example cluster."),
]


@dataclasses.dataclass
class Option:
    names: list
    value: str = ""  # TEXT, UINT, … or empty for a switch
    choices: list = dataclasses.field(default_factory=list)
    required: bool = False
    text: str = ""

    def long(self):
        return next((name for name in self.names if name.startswith("--")), self.names[0])

    def wants_directory(self):
        return self.long().endswith("-dir")


@dataclasses.dataclass
class Command:
    path: list  # ["plugin", "inspect"]; empty: the program
    text: str = ""
    usage: str = ""
    groups: list = dataclasses.field(default_factory=list)  # (heading, [Option])
    positionals: list = dataclasses.field(default_factory=list)
    commands: list = dataclasses.field(default_factory=list)  # Command
    footer: list = dataclasses.field(default_factory=list)

    def options(self):
        return [option for _, options in self.groups for option in options]

    def all(self):
        yield self
        for command in self.commands:
            yield from command.all()


def read(program, path=()):
    shown = subprocess.run([program, *path, "--help"], stdout=subprocess.PIPE, text=True, check=True,
                           stdin=subprocess.DEVNULL)
    command = parse(shown.stdout, list(path))
    command.commands = [read(program, [*path, below.path[-1]]) for below in command.commands]
    return command


def parse(text, path):
    """Every line has to be understood: one that is not ends the build, so that no option is lost without a word."""
    command = Command(path)
    section, last = None, None
    for line in text.splitlines():
        if section is None and not line.startswith("Usage:"):
            command.text = f"{command.text} {line}".strip()
        elif line.startswith("Usage:"):
            section, command.usage = "", line[len("Usage:"):].strip()
        elif re.match(r"^\S.*:$", line) and section != "footer":
            section, last = line[:-1], None
            if section not in ("Positionals", "Subcommands"):
                command.groups.append((section, []))
        elif not line.strip():
            last = None
        elif not line.startswith(" "):
            section = "footer"
            command.footer.append(line)
        elif re.match(r"^ {10,}\S", line) and last is not None:
            last.text = f"{last.text} {line.strip()}".strip()
        elif section == "Positionals" and (match := POSITIONAL.match(line)):
            last = Option([match["name"]], match["type"] or "", required=bool(match["required"]), text=match["text"])
            command.positionals.append(last)
        elif section == "Subcommands" and (match := COMMAND.match(line)):
            last = Command([*path, match["name"]], match["text"])
            command.commands.append(last)
        elif match := OPTION.match(line):
            kind, _, choices = (match["type"] or "").strip().partition(":")
            # A flag that may have a value shows what it stands for and what it is by default: --version{true}=false.
            names = re.sub(r"\{[^}]*\}|=[^,]*", "", match["names"])
            last = Option(names.split(","), kind, choices.strip("{}").split(",") if choices else [],
                          bool(match["required"]), match["text"] or "")
            command.groups[-1][1].append(last)
        else:
            raise SystemExit(f"berth {' '.join(path)} --help: cannot read: {line!r}")
    return command


# --- man pages --------------------------------------------------------------------------------------------------------

def troff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    return "\\&" + text if text.startswith((".", "\\(aq")) else text


def synopsis(command):
    parts = [f"\\fB{troff(' '.join(['berth', *command.path]))}\\fR", "[\\fIOPTION\\fR...]"]
    for positional in command.positionals:
        parts.append(f"\\fI{positional.names[0]}\\fR" + ("..." if "..." in positional.value else ""))
    if command.commands:
        parts.append("\\fICOMMAND\\fR")
    return " ".join(parts)


def option_lines(option):
    names = ", ".join(f"\\fB{troff(name)}\\fR" for name in option.names)
    value = f" \\fI{troff('|'.join(option.choices) or option.value)}\\fR" if option.value else ""
    yield ".TP"
    yield names + value
    yield troff(option.text) + (" (required)" if option.required else "")


def sections(command):
    """Description and options of one command, without its name."""
    yield troff(command.text) + "."
    for heading, options in command.groups:
        yield f".SS \"{troff(heading)}\""
        for option in options:
            yield from option_lines(option)


def man_page(command, root, version, date):
    name = "-".join(["berth", *command.path])
    yield f'.TH "{name.upper()}" "1" "{date}" "berth {version}" "berth"'
    yield ".SH NAME"
    yield f"{troff(name)} \\- {troff(command.text[:1].lower() + command.text[1:])}"
    yield ".SH SYNOPSIS"
    yield "\n.br\n".join(synopsis(shown) for shown in command.commands or [command])
    yield ".SH DESCRIPTION"
    yield from sections(command)
    if command.commands:
        yield ".SH COMMANDS"
        for below in command.commands:
            yield ".TP"
            yield f"\\fBberth {troff(' '.join(below.path))}\\fR"
            yield troff(below.text) + "."
    if command.path:
        # Commands of commands have no page of their own.
        for below in command.commands:
            yield f".SH \"{troff(' '.join(['berth', *below.path])).upper()}\""
            yield from sections(below)
    yield ".SH EXIT STATUS"
    footer = " ".join(command.footer or root.footer)
    yield troff(re.sub(r"^Exit status: ", "", footer))
    yield ".SH FILES"
    for path, text in FILES:
        yield from (".TP", f"\\fI{troff(path)}\\fR", troff(text))
    others = [c for c in [root, *root.commands] if c.path != command.path]
    yield ".SH SEE ALSO"
    yield ",\n".join(f"\\fB{troff('-'.join(['berth', *c.path]))}\\fR(1)" for c in others)


# --- completions ------------------------------------------------------------------------------------------------------

def words(command):
    return [name for option in command.options() for name in option.names] + [c.path[-1] for c in command.commands]


def bash(root):
    yield "# bash completion of berth, made from its --help"
    yield "_berth() {"
    yield '  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" command="" i'
    yield "  for ((i = 1; i < COMP_CWORD; i++)); do"
    yield '    case "$command ${COMP_WORDS[i]}" in'
    yield "      " + "|".join(f'"{" ".join(["", *c.path])}"' for c in root.all() if c.path) + \
          ') command="$command ${COMP_WORDS[i]}" ;;'
    yield "    esac"
    yield "  done"
    yield '  case "$command $before" in'
    for command in root.all():
        prefix = "".join(f" {part}" for part in command.path)
        for option in command.options():
            if option.value:
                pattern = "|".join(f'"{prefix} {name}"' for name in option.names)
                if option.choices:
                    offer = f"-W \"{' '.join(option.choices)}\""
                else:
                    offer = "-d" if option.wants_directory() else "-f"
                    yield f"    {pattern}) compopt -o filenames 2>/dev/null ;;&"
                yield f"    {pattern}) COMPREPLY=($(compgen {offer} -- \"$word\")); return ;;"
    yield "  esac"
    yield '  case "$command" in'
    for command in root.all():
        prefix = "".join(f" {part}" for part in command.path)
        files = ' $(compgen -f -- "$word")' if command.positionals else ""
        yield f"    \"{prefix}\") COMPREPLY=($(compgen -W \"{' '.join(words(command))}\" -- \"$word\"){files}) ;;"
    yield "  esac"
    yield "}"
    yield "complete -F _berth berth"


def zsh_quoted(text):
    return text.replace("'", "'\\''").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")


def zsh_function(command):
    return "_".join(["_berth", *command.path])


def zsh(root):
    yield "#compdef berth"
    yield "# zsh completion of berth, made from its --help"
    for command in reversed(list(root.all())):
        yield f"{zsh_function(command)}() {{"
        if command.commands:
            yield "  local line state"
        yield "  _arguments -C \\"
        for option in command.options():
            if option.choices:
                action = f":{option.value}:({' '.join(option.choices)})"
            elif option.value:
                action = f":{option.value}:" + ("_files -/" if option.wants_directory() else "_files")
            else:
                action = ""
            for name in option.names:
                yield f"    '{name}[{zsh_quoted(option.text)}]{action}' \\"
        if command.commands:
            listed = " ".join(f"{c.path[-1]}\\:\"{zsh_quoted(c.text)}\"" for c in command.commands)
            yield f"    '1: :(({listed}))' \\"
            yield "    '*::argument:->argument'"
            yield "  case $line[1] in"
            for below in command.commands:
                yield f"    {below.path[-1]}) {zsh_function(below)} ;;"
            yield "  esac"
        elif command.positionals:
            yield "    '*:file:_files'"
        else:
            yield "    && return"
        yield "}"
    yield "_berth \"$@\""


def fish_quoted(text):
    return text.replace("\\", "\\\\").replace("'", "\\'")


def fish(root):
    yield "# fish completion of berth, made from its --help"
    yield "complete -c berth -f"
    for command in root.all():
        # In this command and in none below it.
        seen = [f"__fish_seen_subcommand_from {part}" for part in command.path]
        if command.commands:
            below = " ".join(c.path[-1] for c in command.commands)
            seen.append(f"not __fish_seen_subcommand_from {below}")
        condition = f" -n '{'; and '.join(seen)}'"
        for sub in command.commands:
            yield f"complete -c berth{condition} -a {sub.path[-1]} -d '{fish_quoted(sub.text)}'"
        if command.positionals:
            yield f"complete -c berth{condition} -F"
        for option in command.options():
            names = " ".join(f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in option.names)
            if option.choices:
                value = f" -x -a '{' '.join(option.choices)}'"
            elif option.value:
                value = " -x -a '(__fish_complete_directories)'" if option.wants_directory() else " -r -F"
            else:
                value = ""
            yield f"complete -c berth{condition} {names}{value} -d '{fish_quoted(option.text)}'"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--berth", required=True)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--version", default="")
    parser.add_argument("--date", default="")
    options = parser.parse_args()
    root = read(options.berth)
    options.out.mkdir(parents=True, exist_ok=True)
    outputs = {"berth": bash(root), "_berth": zsh(root), "berth.fish": fish(root)}
    for command in [root, *root.commands]:
        outputs["-".join(["berth", *command.path]) + ".1.gz"] = man_page(command, root, options.version, options.date)
    for name, lines in outputs.items():
        text = ("\n".join(lines) + "\n").encode()
        (options.out / name).write_bytes(gzip.compress(text, 9, mtime=0) if name.endswith(".gz") else text)


if __name__ == "__main__":
    main()
