// SPDX-License-Identifier: Apache-2.0
//! The pods of the snapshot, grouped by what selectors can tell apart ("berth.pod_index/1").
use super::*;
use crate::{Affinity, Label};

/// Which shapes are visited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shapes {
    /// All.
    All,
    /// Those with affinity or anti-affinity.
    WithAffinity,
    /// Those with anti-affinity that has to be met.
    WithRequiredAnti,
}
impl Shapes {
    fn raw(self) -> u32 {
        match self {
            Shapes::All => sys::BERTH_SHAPES_ALL,
            Shapes::WithAffinity => sys::BERTH_SHAPES_WITH_AFFINITY,
            Shapes::WithRequiredAnti => sys::BERTH_SHAPES_WITH_REQUIRED_ANTI,
        }
    }
}
/// A distinct combination of namespace, labels, affinity terms and "is terminating". Lives for the visit.
#[derive(Clone, Copy)]
pub struct Shape<'a> {
    raw: &'a sys::berth_shape_v1,
}
impl<'a> Shape<'a> {
    /// Dense; another shape may have it once the last pod of this one is gone.
    pub fn number(&self) -> u32 {
        self.raw.shape
    }
    /// Numbers come back, incarnations never.
    pub fn incarnation(&self) -> u64 {
        self.raw.incarnation
    }
    /// metadata.namespace
    pub fn namespace(&self) -> Id {
        self.raw.ns
    }
    /// Sorted by the id of the key.
    pub fn labels(&self) -> &'a [Label] {
        unsafe { slice(self.raw.labels, u64::from(self.raw.label_count)) }
    }
    /// None: the pods have none.
    pub fn affinity(&self) -> Option<&'a Affinity> {
        // Affinity is transparent.
        unsafe { (self.raw.affinity as *const Affinity).as_ref() }
    }
    /// The pods are being deleted.
    pub fn is_terminating(&self) -> bool {
        self.raw.flags & sys::BERTH_SHAPE_TERMINATING != 0
    }
    /// Where such pods are and how many, in no order.
    pub fn nodes(&self) -> impl Iterator<Item = (Slot, u32)> + 'a {
        unsafe { slice(self.raw.nodes, u64::from(self.raw.node_count)) }.iter().map(|node| (node.slot, node.count))
    }
}
/// So many pods of a shape more, or fewer, on a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShapeChange {
    /// [`Shape::number`].
    pub shape: u32,
    /// [`Shape::incarnation`].
    pub incarnation: u64,
    /// Where.
    pub node: Slot,
    /// Never 0.
    pub by: i32,
}

type VisitShape = unsafe extern "C" fn(*mut c_void, *const sys::berth_shape_v1) -> u32;
unsafe extern "C" fn shown<F: FnMut(Shape<'_>) -> bool>(arg: *mut c_void, raw: *const sys::berth_shape_v1) -> u32 {
    Visitor::<F>::run(arg, |visit| Ok(visit(Shape { raw: &*raw })))
}
fn shown_by<F: FnMut(Shape<'_>) -> bool>(_: &F) -> VisitShape {
    shown::<F>
}
unsafe extern "C" fn changed<F: FnMut(ShapeChange) -> bool>(arg: *mut c_void, raw: *const sys::berth_shape_change_v1) -> u32 {
    Visitor::<F>::run(arg, |visit| {
        let raw = &*raw;
        Ok(visit(ShapeChange { shape: raw.shape, incarnation: raw.incarnation, node: raw.slot, by: raw.by }))
    })
}
fn changed_by<F: FnMut(ShapeChange) -> bool>(_: &F) -> unsafe extern "C" fn(*mut c_void, *const sys::berth_shape_change_v1) -> u32 {
    changed::<F>
}

service!(/// Clusters have few shapes of pods and many pods: evaluate a selector once per shape, and add up counts. \[cycle\]
    PodIndex, berth_pod_index_v1, "berth.pod_index/1");
impl PodIndex {
    /// Visits the shapes of a namespace (0: all) until `visit` answers false.
    pub fn each(&self, cycle: &Cycle<'_>, which: Shapes, namespace: Id, visit: impl FnMut(Shape<'_>) -> bool) -> Result<(), Error> {
        let call = shown_by(&visit);
        let mut visitor = Visitor::new(visit);
        host!(self.each(cycle.as_raw(), which.raw(), namespace, Some(call), visitor.arg()))?;
        visitor.end()
    }
    /// How many shapes `each` would visit over all namespaces: 0 lets a policy skip its work.
    pub fn count(&self, cycle: &Cycle<'_>, which: Shapes) -> Result<u32, Error> {
        host!(self.count(cycle.as_raw(), which.raw()))
    }
    /// How many changes there have been: what to pass to `changes` next time.
    pub fn position(&self, cycle: &Cycle<'_>) -> Result<u64, Error> {
        host!(self.position(cycle.as_raw()))
    }
    /// Visits the changes since then, oldest first. False: some are forgotten, count again with `each`.
    pub fn changes(&self, cycle: &Cycle<'_>, since: u64, visit: impl FnMut(ShapeChange) -> bool) -> Result<bool, Error> {
        let call = changed_by(&visit);
        let mut visitor = Visitor::new(visit);
        let complete = host!(self.changes(cycle.as_raw(), since, Some(call), visitor.arg()))?;
        visitor.end().map(|()| complete != 0)
    }
    /// Shows the shape of that number. False: it has no pods.
    pub fn shape(&self, cycle: &Cycle<'_>, number: u32, mut look: impl FnMut(Shape<'_>)) -> Result<bool, Error> {
        let visit = |shape: Shape<'_>| {
            look(shape);
            true
        };
        let call = shown_by(&visit);
        let mut visitor = Visitor::new(visit);
        let found = host!(self.shape(cycle.as_raw(), number, Some(call), visitor.arg()))?;
        visitor.end().map(|()| found != 0)
    }
}
