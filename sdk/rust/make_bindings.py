#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The C headers in Rust, by bindgen, in a form that is the same wherever it is made and that people can read.

    make_bindings.py --bindgen BINDGEN --include DIR --out FILE

Constants of anonymous enums are u32, as the fields are that hold them.
"""
import argparse
import os
import pathlib
import re
import subprocess

OPTIONS = ["--no-rustfmt-bindings", "--no-layout-tests", "--no-prepend-enum-name", "--default-enum-style", "consts", "--rust-target", "1.47",
           "--allowlist-type", "berth_.*", "--allowlist-var", "BERTH_.*", "--blocklist-function", ".*",
           "--blocklist-item", "BERTH_NOTE_(ISA|COMPILER|TRAILER)", "--blocklist-item", "BERTH_MINOR_REQUIRED"]
HEAD = """// Generated from the headers of berth's SDK {version}: do not edit.
use std::os::raw::{{c_char, c_void}};

"""


def readable(tokens):
    """bindgen prints its tokens with spaces between them, on one line."""
    text = " ".join(tokens.split())
    text = re.sub(r"pub type (?:_bindgen_ty_\d+|__u?int\d+_t) = [^;]*; ?", "", text)
    text = re.sub(r": _bindgen_ty_\d+ =", ": u32 =", text)
    text = text.replace(":: std :: os :: raw :: ", "").replace(":: std :: option :: Option", "Option")
    text = re.sub(r" ([;,:)>\]])", r"\1", text)
    text = re.sub(r"([(\[]|Option <|# |& (?=\[))\s*", lambda match: match[1].rstrip().replace("Option <", "Option<"), text)
    text = re.sub(r"\* (const|mut) ", r"*\1 ", text)
    text = text.replace("fn (", "fn(").replace("repr (", "repr(").replace("derive (", "derive(")
    text = re.sub(r" ?(#\[repr|pub (?:const|type|struct) )", r"\n\1", text)
    text = re.sub(r"\] ?\n?(#\[|pub struct )", r"]\n\1", text)
    # A struct with a field on each line.
    def fields(match):
        lines = re.split(r", ?(?=pub )", match[2].strip().rstrip(","))
        return match[1] + " {\n" + "".join(f"    {line},\n" for line in lines) + "}"
    text = re.sub(r"(pub struct \w+) ?\{(.*?)\}", fields, text)
    return text.strip() + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bindgen", required=True)
    parser.add_argument("--include", required=True, type=pathlib.Path)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    options = parser.parse_args()
    made = subprocess.run([options.bindgen, *OPTIONS, options.include / "berth/plugin.h", "--", "-std=c11", "-I", options.include],
                          check=True, stdout=subprocess.PIPE, text=True, timeout=120).stdout
    version = re.search(r'BERTH_SDK_VERSION "([^"]+)"', (options.include / "berth/abi/version.h").read_text())[1]
    text = HEAD.format(version=version) + readable(re.sub(r"/\*.*?\*/", "", made, flags=re.S))
    part = options.out.with_suffix(".part")
    part.write_text(text)
    os.replace(part, options.out)


if __name__ == "__main__":
    main()
