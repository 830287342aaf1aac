// SPDX-License-Identifier: Apache-2.0
//! One attempt to place one pod, and the state that a policy keeps for it.
use crate::abi::{slice, slice_mut};
use crate::instance::Asked;
use crate::{Pod, Slot, Verdict};
use berth_sys as sys;
use std::any::Any;

/// What pre_filter and pre_score may leave for the later points of an attempt. Implemented for all that can be: what-ifs work on
/// clones.
pub trait State: Any + Send + Sync {
    #[doc(hidden)]
    fn cloned(&self) -> Box<dyn State>;
    #[doc(hidden)]
    fn any(&self) -> &dyn Any;
    #[doc(hidden)]
    fn any_mut(&mut self) -> &mut dyn Any;
}
impl<T: Clone + Send + Sync + 'static> State for T {
    fn cloned(&self) -> Box<dyn State> {
        Box::new(self.clone())
    }
    fn any(&self) -> &dyn Any {
        self
    }
    fn any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

/// What `berth_cycle_v1.state` points to. It is replaced between calls only, never while a policy looks at it.
pub(crate) struct StateBox(pub(crate) Box<dyn State>);

/// What a policy is told about the attempt. Copied like a pointer; lives for the call.
#[derive(Clone, Copy)]
pub struct Cycle<'a> {
    raw: &'a sys::berth_cycle_v1,
    asked: &'a Asked,
}

impl<'a> Cycle<'a> {
    pub(crate) unsafe fn new(raw: *const sys::berth_cycle_v1, asked: &'a Asked) -> Cycle<'a> {
        Cycle { raw: &*raw, asked }
    }
    /// The pod that a node is wanted for.
    pub fn pod(&self) -> Pod<'a> {
        unsafe { Pod::new(self.raw.pod, self.asked, 0) }
    }
    /// A what-if: nominated pods are added, or victims removed, and the state is a clone.
    pub fn is_dry_run(&self) -> bool {
        self.raw.flags & sys::BERTH_CYCLE_DRY_RUN != 0
    }
    /// Monotonic nanoseconds, in filter: when what [`Filter::budget_ns`](crate::Filter::budget_ns) allows is used up; 0: no limit.
    pub fn deadline_ns(&self) -> u64 {
        self.raw.deadline_ns
    }
    /// Of the attempt, for logs.
    pub fn id(&self) -> u64 {
        self.raw.cycle_id
    }
    /// Equal numbers: the declared inputs are equal, in this process. 0: the pod is of no class.
    pub fn pod_class(&self) -> u64 {
        self.raw.pod_class
    }
    /// Nodes of the snapshot.
    pub fn node_count(&self) -> u32 {
        self.raw.node_count
    }
    /// One past the highest slot: the length of arrays by slot.
    pub fn slot_count(&self) -> u32 {
        self.raw.slot_count
    }
    /// Bitmap by slot of the snapshot's nodes; empty from pre_bind on.
    pub fn nodes(&self) -> &'a [u64] {
        unsafe { slice(self.raw.nodes, self.raw.word_count) }
    }
    /// What pre_filter or pre_score left; none if they left nothing of this type, or were not called.
    pub fn state<T: 'static>(&self) -> Option<&'a T> {
        let state = unsafe { (self.raw.state as *const StateBox).as_ref()? };
        state.0.any().downcast_ref::<T>()
    }
    /// For host functions that this crate does not have; good for the call.
    pub fn as_raw(&self) -> *const sys::berth_cycle_v1 {
        self.raw
    }
}

/// What pre_filter and pre_score answer: a verdict, and state for the later points.
#[must_use]
pub struct Prepared {
    pub(crate) verdict: Verdict,
    pub(crate) state: Option<Box<dyn State>>,
}
impl Prepared {
    /// Goes on without state of this call; what an earlier point left stays.
    pub fn go() -> Prepared {
        Prepared { verdict: Verdict::Ok, state: None }
    }
    /// Goes on with this state, in place of what an earlier point left.
    pub fn with(state: impl State) -> Prepared {
        Prepared { verdict: Verdict::Ok, state: Some(Box::new(state)) }
    }
    /// Of pre_filter: no filter, and no what-ifs, in this attempt. Of pre_score: no score.
    pub fn skip() -> Prepared {
        Prepared { verdict: Verdict::Skip, state: None }
    }
}
/// A rejection of the pod as a whole, before any node is looked at.
impl From<Verdict> for Prepared {
    fn from(verdict: Verdict) -> Prepared {
        Prepared { verdict, state: None }
    }
}

/// The nodes that are worth filtering, in pre_filter.
pub struct Candidates<'a> {
    bits: &'a mut [u64],
    pub(crate) is_narrowed: bool,
}
impl<'a> Candidates<'a> {
    pub(crate) unsafe fn new(out: &sys::berth_prepare_out_v1) -> Candidates<'a> {
        Candidates { bits: slice_mut(out.candidates, out.word_count), is_narrowed: false }
    }
    /// Bitmap by slot; all nodes of the snapshot at first.
    pub fn bits(&self) -> &[u64] {
        self.bits
    }
    /// Whether the node is still worth it.
    pub fn has(&self, node: Slot) -> bool {
        self.bits.get(node as usize / 64).map_or(false, |word| word >> (node % 64) & 1 != 0)
    }
    /// Keeps the nodes of which `keep` says so. The others count as not satisfying this plugin.
    pub fn keep(&mut self, mut keep: impl FnMut(Slot) -> bool) {
        self.is_narrowed = true;
        for (index, word) in self.bits.iter_mut().enumerate() {
            let mut left = *word;
            while left != 0 {
                let bit = left & left.wrapping_neg();
                left &= left - 1;
                if !keep(index as u32 * 64 + bit.trailing_zeros()) {
                    *word &= !bit;
                }
            }
        }
    }
}
