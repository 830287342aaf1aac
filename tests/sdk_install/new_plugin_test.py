#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `berth plugin new` writes: it builds against the installed SDK without a warning, passes its test, decides something
and passes `berth plugin verify`, in each language and with each set of points.

    new_plugin_test.py --berth PROGRAM --plugins DIR --sdk PREFIX

Ends with "N passed, N failed".
"""
import argparse
import pathlib
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from attempts import Attempts, run  # noqa: E402

ALL_POINTS = "filter,score,pre_enqueue,post_filter,reserve,permit,pre_bind,post_bind"
# name, further flags, the folder that is made, what simulate decides for the pod that waits
PROJECTS = [
    ("example.com/GPUShareOfTwo", ["--points", ALL_POINTS], "gpu_share_of_two", "empty"),
    ("Quiet", ["--points", "reserve,permit"], "quiet", None),
    ("example.com/InC", ["--language", "c"], "in_c", "empty"),
    ("example.com/ScoreInC", ["--language", "c", "--points", "score"], "score_in_c", "empty"),
    ("example.com/InZig", ["--language", "zig"], "in_zig", "empty"),
    # Names that the skeletons have words of, and that CMake keeps for itself.
    ("example.com/PodDensityOfMine", [], "pod_density_of_mine", "empty"),
    ("example.com/Test", ["--language", "rust"], "test", "empty"),
    ("example.com/Filter", ["--language", "rust", "--points", ALL_POINTS], "filter", "empty"),
    ("example.com/Berth", ["--language", "rust", "--points", "reserve,permit"], "berth", None),
]
# flags that are wrong, and the exit status
REFUSED = [
    (["no-name"], 2), (["example.com/lower"], 2), (["../Escape"], 2), (["example.com/A/B"], 2), (["example.com/" + "A" * 200], 2),
    (["example.com/Ok", "--points", "guess"], 2), (["example.com/Ok", "--language", "cobol"], 2),
    (["example.com/Ok", "--language", "rust", "--points", "guess"], 2), (["example.com/Ok", "--language", "zig", "--points", "filter"], 2),
    (["example.com/Ok", "--language", "c", "--points", "permit"], 2),
    (["example.com/Ok", "--directory", "/proc/nowhere"], 1),
]


def try_project(options, folder, name, flags, made, node):
    written = run(options.berth, "plugin", "new", name, "--directory", folder, *flags)
    project = folder / made
    for line in written.split("\n\n")[0].splitlines():
        assert pathlib.Path(line).is_file(), f"{line} was named and is not there"
    again = run(options.berth, "plugin", "new", name, "--directory", folder, *flags, expect=1)
    assert "is there already" in again, again
    for file in project.rglob("*"):
        if file.is_file():
            text = file.read_text()
            assert "//<" not in text and "//</" not in text, f"{file} has marks of the skeleton"
            others = text.replace(name.split("/")[-1], "").replace(made, "")
            for other in ("PodDensity", "pod_density", "PodCeiling", "pod_ceiling"):
                assert other not in others, f"{file} has another plugin's name: {other}"
    build = project / "build"
    run("cmake", "-S", project, "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={options.sdk}",
        "-DCMAKE_CXX_FLAGS=-Werror", "-DCMAKE_C_FLAGS=-Werror")
    run("cmake", "--build", build)
    assert "100% tests passed" in run("ctest", "--test-dir", build)
    plugin, = build.glob("*.so")
    verified = run(options.berth, "plugin", "verify", plugin, "--plugin-dir", options.plugins)
    assert "17 passed, 0 failed" in verified, verified
    loaded = project / "loaded"
    loaded.mkdir()
    for file in [*options.plugins.glob("*.so"), plugin]:
        copy = loaded / file.name
        copy.write_bytes(file.read_bytes())
        copy.chmod(0o644)
    decided = run(options.berth, "simulate", "--cluster", project / "cluster.yaml", "--config", project / "berth.yaml",
                  "--plugin-dir", loaded)
    placed = next(line.split() for line in decided.splitlines() if line.split()[:2] == ["default", "new"])
    assert node is None or placed[2] == node, decided


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--berth", type=pathlib.Path, required=True)
    parser.add_argument("--plugins", type=pathlib.Path, required=True)
    parser.add_argument("--sdk", type=pathlib.Path, required=True)
    options = parser.parse_args()
    options.berth = options.berth.resolve()
    attempt = Attempts()
    with tempfile.TemporaryDirectory(prefix="berth-new-") as temporary:
        folder = pathlib.Path(temporary)
        for name, flags, made, node in PROJECTS:
            if "zig" in flags and shutil.which("zig") is None:
                print(f"SKIPPED {name} {' '.join(flags)}: no zig on the PATH; scripts/test installs it")
                continue
            attempt(f"{name} {' '.join(flags)}", lambda: try_project(options, folder, name, flags, made, node))
        for flags, status in REFUSED:
            attempt(f"refuses {' '.join(flags)[:60]}", lambda: run(options.berth, "plugin", "new", *flags, expect=status, cwd=folder))
        attempt("leaves nothing behind where it refuses", lambda: run("test", "!", "-e", folder / "ok"))
    sys.exit(attempt.end())


if __name__ == "__main__":
    main()
