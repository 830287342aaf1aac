#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each rule against a small tree that breaks it, and one that does not. Ends with "N passed, N failed"."""
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from house_rules import RULES, judge  # noqa: E402
from rules import includes  # noqa: E402
from rules.tree import Tree  # noqa: E402

SPDX = "// SPDX-License-Identifier: Apache-2.0\n"
README = "# NodeName\n\n## Decides\n\n## Arguments\n\n## Source\n"
SOUND = {
    "CMakeLists.txt": "# SPDX-License-Identifier: Apache-2.0\n", "README.md": "# berth\n", "LICENSE": "", "SECURITY.md": "",
    "CMakePresets.json": "{}",
    "scripts/demo": "#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\n",
    "conf/profiles/default.yaml": "plugins: [{name: NodeName}]\n",
    "core/base/result.hpp": SPDX + "#include <string>\n",
    "core/text/parse.cpp": SPDX + '#include "text/parse.hpp"\n#include <yaml-cpp/yaml.h>\n',
    "core/queue/queue.hpp": SPDX + '#include "base/result.hpp"\n#include "model/pod.hpp"\n// NodeName is only said here\n',
    "core/config/read/load.hpp": SPDX, "core/decode/json.hpp": SPDX, "core/framework/points.hpp": SPDX + '#include "berth/plugin.h"\n',
    "core/model/pod.hpp": SPDX + "/// A pod.\n", "core/cache/snapshot.hpp": SPDX + "/// Nodes.\n", "core/cache/cluster_cache.hpp": SPDX,
    "core/cycle/cycle.cpp": SPDX + '#include "cache/cluster_cache.hpp"\n',
    "core/app/cli/options.hpp": SPDX,
    "core/app/commands/run_command.hpp": SPDX + '#include "app/cli/options.hpp"\n',
    "core/model/shared.hpp": SPDX + "/// A count.\n///\n/// Threads: any.\nstruct Shared {\n  Mutex mutex_;\n  int n_ GUARDED_BY(mutex_);  // of pods\n};\n",
    "core/app/main.cpp": SPDX + '#include "loader/plugin_loader.hpp"\n',
    "loader/plugin_loader.hpp": SPDX + "#include <boost/dll/shared_library.hpp>\n",
    "plugins/node_name/node_name.cpp": SPDX + "#include <berth/filter.hpp>\n#include <vector>\n",
    "plugins/node_name/CMakeLists.txt": "# SPDX-License-Identifier: Apache-2.0\n", "plugins/node_name/README.md": README,
    "conf/README.md": "# Configuration\n\n```yaml berth\nkind: x\n```\n\n```console\n$ berth run\n```\n",
    "tests/meta/CMakeLists.txt": "# SPDX-License-Identifier: Apache-2.0\nforeach(document README.md conf/README.md)\n",
    "sdk/examples/hello/README.md": "# Hello\n\n```console test\n$ cmake .\n```\n",
    "tests/samples/CMakeLists.txt": "# SPDX-License-Identifier: Apache-2.0\nfile(GLOB readmes \"${ROOT}/sdk/examples/*/README.md\")\n",
    "sdk/include/berth/plugin.h": SPDX + "#include <stdint.h>\n",
    "sdk/examples/hello/hello.cpp": SPDX + '#include <berth/plugin.hpp>\n#include <sys/socket.h>\n#include "greeting.hpp"\n',
    "sdk/examples/hello/greeting.hpp": SPDX + "#include <string>\n",
    "tests/unit/queue/queue_test.cpp": SPDX + "#include <gtest/gtest.h>\n",
}
FOLDERS = {p.split("/")[1] for p in SOUND if p.startswith("core/")}
SOUND["core/README.md"] = "# Map\n" + "".join(f"| `{f}` | things | {includes.shown(f, FOLDERS)} |\n" for f in sorted(FOLDERS))
SOUND["core/README.md"] += "| `app/cli` | flags | |\n| `app/commands` | commands | cli |\n"

# Three lines of prose and one of code: with five more of code it is a third.
CONTRACT = SPDX + "/// A pod.\n///\n/// Threads: any.\nstruct Pod {\n"
# rule, file, its text (None: removed; several files: by path)
BROKEN = [
    ("top_level", "notes.txt", "x"),
    ("top_level", "LICENSE", None),
    ("top_level", "SECURITY.md", None),
    ("file_names", "core/queue/BackoffQueue.cpp", SPDX),
    ("file_names", "core/queue/queue.h", SPDX),
    ("folder_size", "core/model", {f"core/model/kind{i}.hpp": SPDX for i in range(30)}),
    ("folder_size", "tests/unit/queue", {f"tests/unit/queue/kind{i}.cpp": SPDX for i in range(30)}),
    ("folder_size", "tests/meta/folder_sizes.txt", "core/model 30\n"),
    ("folder_size", "core/model", {"tests/meta/folder_sizes.txt": "core/model 29\n",
                                   **{f"core/model/kind{i}.hpp": SPDX for i in range(29)}}),
    ("plugin_folders", "plugins/node_name/README.md", None),
    ("plugin_folders", "plugins/node_name/README.md", "# NodeName\n\n## Decides\n"),
    ("documentation_runs", "sdk/README.md", "# SDK\n\n```console test\n$ berth\n```\n"),
    ("documentation_runs", "plugins/node_name/README.md", README + "\n   ```yaml berth\nkind: x\n   ```\n"),
    ("plain_words", "README.md", "# berth\n\nA node that was promised to a pod.\n"),
    ("plain_words", "core/queue/queue.cpp", SPDX + 'auto x = "turned away";\n'),
    ("plain_words", "README.md", "The node beside it.\n"),
    ("vague_words", "core/queue/queue.cpp", SPDX + "// nobody waits\n"),
    ("vague_words", "tests/meta/vague_words.txt", "anew 3\n"),
    ("vague_words", "tests/unit/queue/queue_test.cpp", SPDX + "TEST(Queue, WakesNobody) {}\n"),
    ("vague_words", "tests/meta/vague_words_in_tests.txt", "door 1\n"),
    ("plain_words", "conf/README.md", "The plugin that turned the pod away.\n"),
    ("contracts_have_prose", "core", {f"core/model/kind{i}.hpp": CONTRACT + "  int a;\n" * 7 + "};\n" for i in range(5)}),
    ("contracts_have_prose", "loader/plugin_loader.hpp", CONTRACT + "  int a;\n" * 7 + "};\n"),
    ("contracts_have_prose", "sdk/include/berth/plugin.h", "/* SPDX-License-Identifier: Apache-2.0\n * A pod. */\n" + "typedef int a;\n" * 5),
    ("contracts_have_prose", "sdk/cpp/berth/pod.hpp", CONTRACT + "  int a;\n" * 7 + "};\n"),
    ("contracts_have_prose", "sdk/testkit/include/berth/testkit/pods.hpp", CONTRACT + "  int a;\n" * 7 + "};\n"),
    ("locks_guard_something", "core/queue/queue.hpp", SPDX + "struct Q {\n  Mutex mutex_;\n  int n_ = 0;\n};\n"),
    ("locks_guard_something", "core/queue/queue.hpp",
     SPDX + "struct Q {\n  Mutex mutex_;\n  Mutex other_mutex_;\n  int n_ GUARDED_BY(other_mutex_) = 0;\n};\n"),
    ("locks_are_named", "core/queue/queue.hpp", SPDX + "struct Q {\n  std::mutex mutex_;\n};\n"),
    ("locks_are_named", "plugins/node_name/node_name.cpp", SPDX + "std::mutex nodes;\n"),
    ("locks_guard_something", "plugins/node_name/node_name.cpp", SPDX + "guarded::Mutex nodes;\n"),
    ("locks_are_named", "loader/plugin_loader.cpp", SPDX + "void f() { const std::lock_guard lock(m); }\n"),
    ("string_failures", "core/queue/queue.cpp", SPDX + 'bool gone(const Error& e) { return e.code == "NotFound"; }\n'),
    ("string_failures", "core/queue/queue.cpp", SPDX + "bool read(int fd, std::string& why);\n"),
    ("string_failures", "tests/meta/string_failures.txt", "compared_codes 2\n"),
    ("string_failures", "core/queue/queue.cpp", SPDX + "void f(int fd, std::string* message);\n"),
    ("string_failures", "core/queue/queue.hpp",
     SPDX + "struct Q {\n  static std::unique_ptr<Q> make(int n,\n                                 std::vector<std::string>& list);\n};\n"),
    ("string_failures", "core/queue/queue.hpp", SPDX + "/// Runs. Empty, or what failed.\nstd::string run(int n);\n"),
    ("map_of_the_core", "core/README.md", None),
    ("map_of_the_core", "core/README.md", SOUND["core/README.md"].replace("| `queue` |", "| `hall` |")),
    ("map_of_the_core", "core/README.md", SOUND["core/README.md"].replace("| things | base", "| things | text", 1)),
    ("map_of_the_core", "core/README.md", SOUND["core/README.md"] + "Read `queue/absent.cpp`.\n"),
    ("map_of_the_core", "core/README.md", SOUND["core/README.md"] + "\n## The way of a pod\n\n1. It comes.\n2. It goes.\n"),
    ("map_of_the_core", "core/README.md",
     SOUND["core/README.md"] + "\n## Where to start\n\n| add a flag | `a/b.cpp`, `c/d.cpp`, `e/f.hpp`, `g.hpp` |\n"),
    ("include_table", "core/queue/queue.hpp", SPDX + '#include "cache/snapshot.hpp"\n'),
    ("include_table", "core/base/result.hpp", SPDX + '#include "model/pod.hpp"\n'),
    ("include_table", "core/framework/points.cpp", SPDX + '#include "cache/cluster_cache.hpp"\n'),
    ("include_table", "core/queue/queue.hpp", SPDX + '#include "berth/plugin.h"\n'),
    ("include_table", "core/queue/queue.hpp", SPDX + "#include <cycle/cycle.hpp>\n" ),
    ("include_table", "loader/plugin_loader.hpp", SPDX + '#include "queue/queue.hpp"\n'),
    ("include_table", "core/novel/thing.cpp", SPDX),
    ("include_table", "core/app/novel/thing.cpp", SPDX),
    ("include_table", "core/app/cli/options.hpp", SPDX + '#include "app/commands/run_command.hpp"\n'),
    ("include_table", "core/app/cli/options.hpp", SPDX + '#include "../commands/run_command.hpp"\n'),
    ("map_of_the_core", "core/README.md", SOUND["core/README.md"] + "| `app/live` | things | plugins |\n"),
    ("map_of_the_core", "core/README.md", {
        "core/app/live/host.hpp": SPDX, "core/README.md": SOUND["core/README.md"] + "| `app/live` | things | commands |\n"}),
    ("map_of_the_core", "core/app/live/host.hpp", SPDX),
    ("include_table", "core/queue/queue.hpp", SPDX + '#include "../model/pod.hpp"\n'),
    ("third_party", "core/config/read/load.cpp", SPDX + "#include <yaml-cpp/yaml.h>\n"),
    ("third_party", "core/decode/json.cpp", SPDX + "#include <simdjson.h>\n"),
    ("third_party", "core/app/main.cpp", SPDX + "#include <boost/dll.hpp>\n"),
    ("third_party", "core/base/result.hpp", SPDX + "#include <format>\n"),
    ("sdk_headers", "sdk/include/berth/plugin.h", SPDX + "#include <stdlib.h>\n"),
    ("sdk_headers", "sdk/include/berth/plugin.hpp", SPDX),
    ("sdk_headers", "sdk/cpp/berth/filter.hpp", SPDX + '#include "model/pod.hpp"\n'),
    ("samples_know_the_sdk_only", "sdk/examples/hello/hello.cpp", SPDX + '#include "model/pod.hpp"\n'),
    ("samples_know_the_sdk_only", "sdk/examples/hello/hello.cpp", SPDX + '#include "../../cpp/berth/filter.hpp"\n'),
    ("samples_know_the_sdk_only", "sdk/examples/hello/hello.cpp", SPDX + "#include <fmt/core.h>\n"),
    ("plugins_know_the_sdk_only", "plugins/node_name/node_name.cpp", SPDX + '#include "model/pod.hpp"\n'),
    ("plugins_know_the_sdk_only", "plugins/node_name/node_name.cpp", SPDX + "#include <boost/json.hpp>\n"),
    ("plugins_know_the_sdk_only", "plugins/node_name/node_name.cpp", SPDX + '#include "../../core/model/pod.hpp"\n'),
    ("plugins_know_the_sdk_only", "plugins/shared/names.hpp", {
        "plugins/shared/names.hpp": SPDX + '#include "../node_name/rows.hpp"\n', "plugins/node_name/rows.hpp": SPDX}),
    ("no_setters", "core/queue/queue.hpp", SPDX + "struct Queue {\n  void set_clock(Clock* clock);\n};\n"),
    ("no_setters", "core/queue/queue.hpp", SPDX + "struct Queue {\n  Result<void> init();\n};\n"),
    ("no_setters", "core/queue/queue.hpp", SPDX + "struct Queue {\n  bool connect();\n};\n"),
    ("no_setters", "core/queue/queue.hpp", SPDX + "struct Queue {\n  void watch_nodes(Nodes& nodes);\n};\n"),
    ("no_setters", "core/queue/queue.hpp", SPDX + "struct Queue {\n  bool build(Errors& errors);\n};\n"),
    ("no_setters", "core/queue/queue.hpp", SPDX + "struct Queue {\n  std::atomic<Heap*> complete_{nullptr};\n};\n"),
    ("scheduler_accessors", "core/scheduler", {
        "core/scheduler/scheduler.hpp": SPDX + "class Scheduler {\n  Cache& cache() noexcept { return cache_; }\n};\n",
        "core/README.md": SOUND["core/README.md"] +
        f"| `scheduler` | things | {includes.shown('scheduler', FOLDERS | {'scheduler'})} |\n"}),
    ("no_setters", "core/queue/queue.hpp", SPDX + "struct Queue {\n  void attach_cache(Cache&);\n};\n"),
    ("core_knows_no_plugin", "core/queue/queue.cpp", SPDX + 'auto x = "NodeName";\n'),
    ("core_knows_no_plugin", "loader/load.cpp", SPDX + "struct NodeName {};\n"),
    ("core_knows_no_plugin", "conf/profiles/default.yaml", "plugins: []\n"),
    ("own_metric_names", "core/queue/more.cpp", SPDX + 'auto x = "scheduler_more_total";\n'),
    ("exact_arithmetic", "CMakeLists.txt", "# SPDX-License-Identifier: Apache-2.0\nadd_compile_options(-ffast-math)\n"),
    ("banned_calls", "tests/unit/queue/queue_test.cpp", SPDX + "std::this_thread::sleep_for(1s);\n"),
    ("banned_calls", "core/queue/queue.cpp", SPDX + "auto t = std::chrono::steady_clock::now();\n"),
    ("banned_calls", "core/cycle/cycle.cpp", SPDX + "std::random_device seed;\n"),
    ("banned_calls", "core/cache/cache.cpp", SPDX + 'std::cerr << "x";\n'),
    ("spdx", "core/model/pod.hpp", "#pragma once\n"),
    ("spdx", "scripts/demo", "#!/bin/sh\n"),
    ("long_properties", "tests/unit/queue/queue_test.cpp", SPDX + 'const bool is_long = std::getenv("BERTH_LONG") != nullptr;\n'),
    ("no_loose_ends", "core/model/pod.hpp", SPDX + "// TO" + "DO: later\n"),
    ("no_loose_ends", "README.md", "see /wo" + "rk/shared\n"),
]


def violations(files, allowed=None):
    with tempfile.TemporaryDirectory(prefix="berth-rules-") as folder:
        for path, text in files.items():
            target = pathlib.Path(folder) / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        found, unused = judge(Tree(folder), allowed or {})
        return {name for name, v in found.items() if v}, unused, {name: v for name, v in found.items() if v}


def main():
    failures = []
    broken, _, found = violations(SOUND)
    if broken:
        failures.append(f"the sound tree breaks {found}")
    for rule, path, text in BROKEN:
        files = dict(SOUND)
        if text is None:
            del files[path]
        elif isinstance(text, dict):
            files |= text
        else:
            files[path] = text
        broken, _, found = violations(files)
        if broken != {rule}:
            failures.append(f"{rule}, {path}: broke {found or 'nothing'}")
    for rule in {r.__name__ for r in RULES} - {rule for rule, _, _ in BROKEN}:
        failures.append(f"{rule} is not tested")

    setter = {**SOUND, "core/queue/queue.hpp": SPDX + "void set_clock(Clock* clock);\n"}
    excuse = ("no_setters", "core/queue/queue.hpp", "set_clock")
    if violations(setter, {excuse: "why"})[0]:
        failures.append("an exception does not excuse")
    if violations(SOUND, {excuse: "why"})[1] != [excuse]:
        failures.append("an exception that excuses nothing goes unnoticed")

    for failure in failures:
        print(f"failed: {failure}")
    total = 1 + len(BROKEN) + 3
    print(f"{total - len(failures)} passed, {len(failures)} failed")
    return bool(failures)


sys.exit(main())
