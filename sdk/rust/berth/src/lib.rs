// SPDX-License-Identifier: Apache-2.0
//! Plugins for the berth scheduler in Rust, without unsafe code.
//!
//! A policy is a type that implements [`Plugin`] and a trait for each extension point that it has; [`export!`] makes of it what berth
//! loads. The crate stands on `berth-sys`, the C ABI as Rust sees it, and on nothing else.
//!
//! ```
//! use berth::*;
//!
//! struct NeedsRack {
//!     rack: Column<Id>,
//! }
//! impl Plugin for NeedsRack {
//!     const NAME: &'static str = "example.com/NeedsRack";
//!     const VERSION: &'static str = "1.0.0";
//!     const SUMMARY: &'static str = "Keeps pods off nodes without a rack label.";
//!     const DEPS: Deps = Deps::NODE_STATIC;
//!     const REASONS: &'static [ReasonText] = &[ReasonText::new("node(s) had no rack label", "NoRack")];
//!
//!     fn new(setup: &mut Setup<'_>) -> Result<Self, Error> {
//!         Ok(NeedsRack { rack: setup.label("example.com/rack")? })
//!     }
//! }
//! impl Filter for NeedsRack {
//!     fn filter(&self, _: &Cycle<'_>, nodes: &mut FilterBlock<'_>) -> Result<(), Error> {
//!         let rack = nodes.column(self.rack)?;
//!         nodes.reject_where(Rejection::unresolvable(Reason::row(1)), |row| rack[row] == 0);
//!         Ok(())
//!     }
//! }
//! export!(NeedsRack);
//! # fn main() {}
//! ```
//!
//! What was not asked for in [`Plugin::new`] cannot be read: a column needs a handle, and a pod field of a group that was not
//! asked for is an error of the call. A panic is an error of the call, too; it needs `panic = "unwind"`, which is the default.
//!
//! Thread tags, such as \\[cycle\\], are those of the C headers (`abi/types.h`); elsewhere the host denies the call.
#![deny(missing_docs)]
#![allow(unsafe_op_in_unsafe_fn)]

#[cfg(panic = "abort")]
compile_error!("a plugin that aborts at a panic ends the scheduler: build it with panic = \"unwind\"");

mod abi;
mod binding;
mod cycle;
#[allow(missing_docs)]
mod describe;
mod domains;
mod entries;
mod error;
mod instance;
mod json;
mod link;
mod minors;
mod nodes;
mod pod;
mod points;
mod services;
mod setup;
mod tasks;
pub mod testing;
#[cfg(test)]
mod tests;

pub use berth_sys;
pub use binding::{BindCall, Completion};
pub use cycle::{Candidates, Cycle, Prepared, State};
pub use describe::Descriptor;
pub use domains::{
    ByDomain, DomainColumns, DomainGroups, DomainTable, DomainTables, DomainValues, FilterDomains, FilterGroups, ScoreDomains,
};
pub use error::{Error, Reason, ReasonText, Rejection, Verdict, Why};
pub use json::Json;
pub use nodes::{
    Bits, Block, Column, ColumnValue, FeatureSet, FilterBlock, ImageSet, LabelSet, OfPod, PodColumns, PortSet, Row, ScoreBlock,
    TaintSet, VolumeSet,
};
pub use pod::{
    Affinity, AffinityTerm, Claim, Container, Label, NodeSelection, NodeTerm, Owner, Pod, PodFields, Request, Requirement, Resource,
    Selector, Spread, Text, Volume,
};
pub use points::{
    Bind, Deps, Event, Filter, Group, Hint, Interest, Normalize, Permit, Plugin, PostBind, PostFilter, PreBind, PreBindPart,
    PreEnqueue, PreFilter, PreScore, QueueLess, QueueSort, QueuedPod, Quorum, Rejected, Reserve, Score, WhatIf,
};
pub use services::{
    AllNodes, Amount, Assume, Assumed, Choice, Clock, DebugPages, DefaultVictimOrder, DryRun, Epoch, Events, Family, FieldType, FieldValue,
    Fit, FollowedPods, Found, Gates, GroupCount, Groups, Intern, Labels, Log, Metric, MetricKind, Metrics, NodeOrder, Nomination, Object,
    ObjectEvent, ObjectName, ObjectWrites, Objects, Page, Patch, PlacedPod, PlacedPods, PodIndex, PodRef, Preemption, Preemptor,
    QueueControl, Reasons, Refusal, Search, Series, Service, Severity, Shape, ShapeChange, Shapes, Shared, Step, Victim, VictimOrder,
    Victims, Waiting, Watch, Writes,
};
pub use setup::Setup;
pub use tasks::{Executor, Task};

/// An interned text; 0: absent. Equal ids, equal texts; their order means nothing.
pub type Id = u32;
/// The number of a node, stable while the node exists, and given to others afterwards.
pub type Slot = u32;
/// The id of the empty text, in every process.
pub const EMPTY: Id = berth_sys::BERTH_ID_EMPTY;

/// What the macros need. Not for authors: it changes with any version.
#[doc(hidden)]
#[allow(missing_docs)]
pub mod detail {
    pub use crate::describe::{
        address, greatest, library, note, note_size, plugin, point, point_if, points, reasons, requeue_ops, services, texts,
        texts_size, About, Point, POINTS_MAX,
    };
    pub use crate::domains::domain_ops;
    pub use crate::entries::{bind_ops, prepare_ops, queue_ops, NotOffered, Probe};
    pub use berth_sys as sys;
}
