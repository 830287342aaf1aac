#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The SDK as a package: installs it, moves it, and builds plugins with nothing else at hand.

    package_test.py --build DIR --out DIR

Leaves the built plugins in OUT/plugins for the tests that load them. Ends with "N passed, N failed".
"""
import argparse
import os
import pathlib
import re
import shutil
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from attempts import Attempts, run  # noqa: E402

EXPORTS = ["berth_library_entry_v1"]
CHECK_LINKS = HERE.parent / "sdk_docs/check_links.py"


class Package:
    """The installed SDK and what is built with it."""

    def __init__(self, build, out):
        self.out = out
        self.prefix = out / "sdk"
        shutil.rmtree(out, ignore_errors=True)
        (out / "plugins").mkdir(parents=True)
        # Installed in one place, used in another: nothing may remember where it came from.
        first = out / "installed"
        run("cmake", "--install", build, "--component", "sdk", "--prefix", first)
        first.rename(self.prefix)

    def configure(self, source, name):
        return run("cmake", "-S", source, "-B", self.out / name, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={self.prefix}")

    def build_with_cmake(self, source, name):
        self.configure(source, name)
        run("cmake", "--build", self.out / name)
        files = list((self.out / name).glob("*.so"))
        assert len(files) == 1, f"built {files}"
        shutil.copy(files[0], self.out / "plugins")
        return files[0]

    def build_with_pkg_config(self, source):
        environment = {**os.environ, "PKG_CONFIG_PATH": str(next(self.prefix.glob("**/pkgconfig")))}
        flags = run("pkg-config", "--cflags", "--libs", "berth-plugin", env=environment).split()
        file = self.out / "pkg_config.so"
        run("cc", "-std=c11", "-Wall", "-Wextra", "-Werror", source, *flags, "-o", file)
        return file


def check_nothing_points_back(package, build):
    tree = str(HERE.parents[1])
    for path in package.prefix.rglob("*"):
        if path.name == "libberth_real_host.so":  # its checks name the source that they stand in
            assert "RUNPATH" not in run("readelf", "-dW", path), f"{path} has a RUNPATH"
        elif path.is_file():
            text = path.read_text(errors="replace")
            for origin in (tree + "/", str(build), str(package.out / "installed")):
                assert origin not in text, f"{path} mentions {origin}"


def check_headers_are_complete(package):
    source = HERE.parents[1] / "sdk"
    for folder in ("include", "cpp", "testkit/include", "cel/include"):
        for header in [*(source / folder).rglob("*.h*"), *(source / folder).rglob("*.ipp")]:
            name = header.relative_to(source / folder)
            assert (package.prefix / "include" / name).is_file(), f"{name} is not installed"


def check_crates_are_complete(package):
    source = HERE.parents[1] / "sdk/rust"
    for file in [*source.rglob("*.rs"), *source.rglob("Cargo.toml")]:
        assert (package.prefix / "share/berth/rust" / file.relative_to(source)).is_file(), f"{file} is not installed"


def check_site(package):
    """Every page of docs/, and no link to what is not installed."""
    site = next(package.prefix.glob("share/doc/*-sdk/site"))
    for page in (HERE.parents[1] / "sdk/docs").rglob("*.md"):
        name = re.sub(r"\W+", "_", str(page.relative_to(HERE.parents[1] / "sdk").with_suffix(""))).lower()
        assert name == "docs_readme" or (site / f"{name}.html").is_file(), f"the site has no {name}.html"
    run(sys.executable, CHECK_LINKS, site)


def check_version_comes_from_the_header(package):
    header = (package.prefix / "include/berth/abi/version.h").read_text()
    version = re.search(r'BERTH_SDK_VERSION "([^"]+)"', header)[1]
    for file in ("BerthPluginConfigVersion.cmake", "berth-plugin.pc"):
        text = next(package.prefix.rglob(file)).read_text()
        assert re.search(rf'(?:PACKAGE_VERSION "|Version: ){re.escape(version)}\b', text), f"{file} has another version"


def check_several_plugins_decide_together(package, berth_plugins):
    """Their test runs with the host as a library; PrioritySort and DefaultBinder are berth's own."""
    folder = package.out / "several_plugins"
    package.configure(HERE / "several_plugins", "several_plugins")
    run("cmake", "--build", folder)
    for name in ("priority_sort", "default_binder"):
        shutil.copy(berth_plugins / f"{name}.so", folder)
    run(folder / "several_plugins_test")


def check_another_major_is_refused(package):
    folder = package.out / "other_major"
    folder.mkdir()
    (folder / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.20)\nproject(x LANGUAGES C)\n"
                                           "find_package(BerthPlugin 0.6 REQUIRED)\n")
    try:
        package.configure(folder, "other_major_build")
    except RuntimeError as problem:
        assert "BerthPlugin" in str(problem) and "1.0" in str(problem), problem
    else:
        raise AssertionError("find_package(BerthPlugin 0.6) was satisfied by another major")


def check_hygiene(file):
    """One export, nothing executable that should not be, nothing searched for in odd places, a note."""
    symbols = [line.split()[-1] for line in run("nm", "-D", "--defined-only", file).splitlines()]
    assert symbols == EXPORTS, f"exports {symbols}"
    segments = run("readelf", "-lW", file)
    stack = re.search(r"GNU_STACK.*", segments)
    assert stack and "E" not in stack[0].split()[-2], f"stack: {stack and stack[0]}"
    assert "GNU_RELRO" in segments, "no relro"
    dynamic = run("readelf", "-dW", file)
    assert "RUNPATH" not in dynamic and "RPATH" not in dynamic, "has a RUNPATH"
    assert "TEXTREL" not in dynamic, "has text relocations"
    assert re.search(r"FLAGS_1.*NOW", dynamic) and re.search(r"FLAGS_1.*NODELETE", dynamic), "not now, not nodelete"
    notes = run("readelf", "-p", ".note.berth", file)
    assert "plugin=" in notes and "isa=" in notes, "no identity note"
    assert "Build ID" in run("readelf", "-n", file), "no build id"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    options = parser.parse_args()
    attempt = Attempts()
    package = attempt("installs and moves", lambda: Package(options.build.resolve(), options.out.resolve()))
    if package:
        attempt("nothing points back into the tree", lambda: check_nothing_points_back(package, options.build.resolve()))
        attempt("all headers are there", lambda: check_headers_are_complete(package))
        if (options.build / "sdk/rust/bindings.rs").exists():
            attempt("all of the crates is there", lambda: check_crates_are_complete(package))
        if (options.build / "sdk_site/html/index.html").exists():
            attempt("the site is there, and its links lead somewhere", lambda: check_site(package))
        attempt("the version comes from the header", lambda: check_version_comes_from_the_header(package))
        attempt("another major is refused", lambda: check_another_major_is_refused(package))
        built = {
            "plugin in C": attempt("builds a plugin in C", lambda: package.build_with_cmake(HERE / "every_point_c", "c")),
            "plugin in C++": attempt("builds a plugin in C++", lambda: package.build_with_cmake(HERE / "every_point_cpp", "cpp")),
            "template": attempt("builds the template", lambda: package.build_with_cmake(package.prefix / "share/berth/template", "t")),
            "pkg-config": attempt("builds with pkg-config", lambda: package.build_with_pkg_config(HERE / "every_point_c/every_point.c")),
        }
        attempt("tests several plugins together",
                lambda: check_several_plugins_decide_together(package, options.build / "plugins"))
        for name, file in built.items():
            attempt(f"{name}: what was linked", lambda: check_hygiene(file) if file else None)

    return attempt.end()


sys.exit(main())
