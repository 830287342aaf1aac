#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cel_vectors says what differs, and exits accordingly."""
import gzip
import json
import pathlib
import subprocess
import sys
import tempfile

PROGRAM, RECORDING = sys.argv[1], pathlib.Path(sys.argv[2])


def run(*arguments):
    ended = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    return ended.returncode, ended.stdout, ended.stderr


def changed(recording, vector_id, change):
    copy = json.loads(json.dumps(recording))
    change(next(vector for vector in copy["vectors"] if vector["id"] == vector_id))
    return copy


def main():
    recording = json.loads(gzip.decompress(RECORDING.read_bytes()))
    count = len(recording["vectors"])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)

        def written(path, content):
            (folder / path).parent.mkdir(exist_ok=True)
            (folder / path).write_text(content if isinstance(content, str) else json.dumps(content))
            return folder / path

        status, out, err = run(written("plain.json", recording))
        assert status == 0 and f"{count} of {count} expressions agree" in out, (status, out, err)

        def other_verdict(vector):
            vector["results"]["bare"]["result"] = "false"

        status, out, _ = run(written("verdict.json", changed(recording, "const-000", other_verdict)))
        assert status == 1 and f"{count - 1} of {count} expressions agree" in out, (status, out)
        assert "const-000 true\n    bare: true, recorded false\n" in out, out

        status, out, _ = run(written("compiles.json", changed(recording, "const-012", lambda v: v.update(compile="ok"))))
        assert status == 1 and "const-012 1u == 1\n    does not compile: " in out, (status, out)
        status, out, _ = run(written("not.json", changed(recording, "const-000", lambda v: v.update(compile="error"))))
        assert status == 1 and "const-000 true\n    compiles\n" in out, (status, out)

        def other_cost(vector):
            vector["results"]["bare"]["cost"] = 77

        costs = written("costs.json", changed(recording, "const-000", other_cost))
        status, out, _ = run(costs)
        assert status == 0 and "recorded 77" not in out, (status, out)
        status, out, _ = run("--more", costs)
        assert status == 0 and "const-000 true\n    bare: cost 0, recorded 77\n" in out, (status, out)

        written("both/a.json", recording)
        (folder / "both/b.json.gz").write_bytes(RECORDING.read_bytes())
        written("both/notes.txt", "not a recording")
        status, out, _ = run(folder / "both")
        assert status == 0 and out.count("expressions agree") == 2, (status, out)

        def unknown_device(vector):
            vector["results"]["elsewhere"] = {"result": "true"}

        for path in (folder / "missing.json", written("broken.json", "{"), written("other.json", {"cases": []}),
                     written("device.json", changed(recording, "const-000", unknown_device))):
            status, out, err = run(path)
            assert status == 2 and str(path) in err, (path, status, out, err)
        (folder / "empty").mkdir()
        status, _, err = run(folder / "empty")
        assert status == 1 and "no expressions" in err, (status, err)
        status, _, err = run()
        assert status == 2 and "usage" in err, (status, err)


main()
