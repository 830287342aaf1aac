# SPDX-License-Identifier: Apache-2.0
"""What tests that are scripts share: commands that have to end as expected, and attempts that are counted."""
import subprocess


def run(*command, expect=0, **more):
    """What the command printed. Fails where it ends otherwise; with expect=None it may end in any way."""
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          stdin=subprocess.DEVNULL, timeout=300, **more)
    if expect is not None and done.returncode != expect:
        raise RuntimeError(f"{' '.join(map(str, command))}: ended with {done.returncode}\n{done.stdout[-3000:]}")
    return done.stdout


class Attempts:
    """Counts what is attempted, each as one result, and prints those that fail. What raises `not_here` is only named."""

    def __init__(self, not_here=()):
        self.passed = self.failed = 0
        self.not_here = not_here

    def __call__(self, name, action):
        """What the action returned, or True where it returned nothing; None where it did not pass."""
        try:
            value = action()
        except self.not_here as missing:
            print(f"not looked at: {name}: {missing} is not here")
            return None
        except Exception as wrong:
            self.failed += 1
            print(f"failed: {name}: {type(wrong).__name__}: {wrong}")
            return None
        self.passed += 1
        return True if value is None else value

    def end(self):
        """Prints the last line. True where the test has failed, which it also has when nothing passed."""
        print(f"{self.passed} passed, {self.failed} failed")
        return bool(self.failed) or not self.passed
