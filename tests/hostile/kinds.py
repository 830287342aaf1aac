# SPDX-License-Identifier: Apache-2.0
"""The kinds of cases: what each does with its data, and what it holds the outcome against."""
import argparse
import functools
import http.server
import json
import re
import shutil
import signal
import subprocess
import threading
import time

from chains import long_chain
from elf import place
from programs import PROBE, Finished, RunningBerth, Wrong, ended_as, expect
from parts import bytes_of, each

LIMIT_S = 60


# --- files that are read once -----------------------------------------------------------------------------------------

def manifest(options, case, folder):
    """`berth simulate` over a manifest."""
    (folder / "cluster.yaml").write_bytes(bytes_of(case["manifest"]))
    command = [options.berth, "simulate", "--cluster", "cluster.yaml", "--plugin-dir", options.plugins]
    if "configuration" in case:
        (folder / "berth.yaml").write_bytes(bytes_of(case["configuration"]))
        command += ["--config", "berth.yaml"]
    Finished(command + case.get("flags", []), folder, case.get("within_s", LIMIT_S)).check(case)


def configuration(options, case, folder):
    """`berth config check`."""
    (folder / "berth.yaml").write_bytes(bytes_of(case["configuration"]))
    command = [options.berth, "config", "check", "berth.yaml", "--plugin-dir", options.plugins]
    Finished(command, folder, case.get("within_s", LIMIT_S)).check(case)


PLUGIN_CONFIGURATION = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - plugins:
      multiPoint:
        enabled: [{name: PrioritySort}, {name: zoo.example.com/Animal}, {name: DefaultBinder}]
        disabled: [{name: "*"}]
"""


def build_plugin(options, case, folder, target):
    source = folder / "animal.c"
    source.write_bytes(bytes_of(case.get("before", "")) + b'\n#include "zoo_plugin.h"\n' + bytes_of(case.get("source", "")))
    words = [w.replace("{folder}", str(folder)) for w in case.get("link", [])]
    if "needs" in case:  # a library of that path, which the plugin is linked with
        library = folder / case["needs"]
        library.parent.mkdir(parents=True, exist_ok=True)
        (folder / "needed.c").write_text("int needed(void); int needed(void) { return 1; }\n")
        subprocess.run([options.cc, "-shared", "-fPIC", "-o", library, *case.get("needs_link", []), "needed.c"], check=True,
                       cwd=folder, capture_output=True)
        words = ["-Wl,--no-as-needed", str(library) if "{" not in case["needs"] else "", *words]
    command = [options.cc, "-shared", "-fPIC", "-O0", "-fvisibility=hidden", "-Wl,-z,now", "-Wl,-z,relro", "-Wl,--build-id",
               f"-I{options.sdk}", f"-I{options.zoo}", "-o", target, source, *words]
    done = subprocess.run(list(map(str, command)), cwd=folder, capture_output=True, text=True, timeout=LIMIT_S)
    if done.returncode:
        raise RuntimeError(f"the plugin of the case does not build:\n{done.stderr}")


def plugin(options, case, folder):
    """`berth config check` with one plugin file more than needed."""
    plugins = folder / "plugins"
    plugins.mkdir(mode=0o755)
    plugins.chmod(0o755)
    for name in ("priority_sort.so", "default_binder.so"):
        shutil.copy(options.plugins / name, plugins / name)
    target = plugins / "animal.so"
    if "bytes" in case:
        target.write_bytes(bytes_of(case["bytes"]))
    else:
        build_plugin(options, case, folder, target)
    for change in case.get("patches", []):
        content = bytearray(target.read_bytes())
        at, new = place(content, change), bytes_of(change["by"])
        content[at:at + len(new)] = new
        target.write_bytes(content)
    if "cut_to" in case:
        target.write_bytes(target.read_bytes()[:case["cut_to"]])
    target.chmod(int(case.get("mode", "644"), 8))
    plugins.chmod(int(case.get("directory_mode", "755"), 8))
    text = case.get("configuration", PLUGIN_CONFIGURATION) + case.get("berth_configuration", "")
    (folder / "berth.yaml").write_text(text)
    command = [options.berth, "config", "check", "berth.yaml", "--plugin-dir", plugins]
    Finished(command, folder, case.get("within_s", LIMIT_S)).check(case)


def many_plugins(options, case, folder):
    """A plugin directory with one file more, which has that many plugins: zoo.example.com/A0, A1 and so on."""
    numbers = range(case["more_plugins"])
    plugins = folder / "plugins"
    shutil.copytree(options.plugins, plugins, ignore=shutil.ignore_patterns("zoo*"))
    declared = "".join(f"static const berth_plugin_v1 plugin_{n};\n" for n in numbers)
    listed = ", ".join(f"&plugin_{n}" for n in numbers)
    made = "".join(f"""BERTH_NOTE(note_{n}, "plugin=zoo.example.com/A{n}\\0version=1.2.0\\0points=berth.filter/1\\0")
static const berth_plugin_v1 plugin_{n} = {{(uint32_t)sizeof(berth_plugin_v1), 0, "zoo.example.com/A{n}",
  "1.2.0", "Lets every node pass.", 0, zoo_points, zoo_reasons, 0, 1, 2, 0, BERTH_DEP_EVERYTHING, zoo_create, zoo_destroy}};
""" for n in numbers)
    before = f"#include <berth/plugin.h>\n#define ZOO_NO_NOTE\n{declared}#define ZOO_PLUGIN_LIST {{ {listed} }}\n"
    build_plugin(options, {"before": before, "source": made}, folder, plugins / "animals.so")
    return argparse.Namespace(**{**vars(options), "plugins": plugins})


# --- a berth that runs ------------------------------------------------------------------------------------------------

class Extender:
    """Answers every question of a scheduler with what the case says."""

    def __init__(self, data):
        body = bytes_of(data.get("body", ""))

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                time.sleep(data.get("after_s", 0))
                if "raw" in data:
                    self.wfile.write(bytes_of(data["raw"]))
                    self.close_connection = True
                    return
                self.send_response(data.get("status", 200))
                for name, value in {"Content-Type": "application/json", "Content-Length": len(body),
                                    **data.get("headers", {})}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

            def handle_one_request(self):
                try:
                    super().handle_one_request()
                except OSError:
                    self.close_connection = True

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"


def with_extender(case):
    if "extender" not in case:
        return case, None
    extender = Extender(case["extender"])
    entry = {"urlPrefix": extender.url, "filterVerb": "filter", "httpTimeout": "3s", "nodeCacheCapable": True,
             **case["extender"].get("configuration", {})}
    return {**case, "configuration": {**case.get("configuration", {}), "extenders": [entry]}}, extender


def check_running(berth, case):
    wanted = case["expect"]
    if wanted.get("may_end") and case.get("serves"):
        berth.serves()  # or it has ended
    if "ends" in wanted:
        ending = berth.wait_end(wanted.get("within_s", berth.patience_s))
        expect(ending == wanted["ends"], f"{ending}, not {wanted['ends']}:\n{berth.shown_log()}")
        expect(b"terminate called" not in berth.log(), berth.shown_log())
    for name in wanted.get("binds", []):
        expect(berth.binds(name, wanted.get("within_s", berth.patience_s)),
               f"{name} is not bound" + ("" if berth.is_alive() else f"; {ended_as(berth.child.returncode)}") +
               f":\n{berth.shown_log()}")
    if "for_s" in wanted:
        berth.server.wait(lambda: not berth.is_alive(), wanted["for_s"])
    for name, pattern in wanted.get("never_holds", {}).items():
        path = berth.folder / name
        expect(not (path.exists() and re.search(pattern.encode(), path.read_bytes())), f"{name} holds {pattern!r}")
    for name, mode in wanted.get("mode_at_most", {}).items():
        got = (berth.folder / name).stat().st_mode & 0o777
        expect(got & ~int(mode, 8) == 0, f"{name} has the mode {got:o}")
    if "ends" not in wanted and not wanted.get("may_end"):
        expect(berth.is_alive(), f"{ended_as(berth.child.returncode)}:\n{berth.shown_log()}" if not berth.is_alive() else "")
        if "memory_mb_max" in wanted:
            expect(berth.memory_mb() <= wanted["memory_mb_max"], f"took {berth.memory_mb():.0f} MB")
        for path, status in wanted.get("answers", {}).items():
            got = berth.ask(path)
            expect(got == status, f"{path} answers {got}, not {status}")
    for pattern, least in wanted.get("requests_min", {}).items():
        expect(berth.server.wait(lambda: berth.server.count(pattern) >= least, berth.patience_s),
               f"{berth.server.count(pattern)} requests {pattern}:\n{berth.shown_log()}")
    for pattern, most in wanted.get("requests_max", {}).items():
        expect(berth.server.count(pattern) <= most, f"{berth.server.count(pattern)} requests {pattern}")
    for pattern in wanted.get("never_sends", []):
        sent = "".join(r[2] for r in berth.server.requests)
        expect(not re.search(pattern, sent), f"sends {pattern!r}")
    for pattern in wanted.get("logs", []):
        expect(berth.server.wait(lambda: re.search(pattern.encode(), berth.log()), berth.patience_s),
               f"does not log {pattern!r}:\n{berth.shown_log()}")
    for pattern in wanted.get("never_logs", []):
        expect(not re.search(pattern.encode(), berth.log()), f"logs {pattern!r}")
    for name in wanted.get("stays_pending", []):
        pod = berth.server.find("Pod", "default", name)
        expect(not pod["spec"].get("nodeName"), f"{name} is bound")
    if "log_line_bytes_max" in wanted:
        longest = max(map(len, berth.log().split(b"\n")))
        expect(longest <= wanted["log_line_bytes_max"], f"a line of the log has {longest} bytes")
    if "ran_at_most" in wanted:
        for name, most in wanted["ran_at_most"].items():
            path = berth.folder / name
            count = path.read_bytes().count(b"\n") if path.exists() else 0
            expect(count <= most, f"{name} has {count} lines")


def live(options, case, folder):
    """`berth run` against an API server that answers as told: see README.md for the order of things."""
    case, extender = with_extender(case)
    if "more_plugins" in case:
        options = many_plugins(options, case, folder)
    berth = RunningBerth(options, case, folder)
    try:
        signalled = case.get("signal")
        if signalled and "once_written" in signalled:
            path = folder / signalled["once_written"]
            expect(berth.server.wait(lambda: path.exists() or not berth.is_alive(), berth.patience_s), f"no {path.name}")
        elif signalled:
            pattern = signalled["once_asked"]
            expect(berth.server.wait(lambda: berth.server.count(pattern) > 0 or not berth.is_alive(), berth.patience_s),
                   f"never asks {pattern}:\n{berth.shown_log()}")
        if "first_binds" in case:
            first = json.loads(json.dumps(PROBE))
            first["metadata"]["name"] = "first"
            berth.server.put(first)
            expect(berth.binds("first", berth.patience_s), f"nothing is bound at first:\n{berth.shown_log()}")
        if berth.unread:
            berth.fill_log()
        berth.server.add_rules(case.get("rules_then", []))
        for change in case.get("then", []):
            for made in each(change):
                berth.server.put(json.loads(json.dumps(made)), change.get("event", "ADDED"))
        if case.get("strangers"):
            expect(berth.serves(), f"it does not serve:\n{berth.shown_log()}")
        strangers = [berth.knock() for _ in range(case.get("strangers", 0))]
        if case.get("probe", True):
            berth.server.put(json.loads(json.dumps(PROBE)))
        if signalled:
            if "once_asked_then" in signalled:
                pattern = signalled["once_asked_then"]
                expect(berth.server.wait(lambda: berth.server.count(pattern) > 0, berth.patience_s),
                       f"never asks {pattern}:\n{berth.shown_log()}")
            for number, name in enumerate(signalled["signals"]):
                if number:  # two at once may arrive as one
                    berth.server.wait(lambda: not berth.is_alive(), 0.5)
                if not berth.is_alive():
                    break
                berth.child.send_signal(getattr(signal, name))
        check_running(berth, case)
        for stranger in strangers:
            stranger.close()
    finally:
        berth.stop()
        if extender:
            extender.server.shutdown()


class SharedBerth:
    """One berth for all cases that are requests to its port; another when a case ended it."""

    def __init__(self, options, folder):
        self.options, self.folder, self.berth, self.count = options, folder, None, 0

    def open(self):
        if self.berth is None or not self.berth.is_alive():
            self.close()
            self.count += 1
            folder = self.folder / f"shared-{self.count}"
            folder.mkdir()
            self.berth = RunningBerth(self.options, {"serves": True}, folder)
            expect(self.berth.serves(), f"it does not serve:\n{self.berth.shown_log()}")
        return self.berth

    def close(self):
        if self.berth:
            self.berth.stop()
            self.berth = None


def request(shared, options, case, folder):
    """Bytes to the port of a running berth; it answers as expected, and goes on to answer others."""
    berth = shared.open()
    berth.forget_peak()
    before, cpu_before_s = berth.memory_mb(), berth.cpu_s()
    presents = long_chain(folder, case["presents"]) if "presents" in case else None
    wanted = re.compile(case["answer"].encode()) if "answer" in case else None
    for number in range(case.get("connections", 1)):
        text = bytes_of(case["send"]).replace(b"{connection}", str(number).encode())
        answer = berth.say(text, case.get("within_s", 10), None if "answers_max" in case else wanted, presents)
    if berth.ask() != "200":
        raise Wrong(f"/healthz has no answer afterwards: {berth.wait_end(2)}\n{berth.shown_log()}")
    if wanted:
        expect(wanted.match(answer), f"answers {answer[:300]!r}")
    if "answers_max" in case:
        count = len(re.findall(rb"HTTP/1\.1 \d", answer))
        expect(count <= case["answers_max"], f"{count} answers: {answer[:600]!r}")
    if "cpu_s_more" in case:
        taken_s = berth.cpu_s() - cpu_before_s
        expect(taken_s <= case["cpu_s_more"], f"took {taken_s:.1f} s of a processor")
    if "memory_mb_more" in case:
        grown = berth.memory_mb() - before
        expect(grown <= case["memory_mb_more"], f"{grown:.0f} MB more")


def kinds(options, folder):
    shared = SharedBerth(options, folder)
    return {"manifest": functools.partial(manifest, options), "configuration": functools.partial(configuration, options),
            "plugin": functools.partial(plugin, options), "live": functools.partial(live, options),
            "request": functools.partial(request, shared, options)}, shared
