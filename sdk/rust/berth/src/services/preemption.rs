// SPDX-License-Identifier: Apache-2.0
//! Which pods would have to go so that a pod fits ("berth.preemption/1"). The host searches all nodes with what-if rows and counts
//! disruption budgets; the policy says who matters more and which node is the best choice.
use super::*;
use crate::abi::caught;
use crate::pod::SHOWN_PLACED;
use crate::Rejected;
use std::cell::RefCell;
use std::marker::PhantomData;
use std::os::raw::c_char;

/// A pod that may have to go: what a search reads of it, and which pod it is for the attempt. [`Preemption::show`] has the rest.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Victim<'a> {
    raw: sys::berth_victim_v1,
    attempt: PhantomData<&'a ()>,
}
impl Victim<'_> {
    /// status.startTime, wall clock, nanoseconds. None: it has not started.
    pub fn start_ns(&self) -> Option<i64> {
        Some(self.raw.start_ns).filter(|&start_ns| start_ns != NOT_STARTED)
    }
    /// spec.priority
    pub fn priority(&self) -> i32 {
        self.raw.priority
    }
    /// metadata.deletionTimestamp is set.
    pub fn is_terminating(&self) -> bool {
        self.raw.flags & sys::BERTH_VICTIM_TERMINATING != 0
    }
    /// Its first DisruptionTarget condition names a preemption by a scheduler.
    pub fn is_preempted(&self) -> bool {
        self.raw.flags & sys::BERTH_VICTIM_PREEMPTED != 0
    }
    /// Place in the node's list of pods.
    pub fn position(&self) -> u32 {
        self.raw.position
    }
    /// Where it is.
    pub fn node(&self) -> Slot {
        self.raw.node
    }
}
const NOT_STARTED: i64 = i64::MAX; // BERTH_NOT_STARTED

/// What would be evicted from one node, as far as it is known.
#[repr(transparent)]
pub struct Victims<'a> {
    raw: sys::berth_victims_v1,
    attempt: PhantomData<&'a ()>,
}
impl<'a> Victims<'a> {
    /// Pods that are less important than the incoming one, the most important first.
    pub fn pods(&self) -> &'a [Victim<'a>] {
        // Victim is transparent.
        unsafe { slice(self.raw.pods as *const Victim<'a>, u64::from(self.raw.count)) }
    }
    /// Those of them that have to go, in that order.
    pub fn evicted(&self) -> impl Iterator<Item = &'a Victim<'a>> + 'a {
        let evicted = unsafe { slice(self.raw.evicted, u64::from(self.raw.count)) };
        self.pods().iter().zip(evicted).filter(|(_, &goes)| goes != 0).map(|(victim, _)| victim)
    }
    /// Victims that exceed what a disruption budget allows.
    pub fn violations(&self) -> u32 {
        self.raw.violations
    }
}

/// The judgement of a preemption policy: pure functions, called on the thread of the attempt.
pub trait VictimOrder: 'static {
    /// One name per word of a rank, for explanations: 1 to 8.
    const CRITERIA: &'static [&'static str];
    /// A smaller pair is a more important pod. Equal pairs keep the order of the node's list. Asked once per pod.
    fn importance(&self, pod: &Victim<'_>) -> [u64; 2];
    /// Fills as many words as there are criteria, 0 at first; smaller is better, earlier words count first; of equal ranks the earlier node. A
    /// further victim must never make a rank smaller: nodes are given up early by this.
    fn rank(&self, node: &Victims<'_>, rank: &mut [u64]);
}

/// kube-scheduler's order of victims and of nodes, for policies that depart from it only in who may go. Of nodes that are alike the
/// earlier one; kube-scheduler takes any.
#[derive(Debug, Clone, Copy, Default)]
pub struct DefaultVictimOrder;
/// Numbers in the order of their unsigned words.
const fn ascending(value: i64) -> u64 {
    value as u64 ^ 1 << 63
}
impl VictimOrder for DefaultVictimOrder {
    const CRITERIA: &'static [&'static str] = &[
        "fewest violated disruption budgets",
        "lowest priority of the most important victim",
        "smallest sum of the victims' priorities",
        "fewest victims",
        "latest start of the most important victims",
    ];
    fn importance(&self, pod: &Victim<'_>) -> [u64; 2] {
        // Of those that have not started, the later one in the list is more important.
        let start = pod.start_ns().map_or(!u64::from(pod.position()), ascending);
        [!ascending(i64::from(pod.priority())), start]
    }
    fn rank(&self, node: &Victims<'_>, rank: &mut [u64]) {
        // Added to every priority, so that of equal negative ones fewer victims are better.
        const OFFSET: i64 = 1 << 31;
        let leader = node.evicted().next();
        let (sum, count) = node.evicted().fold((0, 0), |(sum, count), victim| (sum + i64::from(victim.priority()) + OFFSET, count + 1));
        let words = [
            u64::from(node.violations()),
            ascending(i64::from(leader.map_or(i32::MIN, Victim::priority))),
            ascending(sum),
            count,
            !ascending(leader.and_then(Victim::start_ns).unwrap_or(NOT_STARTED)),
        ];
        rank.copy_from_slice(&words);
    }
}

/// The node that a pod was nominated to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nomination {
    /// It has none.
    None,
    /// status.nominatedNodeName names this node.
    Node(Slot),
    /// status.nominatedNodeName names a node that is not in the snapshot.
    Elsewhere,
}
/// What the pod at hand may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preemptor {
    /// spec.priority
    pub priority: i64,
    /// spec.preemptionPolicy is Never.
    pub never: bool,
    /// What an earlier attempt nominated.
    pub nomination: Nomination,
}

/// Where to look for victims, and what to say if there are none.
#[derive(Debug, Clone, Copy)]
pub struct Search<'a> {
    /// Bitmap by slot, as long as [`Rejected::unschedulable`](crate::Rejected::unschedulable).
    pub nodes: &'a [u64],
    /// Pods of lower priority may go; i64::MAX: all of them.
    pub below_priority: i64,
    /// None: every node. Else the search ends as kube-scheduler's does with that many candidates, looking from that one of `nodes`, in
    /// list order, on.
    pub sample: Option<(u32, u32)>,
    /// Before the explanation of a search that found nothing.
    pub prefix: &'a str,
    /// Sentence for a node without pods that may go.
    pub no_victims: &'a str,
    /// Sentence for the nodes outside `nodes`.
    pub not_searched: &'a str,
}
impl<'a> Search<'a> {
    /// All nodes on which evictions may help, with the sentences of kube-scheduler.
    pub fn new(rejected: &Rejected<'a>, below_priority: i64) -> Search<'a> {
        Search {
            nodes: rejected.unschedulable(),
            below_priority,
            sample: None,
            prefix: "preemption: ",
            no_victims: "No preemption victims found for incoming pod",
            not_searched: "Preemption is not helpful for scheduling",
        }
    }
}
/// The choice of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// The best node.
    pub node: Slot,
    /// Nodes on which evictions make room.
    pub candidates: u32,
    /// Victims on the chosen node that exceed what a disruption budget allows.
    pub violations: u32,
    /// On the chosen node.
    pub victim_count: u32,
}
/// What came of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// Evictions make room there.
    Node(Choice),
    /// They help nowhere: the sentence for the pod, good for the attempt.
    Nothing(Reason),
}

const WORDS_MAX: usize = sys::BERTH_RANK_WORDS_MAX as usize;
struct Names([sys::berth_str; WORDS_MAX]);
// The texts are static.
unsafe impl Sync for Names {}
const fn names(criteria: &[&'static str]) -> Names {
    assert!(!criteria.is_empty() && criteria.len() <= WORDS_MAX, "CRITERIA has 1 to 8 names");
    let mut names = [sys::berth_str { ptr: std::ptr::null(), len: 0 }; WORDS_MAX];
    let mut i = 0;
    while i < criteria.len() {
        names[i] = sys::berth_str { ptr: criteria[i].as_ptr() as *const c_char, len: criteria[i].len() as u64 };
        i += 1;
    }
    Names(names)
}
/// What went wrong first ends the search with its text; nothing is asked after it.
#[derive(Default)]
struct Failed(RefCell<Option<Error>>);
impl Failed {
    fn guarded<R>(&self, otherwise: R, body: impl FnOnce() -> Result<R, Error>) -> R {
        if self.0.borrow().is_some() {
            return otherwise;
        }
        match caught(body) {
            Ok(answer) => answer,
            Err(error) => {
                *self.0.borrow_mut() = Some(error);
                otherwise
            }
        }
    }
}
/// What `self` of the policy's C functions is.
struct Judge<'a, O> {
    order: &'a O,
    failed: &'a Failed,
}
/// The table of a policy, which is static, since the host reads it while the attempt lasts.
struct Table<O>(PhantomData<O>);
impl<O: VictimOrder> Table<O> {
    const NAMES: &'static Names = &names(O::CRITERIA);
    const POLICY: &'static sys::berth_preemption_policy_v1 = &sys::berth_preemption_policy_v1 {
        struct_size: size::<sys::berth_preemption_policy_v1>(),
        rank_words: O::CRITERIA.len() as u32,
        criteria: Self::NAMES.0.as_ptr(),
        importance: Some(Self::importance),
        rank: Some(Self::rank),
    };
    unsafe extern "C" fn importance(this: *mut c_void, pods: *const sys::berth_victim_v1, count: u32, keys: *mut u64) {
        let this = &*(this as *const Judge<'_, O>);
        // Victim is transparent.
        let pods = slice(pods as *const Victim<'_>, u64::from(count));
        let keys = crate::abi::slice_mut(keys, 2 * u64::from(count));
        keys.fill(0);
        this.failed.guarded((), || {
            pods.iter().zip(keys.chunks_exact_mut(2)).for_each(|(pod, key)| key.copy_from_slice(&this.order.importance(pod)));
            Ok(())
        });
    }
    unsafe extern "C" fn rank(this: *mut c_void, nodes: *const sys::berth_victims_v1, count: u32, ranks: *mut u64) {
        let this = &*(this as *const Judge<'_, O>);
        let nodes = slice(nodes as *const Victims<'_>, u64::from(count));
        let ranks = crate::abi::slice_mut(ranks, u64::from(count) * O::CRITERIA.len() as u64);
        ranks.fill(0);
        this.failed.guarded((), || {
            nodes.iter().zip(ranks.chunks_exact_mut(O::CRITERIA.len())).for_each(|(node, rank)| this.order.rank(node, rank));
            Ok(())
        });
    }
}
/// What the argument of may_go is.
struct Asks<'a, M> {
    may_go: RefCell<M>,
    asked: &'a Asked,
    failed: &'a Failed,
}
impl<M: FnMut(Pod<'_>, Slot) -> Result<bool, Error>> Asks<'_, M> {
    unsafe extern "C" fn ask(this: *mut c_void, pod: *const sys::berth_pod_v1, node: Slot) -> u32 {
        let this = &*(this as *const Asks<'_, M>);
        this.failed.guarded(0, || (this.may_go.borrow_mut())(Pod::new(pod, this.asked, SHOWN_PLACED), node).map(u32::from))
    }
}

struct Chosen<F> {
    visit: F,
    asked: Arc<Asked>,
}
service!(/// The host's search for victims. For post_filter: [`PostFilter`](crate::PostFilter); [`Plugin::SERVICES`](crate::Plugin::SERVICES)
    /// lists "berth.preemption/1", or a search is denied.
    ///
    /// A victim names its pod for the attempt, and does not leave it:
    ///
    /// ```compile_fail,E0521
    /// # use berth::*;
    /// fn keeps(preemption: &Preemption, cycle: &Cycle<'_>, kept: &std::sync::Mutex<Vec<Victim<'static>>>) {
    ///     let _ = preemption.pods_on(cycle, 0, |victim| {
    ///         kept.lock().unwrap().push(victim);
    ///         true
    ///     });
    /// }
    /// ```
    Preemption, berth_preemption_v1, "berth.preemption/1");
impl Preemption {
    /// What the pod at hand may do. \[cycle\]
    pub fn preemptor(&self, cycle: &Cycle<'_>) -> Result<Preemptor, Error> {
        let mut out = sys::berth_preemptor_v1 {
            struct_size: size::<sys::berth_preemptor_v1>(),
            never: 0,
            priority: 0,
            nominated_given: 0,
            nominated: sys::BERTH_NO_SLOT,
        };
        host!(self.preemptor(cycle.as_raw(), &mut out))?;
        let nomination = match (out.nominated_given, out.nominated) {
            (0, _) => Nomination::None,
            (_, sys::BERTH_NO_SLOT) => Nomination::Elsewhere,
            (_, node) => Nomination::Node(node),
        };
        Ok(Preemptor { priority: out.priority, never: out.never != 0, nomination })
    }
    /// Visits the pods on a node until `visit` answers false. \[cycle\]
    pub fn pods_on<'a>(&self, cycle: &Cycle<'a>, node: Slot, visit: impl FnMut(Victim<'a>) -> bool) -> Result<(), Error> {
        unsafe extern "C" fn called<'a, F: FnMut(Victim<'a>) -> bool>(arg: *mut c_void, raw: *const sys::berth_victim_v1) -> u32 {
            Visitor::<F>::run(arg, |visit| Ok(visit(Victim { raw: *raw, attempt: PhantomData })))
        }
        fn pointer<'a, F: FnMut(Victim<'a>) -> bool>(_: &F) -> unsafe extern "C" fn(*mut c_void, *const sys::berth_victim_v1) -> u32 {
            called::<F>
        }
        let call = pointer(&visit);
        let mut visitor = Visitor::new(visit);
        host!(self.pods_on(cycle.as_raw(), node, Some(call), visitor.arg()))?;
        visitor.end()
    }
    /// Where evictions make room, and which node is the best of those. Runs the filters of the profile: first without all pods that may
    /// go, then with one after the other back, those that a disruption budget protects first, the most important first. \[cycle\]
    pub fn search<O: VictimOrder>(&self, rejected: &Rejected<'_>, search: &Search<'_>, order: &O) -> Result<Found, Error> {
        self.run(rejected, search, order, false, |_, _| Ok(true))
    }
    /// The same, where `may_go` says which of the pods below `below_priority` may be evicted: pure, asked once per pod on a node that is
    /// looked at. The pod shows what [`show`](Self::show) does. \[cycle\]
    pub fn search_where<O: VictimOrder>(
        &self,
        rejected: &Rejected<'_>,
        search: &Search<'_>,
        order: &O,
        may_go: impl FnMut(Pod<'_>, Slot) -> Result<bool, Error>,
    ) -> Result<Found, Error> {
        self.run(rejected, search, order, true, may_go)
    }
    fn run<O: VictimOrder, M: FnMut(Pod<'_>, Slot) -> Result<bool, Error>>(
        &self,
        rejected: &Rejected<'_>,
        search: &Search<'_>,
        order: &O,
        asks: bool,
        may_go: M,
    ) -> Result<Found, Error> {
        if search.nodes.len() != rejected.cycle.nodes().len() {
            return Err(Error::new("the nodes of a search are a bitmap by slot, as long as those that were rejected"));
        }
        let (failed, asked) = (Failed::default(), self.link.asked()?);
        let judge = Judge { order, failed: &failed };
        let asks_for = Asks { may_go: RefCell::new(may_go), asked: &asked, failed: &failed };
        let (sample_size, sample_offset) = search.sample.unwrap_or((0, 0));
        let request = sys::berth_preemption_request_v1 {
            struct_size: size::<sys::berth_preemption_request_v1>(),
            sample_size,
            sample_offset,
            reserved: 0,
            nodes: search.nodes.as_ptr(),
            word_count: search.nodes.len() as u64,
            below_priority: search.below_priority,
            policy: Table::<O>::POLICY,
            prefix: borrow(search.prefix),
            no_victims: borrow(search.no_victims),
            not_searched: borrow(search.not_searched),
            may_go: if asks { Some(Asks::<'_, M>::ask) } else { None },
            may_go_arg: &asks_for as *const Asks<'_, M> as *mut c_void,
        };
        let mut result = sys::berth_preemption_result_v1 {
            struct_size: size::<sys::berth_preemption_result_v1>(),
            node: sys::BERTH_NO_SLOT,
            candidates: 0,
            violations: 0,
            victim_count: 0,
            explanation: 0,
        };
        let mut code = sys::BERTH_OK;
        let this = &judge as *const Judge<'_, O> as *mut c_void;
        let searched = NoteBuffer::new().explain("the search for victims failed", |note| {
            code = host!(self.search(rejected.cycle.as_raw(), &request, this, &mut result, note)).unwrap_or(sys::BERTH_DENIED);
            if code == sys::BERTH_UNSCHEDULABLE { sys::BERTH_OK } else { code }
        });
        if let Some(error) = failed.0.borrow_mut().take() {
            return Err(error);
        }
        searched?;
        if code == sys::BERTH_UNSCHEDULABLE || result.node == sys::BERTH_NO_SLOT {
            return Ok(Found::Nothing(Reason(result.explanation)));
        }
        let (node, candidates) = (result.node, result.candidates);
        Ok(Found::Node(Choice { node, candidates, violations: result.violations, victim_count: result.victim_count }))
    }
    /// Visits the uids of the victims of the last search, the most important first. \[cycle\]
    pub fn victims(&self, cycle: &Cycle<'_>, visit: impl FnMut(&str)) -> Result<(), Error> {
        unsafe extern "C" fn called<F: FnMut(&str)>(arg: *mut c_void, uid: sys::berth_str) {
            Visitor::<F>::run(arg, |visit| {
                visit(text(uid));
                Ok(true)
            });
        }
        fn pointer<F: FnMut(&str)>(_: &F) -> unsafe extern "C" fn(*mut c_void, sys::berth_str) {
            called::<F>
        }
        let call = pointer(&visit);
        let mut visitor = Visitor::new(visit);
        host!(self.victims(cycle.as_raw(), Some(call), visitor.arg()))?;
        visitor.end()
    }
    /// The same with what there is to know of them. \[cycle\]
    pub fn chosen(&self, cycle: &Cycle<'_>, visit: impl FnMut(&Victim<'_>, Pod<'_>)) -> Result<(), Error> {
        type Call = unsafe extern "C" fn(*mut c_void, *const sys::berth_victim_v1, *const sys::berth_pod_v1);
        unsafe extern "C" fn called<F: FnMut(&Victim<'_>, Pod<'_>)>(
            arg: *mut c_void,
            victim: *const sys::berth_victim_v1,
            pod: *const sys::berth_pod_v1,
        ) {
            Visitor::<Chosen<F>>::run(arg, |chosen| {
                (chosen.visit)(&*(victim as *const Victim<'_>), Pod::new(pod, &chosen.asked, SHOWN_PLACED));
                Ok(true)
            });
        }
        fn pointer<F: FnMut(&Victim<'_>, Pod<'_>)>(_: &F) -> Call {
            called::<F>
        }
        let call = pointer(&visit);
        let mut visitor = Visitor::new(Chosen { visit, asked: self.link.asked()? });
        host!(self.chosen(cycle.as_raw(), Some(call), visitor.arg()))?;
        visitor.end()
    }
    /// Shows the pod that a victim is, with what was asked for, identity, namespace, priority and placement. None: it is not there any
    /// more. \[cycle\]
    pub fn show<R>(&self, cycle: &Cycle<'_>, victim: &Victim<'_>, look: impl FnOnce(Pod<'_>) -> R) -> Result<Option<R>, Error> {
        let mut look = Some(look);
        let mut answer = None;
        let mut visitor = Visitor::new(Chosen {
            visit: |pod: Pod<'_>| {
                if let Some(look) = look.take() {
                    answer = Some(look(pod));
                }
            },
            asked: self.link.asked()?,
        });
        unsafe extern "C" fn called<F: FnMut(Pod<'_>)>(arg: *mut c_void, pod: *const sys::berth_pod_v1) {
            Visitor::<Chosen<F>>::run(arg, |chosen| {
                (chosen.visit)(Pod::new(pod, &chosen.asked, SHOWN_PLACED));
                Ok(true)
            });
        }
        fn pointer<F: FnMut(Pod<'_>)>(_: &Visitor<Chosen<F>>) -> unsafe extern "C" fn(*mut c_void, *const sys::berth_pod_v1) {
            called::<F>
        }
        let call = pointer(&visitor);
        let code = host!(self.show(cycle.as_raw(), &victim.raw, Some(call), visitor.arg()))?;
        visitor.end()?;
        found(code, "show").map(|_| answer)
    }
    /// Evictions that an earlier attempt of this pod asked for are under way: ask for no further ones. \[watch\] \[any\]
    pub fn evicting(&self, uid: &str) -> Result<bool, Error> {
        host!(self.evicting(borrow(uid))).map(|evicting| evicting != 0)
    }
}
