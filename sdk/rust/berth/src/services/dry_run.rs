// SPDX-License-Identifier: Apache-2.0
//! Would the pod fit if some pods were not there ("berth.dry_run/1").
use super::*;
use crate::Rejected;

/// What the filters of the profile say of a node without some of its pods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fit {
    /// The pod fits then.
    Fits,
    /// It does not, and might if more pods went.
    Unschedulable,
    /// It does not, whatever goes.
    Unresolvable,
    /// There is no such node, or one of the pods is not on it.
    NotFound,
}
service!(/// What-ifs of the whole filter chain of the profile, with cloned state. For post_filter: [`PostFilter`](crate::PostFilter).
    ///
    /// A what-if needs the [`Rejected`](crate::Rejected) of the call, so that elsewhere it does not compile:
    ///
    /// ```compile_fail,E0308
    /// # use berth::*;
    /// fn filter(dry_run: &DryRun, cycle: &Cycle<'_>) {
    ///     let _ = dry_run.fits_without(cycle, 0, &[]);
    /// }
    /// ```
    DryRun, berth_dry_run_v1, "berth.dry_run/1");
impl DryRun {
    /// Visits the pods on a node, with what was asked for, identity, priority and placement, until `visit` answers false. \[cycle\]
    pub fn pods_on(&self, cycle: &Cycle<'_>, node: Slot, visit: impl FnMut(Pod<'_>) -> bool) -> Result<(), Error> {
        let also = SHOWN_TO_QUEUE | u64::from(sys::BERTH_POD_PRIORITY);
        ShownPods::visit(&self.link, also, visit, |call, arg| host!(self.pods_on(cycle.as_raw(), node, Some(call), arg)))
    }
    /// Whether the pod at hand fits on the node without the pods of these uids. An error with the text of the plugin that failed.
    /// Takes as long as the filters do for one node: stop when a node is found. \[cycle\]
    pub fn fits_without<U: AsRef<str>>(&self, rejected: &Rejected<'_>, node: Slot, removed_uids: &[U]) -> Result<Fit, Error> {
        let uids: Vec<_> = removed_uids.iter().map(|uid| borrow(uid.as_ref())).collect();
        let cycle = rejected.cycle.as_raw();
        let mut answer = sys::BERTH_OK;
        NoteBuffer::new().explain("a what-if failed", |note| {
            answer = host!(self.fits_without(cycle, node, uids.as_ptr(), uids.len() as u32, note)).unwrap_or(sys::BERTH_DENIED);
            match answer {
                sys::BERTH_UNSCHEDULABLE | sys::BERTH_UNRESOLVABLE | sys::BERTH_NOT_FOUND => sys::BERTH_OK,
                code => code,
            }
        })?;
        Ok(match answer {
            sys::BERTH_OK => Fit::Fits,
            sys::BERTH_UNSCHEDULABLE => Fit::Unschedulable,
            sys::BERTH_UNRESOLVABLE => Fit::Unresolvable,
            _ => Fit::NotFound,
        })
    }
}
