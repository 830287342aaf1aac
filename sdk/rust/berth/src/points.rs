// SPDX-License-Identifier: Apache-2.0
//! The extension points: a trait each. A policy offers a point by implementing its trait; [`export!`](crate::export) finds them.
//!
//! What is called at the same time from several threads stands in the C headers: filter and score for blocks of one attempt, what
//! concerns bindings and the queue beside it. Hence `&self` everywhere, and `Send + Sync`.
use crate::binding::BindCall;
use crate::nodes::{FilterBlock, Row, ScoreBlock};
use crate::services::Object;
use crate::{Candidates, Cycle, Error, Pod, Prepared, ReasonText, Setup, Slot, Verdict};
use berth_sys as sys;

/// What answers depend on, beyond the pod fields that were asked for. `and` joins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deps(pub(crate) u32);
impl Deps {
    /// Of a point: those of the plugin.
    pub const OF_PLUGIN: Deps = Deps(0);
    /// Pod fields that were asked for.
    pub const POD_SPEC: Deps = Deps(sys::BERTH_DEP_POD_SPEC);
    /// The pod's name or uid.
    pub const POD_IDENTITY: Deps = Deps(sys::BERTH_DEP_POD_IDENTITY);
    /// Labels, taints, allocatable, images, features of the node at hand.
    pub const NODE_STATIC: Deps = Deps(sys::BERTH_DEP_NODE_STATIC);
    /// Pods on the node at hand.
    pub const NODE_USAGE: Deps = Deps(sys::BERTH_DEP_NODE_USAGE);
    /// Anything on other nodes.
    pub const OTHER_NODES: Deps = Deps(sys::BERTH_DEP_OTHER_NODES);
    /// Watched objects.
    pub const OBJECTS: Deps = Deps(sys::BERTH_DEP_OBJECTS);
    /// Time.
    pub const CLOCK: Deps = Deps(sys::BERTH_DEP_CLOCK);
    /// Anything else.
    pub const EXTERNAL: Deps = Deps(sys::BERTH_DEP_EXTERNAL);
    /// Each change of the last three is announced, by [`Epoch::bump`](crate::Epoch::bump) or by being one of a watch.
    pub const ANNOUNCED: Deps = Deps(sys::BERTH_DEP_ANNOUNCED);
    /// The honest default: no answer is used twice.
    pub const EVERYTHING: Deps = Deps(sys::BERTH_DEP_EVERYTHING);
    /// Both.
    pub const fn and(self, other: Deps) -> Deps {
        Deps(self.0 | other.0)
    }
}

/// An event that may make a pod schedulable which the policy rejected. `kind`: `berth_sys::BERTH_KIND_*`, `actions`: `BERTH_ACTION_*`.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub struct Interest(pub(crate) sys::berth_interest_v1);
impl Interest {
    /// Queues the pod on each event.
    pub const fn always(kind: u32, actions: u32) -> Interest {
        Interest(sys::berth_interest_v1 { resource: kind, actions, flags: 0, hinted: 0 })
    }
    /// Asks [`Hint`] about each event.
    pub const fn hinted(kind: u32, actions: u32) -> Interest {
        Interest(sys::berth_interest_v1 { resource: kind, actions, flags: 0, hinted: 1 })
    }
    /// The host runs filter on the changed node. For filters of pod and node alone.
    pub const fn derived(kind: u32, actions: u32) -> Interest {
        Interest(sys::berth_interest_v1 { resource: kind, actions, flags: sys::BERTH_INTEREST_DERIVED, hinted: 0 })
    }
}

/// A policy. One value of it for each use in a profile, possibly several in a process.
pub trait Plugin: Send + Sync + Sized + 'static {
    /// What a profile lists: "example.com/PreferRack", with a domain of the author's.
    const NAME: &'static str;
    /// Semver of the plugin.
    const VERSION: &'static str;
    /// One sentence for those who list plugins.
    const SUMMARY: &'static str;
    /// What answers depend on.
    const DEPS: Deps = Deps::EVERYTHING;
    /// JSON Schema of the args (a subset of 2020-12). None: they are passed unchecked.
    const ARGS_SCHEMA: Option<&'static str> = None;
    /// Why nodes and pods are refused: [`Reason::row`](crate::Reason::row)(1) is the first.
    const REASONS: &'static [ReasonText] = &[];
    /// Ids of services that the plugin cannot work without: the file is not loaded where they are missing.
    const SERVICES: &'static [&'static str] = &[];
    /// Resources that the plugin watches: "example.com/v1/widgets".
    const WATCHES: &'static [&'static str] = &[];
    /// Rules of its writes: "create core/pods/binding".
    const RBAC: &'static [&'static str] = &[];
    /// Events that may help pods which it rejected; none: they are never moved by events.
    const INTERESTS: &'static [Interest] = &[];
    /// Raises the minor of the ABI that is required, for what only the author knows. It never lowers it.
    const MINOR_REQUIRED: u16 = 0;

    /// Asks for columns, pod fields, services and args. An error stops the start of berth with its text.
    fn new(setup: &mut Setup<'_>) -> Result<Self, Error>;
}

/// Once per pod, before the nodes.
pub trait PreFilter: Plugin {
    /// Where it answers skip, score gives every node 0.
    const SKIP_SCORES_ZERO: bool = false;
    /// A verdict, state for the later points, and which nodes are worth filtering.
    fn pre_filter(&self, cycle: &Cycle<'_>, nodes: &mut Candidates<'_>) -> Result<Prepared, Error>;
}

/// Once per pod, before scores.
pub trait PreScore: Plugin {
    /// It does not look at the nodes, which may then be none.
    const WITHOUT_NODES: bool = false;
    /// `nodes`: the feasible ones, in list order.
    fn pre_score(&self, cycle: &Cycle<'_>, nodes: &[Slot]) -> Result<Prepared, Error>;
}

/// For filters whose state other pods affect: pods that are imagined on, or away from, a node.
pub trait WhatIf: Plugin {
    /// What pre_filter leaves.
    type State: Clone + Send + Sync + 'static;
    /// The state is a clone. False: no pod of that namespace, labels and affinity changes what filter says in this cycle.
    fn pod_added(&self, cycle: &Cycle<'_>, state: &mut Self::State, other: Pod<'_>, node: Slot) -> Result<bool, Error>;
    /// Likewise.
    fn pod_removed(&self, cycle: &Cycle<'_>, state: &mut Self::State, other: Pod<'_>, node: Slot) -> Result<bool, Error>;
}

/// Which nodes suit.
pub trait Filter: Plugin {
    /// What it depends on, where that is less than the plugin's.
    const DEPS: Deps = Deps::OF_PLUGIN;
    /// It remembers a decision per node in its state; never reused.
    const RECORDS: bool = false;
    /// A pure function of what was declared. Called for several blocks of an attempt at the same time.
    fn filter(&self, cycle: &Cycle<'_>, nodes: &mut FilterBlock<'_>) -> Result<(), Error>;
    /// Nanoseconds that it may take in one attempt; 0: no limit. Asked once.
    fn budget_ns(&self) -> u64 {
        0
    }
}

/// No node suits.
pub trait PostFilter: Plugin {
    /// `Ok` with a nomination ends the search for a node.
    fn post_filter(&self, cycle: &Cycle<'_>, rejected: &mut Rejected<'_>) -> Result<Verdict, Error>;
}

/// What is made of raw scores, over all nodes that passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Normalize {
    /// They are 0 to 100 already.
    None,
    /// 100 * raw / greatest.
    Max,
    /// 100 - 100 * raw / greatest.
    MaxReversed,
    /// Least to 0, greatest to 100, in doubles.
    MinMax,
    /// Likewise in integers.
    MinMaxInteger,
    /// [`Score::normalize`].
    Custom,
}
impl Normalize {
    pub(crate) const fn raw(self) -> u32 {
        match self {
            Normalize::None => sys::BERTH_NORM_NONE,
            Normalize::Max => sys::BERTH_NORM_MAX,
            Normalize::MaxReversed => sys::BERTH_NORM_MAX_REVERSED,
            Normalize::MinMax => sys::BERTH_NORM_MINMAX,
            Normalize::MinMaxInteger => sys::BERTH_NORM_MINMAX_INTEGER,
            Normalize::Custom => sys::BERTH_NORM_CUSTOM,
        }
    }
}

/// How well a node suits.
pub trait Score: Plugin {
    /// What it depends on, where that is less than the plugin's.
    const DEPS: Deps = Deps::OF_PLUGIN;
    /// What the host makes of the raw scores.
    const NORMALIZE: Normalize = Normalize::None;
    /// As filter.
    fn score(&self, cycle: &Cycle<'_>, nodes: &mut ScoreBlock<'_>) -> Result<(), Error>;
    /// Of [`Normalize::Custom`]: `scores[i]` belongs to `nodes[i]`, all feasible nodes at once.
    fn normalize(&self, cycle: &Cycle<'_>, nodes: &[Slot], scores: &mut [i64]) -> Result<(), Error> {
        let _ = (cycle, nodes, scores);
        Err(Error::new("Normalize::Custom needs a normalize of the policy's own"))
    }
}

/// A node was chosen.
pub trait Reserve: Plugin {
    /// The first call that may change what the policy knows.
    fn reserve(&self, cycle: &Cycle<'_>, node: Slot) -> Result<Verdict, Error>;
    /// Undoes it; also where it never ran. What goes wrong is logged.
    fn unreserve(&self, cycle: &Cycle<'_>, node: Slot) -> Result<(), Error>;
}

/// Now, later or never.
pub trait Permit: Plugin {
    /// May answer [`Verdict::Wait`].
    fn permit(&self, cycle: &Cycle<'_>, node: Slot) -> Result<Verdict, Error>;
}

/// Whether a policy takes part in pre_bind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreBindPart {
    /// One after the other.
    Acts,
    /// Beside the pre_bind of other plugins.
    ActsInParallel,
    /// Not for this pod.
    Skips,
}

/// Work before the binding.
pub trait PreBind: Plugin {
    /// Asked before.
    fn pre_bind_check(&self, cycle: &Cycle<'_>, node: Slot) -> Result<PreBindPart, Error> {
        let _ = (cycle, node);
        Ok(PreBindPart::Acts)
    }
    /// Answers now, or later through [`BindCall::later`].
    fn pre_bind(&self, cycle: &Cycle<'_>, call: &mut BindCall<'_>) -> Result<Verdict, Error>;
}

/// The binding itself.
pub trait Bind: Plugin {
    /// Answers now, or later through [`BindCall::later`]. [`Verdict::Skip`] hands the pod to the next policy.
    fn bind(&self, cycle: &Cycle<'_>, call: &mut BindCall<'_>) -> Result<Verdict, Error>;
}

/// The pod is bound.
pub trait PostBind: Plugin {
    /// What goes wrong is logged.
    fn post_bind(&self, cycle: &Cycle<'_>, node_name: &str) -> Result<(), Error>;
}

/// A pod that is to enter the queue, or is in it.
#[derive(Clone, Copy)]
pub struct QueuedPod<'a> {
    /// The groups that were asked for; in pre_enqueue identity and placement as well.
    pub pod: Pod<'a>,
    /// How often it was tried.
    pub attempts: u32,
    /// Wall clock, nanoseconds: when it entered the queue after its last attempt.
    pub enqueued_ns: i64,
    /// Likewise: when it entered the active queue for the first time.
    pub first_attempt_ns: i64,
}

/// May the pod be tried at all.
pub trait PreEnqueue: Plugin {
    /// Anything but `Ok` gates the pod until an event of [`Plugin::INTERESTS`].
    fn pre_enqueue(&self, pod: QueuedPod<'_>) -> Result<Verdict, Error>;
}

/// Which pod is next.
pub trait QueueSort: Plugin {
    /// Words of a key that are used, 1 to 4.
    const KEY_WORDS: u32 = 2;
    /// Compared most significant first; smaller is earlier. Takes microseconds. An error stops berth.
    fn key(&self, pod: QueuedPod<'_>) -> Result<[u64; 4], Error>;
}

/// Which of two pods is next, where a key does not tell.
pub trait QueueLess: Plugin {
    /// Whether a comes before b. With [`QueueSort`] it is asked about pods with equal keys only, and must not depend on time; without,
    /// about all pairs, which is slow. Called while the queue is locked: takes microseconds. What goes wrong is logged, and means no.
    /// \[watch\]
    fn less(&self, a: QueuedPod<'_>, b: QueuedPod<'_>) -> Result<bool, Error>;
}

/// A closer look at an event of [`Plugin::INTERESTS`] that is hinted.
pub trait Hint: Plugin {
    /// Whether the event may make the waiting pod schedulable. An error queues it.
    fn hint(&self, event: &Event<'_>, waiting: Pod<'_>) -> Result<bool, Error>;
}

/// An event.
#[derive(Clone, Copy)]
pub struct Event<'a> {
    /// Place in [`Plugin::INTERESTS`].
    pub interest: u32,
    /// `BERTH_KIND_*`
    pub kind: u32,
    /// `BERTH_ACTION_*`
    pub actions: u32,
    /// As the node was; none where it came, or where the event is about something else.
    pub old_node: Option<Row<'a>>,
    /// As it is, with usage as of an empty node.
    pub new_node: Option<Row<'a>>,
    /// As the pod was.
    pub old_pod: Option<Pod<'a>>,
    /// As it is.
    pub new_pod: Option<Pod<'a>>,
    /// As the object was.
    pub old_object: Option<Object<'a>>,
    /// As it is.
    pub new_object: Option<Object<'a>>,
}

/// Members that have to get nodes together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quorum {
    /// Beyond those that have one; 0: each goes by itself.
    pub needed: u32,
    /// Longest time that members which are ready to be bound wait for the rest.
    pub hold_ms: u32,
}

/// Pods that get nodes together or not at all.
pub trait Group: Plugin {
    /// The name of the pod's group within its namespace; empty: none. A pure function of what it sees.
    fn group_of<'a>(&'a self, pod: Pod<'a>) -> Result<&'a str, Error>;
    /// Asked before the members are planned. A rejection keeps them in the queue.
    fn quorum(&self, pod: Pod<'_>) -> Result<Result<Quorum, Verdict>, Error>;
}

/// What is known when no node suits, and what a policy does about it.
pub struct Rejected<'a> {
    pub(crate) cycle: Cycle<'a>,
    pub(crate) input: &'a sys::berth_post_filter_in_v1,
    pub(crate) out: &'a mut sys::berth_post_filter_out_v1,
}
impl<'a> Rejected<'a> {
    /// By slot: rejected nodes where evictions may help.
    pub fn unschedulable(&self) -> &'a [u64] {
        unsafe { crate::abi::slice(self.input.unschedulable, self.input.word_count) }
    }
    /// By slot: rejected nodes where they cannot.
    pub fn unresolvable(&self) -> &'a [u64] {
        unsafe { crate::abi::slice(self.input.unresolvable, self.input.word_count) }
    }
    /// The pod is to come to that node once room is there.
    pub fn nominate(&mut self, node: Slot) {
        self.out.nominate = sys::BERTH_NOMINATE_SET;
        self.out.node = node;
    }
    /// Takes away what an earlier attempt nominated. Without either, it is kept.
    pub fn clear_nomination(&mut self) {
        self.out.nominate = sys::BERTH_NOMINATE_CLEAR;
    }
    /// A pod that has to go from the nominated node; once per victim.
    pub fn add_victim(&mut self, uid: &str) {
        if let Some(add) = self.out.add_victim {
            unsafe { add(self.out.victims_ctx, crate::abi::borrow(uid)) };
        }
    }
}
