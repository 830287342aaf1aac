#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The crate berth: its own tests, the examples of its documentation, and what has to be refused by the compiler.

    rust_crate_test.py --rustc RUSTC --crates DIR --bindings FILE

Every plugin here forbids unsafe code. Ends with "N passed, N failed".
"""
import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from attempts import Attempts, run  # noqa: E402

PLUGIN = """#![forbid(unsafe_code)]
#![deny(warnings)]
use berth::*;
pub struct A;
impl Plugin for A {
    const NAME: &'static str = "example.com/A";
    const VERSION: &'static str = "1.0.0";
    const SUMMARY: &'static str = "S";
    CONSTANTS
    fn new(_: &mut Setup<'_>) -> Result<Self, Error> {
        Ok(A)
    }
}
ITEMS
export!(A);
"""
PERMIT = "impl Permit for A { fn permit(&self, _: &Cycle<'_>, _: Slot) -> Result<Verdict, Error> { Ok(Verdict::Ok) } }"
FILTER = "impl Filter for A { fn filter(&self, _: &Cycle<'_>, nodes: &mut FilterBlock<'_>) -> Result<(), Error> { BODY } }"
# name, constants, items, what the compiler has to say; None: it compiles
PLUGINS = [
    ("a plugin", "", PERMIT, None),
    ("unsafe code of its own", "", PERMIT + "\npub fn f() -> u32 { unsafe { std::mem::zeroed() } }", "unsafe"),
    ("an interest that is hinted, without Hint",
     "const INTERESTS: &'static [Interest] = &[Interest::hinted(berth_sys::BERTH_KIND_NODE, berth_sys::BERTH_ACTION_ADD)];", PERMIT,
     "an interest is hinted, and the policy has no Hint"),
    ("Hint without an interest", "",
     "impl Hint for A { fn hint(&self, _: &Event<'_>, _: Pod<'_>) -> Result<bool, Error> { Ok(true) } }",
     "a policy with Hint says which events it looks at"),
    ("no point", "", "", "a policy offers at least one extension point"),
    ("WhatIf without PreFilter", "", PERMIT + """
impl WhatIf for A {
    type State = u32;
    fn pod_added(&self, _: &Cycle<'_>, _: &mut u32, _: Pod<'_>, _: Slot) -> Result<bool, Error> { Ok(true) }
    fn pod_removed(&self, _: &Cycle<'_>, _: &mut u32, _: Pod<'_>, _: Slot) -> Result<bool, Error> { Ok(true) }
}""", "it implements PreFilter"),
    ("a key of five words", "",
     "impl QueueSort for A { const KEY_WORDS: u32 = 5; fn key(&self, _: QueuedPod<'_>) -> Result<[u64; 4], Error> { Ok([0; 4]) } }",
     "KEY_WORDS is 1 to 4"),
    ("a NUL in a text", 'const REASONS: &\'static [ReasonText] = &[ReasonText::new("a\\0b", "c")];', PERMIT, "has a NUL in it"),
    ("a minor that is not there yet", "const MINOR_REQUIRED: u16 = 999;", PERMIT, "MINOR_REQUIRED is newer than the SDK"),
    ("a misspelt function", "", PERMIT.replace("permit(", "permitt("), "permitt"),
    # What is borrowed from the host does not leave the call.
    ("a column that is kept", "",
     "static KEPT: std::sync::Mutex<&[i64]> = std::sync::Mutex::new(&[]);\npub fn column() -> Column<i64> { todo!() }\n"
     + FILTER.replace("BODY", "*KEPT.lock().unwrap() = nodes.column(column())?; Ok(())"), "borrowed data escapes"),
    ("a pod that is kept beyond its visit", "", """
pub fn keep(pods: &PlacedPods, cycle: &Cycle<'_>, kept: &mut Vec<Pod<'static>>) {
    let _ = pods.each(cycle, |placed| { kept.push(placed.pod); true });
}
""" + PERMIT, "borrowed data escapes"),
    ("a victim order without criteria", "", """
struct Order;
impl VictimOrder for Order {
    const CRITERIA: &'static [&'static str] = &[];
    fn importance(&self, _: &Victim<'_>) -> [u64; 2] { [0; 2] }
    fn rank(&self, _: &Victims<'_>, _: &mut [u64]) {}
}
fn preemption() -> Preemption { todo!() }
impl PostFilter for A {
    fn post_filter(&self, _: &Cycle<'_>, rejected: &mut Rejected<'_>) -> Result<Verdict, Error> {
        let found = preemption().search(rejected, &Search::new(rejected, 0), &Order)?;
        Ok(if found == Found::Nothing(Reason::NONE) { Verdict::Skip } else { Verdict::Ok })
    }
}
""", "CRITERIA has 1 to 8 names"),
    ("a handle made by hand", "", PERMIT + "\npub fn column() -> Column<i64> { Column { index: 0 } }", "private field"),
    ("a policy that threads must not share", "", PERMIT + "\nimpl A { pub fn f(&self) {} }\npub struct B(std::rc::Rc<u32>);\n"
     "impl Plugin for B { const NAME: &'static str = \"example.com/B\"; const VERSION: &'static str = \"1\"; "
     "const SUMMARY: &'static str = \"\"; fn new(_: &mut Setup<'_>) -> Result<Self, Error> { Err(\"\".into()) } }",
     "cannot be sent between threads safely"),
]


class Crates:
    """berth-sys and berth, compiled without a warning."""

    def __init__(self, options, folder):
        self.rustc, self.folder = options.rustc, folder
        for name in ("berth-sys", "berth"):
            shutil.copytree(options.crates / name / "src", folder / name)
        shutil.copy(options.bindings, folder / "berth-sys/bindings.rs")
        library = ["--crate-type=rlib", "-D", "warnings", "--out-dir", folder]
        self.compile(*library, "--crate-name=berth_sys", folder / "berth-sys/lib.rs")
        self.compile(*library, "--crate-name=berth", "--extern", "berth_sys", folder / "berth/lib.rs")

    def compile(self, *arguments):
        return run(self.rustc, "--edition=2021", "-L", self.folder, *arguments)

    def own_tests(self):
        program = self.folder / "tests"
        self.compile("--test", "--crate-name=berth", "--extern", "berth_sys", "-D", "warnings", self.folder / "berth/lib.rs", "-o", program)
        said = run(program)
        assert "test result: ok" in said and " 0 failed" in said, said

    def documentation(self, rustdoc):
        said = run(rustdoc, "--edition=2021", "--test", "--crate-name=berth", "-L", self.folder, "--extern",
                   f"berth={self.folder}/libberth.rlib", "--extern", f"berth_sys={self.folder}/libberth_sys.rlib", self.folder / "berth/lib.rs")
        assert "test result: ok. 8 passed" in said, said

    def plugin(self, text, refused):
        source = self.folder / "plugin.rs"
        source.write_text(text)
        done = subprocess.run([self.rustc, "--edition=2021", "-L", self.folder, "--extern", f"berth={self.folder}/libberth.rlib",
                               "--crate-type=cdylib", "--crate-name=plugin", source, "-o", self.folder / "plugin.so"],
                              capture_output=True, text=True, timeout=120)
        if refused is None:
            assert done.returncode == 0, done.stderr
        else:
            assert done.returncode != 0 and refused in done.stderr, f"not refused with {refused!r}:\n{done.stderr}"

    def panic_abort(self):
        done = subprocess.run([self.rustc, "--edition=2021", "-L", self.folder, "--extern", "berth_sys", "--crate-type=rlib",
                               "--crate-name=berth_abort", "-C", "panic=abort", self.folder / "berth/lib.rs", "--out-dir", self.folder / "abort"],
                              capture_output=True, text=True, timeout=120)
        assert done.returncode != 0 and "a plugin that aborts at a panic ends the scheduler" in done.stderr, done.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rustc", required=True)
    parser.add_argument("--crates", required=True, type=pathlib.Path)
    parser.add_argument("--bindings", required=True, type=pathlib.Path)
    options = parser.parse_args()
    attempt = Attempts()
    with tempfile.TemporaryDirectory(prefix="berth-rust-") as temporary:
        crates = attempt("compiles without a warning", lambda: Crates(options, pathlib.Path(temporary)))
        if crates:
            attempt("its own tests", crates.own_tests)
            rustdoc = pathlib.Path(options.rustc).with_name("rustdoc")
            if rustdoc.exists():
                attempt("the examples of its documentation", lambda: crates.documentation(rustdoc))
            else:
                print(f"not looked at: the examples of its documentation: {rustdoc} is not here")
            attempt("refuses to be built with panic=abort", crates.panic_abort)
            for name, constants, items, refused in PLUGINS:
                text = PLUGIN.replace("CONSTANTS", constants).replace("ITEMS", items)
                attempt(name, lambda: crates.plugin(text, refused))
    return attempt.end()


if __name__ == "__main__":
    sys.exit(main())
