# SPDX-License-Identifier: Apache-2.0
"""What every_point_test.py expects: one row per answer of a plugin at a point.

"S/permit" names Second's answer at permit. Calls are those of the pod's first attempt, "F", "S" and "T" in the order in
which First, Second and Third were called.
"""
import dataclasses
import re
from typing import Callable, Optional


@dataclasses.dataclass
class Case:
    name: str
    answers: dict
    calls: Optional[str]
    node: Optional[str]  # a name, "any", or None: stays pending
    message: Optional[str] = None  # a regular expression
    others: list = dataclasses.field(default_factory=list)  # (name, answers, more of the pod)
    pod: dict = dataclasses.field(default_factory=dict)
    traced: list = dataclasses.field(default_factory=list)
    not_traced: list = dataclasses.field(default_factory=list)
    check: Optional[Callable] = None


REASON = "the annotation says no"
ONE = rf"^0/1 nodes are available: 1 {REASON}\."
TWO = rf"^0/2 nodes are available: 2 {REASON}\."

PREPARED = "pre_filter:FST filter:FST pre_score:FST score:FST normalize:FST"
PERMITTED = f"{PREPARED} reserve:FST permit:FST"
CHECKED = f"{PERMITTED} pre_bind_check:FST"
BOUND = f"{CHECKED} pre_bind:FST bind:FST post_bind:FST"
ONE_NODE = "pre_filter:FST filter:FST reserve:FST permit:FST pre_bind_check:FST pre_bind:FST bind:FST post_bind:FST"
UNDONE = "unreserve:TSF"


def broke(text, point):
    return rf"^{re.escape(text)}Second broke at {point}$"


def invalid(code):
    """A code that has no meaning at the point is an error that names plugin and code."""
    return rf"plugin berth\.test/Second returned .*{code}.* from \w+, which is not valid there$"


CASES = [
    Case("every plugin is called at every point, in the order of the profile", {}, BOUND, "any"),

    # --- pre-enqueue
    Case("a gate holds the pod", {"S/pre_enqueue": "unschedulable"}, "", None, traced=["Second pre_enqueue default/p"],
         not_traced=["pre_filter", "Third pre_enqueue"]),
    Case("a gate that breaks holds the pod", {"F/pre_enqueue": "error"}, "", None, not_traced=["pre_filter"]),

    # --- pre-filter
    Case("skip at pre-filter leaves the plugin out of filter", {"S/pre_filter": "skip"},
         BOUND.replace("filter:FST pre_score", "filter:FT pre_score"), "any"),
    Case("unschedulable at pre-filter lets the others prepare", {"S/pre_filter": "unschedulable"},
         "pre_filter:FST post_filter:FST", None, REASON),
    Case("unresolvable at pre-filter stops", {"S/pre_filter": "unresolvable"}, "pre_filter:FS post_filter:FST", None, REASON),
    Case("error at pre-filter", {"S/pre_filter": "error"}, "pre_filter:FS", None,
         broke('running PreFilter plugin "berth.test/Second": ', "pre_filter")),
    Case("pending at pre-filter is an error", {"S/pre_filter": "pending"}, "pre_filter:FS", None,
         '^running PreFilter plugin "berth.test/Second": '),
    Case("wait at pre-filter is an error", {"S/pre_filter": "wait"}, "pre_filter:FS", None, invalid("Wait")),
    Case("an unknown code at pre-filter is an error", {"S/pre_filter": "77"}, "pre_filter:FS", None, invalid("77")),
    Case("pre-filter narrows to one node", {"S/pre_filter": "narrow:1"}, ONE_NODE, "n1"),
    Case("two that narrow to different nodes leave none", {"F/pre_filter": "narrow:0", "S/pre_filter": "narrow:1"},
         "pre_filter:FS post_filter:FST", None,
         r"node\(s\) didn't satisfy plugin\(s\) \[berth\.test/First berth\.test/Second\] simultaneously"),

    # --- filter
    Case("unschedulable at filter", {"S/filter": "unschedulable"}, "pre_filter:FST filter:FS post_filter:FST", None, TWO),
    Case("unresolvable at filter", {"S/filter": "unresolvable"}, "pre_filter:FST filter:FS post_filter:FST", None, TWO),
    Case("pending at filter", {"S/filter": "pending"}, "pre_filter:FST filter:FS post_filter:FST", None, TWO),
    Case("one node rejected leaves the other", {"S/filter": "reject:0"}, ONE_NODE, "n1"),
    Case("error at filter", {"S/filter": "error"}, "pre_filter:FST filter:FS", None,
         broke('running "berth.test/Second" filter plugin: ', "filter")),
    Case("wait at filter is an error", {"S/filter": "wait"}, "pre_filter:FST filter:FS", None, invalid("Wait")),
    Case("skip at filter is an error", {"S/filter": "skip"}, "pre_filter:FST filter:FS", None, invalid("Skip")),
    Case("an exception at filter is an error", {"T/filter": "throw"}, "pre_filter:FST filter:FST", None,
         '^running "berth.test/Third" filter plugin: Third broke at filter$'),

    # --- post-filter
    Case("the first success at post-filter ends it", {"F/filter": "unschedulable", "S/post_filter": "set:1"},
         "pre_filter:FST filter:F post_filter:FS", None, TWO,
         check=lambda run: [] if run.pods["default/p"].get("nominatedNode") == "n1" else [f"not nominated: {run.pods}"]),
    Case("unresolvable at post-filter stops", {"F/filter": "unschedulable", "F/post_filter": "unresolvable"},
         "pre_filter:FST filter:F post_filter:F", None, TWO),
    Case("pending at post-filter goes on", {"F/filter": "unschedulable", "F/post_filter": "pending"},
         "pre_filter:FST filter:F post_filter:FST", None, TWO),
    Case("error at post-filter stops", {"F/filter": "unschedulable", "F/post_filter": "error"},
         "pre_filter:FST filter:F post_filter:F", None, TWO),

    # --- pre-score and score
    Case("skip at pre-score leaves the plugin out of score", {"S/pre_score": "skip"},
         BOUND.replace("score:FST normalize:FST", "score:FT normalize:FT"), "any"),
    Case("error at pre-score", {"S/pre_score": "error"}, "pre_filter:FST filter:FST pre_score:FS", None,
         broke('running PreScore plugin "berth.test/Second": ', "pre_score")),
    Case("a rejection at pre-score is an error", {"S/pre_score": "unschedulable"}, "pre_filter:FST filter:FST pre_score:FS",
         None, 'running PreScore plugin "berth.test/Second": '),
    Case("error at score", {"S/score": "error"}, None, None,
         broke('running Score plugins: plugin "berth.test/Second" failed with: ', "score"), not_traced=["reserve"]),
    Case("a score above the range", {"S/score": "101"}, None, None,
         r'plugin "berth\.test/Second" returns an invalid score 101, it should in the range of \[0, 100\] after normalizing',
         not_traced=["reserve"]),
    Case("a score below the range", {"T/score": "-1"}, None, None,
         r'plugin "berth\.test/Third" returns an invalid score -1, it should in the range of \[0, 100\] after normalizing'),
    Case("error at normalise", {"S/normalize": "error"}, None, None, "^running Normalize on Score plugins: .*berth.test/Second",
         not_traced=["reserve"]),

    # --- reserve: whatever goes wrong, all are undone in reverse order
    Case("unschedulable at reserve", {"S/reserve": "unschedulable"}, f"{PREPARED} reserve:FS {UNDONE}", None, ONE),
    Case("unresolvable at reserve", {"S/reserve": "unresolvable"}, f"{PREPARED} reserve:FS {UNDONE}", None, ONE),
    Case("pending at reserve", {"S/reserve": "pending"}, f"{PREPARED} reserve:FS {UNDONE}", None, ONE),
    Case("error at reserve", {"S/reserve": "error"}, f"{PREPARED} reserve:FS {UNDONE}", None,
         broke('running Reserve plugin "berth.test/Second": ', "reserve")),
    Case("an exception at reserve", {"T/reserve": "throw"}, f"{PREPARED} reserve:FST {UNDONE}", None,
         '^running Reserve plugin "berth.test/Third": Third broke at reserve$'),
    Case("wait at reserve is an error", {"S/reserve": "wait"}, f"{PREPARED} reserve:FS {UNDONE}", None, invalid("Wait")),
    Case("skip at reserve is an error", {"S/reserve": "skip"}, f"{PREPARED} reserve:FS {UNDONE}", None, invalid("Skip")),
    Case("async at reserve is an error", {"S/reserve": "async"}, f"{PREPARED} reserve:FS {UNDONE}", None, invalid("Async")),
    Case("an unknown code at reserve is an error", {"S/reserve": "77"}, f"{PREPARED} reserve:FS {UNDONE}", None, invalid("77")),

    # --- permit
    Case("unschedulable at permit", {"S/permit": "unschedulable"}, f"{PREPARED} reserve:FST permit:FS {UNDONE}", None, ONE),
    Case("unresolvable at permit", {"S/permit": "unresolvable"}, f"{PREPARED} reserve:FST permit:FS {UNDONE}", None, ONE),
    Case("pending at permit", {"S/permit": "pending"}, f"{PREPARED} reserve:FST permit:FS {UNDONE}", None, ONE),
    Case("error at permit", {"S/permit": "error"}, f"{PREPARED} reserve:FST permit:FS {UNDONE}", None,
         broke('running Permit plugin "berth.test/Second": ', "permit")),
    Case("skip at permit is an error", {"S/permit": "skip"}, f"{PREPARED} reserve:FST permit:FS {UNDONE}", None,
         invalid("Skip")),
    Case("an exception at permit", {"T/permit": "throw"}, f"{PREPARED} reserve:FST permit:FST {UNDONE}", None,
         '^running Permit plugin "berth.test/Third": Third broke at permit$'),
    Case("a denial wins over a wait", {"F/permit": "wait:60000", "S/permit": "unschedulable"},
         f"{PREPARED} reserve:FST permit:FS {UNDONE}", None, ONE),
    Case("a wait that no plugin decides times out", {"S/permit": "wait:5000"}, f"{CHECKED} {UNDONE}", None,
         r"rejected due to timeout after waiting 5s at plugin berth\.test/Second"),
    Case("the earliest time-out decides", {"F/permit": "wait:9000", "S/permit": "wait:4000"}, f"{CHECKED} {UNDONE}", None,
         r"rejected due to timeout after waiting 4s at plugin berth\.test/Second"),
    Case("a wait that is allowed", {"S/permit": "wait:60000"}, BOUND, "any",
         others=[("q", {"S/decides": "allow uid-p"}, {})], traced=["Second allow uid-p code=0"]),
    Case("a wait that is allowed by a task", {"S/permit": "wait:60000"}, BOUND, "any",
         others=[("q", {"S/decides": "allow_later uid-p"}, {})], traced=["Second allow uid-p code=0"]),
    Case("a wait that is allowed from a foreign thread", {"T/permit": "wait:60000"}, BOUND, "any",
         others=[("q", {"T/decides": "allow_thread uid-p"}, {})], traced=["Third allow uid-p code=0"]),
    Case("two wait, one allows: the other's time-out decides", {"F/permit": "wait:7000", "S/permit": "wait:60000"},
         f"{CHECKED} {UNDONE}", None, r"rejected due to timeout after waiting 7s at plugin berth\.test/First",
         others=[("q", {"S/decides": "allow uid-p"}, {})]),
    Case("two wait, both allow", {"F/permit": "wait:60000", "S/permit": "wait:60000"}, BOUND, "any",
         others=[("q", {"F/decides": "allow uid-p", "S/decides": "allow uid-p"}, {})]),
    # It comes back after the event, waits again, and no plugin decides the second time.
    Case("a wait that is denied", {"S/permit": "wait:60000"}, f"{CHECKED} {UNDONE}", None, None,
         check=lambda run: tried_again_by(run, 59),
         others=[("q", {"S/decides": "reject uid-p"}, {})], traced=["Second reject uid-p code=0"]),
    Case("deciding about a pod that does not wait", {}, BOUND, "any",
         others=[("q", {"S/decides": "allow uid-absent"}, {})], traced=["Second allow uid-absent code=19"]),

    # --- pre-bind
    Case("skip at the pre-bind check leaves the plugin out", {"S/pre_bind_check": "skip"},
         BOUND.replace("pre_bind:FST", "pre_bind:FT"), "any"),
    Case("error at the pre-bind check", {"S/pre_bind_check": "error"},
         f"{PERMITTED} pre_bind_check:FS {UNDONE}", None,
         broke('running PreBindPreFlight "berth.test/Second": ', "pre_bind_check")),
    Case("a rejection at the pre-bind check is an error", {"S/pre_bind_check": "unschedulable"},
         f"{PERMITTED} pre_bind_check:FS {UNDONE}", None,
         '^PreBindPreFlight berth.test/Second returned "Unschedulable", which is unsupported'),
    Case("error at pre-bind", {"S/pre_bind": "error"}, f"{CHECKED} pre_bind:FS {UNDONE}", None,
         broke('running PreBind plugin "berth.test/Second": ', "pre_bind")),
    Case("unschedulable at pre-bind", {"S/pre_bind": "unschedulable"}, f"{CHECKED} pre_bind:FS {UNDONE}", None,
         f"^{REASON}$"),
    Case("pre-bind completes later", {"S/pre_bind": "async:ok"}, BOUND, "any"),
    Case("pre-bind fails later", {"S/pre_bind": "async:error"}, f"{CHECKED} pre_bind:FS {UNDONE}", None,
         '^running PreBind plugin "berth.test/Second": completed later with an error'),
    Case("an exception at pre-bind", {"T/pre_bind": "throw"}, f"{CHECKED} pre_bind:FST {UNDONE}", None,
         '^running PreBind plugin "berth.test/Third": Third broke at pre_bind$'),

    # --- bind
    Case("the first that does not skip binds", {"S/bind": "write"}, BOUND.replace(" bind:FST", " bind:FS"), "any"),
    Case("a plugin in C++ binds", {"T/bind": "write"}, BOUND, "any"),
    Case("error at bind", {"S/bind": "error"}, f"{CHECKED} pre_bind:FST bind:FS {UNDONE}", None,
         broke('running Bind plugin "berth.test/Second": ', "bind")),
    Case("bind fails later", {"F/bind": "async:error"}, f"{CHECKED} pre_bind:FST bind:F {UNDONE}", None,
         '^running Bind plugin "berth.test/First": completed later with an error'),
    Case("unschedulable at bind", {"S/bind": "unschedulable"}, f"{CHECKED} pre_bind:FST bind:FS {UNDONE}", None,
         f"^{REASON}$"),
    Case("an exception at bind", {"T/bind": "throw"}, f"{CHECKED} pre_bind:FST bind:FST {UNDONE}", None,
         '^running Bind plugin "berth.test/Third": Third broke at bind$'),

    # --- hints: q is bound after p was rejected, which is an event about a pod. A pod that no hint brings back is looked at
    # again after five minutes.
    Case("a hint brings the pod back", {"F/filter": "unschedulable"}, None, None, others=[("q", {}, {})],
         pod={"spec": {"priority": 10}}, check=lambda run: tried_again_by(run, 60)),
    Case("a hint that says no does not", {"F/filter": "unschedulable", "F/hint": "skip"}, None, None,
         others=[("q", {}, {})], pod={"spec": {"priority": 10}}, traced=["First hint default/p interest=1"],
         check=lambda run: not_tried_again_before(run, 300)),
    Case("a hint that breaks brings the pod back", {"F/filter": "unschedulable", "F/hint": "error"}, None, None,
         others=[("q", {}, {})], pod={"spec": {"priority": 10}}, check=lambda run: tried_again_by(run, 60)),
    Case("a plugin in C++ hints", {"T/filter": "unschedulable", "T/hint": "skip"}, None, None,
         others=[("q", {}, {})], pod={"spec": {"priority": 10}}, traced=["Third hint default/p interest=1"],
         check=lambda run: not_tried_again_before(run, 300)),

    # --- what-if: a nominated pod of higher priority is imagined on its node, and evicted pods away from theirs
    Case("a nominated pod is imagined on its node", {}, None, "any",
         others=[("q", {"F/filter": "unschedulable", "F/hint": "skip"},
                  {"spec": {"priority": 10}, "status": {"nominatedNodeName": "n0"}})],
         traced=["First pod_added default/p q slot=0", "Second pod_added default/p q slot=0",
                 "Third pod_added default/p q slot=0"],
         check=lambda run: [] if any("added=1" in more for _, _, more in run.calls("default/p")) else ["state was not cloned"]),
    Case("an error while a pod is imagined", {"S/pod_added": "error"}, None, None,
         'running AddPod on PreFilter plugin "berth.test/Second": Second broke at pod_added',
         others=[("q", {"F/filter": "unschedulable", "F/hint": "skip"},
                  {"spec": {"priority": 10}, "status": {"nominatedNodeName": "n0"}})]),
    Case("a dry run imagines pods away", {"F/filter": "unschedulable", "F/post_filter": "dry_run"}, None, None,
         others=[("q", {}, {"spec": {"nodeName": "n0"}, "status": {"phase": "Running"}})],
         traced=["First pod_removed default/p q slot=0", "Third pod_removed default/p q slot=0",
                 "First fits_without default/p slot=0 without=1 code=2"],
         check=lambda run: [] if any("dry_run" in m and "removed=1" in m for _, _, m in run.calls("default/p"))
         else ["filter did not see it"]),
]


def attempt_seconds(run):
    """When First's pre_filter saw the pod, on the virtual clock."""
    return [int(more.split("=")[1]) for point, plugin, more in run.calls("default/p")
            if point == "pre_filter" and plugin == "F"]


def tried_again_by(run, second):
    seconds = attempt_seconds(run)
    return [] if len(seconds) > 1 and seconds[1] <= second else [f"attempts at seconds {seconds}"]


def not_tried_again_before(run, second):
    seconds = attempt_seconds(run)
    return [] if seconds and all(at >= second for at in seconds[1:]) else [f"attempts at seconds {seconds}"]
