// SPDX-License-Identifier: Apache-2.0
//! Answers that follow from the topology domains that a node is in ("berth.domains/1"), given once per group of nodes instead of once
//! per node.
//!
//! A policy names columns: which domain every node is in, and a value for every domain, "pods of this application in this zone". The
//! host keeps the nodes of a class of pods in groups that are alike in all columns, and asks once per group.
use crate::abi::{guarded, size, slice, slice_mut};
use crate::cycle::State;
use crate::entries::{instance, take_state};
use crate::points::{Filter, Score};
use crate::{Cycle, Error, Id, Labels, Prepared, Slot};
use berth_sys as sys;
use std::collections::VecDeque;
use std::os::raw::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// None twice in a process.
fn next_number() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

/// Which domain every node is in: the values of one label, numbered densely, so that a count per domain is an array. Never changes.
#[derive(Debug)]
pub struct DomainTable {
    number: u64,
    of: Vec<u32>,
    labels: Vec<Id>,
}
impl DomainTable {
    /// Of a label's column, by slot ([`Labels::column`]): the domains in the order of the slots in which they first occur.
    pub fn of_label(cycle: &Cycle<'_>, column: &[Id]) -> DomainTable {
        let mut of = vec![0; column.len()];
        let mut labels = vec![0];
        let mut known = std::collections::HashMap::new();
        for (slot, &label) in column.iter().enumerate() {
            let is_node = cycle.nodes().get(slot / 64).map_or(false, |word| word >> (slot % 64) & 1 != 0);
            if is_node && label != 0 {
                of[slot] = *known.entry(label).or_insert_with(|| {
                    labels.push(label);
                    labels.len() as u32 - 1
                });
            }
        }
        DomainTable { number: next_number(), of, labels }
    }
    /// Of domains that the policy tells itself, by slot: 0 for a node that is in none.
    pub fn of_domains(of: Vec<u32>) -> DomainTable {
        let count = of.iter().max().map_or(1, |&most| most as usize + 1);
        DomainTable { number: next_number(), of, labels: vec![0; count] }
    }
    /// The domain of a node; 0: it is in none, or there is no such node.
    pub fn at(&self, node: Slot) -> u32 {
        self.of.get(node as usize).copied().unwrap_or(0)
    }
    /// One past the greatest domain: domains are 1 and so on, and 0 stands for none.
    pub fn size(&self) -> usize {
        self.labels.len()
    }
    /// The value of the label in that domain; 0: none.
    pub fn label(&self, domain: u32) -> Id {
        self.labels.get(domain as usize).copied().unwrap_or(0)
    }
}

/// Tables by label, the 32 that were used last: a label that no node has changed costs one comparison. \[cycle\]
#[derive(Debug, Default)]
pub struct DomainTables {
    known: VecDeque<KnownTable>, // the last used first
}
#[derive(Debug)]
struct KnownTable {
    key: Id,
    column: Vec<Id>,
    nodes: Vec<u64>,
    table: Arc<DomainTable>,
}
impl DomainTables {
    const TABLES_MAX: usize = 32;
    /// None yet.
    pub fn new() -> DomainTables {
        DomainTables::default()
    }
    /// The table of that label for the nodes of the attempt. Where it is the one of an earlier attempt, counts by its domains hold.
    pub fn get(&mut self, labels: &Labels, cycle: &Cycle<'_>, key: Id) -> Result<Arc<DomainTable>, Error> {
        let column = labels.column(cycle, key)?;
        let known = self.known.iter().position(|known| known.key == key).and_then(|at| self.known.remove(at));
        let known = known.filter(|known| known.column == column && known.nodes == cycle.nodes()).unwrap_or_else(|| KnownTable {
            key,
            column: column.to_vec(),
            nodes: cycle.nodes().to_vec(),
            table: Arc::new(DomainTable::of_label(cycle, column)),
        });
        let table = known.table.clone();
        self.known.push_front(known);
        self.known.truncate(Self::TABLES_MAX);
        Ok(table)
    }
}

/// A value for each domain of a table, and which of them have changed. What the host was shown is not touched by changes: they are made
/// to a copy as long as it has it.
#[derive(Debug)]
pub struct DomainValues {
    shown: Arc<Shown>,
    logs: bool,
}
#[derive(Debug, Clone)]
struct Shown {
    table: Arc<DomainTable>,
    values: Vec<i64>,
    changed: Vec<u32>, // the last of changes
    version: u64,
    changes: u64,
}
impl DomainValues {
    const CHANGES_MAX: usize = 4096;
    const FEW: usize = 32;
    /// All 0.
    pub fn new(table: Arc<DomainTable>) -> DomainValues {
        let values = vec![0; table.size()];
        DomainValues { shown: Arc::new(Shown { table, values, changed: Vec::new(), version: next_number(), changes: 0 }), logs: false }
    }
    /// What the domains are of. Where [`DomainTables::get`] answers another one, make new values.
    pub fn table(&self) -> &Arc<DomainTable> {
        &self.shown.table
    }
    /// By domain; [0] is 0.
    pub fn values(&self) -> &[i64] {
        &self.shown.values
    }
    /// Changes the value of a domain; nothing for 0, which is none. Panics for one that the table does not have.
    pub fn add(&mut self, domain: u32, by: i64) {
        if by == 0 || domain == 0 {
            return;
        }
        let shown = Arc::make_mut(&mut self.shown);
        shown.values[domain as usize] += by;
        shown.changes += 1;
        if self.logs {
            shown.changed.push(domain);
            if shown.changed.len() >= 2 * Self::CHANGES_MAX {
                shown.changed.drain(..Self::CHANGES_MAX);
            }
        }
    }
}

/// Where a policy names its columns. Lives for the call.
pub struct DomainColumns<'a> {
    raw: &'a sys::berth_domain_columns_v1,
    slot_count: u32,
    kept: Vec<Arc<Shown>>,
    state: Option<Box<dyn State>>,
}
impl DomainColumns<'_> {
    /// The next column. Up to 32 domains are told apart: each is a group of its own, so that a change of a value moves no node. All
    /// policies of a profile have 16 columns together; an error for one more, or for values of a table with fewer nodes: the host then
    /// asks node by node.
    pub fn add(&mut self, values: &mut DomainValues) -> Result<(), Error> {
        let is_few = values.shown.values.len() <= DomainValues::FEW + 1;
        self.add_as(values, is_few)
    }
    /// The same, where the policy says whether domains are told apart.
    pub fn add_as(&mut self, values: &mut DomainValues, tells_apart: bool) -> Result<(), Error> {
        values.logs = true;
        let shown = &values.shown;
        if shown.table.of.len() < self.slot_count as usize {
            return Err(Error::new(format!("names domains of {} nodes where there are {}", shown.table.of.len(), self.slot_count)));
        }
        let column = sys::berth_domain_column_v1 {
            struct_size: size::<sys::berth_domain_column_v1>(),
            flags: if tells_apart { sys::BERTH_DOMAIN_TELL_APART } else { 0 },
            domain_of: shown.table.of.as_ptr(),
            values: shown.values.as_ptr(),
            domain_count: shown.values.len() as u32,
            reserved: 0,
            version: shown.version,
            table: shown.table.number,
            changed: shown.changed.as_ptr(),
            changed_end: shown.changes,
            changed_count: shown.changed.len() as u32,
            reserved_2: 0,
        };
        self.kept.push(shown.clone());
        let add = self.raw.add.ok_or_else(|| Error::new("the host takes no columns by domain"))?;
        match unsafe { add(self.raw.ctx, &column) } {
            sys::BERTH_OK => Ok(()),
            code => Err(Error::of(code, "the host does not take the column by domain: there are 16 for a profile")),
        }
    }
    /// Of score_columns: state for score_groups, in place of what an earlier point left.
    pub fn leave(&mut self, state: impl State) {
        self.state = Some(Box::new(state));
    }
}

/// Groups of nodes that are alike in the columns that the policy named, which have the numbers 0 and so on, in that order. Lives for the call.
#[derive(Clone, Copy)]
pub struct DomainGroups<'a> {
    raw: &'a sys::berth_domain_groups_v1,
}
impl DomainGroups<'_> {
    /// Groups are 0 .. count - 1.
    pub fn count(&self) -> usize {
        self.raw.count as usize
    }
    /// Nodes in the group, > 0; when scores are asked for, all of them feasible.
    pub fn nodes(&self, group: usize) -> u32 {
        let nodes = unsafe { slice(self.raw.nodes, u64::from(self.raw.count)) };
        nodes[group]
    }
    /// What every node of the group has in the column; 0 where they are in no domain. Panics for a column that was not named.
    pub fn value(&self, column: usize, group: usize) -> i64 {
        let values = unsafe { slice(slice(self.raw.values, u64::from(self.raw.column_count))[column], u64::from(self.raw.count)) };
        values[group]
    }
    /// 0: in none. Else the domain where the column tells domains apart, and 1 where it does not.
    pub fn domain(&self, column: usize, group: usize) -> u32 {
        let domains = unsafe { slice(slice(self.raw.domains, u64::from(self.raw.column_count))[column], u64::from(self.raw.count)) };
        domains[group]
    }
}
/// Groups with their verdicts: each passes until it is rejected.
pub struct FilterGroups<'a> {
    groups: DomainGroups<'a>,
    pass: &'a mut [u64],
}
impl<'a> std::ops::Deref for FilterGroups<'a> {
    type Target = DomainGroups<'a>;
    fn deref(&self) -> &DomainGroups<'a> {
        &self.groups
    }
}
impl FilterGroups<'_> {
    /// As filter would reject each node of the group. Panics beyond `count`.
    pub fn reject(&mut self, group: usize) {
        assert!(group < self.groups.count(), "rejects group {} of {}", group, self.groups.count());
        self.pass[group / 64] &= !(1 << (group % 64));
    }
}

/// A filter whose verdict follows from domains. [`Filter::filter`] stays, and has to say the same.
///
/// ```
/// # use berth::*;
/// # use std::sync::Mutex;
/// # struct AtMostThree { counts: Mutex<DomainValues> }
/// # impl Plugin for AtMostThree {
/// #     const NAME: &'static str = "example.com/AtMostThree";
/// #     const VERSION: &'static str = "1.0.0";
/// #     const SUMMARY: &'static str = "S";
/// #     fn new(_: &mut Setup<'_>) -> Result<Self, Error> { Err("".into()) }
/// # }
/// # impl Filter for AtMostThree {
/// #     fn filter(&self, _: &Cycle<'_>, _: &mut FilterBlock<'_>) -> Result<(), Error> { Ok(()) }
/// # }
/// impl FilterDomains for AtMostThree {
///     fn filter_columns(&self, _: &Cycle<'_>, columns: &mut DomainColumns<'_>) -> Result<bool, Error> {
///         columns.add(&mut self.counts.lock().unwrap()).map(|()| true)
///     }
///     fn filter_groups(&self, _: &Cycle<'_>, groups: &mut FilterGroups<'_>) -> Result<(), Error> {
///         for group in 0..groups.count() {
///             if groups.domain(0, group) == 0 || groups.value(0, group) > 3 {
///                 groups.reject(group);
///             }
///         }
///         Ok(())
///     }
/// }
/// ```
pub trait FilterDomains: Filter {
    /// After pre_filter has answered ok. False, or an error: not for this pod; filter is called. \[cycle\]
    fn filter_columns(&self, cycle: &Cycle<'_>, columns: &mut DomainColumns<'_>) -> Result<bool, Error>;
    /// Rejects the groups whose nodes filter would reject. \[worker\]
    fn filter_groups(&self, cycle: &Cycle<'_>, groups: &mut FilterGroups<'_>) -> Result<(), Error>;
}
/// What [`ScoreDomains::score_columns`] answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByDomain {
    /// The columns are named.
    Scores,
    /// The policy does not score this pod: pre_score would skip.
    Nothing,
    /// Node by node, this time.
    Impossible,
}
/// A score that follows from domains. [`Score::score`] stays, and has to say the same.
pub trait ScoreDomains: Score {
    /// In place of pre_score. \[cycle\]
    fn score_columns(&self, cycle: &Cycle<'_>, columns: &mut DomainColumns<'_>) -> Result<ByDomain, Error>;
    /// By group, 0 at first. With [`Normalize::Custom`](crate::Normalize::Custom) the final ones, given that the feasible nodes are those of
    /// all groups; else what score would give. \[worker\]
    fn score_groups(&self, cycle: &Cycle<'_>, groups: &DomainGroups<'_>, scores: &mut [i64]) -> Result<(), Error>;
}

/// The columns that the host was shown: it may read them until the next call for a pod of the class, and reads them in the attempt.
#[derive(Default)]
pub(crate) struct KeptColumns {
    kept: Mutex<VecDeque<((u64, bool), Vec<Arc<Shown>>)>>, // by class, and whether for scores; the last used first
}
impl KeptColumns {
    /// Classes that are kept: as many as a host that looks back may remember.
    const CLASSES_MAX: usize = 256;
    fn put(&self, key: (u64, bool), columns: Vec<Arc<Shown>>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = kept.iter().position(|(each, _)| *each == key) {
            kept.remove(at);
        }
        kept.push_front((key, columns));
        kept.truncate(2 * Self::CLASSES_MAX);
    }
}

unsafe fn named<P>(
    this: *mut c_void,
    cycle: *mut sys::berth_cycle_v1,
    out: *const sys::berth_domain_columns_v1,
    for_scores: bool,
    body: impl FnOnce(&P, &Cycle<'_>, &mut DomainColumns<'_>) -> Result<u32, Error>,
) -> Result<(u32, Prepared), Error> {
    let this = instance::<P>(this);
    let mut columns = DomainColumns { raw: &*out, slot_count: (*cycle).slot_count, kept: Vec::new(), state: None };
    let answer = crate::abi::caught(|| body(&this.policy, &Cycle::new(cycle, &this.asked), &mut columns));
    // Also after a failure: the host has seen their addresses.
    this.columns.put(((*cycle).pod_class, for_scores), columns.kept);
    answer.map(|code| (code, Prepared { state: columns.state, ..Prepared::go() }))
}
pub type ColumnsFn =
    unsafe extern "C" fn(*mut c_void, *mut sys::berth_cycle_v1, *const sys::berth_domain_columns_v1, *mut sys::berth_note_v1) -> u32;
pub(crate) unsafe extern "C" fn filter_columns<P: FilterDomains>(
    this: *mut c_void,
    cycle: *mut sys::berth_cycle_v1,
    out: *const sys::berth_domain_columns_v1,
    note: *mut sys::berth_note_v1,
) -> u32 {
    guarded(note, || {
        let answer = |policy: &P, cycle: &Cycle<'_>, columns: &mut DomainColumns<'_>| {
            Ok(if policy.filter_columns(cycle, columns)? { sys::BERTH_OK } else { sys::BERTH_SKIP })
        };
        named(this, cycle, out, false, answer).map(|(code, _)| code)
    })
}
pub type FilterGroupsFn = unsafe extern "C" fn(
    *mut c_void,
    *const sys::berth_cycle_v1,
    *const sys::berth_domain_groups_v1,
    *mut u64,
    *mut sys::berth_note_v1,
) -> u32;
pub(crate) unsafe extern "C" fn filter_groups<P: FilterDomains>(
    this: *mut c_void,
    cycle: *const sys::berth_cycle_v1,
    groups: *const sys::berth_domain_groups_v1,
    pass: *mut u64,
    note: *mut sys::berth_note_v1,
) -> u32 {
    guarded(note, || {
        let (this, raw) = (instance::<P>(this), &*groups);
        let mut groups = FilterGroups { groups: DomainGroups { raw }, pass: slice_mut(pass, (u64::from(raw.count) + 63) / 64) };
        this.policy.filter_groups(&Cycle::new(cycle, &this.asked), &mut groups).map(|()| sys::BERTH_OK)
    })
}
pub type ScoreColumnsFn = unsafe extern "C" fn(
    *mut c_void,
    *mut sys::berth_cycle_v1,
    *const sys::berth_domain_columns_v1,
    *mut u32,
    *mut sys::berth_note_v1,
) -> u32;
pub(crate) unsafe extern "C" fn score_columns<P: ScoreDomains>(
    this: *mut c_void,
    cycle: *mut sys::berth_cycle_v1,
    out: *const sys::berth_domain_columns_v1,
    scores: *mut u32,
    note: *mut sys::berth_note_v1,
) -> u32 {
    guarded(note, || {
        let answer = |policy: &P, cycle: &Cycle<'_>, columns: &mut DomainColumns<'_>| {
            let answer = policy.score_columns(cycle, columns)?;
            *scores = u32::from(answer == ByDomain::Scores);
            Ok(if answer == ByDomain::Impossible { sys::BERTH_SKIP } else { sys::BERTH_OK })
        };
        let (code, prepared) = named(this, cycle, out, true, answer)?;
        take_state(cycle, prepared, note);
        Ok(code)
    })
}
pub type ScoreGroupsFn = unsafe extern "C" fn(
    *mut c_void,
    *const sys::berth_cycle_v1,
    *const sys::berth_domain_groups_v1,
    *mut i64,
    *mut sys::berth_note_v1,
) -> u32;
pub(crate) unsafe extern "C" fn score_groups<P: ScoreDomains>(
    this: *mut c_void,
    cycle: *const sys::berth_cycle_v1,
    groups: *const sys::berth_domain_groups_v1,
    scores: *mut i64,
    note: *mut sys::berth_note_v1,
) -> u32 {
    guarded(note, || {
        let (this, groups) = (instance::<P>(this), DomainGroups { raw: &*groups });
        // What the host left in its buffer is of no use to anyone.
        std::ptr::write_bytes(scores, 0, groups.count());
        let scores = slice_mut(scores, groups.count() as u64);
        this.policy.score_groups(&Cycle::new(cycle, &this.asked), &groups, scores).map(|()| sys::BERTH_OK)
    })
}
/// The table of the point.
pub const fn domain_ops(
    filter_columns: Option<ColumnsFn>,
    filter_groups: Option<FilterGroupsFn>,
    score_columns: Option<ScoreColumnsFn>,
    score_groups: Option<ScoreGroupsFn>,
) -> sys::berth_domain_ops_v1 {
    let struct_size = size::<sys::berth_domain_ops_v1>();
    sys::berth_domain_ops_v1 { struct_size, flags: 0, filter_columns, filter_groups, score_columns, score_groups }
}
