# SPDX-License-Identifier: Apache-2.0
"""For gdb, on a process of berth: the symbols of the plugins that it has loaded.

    gdb -x berth_plugins.py -p PID
    gdb -x berth_plugins.py --args berth simulate …
    (gdb) berth-plugins FOLDER…

berth maps plugins from sealed copies in memory, which gdb cannot open. The command looks for the files of the same names in the
folders, and says which it found. The symbols of other libraries are left out.
"""
import pathlib
import re

import gdb  # pylint: disable=import-error

gdb.execute("set sysroot /none")  # gdb would open the copies under their names, which in gdb are files of its own
gdb.execute("set follow-fork-mode child")  # berth simulate decides in a child
gdb.execute("set breakpoint pending on")


class BerthPlugins(gdb.Command):
    """berth-plugins FOLDER…: reads the symbols of the plugins that the process has loaded from the files in the folders."""

    def __init__(self):
        super().__init__("berth-plugins", gdb.COMMAND_FILES, gdb.COMPLETE_FILENAME)

    def invoke(self, argument, from_tty):
        folders = [pathlib.Path(each) for each in gdb.string_to_argv(argument)]
        maps = pathlib.Path(f"/proc/{gdb.selected_inferior().pid}/maps").read_text()
        copies = {}  # by name: where the first part lies
        for begin, name in re.findall(r"^([0-9a-f]+)-\S+ \S+ 0+ .*?/memfd:(\S+) \(deleted\)$", maps, re.M):
            copies.setdefault(name, begin)
        if not copies:
            raise gdb.GdbError("the process has no plugin mapped")
        for name, begin in copies.items():
            path = next((each / name for each in folders if (each / name).is_file()), None)
            if path:
                gdb.execute(f'add-symbol-file "{path}" -o 0x{begin}', to_string=True)
            print(f"{name}: {path or 'not in these folders'}")


BerthPlugins()
