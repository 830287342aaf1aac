// SPDX-License-Identifier: Apache-2.0
//! Pods on nodes and pods nominated to them ("berth.pods/1"), and sums over them that are kept from one attempt to the next.
use super::*;
use crate::pod::SHOWN_PLACED;

/// A pod that is on a node, or nominated to one.
#[derive(Clone, Copy)]
pub struct PlacedPod<'a> {
    /// With the groups that were asked for, identity, namespace, priority and placement.
    pub pod: Pod<'a>,
    /// Where it is.
    pub node: Slot,
    /// In changes: 1, the pod came, or -1, it went. Else 1.
    pub by: i32,
    /// `BERTH_PLACED_*`.
    pub flags: u32,
}
impl PlacedPod<'_> {
    /// metadata.deletionTimestamp is set.
    pub fn is_terminating(&self) -> bool {
        self.flags & sys::BERTH_PLACED_TERMINATING != 0
    }
    /// Placed by this process, and not yet confirmed by the API server.
    pub fn is_assumed(&self) -> bool {
        self.flags & sys::BERTH_PLACED_ASSUMED != 0
    }
    /// No profile of this process has its scheduler name.
    pub fn is_of_other_scheduler(&self) -> bool {
        self.flags & sys::BERTH_PLACED_OTHER_SCHEDULER != 0
    }
}
service!(/// The pods on nodes, as the snapshot of the attempt has them. What not to build on: `ext/placed_pods.h`.
    PlacedPods, berth_pods_v1, "berth.pods/1");
type VisitPlaced = unsafe extern "C" fn(*mut c_void, *const sys::berth_placed_pod_v1) -> u32;
unsafe extern "C" fn placed<F: FnMut(PlacedPod<'_>) -> bool>(arg: *mut c_void, raw: *const sys::berth_placed_pod_v1) -> u32 {
    Visitor::<Shown<F>>::run(arg, |shown| {
        let raw = &*raw;
        let pod = Pod::new(raw.pod, &shown.asked, SHOWN_PLACED);
        Ok((shown.visit)(PlacedPod { pod, node: raw.node, by: raw.by, flags: raw.flags }))
    })
}
fn placed_pointer<F: FnMut(PlacedPod<'_>) -> bool>(_: &F) -> VisitPlaced {
    placed::<F>
}
impl PlacedPods {
    /// Visits the pods on a node, in no order, until `visit` answers false. \[cycle\] \[worker\]
    pub fn on_node(&self, cycle: &Cycle<'_>, node: Slot, visit: impl FnMut(PlacedPod<'_>) -> bool) -> Result<(), Error> {
        let call = placed_pointer(&visit);
        let mut visitor = Visitor::new(Shown { visit, asked: self.link.asked()? });
        host!(self.on_node(cycle.as_raw(), node, Some(call), visitor.arg()))?;
        visitor.end()
    }
    /// The same for all nodes of the snapshot. \[cycle\]
    pub fn each(&self, cycle: &Cycle<'_>, visit: impl FnMut(PlacedPod<'_>) -> bool) -> Result<(), Error> {
        let call = placed_pointer(&visit);
        let mut visitor = Visitor::new(Shown { visit, asked: self.link.asked()? });
        host!(self.each(cycle.as_raw(), Some(call), visitor.arg()))?;
        visitor.end()
    }
    /// Visits the pods that are nominated to the node (none: to any) and are not on it, the pod at hand among them; in order of
    /// nomination for one node. \[cycle\]
    pub fn nominated(&self, cycle: &Cycle<'_>, node: Option<Slot>, visit: impl FnMut(PlacedPod<'_>) -> bool) -> Result<(), Error> {
        let call = placed_pointer(&visit);
        let mut visitor = Visitor::new(Shown { visit, asked: self.link.asked()? });
        host!(self.nominated(cycle.as_raw(), node.unwrap_or(sys::BERTH_NO_SLOT), Some(call), visitor.arg()))?;
        visitor.end()
    }
    /// How many changes there have been: what to pass to `changes` next time. Never 0. \[cycle\]
    pub fn position(&self, cycle: &Cycle<'_>) -> Result<u64, Error> {
        host!(self.position(cycle.as_raw()))
    }
    /// Visits the changes since then. False: some are forgotten, count again with `each`. [`FollowedPods`] does so. \[cycle\]
    pub fn changes(&self, cycle: &Cycle<'_>, since: u64, visit: impl FnMut(PlacedPod<'_>) -> bool) -> Result<bool, Error> {
        let call = placed_pointer(&visit);
        let mut visitor = Visitor::new(Shown { visit, asked: self.link.asked()? });
        let complete = host!(self.changes(cycle.as_raw(), since, Some(call), visitor.arg()))?;
        visitor.end().map(|()| complete != 0)
    }
}


/// What [`FollowedPods::follow`] tells the policy that keeps the sums.
pub enum Step<'a> {
    /// All pods follow, each once: forget the sums.
    Begin,
    /// A pod came where [`PlacedPod::by`] is 1, and went where it is -1: add it, times that.
    Add(PlacedPod<'a>),
}
/// Brings sums over all placed pods up to date with what has come and gone since the last attempt. One per set of sums; a sum may be
/// below 0 until `follow` has returned.
///
/// ```
/// # use berth::*;
/// # use std::collections::HashMap;
/// # use std::sync::Mutex;
/// struct Sums {
///     followed: FollowedPods,
///     pods_by_namespace: HashMap<Id, i64>,
/// }
/// fn up_to_date(pods: &PlacedPods, cycle: &Cycle<'_>, sums: &Mutex<Sums>) -> Result<(), Error> {
///     let Sums { followed, pods_by_namespace } = &mut *sums.lock().unwrap();
///     followed.follow(pods, cycle, |step| {
///         match step {
///             Step::Begin => pods_by_namespace.clear(),
///             Step::Add(pod) => *pods_by_namespace.entry(pod.pod.namespace()?).or_default() += i64::from(pod.by),
///         }
///         Ok(())
///     })
/// }
/// ```
///
/// A pod is there for the step, and no longer:
///
/// ```compile_fail,E0521
/// # use berth::*;
/// fn keeps<'a>(pods: &PlacedPods, cycle: &Cycle<'a>, kept: &mut Vec<Pod<'a>>) -> Result<(), Error> {
///     pods.each(cycle, |placed| {
///         kept.push(placed.pod);
///         true
///     })
/// }
/// ```
#[derive(Debug, Default)]
pub struct FollowedPods {
    position: Option<u64>,
}
impl FollowedPods {
    /// Nothing is counted yet.
    pub fn new() -> FollowedPods {
        FollowedPods::default()
    }
    /// Where `step` answers an error, this is the error, and all pods are counted again at the next call. Costs nothing when nothing has
    /// changed. In pre_filter, or another call that is made for one pod at a time: elsewhere the host shows nothing. \[cycle\]
    pub fn follow(
        &mut self,
        pods: &PlacedPods,
        cycle: &Cycle<'_>,
        mut step: impl FnMut(Step<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let end = pods.position(cycle)?;
        let since = self.position.take();
        let mut failed = None;
        let mut add = |pod: PlacedPod<'_>| match step(Step::Add(pod)) {
            Ok(()) => true,
            Err(error) => {
                failed = Some(error);
                false
            }
        };
        let is_complete = match since {
            Some(since) if since == end => true,
            Some(since) => pods.changes(cycle, since, &mut add)?,
            None => false,
        };
        if let Some(error) = failed.take() {
            return Err(error);
        }
        if !is_complete {
            step(Step::Begin)?;
            pods.each(cycle, |pod| match step(Step::Add(pod)) {
                Ok(()) => true,
                Err(error) => {
                    failed = Some(error);
                    false
                }
            })?;
            if let Some(error) = failed {
                return Err(error);
            }
        }
        // 0: the host denied the call.
        self.position = Some(end).filter(|&end| end != 0);
        Ok(())
    }
    /// The next `follow` counts all pods again, for sums that were lost.
    pub fn reset(&mut self) {
        self.position = None;
    }
}
