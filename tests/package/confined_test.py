#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""berth works with the system calls that conf/deploy leaves it, and gets no others.

    confined_test.py --berth PROGRAM --plugins DIR

Each list (the profile for Kubernetes, the unit's filter) becomes a filter in the kernel, under which berth schedules,
answers, runs an exec plugin, ends, and confines itself further. What a machine cannot show is named as not looked at. Ends with "N passed, N failed".
"""
import argparse
import ctypes
import errno
import functools
import json
import os
import pathlib
import platform
import re
import shutil
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/hostile"))
from kinds import live  # noqa: E402
from programs import Wrong  # noqa: E402
sys.path.insert(0, str(ROOT / "tests/support"))
from attempts import Attempts  # noqa: E402

LIBC = ctypes.CDLL(None, use_errno=True)
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, PR_SET_MDWE = 38, 22, 65
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
# Forbidden to every process here: a filter that lets one of them pass is none.
REFUSED = ["bpf", "ptrace", "mount", "io_uring_setup", "init_module", "kexec_load", "keyctl", "userfaultfd", "perf_event_open"]


def numbers():
    """{name: number} of this machine's system calls."""
    if platform.machine() != "x86_64":
        raise FileNotFoundError("a table of system calls for this machine")
    text = pathlib.Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h").read_text()
    return {name: int(number) for name, number in re.findall(r"#define __NR_(\w+) (\d+)", text)}


class Filter:
    """A program for the kernel, rule by rule; what no rule is about is refused with EPERM."""

    def __init__(self):
        # The machine's own calls alone, and none of its 32-bit ones.
        self.steps = [(0x20, 0, 0, 4), (0x15, 1, 0, 0xC000003E), (0x06, 0, 0, ERRNO | errno.EPERM), (0x20, 0, 0, 0)]

    def answer(self, number, action):
        self.steps += [(0x15, 0, 1, number), (0x06, 0, 0, action)]

    def allow_masked(self, number, mask):
        """When none of these bits is set in the first argument, which is 32 bits of flags here."""
        self.steps += [(0x15, 0, 4, number), (0x20, 0, 0, 16), (0x54, 0, 0, mask), (0x15, 0, 1, 0), (0x06, 0, 0, ALLOW),
                       (0x20, 0, 0, 0)]

    def install(self, otherwise=ERRNO | errno.EPERM):
        steps = self.steps + [(0x06, 0, 0, otherwise)]
        code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *s) for s in steps))

        class Program(ctypes.Structure):
            _fields_ = [("length", ctypes.c_ushort), ("steps", ctypes.c_void_p)]
        program = Program(len(steps), ctypes.addressof(code))
        if LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or LIBC.prctl(PR_SET_SECCOMP, 2, ctypes.byref(program), 0, 0):
            os._exit(125)


def profile_filter(table):
    profile = json.loads((ROOT / "conf/deploy/seccomp.json").read_text())
    assert profile["defaultAction"] == "SCMP_ACT_ERRNO" and profile["defaultErrnoRet"] == errno.EPERM, profile
    made = Filter()
    for rule in profile["syscalls"]:
        for name in rule["names"]:
            if name not in table:
                raise Wrong(f"seccomp.json: there is no system call {name}")
            if "args" in rule:
                (argument,) = rule["args"]
                assert (argument["index"], argument["op"], argument["valueTwo"]) == (0, "SCMP_CMP_MASKED_EQ", 0), argument
                made.allow_masked(table[name], argument["value"])
            else:
                action = ERRNO | rule["errnoRet"] if rule["action"] == "SCMP_ACT_ERRNO" else ALLOW
                made.answer(table[name], action)
    return made


def group(name):
    """Names of one of systemd's groups, with those of the groups in it."""
    shown = subprocess.run(["systemd-analyze", "--no-pager", "syscall-filter", name], capture_output=True, text=True, check=True)
    names = set()
    for line in shown.stdout.splitlines()[1:]:
        word = line.strip()
        if word.startswith("@"):
            names |= group(word)
        elif word and not word.startswith("#"):
            names.add(word)
    return names


def unit_filter(table):
    if not shutil.which("systemd-analyze"):
        raise FileNotFoundError("systemd-analyze")
    text = (ROOT / "conf/deploy/package/berth.service").read_text()
    allowed = group("@default")
    for line in re.findall(r"^SystemCallFilter=(.*)$", text, re.M):
        words = {n for w in line.lstrip("~").split() for n in (group(w) if w.startswith("@") else {w})}
        allowed = allowed - words if line.startswith("~") else allowed | words
    made = Filter()
    for name in sorted(allowed & set(table)):
        made.answer(table[name], ALLOW)
    return made


def old_kernel(table):
    """What a kernel without Landlock answers."""
    made = Filter()
    made.answer(table["landlock_create_ruleset"], ERRNO | errno.ENOSYS)
    return made


def has_landlock(table):
    return LIBC.syscall(table["landlock_create_ruleset"], None, ctypes.c_size_t(0), 1) > 0


def refuses(made, table):
    """In a process of its own: the forbidden calls are refused."""
    child = os.fork()
    if child == 0:
        made.install()
        for number, name in enumerate(REFUSED):
            ctypes.set_errno(0)
            if LIBC.syscall(table[name], -1, 0, 0, 0, 0) != -1 or ctypes.get_errno() != errno.EPERM:
                os._exit(number + 1)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code:
        raise Wrong("the filter cannot be installed" if code == 125 else f"{REFUSED[code - 1]} is not refused")


CREDENTIAL = ('{"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1", "status": {"token": "good"}}')
CASES = [
    {"name": "schedules", "elects": True, "serves": True, "expect": {"binds": ["probe"], "answers": {"/healthz": "200"}}},
    {"name": "writes its certificate", "serves": True, "flags": ["--cert-dir=certs"],
     "expect": {"binds": ["probe"], "answers": {"/healthz": "200"}}},
    {"name": "dumps", "signal": {"once_asked": "^GET /api/v1/pods", "signals": ["SIGUSR2"]}, "expect": {"binds": ["probe"]}},
    {"name": "ends", "first_binds": True, "probe": False, "signal": {"once_asked": "^GET", "signals": ["SIGTERM"]},
     "expect": {"ends": "exit 0"}},
    {"name": "runs an exec plugin", "server": {"tls": True},
     "files": {"exec.sh": f"#!/bin/sh\necho '{CREDENTIAL}'\n"},
     "user": {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "{folder}/exec.sh", "interactiveMode": "Never"}},
     "expect": {"binds": ["probe"]}},
]


# Where there is no Landlock, and berth is told nothing, or to start only with all of it.
OLD_KERNEL = [
    {"name": "schedules, and says what is missing",
     "expect": {"binds": ["probe"], "logs": ["berth confines itself in part.*no Landlock"]}},
    {"name": "does not start", "flags": ["--sandbox=enforce"], "probe": False,
     "expect": {"ends": "exit 1", "logs": ["--sandbox=enforce cannot be had: files and ports are not limited"]}},
]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--berth", required=True, type=pathlib.Path)
    parser.add_argument("--plugins", required=True, type=pathlib.Path)
    options = parser.parse_args()
    options.berth, options.plugins = options.berth.resolve(), options.plugins.resolve()
    attempt = Attempts(not_here=FileNotFoundError)

    def confines_itself_further():
        if not has_landlock(numbers()):
            raise FileNotFoundError("Landlock in this kernel")
        CASES[0]["expect"]["logs"] = ["berth has confined itself"]
    attempt("berth confines itself under these lists", confines_itself_further)
    for name, make in (("the profile for Kubernetes", profile_filter), ("the unit", unit_filter)):
        made = []
        attempt(f"{name} is a filter", lambda: made.append(make(numbers())))
        if not made:
            continue
        attempt(f"{name} refuses what it does not need", lambda: refuses(made[0], numbers()))

        def confine():
            if name == "the unit":  # MemoryDenyWriteExecute; kernels before 6.3 cannot, and then it is not looked at
                LIBC.prctl(PR_SET_MDWE, 1, 0, 0, 0)
            made[0].install()
        for case in CASES:
            with tempfile.TemporaryDirectory(prefix="berth-confined-") as folder:
                attempt(f"{name}: {case['name']}", lambda: live(options, {**case, "confine": confine}, pathlib.Path(folder)))
    for case in OLD_KERNEL:
        def on_an_old_kernel():
            confine = functools.partial(old_kernel(numbers()).install, ALLOW)
            with tempfile.TemporaryDirectory(prefix="berth-confined-") as folder:
                live(options, {**case, "confine": confine}, pathlib.Path(folder))
        attempt(f"a kernel without Landlock: {case['name']}", on_an_old_kernel)
    return attempt.end()


if __name__ == "__main__":
    sys.exit(main())
