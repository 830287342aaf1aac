#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gdb as it is: on a berth whose plugin has crashed, the frame of the plugin has a name.

    gdb_test.py --gdb GDB --berth FILE --plugins DIR --animal FILE --host DIR
"""
import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("gdb", "berth", "plugins", "animal", "host"):
        parser.add_argument(f"--{name}", required=True, type=pathlib.Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="berth-gdb-") as temporary:
        loaded = pathlib.Path(temporary) / "loaded"
        loaded.mkdir(mode=0o755)
        for path in (options.animal, options.plugins / "priority_sort.so", options.plugins / "default_binder.so"):
            shutil.copy(path, loaded)
            (loaded / path.name).chmod(0o755)
        # berth simulate decides in a child.
        words = [options.gdb, "-q", "-nx", "-batch", "-ex", "set follow-fork-mode child", "-ex", "run", "-ex", "bt 1", "--args",
                 options.berth, "simulate", "--cluster", options.host / "cluster.yaml", "--config",
                 options.host / "config.yaml", "--plugin-dir", loaded, "--single-pass"]
        said = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=90).stdout
    wanted = ["SIGSEGV", " in zoo_filter ("]
    missing = [each for each in wanted if each not in said]
    if missing:
        print(said)
    for each in missing:
        print(f"gdb did not say {each!r}")
    print(f"{len(wanted) - len(missing)} passed, {len(missing)} failed")
    return bool(missing)


if __name__ == "__main__":
    sys.exit(main())
