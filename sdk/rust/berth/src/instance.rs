// SPDX-License-Identifier: Apache-2.0
//! One use of a policy in a profile: what it asked for, and the way to its host.
use crate::domains::KeptColumns;
use crate::link::Link;
use crate::tasks::Tasks;
use crate::Error;
use berth_sys as sys;
use std::sync::Arc;

/// What a column holds.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Amount,
    Id,
    Bit,
    OfPod,
    Taints,
    Images,
    Ports,
    Features,
    Labels,
    Volumes,
}

/// What was asked for in create(): by it every read is judged. Constant from then on.
pub struct Asked {
    pub(crate) link: Arc<Link>,
    pub(crate) columns: Vec<(u32, Kind)>, // index that the host gave; what it holds
    pub(crate) groups: u64,
    pub(crate) requests: u32,
    pub(crate) has_single_labels: bool,
    pub(crate) sets: Option<&'static sys::berth_sets_v1>,
}

impl Asked {
    pub(crate) fn check(&self, index: u32, instance: u64, kind: Kind) -> Result<(), Error> {
        if instance != self.link.number {
            return Err(Error::new("reads a column that another instance asked for, and this one did not"));
        }
        if !self.columns.contains(&(index, kind)) {
            return Err(Error::new(format!("reads column {}, which it did not ask for", index)));
        }
        Ok(())
    }
}

pub(crate) struct Instance<P> {
    pub(crate) policy: P,
    pub(crate) asked: Arc<Asked>,
    pub(crate) tasks: Arc<Tasks>,
    pub(crate) columns: KeptColumns,
}
