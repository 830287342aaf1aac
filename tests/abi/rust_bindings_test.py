#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the crate berth-sys against the layout of the ABI: a program in Rust asks for the size, alignment and fields of every struct of the
manifest, and for the value of every constant.

    rust_bindings_test.py --rustc RUSTC --crate DIR --bindings FILE --manifest FILE

The manifest comes from a C compiler, the bindings from libclang: neither knows of the other. Ends with "N passed, N failed".
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SUFFIX = re.compile(r"(?<=\d)[uUlL]+$")
VALUES = {"UINT32_MAX": 2**32 - 1, "INT64_MAX": 2**63 - 1}


def rust_checks(manifest):
    """One line of Rust for each thing that the manifest says."""
    struct, checks = None, []
    for line in manifest.splitlines()[1:]:
        words = line.split()
        if words[0] == "struct":
            struct = words[1]
            checks.append(f'check("{struct} size", size_of::<s::{struct}>(), {words[3]});')
            checks.append(f'check("{struct} align", align_of::<s::{struct}>(), {words[5]});')
        elif line.startswith("  "):
            offset, size, name = int(words[0]), int(words[1]), words[2]
            checks.append(f'field!({struct}, r#{name}, "{struct}.{name}", {offset}, {size});')
        elif words[0] == "enumerator":
            checks.append(f'value("{words[1]}", s::{words[1]} as i128, {words[2]});')
        elif words[0] == "constant":
            name, text = words[1], line.split(" ", 2)[2]
            if text.startswith('"'):
                checks.append(f'check("{name}", (s::{name} == concat!({text}, "\\0").as_bytes()) as usize, 1);')
            else:
                number = VALUES.get(text) or int(SUFFIX.sub("", text), 0)
                checks.append(f'value("{name}", s::{name} as i128, {number});')
    return checks


PROGRAM = """use berth_sys as s;
use std::mem::{align_of, size_of, MaybeUninit};
use std::sync::atomic::{AtomicUsize, Ordering};
static WRONG: AtomicUsize = AtomicUsize::new(0);
fn value(what: &str, is: i128, wanted: i128) {
    if is != wanted {
        WRONG.fetch_add(1, Ordering::Relaxed);
        println!("{}: is {}, and {} in the manifest", what, is, wanted);
    }
}
fn check(what: &str, is: usize, wanted: usize) {
    value(what, is as i128, wanted as i128);
}
fn size_behind<T>(_: *const T) -> usize {
    size_of::<T>()
}
macro_rules! field {
    ($struct:ident, $field:ident, $what:literal, $offset:literal, $size:literal) => {{
        let memory = MaybeUninit::<s::$struct>::uninit();
        let base = memory.as_ptr();
        let field = unsafe { std::ptr::addr_of!((*base).$field) };
        check($what, field as usize - base as usize, $offset);
        check(concat!($what, " size"), size_behind(field), $size);
    }};
}
fn main() {
    CHECKS
    std::process::exit(if WRONG.load(Ordering::Relaxed) == 0 { 0 } else { 1 });
}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("crate", "bindings", "manifest"):
        parser.add_argument(f"--{name}", required=True, type=pathlib.Path)
    parser.add_argument("--rustc", required=True)
    options = parser.parse_args()
    checks = rust_checks(options.manifest.read_text())
    # Words of Rust, as bindgen writes them.
    checks = [re.sub(r"\br#(self|type|match)\b", r"\1_", each) for each in checks]
    if len(checks) < 500:
        print(f"the manifest has {len(checks)} entries only\n0 passed, 1 failed")
        return 1
    with tempfile.TemporaryDirectory(prefix="berth-sys-") as temporary:
        folder = pathlib.Path(temporary)
        shutil.copytree(options.crate / "src", folder / "src")
        shutil.copy(options.bindings, folder / "src/bindings.rs")
        (folder / "main.rs").write_text(PROGRAM.replace("CHECKS", "\n    ".join(checks)))
        subprocess.run([options.rustc, "--edition=2021", "--crate-type=rlib", "--crate-name=berth_sys", "-D", "warnings",
                        folder / "src/lib.rs", "-o", folder / "libberth_sys.rlib"], check=True)
        subprocess.run([options.rustc, "--edition=2021", "--extern", f"berth_sys={folder}/libberth_sys.rlib", folder / "main.rs", "-o",
                        folder / "main"], check=True)
        said = subprocess.run([folder / "main"], capture_output=True, text=True, timeout=60)
    print(said.stdout, end="")
    wrong = len(said.stdout.splitlines()) or int(said.returncode != 0)
    print(f"{len(checks) - wrong} passed, {wrong} failed")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
