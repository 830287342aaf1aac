# SPDX-License-Identifier: Apache-2.0
"""What may not stand in a source, and what must."""
import collections
import re
import statistics

from .tree import CPP, Violation

# Calls with a better way: pattern -> (folders, what to do instead).
BANNED = {
    r"\bsleep_(?:for|until)\s*\(|\bu?sleep\s*\(": (("core", "loader", "plugins", "tests"), "wait for a condition or use the manual clock"),
    r"\bstd::(?:cout|cerr)\b": (("core/base", "core/text", "core/model", "core/decode", "core/config", "core/cluster",
                                 "core/net", "core/cache", "core/queue", "core/framework", "core/preemption",
                                 "core/extender", "core/cycle", "core/binding", "core/ingest", "core/metrics",
                                 "core/scheduler", "core/access", "core/serving", "plugins"), "log through core/observe or the log service"),
    r"(?<![\w.:>])rand\s*\(|\bstd::random_device\b": (("core", "plugins"), "randomness comes in through the constructor, with a seed"),
    r"\bsystem_clock::now\b|\bsteady_clock::now\b": (("core/cache", "core/queue", "core/framework", "core/preemption",
                                                      "core/cycle", "core/binding", "core/ingest",
                                                      "core/metrics", "plugins"), "time comes from base::Clock or the clock service"),
    r"\b(?:std::)?views::": (("core", "loader", "plugins", "sdk"), "Clang 14 cannot compile most view pipelines"),
}
# Under whatever verb: a call, or a member, that makes an object whole after its construction.
COMPLETING = (r"\b(?P<name>(?:(?:set|init|attach)_\w+|init|initialize|count_with"
              r"|(?<=^  void )(?:build|connect|(?:watch|install|wire)_\w+)|(?<=^  bool )(?:build|connect|(?:watch|install|wire)_\w+)"
              r"|(?<=^  Status )(?:build|connect|(?:watch|install|wire)_\w+))(?=\s*\()|complete_\b)")
# Functions through which Scheduler shows its parts. Whoever needs a part is given that part: the number may only fall.
SCHEDULER_ACCESSORS = 0
BAD_WORDS = r"\b(?:TODO|FIXME|XXX|HACK)\b|/work/|(?<![\w/-])[Ii]ssue #?\d+\b"
HAS_SPDX = CPP | {".py", ".sh", ".cmake"}
LONG_LINES = 500


def no_setters(tree):
    """The constructor is the wiring: nothing is completed by a setter afterwards."""
    for path in tree.under("core", suffixes={".hpp"}):
        for line, match in tree.matches(path, COMPLETING):
            before = tree.code(path)[: match.start()].rsplit("\n", 1)[-1]
            if not before.rstrip().endswith((".", "->", "::")):
                yield Violation(path, match["name"], "pass it to the constructor, or hand over a value", line)


def scheduler_accessors(tree):
    """Pages, reports and commands are given the parts that they look at, not the scheduler that has them."""
    path = "core/scheduler/scheduler.hpp"
    if path not in tree.paths:
        return
    count = sum(1 for _ in tree.matches(path, r"^  (?:const )?[\w:]+& \w+\(\) (?:const )?noexcept \{ return"))
    if count != SCHEDULER_ACCESSORS:
        why = "give the part to what needs it" if count > SCHEDULER_ACCESSORS else "lower the number, so that it stays"
        yield Violation(path, f"{count} accessors", f"{SCHEDULER_ACCESSORS} are allowed: {why}")


def plugin_names(tree):
    """Names that a profile may list, read from the data that lists them."""
    names = set()
    for path in ("conf/profiles/default.yaml", "conf/absent-plugins.yaml", "conf/gated-plugins.yaml"):
        if path in tree.paths:
            names |= set(re.findall(r"\bname:\s*[\"']?([A-Z][A-Za-z]+)", tree.text(path)))
    return names


def core_knows_no_plugin(tree):
    """No policy is special to the host."""
    names = plugin_names(tree)
    if not names:
        yield Violation("conf/profiles/default.yaml", "plugin names", "found none, so nothing can be checked")
        return
    pattern = r"(?<!\w)(?:" + "|".join(sorted(names)) + r")(?!\w)"
    for path in tree.under("core", "loader"):
        for line, match in tree.matches(path, pattern):
            yield Violation(path, match[0], "core knows no plugin names; it is data in conf/ or a capability", line)


def own_metric_names(tree):
    """Plugins may take names of upstream's metrics, so the registry has to know those that the program itself exports."""
    registry = "core/observe/metric_registry.cpp"
    listed = re.search(r"k_own_names\[\] = \{(.*?)\};", tree.text(registry), re.S) if registry in tree.paths else None
    known = set(re.findall(r'"(\w+)"', listed[1])) if listed else set()
    for path in tree.under("core"):
        for line, match in tree.matches(path, r'"(scheduler_\w+)"'):
            if path != registry and match[1] not in known:
                yield Violation(path, match[1], f"list it in {registry}, so that no plugin takes it", line)


def exact_arithmetic(tree):
    """Scores must not depend on the compiler: no flag that lets it reorder or contract."""
    for path in tree.paths:
        # tests/ may build a library on purpose that the loader must refuse.
        if path.endswith(("CMakeLists.txt", ".cmake", "CMakePresets.json")) and not path.startswith("tests/"):
            text = re.sub(r"#[^\n]*", "", tree.text(path))
            for line, match in tree.matches(path, r"-ffast-math|-Ofast|-ffp-contract=(?!off)\w+|-funsafe-math\w*", text):
                yield Violation(path, match[0], "scores must not depend on the compiler", line)


def banned_calls(tree):
    """Calls that have a better way here."""
    for pattern, (folders, instead) in BANNED.items():
        for path in tree.under(*folders):
            for line, match in tree.matches(path, pattern):
                yield Violation(path, match[0].strip(), instead, line)


def spdx(tree):
    """Every source says its licence in its first lines."""
    for path in tree.paths:
        is_script = path.startswith(("scripts/", ".ci/")) and "." not in path.split("/")[-1]
        if path.endswith(tuple(HAS_SPDX)) or path.endswith("CMakeLists.txt") or is_script:
            head = tree.text(path).splitlines()[:2]
            if not any("SPDX-License-Identifier: Apache-2.0" in line for line in head):
                yield Violation(path, "SPDX", "the first line is `SPDX-License-Identifier: Apache-2.0` in a comment")


def no_loose_ends(tree):
    """Notes to self belong elsewhere, and the tree does not point outside itself."""
    for path in tree.paths:
        if path.endswith((".cpp", ".hpp", ".c", ".h", ".py", ".sh", ".cmake", ".md", ".txt", ".yaml")) \
                and not path.startswith(("tests/meta/", "tests/conformance/data/")):
            for line, match in tree.matches(path, BAD_WORDS, tree.text(path)):
                yield Violation(path, match[0], "finish it, or say it in a way that stands on its own", line)


# Words that make a sentence a riddle: coined terms, and subjects that name no thing. pattern -> what to write.
COINED = {
    r"promised": "nominated", r"turn\w*(?: \w+){0,4} away": "rejected", r"by lot": "at random", r"vouch\w*": "sign, authenticate",
    r"complaints?": "errors", r"no leave|need leave": "authorization",
}
VAGUE = ["anew", "beside", "complain", "complaint", "complaints", "nobody", "somebody", "whoever"]
# How often each word stands where: file of the numbers -> folders. Tests are measured alone, and by more words.
VAGUE_COUNTS = {
    "tests/meta/vague_words.txt": (("core", "loader", "plugins", "sdk", "conf", "scripts"), VAGUE),
    "tests/meta/vague_words_in_tests.txt": (("tests",), sorted(VAGUE + ["anybody", "door", "promised", "promises", "vouch",
                                                                       "vouched", "vouches"])),
}
# Recordings of others, inputs that fuzzers keep, kept plugins, and the rules themselves, which have to name the words.
NOT_OUR_WORDS = ("tests/meta/", "tests/conformance/data/", "tests/fuzz/seeds/", "tests/time_capsule/")
READ_BY_USERS = (".md", ".yaml", ".service")
HAS_WORDS = CPP | {".py", ".yaml", ".service", ".cmake", ".md", ""}
STRING = re.compile(r'"((?:\\.|[^"\\\n])*)"')


def plain_words(tree):
    """What a user reads (texts in the program, documents) has none of these words."""
    coined = dict(dict.fromkeys(VAGUE, "name the thing"), **COINED, anew="again", beside="next to, in addition to")
    pattern = re.compile(r"\b(?:" + "|".join(coined) + r")\b", re.I)
    for path in tree.paths:
        if path.endswith(READ_BY_USERS) and not path.startswith("tests/"):
            pieces = enumerate(tree.text(path).splitlines(), 1)
        elif path.endswith((".cpp", ".hpp")) and path.startswith(("core/", "loader/", "plugins/")) \
                and not path.endswith("_test.cpp"):
            pieces = ((n, " ".join(STRING.findall(line))) for n, line in enumerate(tree.code(path).splitlines(), 1)
                      if not line.lstrip().startswith("#"))
        else:
            continue
        for line, text in pieces:
            for match in pattern.finditer(text):
                instead = next(v for k, v in coined.items() if re.fullmatch(k, match[0], re.I))
                yield Violation(path, match[0], f"users read this: {instead}", line)


def vague_words(tree):
    """Sources and documents name things instead; how often each word still stands there may only fall."""
    for path, (folders, words) in VAGUE_COUNTS.items():
        counted = collections.Counter()
        for source in tree.under(*folders, suffixes=HAS_WORDS):
            if not source.startswith(NOT_OUR_WORDS):
                # A name is its words: evict_nobody, EvictNobody.
                counted.update(word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", tree.text(source)))
        yield from falling_numbers(tree, path, {word: counted[word] for word in words}, f"in {', '.join(folders)}", "name the thing")


def falling_numbers(tree, path, counts, where, instead):
    """The file at `path` has a line "name number" for each; what stands more often than there, or less often, is a violation."""
    limits = dict(re.findall(r"^(\w+) (\d+)$", tree.text(path), re.M)) if path in tree.paths else {}
    for name, count in counts.items():
        limit = int(limits.get(name, 0))
        if count > limit:
            yield Violation(path, name, f"stands {count} times {where}, {limit} are allowed: {instead}")
        elif count < limit:
            yield Violation(path, name, f"stands {count} times now: lower its number from {limit}, so that it stays")


def long_properties(tree):
    """`scripts/test --long` runs the label cases: a program that draws more clusters then has to have it."""
    for path in tree.under("tests", suffixes={".cpp"}):
        for line, match in tree.matches(path, r'getenv\("BERTH_LONG"\)'):
            lists = f"{path.rsplit('/', 1)[0]}/CMakeLists.txt"
            calls = re.findall(r"berth_add_test\(([^)]*)\)", tree.text(lists) if lists in tree.paths else "")
            if not any(path.rsplit("/", 1)[1] in call and re.search(r"\bLABEL cases\b", call) for call in calls):
                yield Violation(path, match[0], f"its test in {lists} needs LABEL cases", line)


LOCKS = r"\bstd::(?:(?:shared_|recursive_|timed_)*mutex|lock_guard|unique_lock|scoped_lock|shared_lock|condition_variable(?:_any)?)\b"


# Where locks have types that say what they guard; the library for device selectors may know neither of the others.
LOCK_HEADERS = {"core": "core/base/guarded.hpp", "loader": "core/base/guarded.hpp", "plugins": "plugins/shared/guarded.hpp",
                "sdk/cel": "sdk/cel/src/guarded.hpp"}


def locks_are_named(tree):
    """Locks are those of a guarded.hpp, whose types say what they guard."""
    for folder, header in LOCK_HEADERS.items():
        for path in tree.under(folder):
            for line, match in tree.matches(path, LOCKS) if path != header else []:
                yield Violation(path, match[0], f"the types of {header}, with GUARDED_BY on what the lock guards", line)


def locks_guard_something(tree):
    """Each lock is named by what it guards, or stands in allowed.txt with what it is for."""
    for path in tree.under(*LOCK_HEADERS):
        for line, match in tree.matches(path, r"(?<!static )\b(?:Shared)?Mutex (?P<name>\w+)\s*[;{]"):
            if not re.search(rf"(?:\b|_)(?:GUARDED_BY|REQUIRES|REQUIRES_SHARED)\((?:[^()]*[\s,.>&])?{match['name']}\)", tree.code(path)):
                yield Violation(path, match["name"], "no GUARDED_BY in this file names this lock", line)


# Ways to fail that tell the compiler nothing: name -> pattern.
STRING_FAILURES = {
    "compared_codes": r'\.code\s*[=!]=\s*"',
    "error_texts_by_reference": r"(?<!const )std::(?:string|vector<std::string>)\s*[&*]\s*(?:wrong|why|err|complaints?|errors?|warnings|notes)\s*[,)]",
    "reason_texts_by_reference": r"(?<!const )std::(?:string|vector<std::string>)\s*[&*]\s*(?:reasons?|messages?|problems?|refusals?)\s*[,)]",
    "empty_texts_for_success": r"(?im)^ *///.*(?:empty,? or (?:the |what)|(?:what is wrong|why)\b.{0,80}\bempty|empty:? (?:it was|they are|success)).*\n(?: *///.*\n)*[^/\n]*std::string(?:_view)? \w+\(",
    "null_with_a_list": r"std::(?:unique|shared)_ptr<[\w:]+> (?:\w+::)?make\([^;{]*std::vector<std::string>&",
}


def string_failures(tree):
    """A failure is a Status, a Result or Diagnostics; what is left of other ways may only become less."""
    counts = {name: sum(1 for p in tree.under("core", "loader") for _ in re.finditer(pattern, tree.text(p), re.M))
              for name, pattern in STRING_FAILURES.items()}
    yield from falling_numbers(tree, "tests/meta/string_failures.txt", counts, "in core/ and loader/", "return a Status or Result")


# A header is a contract: it says what a thing is for, who may call it, who owns what, and where its behaviour comes from. Each of these
# rooms is measured by itself, so that a room with much prose does not hide another.
ROOMS_OF_CONTRACTS = ("core", "loader", "sdk/include", "sdk/cpp", "sdk/testkit")
PROSE_SHARE_MIN = 1 / 3


def prose_share(text):
    """The share of lines that carry a comment, without blank lines, includes, the licence and #pragma; None without any line."""
    lines, commented, inside = 0, 0, False
    for line in map(str.strip, text.splitlines()):
        if not line or line.startswith(("#include", "#pragma", "// SPDX")):
            continue
        opened = line.rfind("/*")
        lines += 1
        commented += inside or "//" in line or opened >= 0
        inside = line.find("*/", opened + 2 if opened >= 0 else 0) < 0 if inside or opened >= 0 else False
    return commented / lines if lines else None


def contracts_have_prose(tree):
    """The median header of a room explains itself in a third of its lines."""
    for room in ROOMS_OF_CONTRACTS:
        shares = [prose_share(tree.text(path)) for path in tree.under(room, suffixes={".h", ".hpp"})]
        shares = [share for share in shares if share is not None]
        if shares and statistics.median(shares) < PROSE_SHARE_MIN:
            yield Violation(room, f"{statistics.median(shares):.0%}", "of the median header's lines carry a comment; a third is wanted")


def long_files(tree):
    """For information: where a second noun may be hiding."""
    for path in tree.under("core", "loader", "plugins", "sdk", "tests", suffixes=CPP | {".py"}):
        count = tree.text(path).count("\n")
        if count > LONG_LINES:
            yield count, path


RULES = [plain_words, vague_words, contracts_have_prose, locks_are_named, locks_guard_something, string_failures, no_setters,
         scheduler_accessors, core_knows_no_plugin, own_metric_names, exact_arithmetic, banned_calls, spdx, no_loose_ends,
         long_properties]
