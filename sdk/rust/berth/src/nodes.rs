// SPDX-License-Identifier: Apache-2.0
//! Nodes as a policy sees them: a block of rows, one value per node and column. A column is read with the handle that
//! [`Setup`](crate::Setup) gave for it; a handle of another instance is an error of the call.
use crate::abi::{slice, slice_mut};
use crate::instance::{Asked, Kind};
use crate::{Error, Id, Reason, Rejection, Slot};
use berth_sys as sys;
use std::marker::PhantomData;
use std::os::raw::c_void;

/// What a column was asked for gives its handle, which means something to the instance that asked. T says what a value is:
/// `i64` an amount, [`Id`] an interned text (0: absent), `bool` a bit, [`TaintSet`] and its like a list that nodes share.
#[derive(Debug)]
pub struct Column<T> {
    pub(crate) index: u32,
    pub(crate) instance: u64,
    pub(crate) value: PhantomData<fn() -> T>,
}
impl<T> Clone for Column<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Column<T> {}

/// Handle of columns that follow the pod: one per entry of [`Pod::resources`](crate::Pod::resources).
#[derive(Debug, Clone, Copy)]
pub struct PodColumns {
    pub(crate) index: u32,
    pub(crate) instance: u64,
}

/// A value that a column can hold.
pub trait ColumnValue<'a>: sealed::Sealed {
    /// What [`Block::column`] gives: a slice with one value per row, or [`Bits`].
    type View;
    #[doc(hidden)]
    unsafe fn view(values: *const c_void, rows: u32) -> Self::View;
    #[doc(hidden)]
    fn kind() -> Kind;
}
mod sealed {
    pub trait Sealed {}
}
macro_rules! column_value {
    ($type:ty, $kind:expr) => {
        impl sealed::Sealed for $type {}
        impl<'a> ColumnValue<'a> for $type {
            type View = &'a [$type];
            unsafe fn view(values: *const c_void, rows: u32) -> Self::View {
                slice(values as *const $type, u64::from(rows))
            }
            fn kind() -> Kind {
                $kind
            }
        }
    };
}
macro_rules! set_value {
    ($(#[$about:meta])* $type:ident, $member:ty, $kind:expr, $list:ident) => {
        $(#[$about])*
        #[repr(transparent)]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $type(u32);
        impl $type {
            /// The number, 0 for the empty list. Nodes with equal lists have the same one within a cycle.
            pub fn number(self) -> u32 {
                self.0
            }
        }
        column_value!($type, $kind);
        impl<'a> Block<'a> {
            /// Members of a list of this block.
            pub fn $list(&self, set: $type) -> Result<&'a [$member], Error> {
                let sets = self.asked.sets.ok_or_else(|| Error::new("the host has no service berth.sets/1"))?;
                let members = sets.$list.ok_or_else(|| Error::new(concat!("the host has no ", stringify!($list))))?;
                if set.0 == 0 {
                    return Ok(&[]);
                }
                let mut count = 0;
                self.asked.link.enter(|ctx| unsafe {
                    let first = members(ctx, set.0, &mut count);
                    slice(first, u64::from(count))
                })
            }
        }
    };
}
column_value!(i64, Kind::Amount);
column_value!(Id, Kind::Id);
impl sealed::Sealed for bool {}
impl<'a> ColumnValue<'a> for bool {
    type View = Bits<'a>;
    unsafe fn view(values: *const c_void, rows: u32) -> Bits<'a> {
        Bits { words: slice(values as *const u64, (u64::from(rows) + 63) / 64), rows: rows as usize }
    }
    fn kind() -> Kind {
        Kind::Bit
    }
}
set_value!(/// Taints of a node, in its order.
    TaintSet, sys::berth_taint_v1, Kind::Taints, taints);
set_value!(/// Images on a node, sorted by the id of their name.
    ImageSet, sys::berth_image_v1, Kind::Images, images);
set_value!(/// Ports in use on a node.
    PortSet, sys::berth_host_port_v1, Kind::Ports, ports);
set_value!(/// Declared features of a node.
    FeatureSet, Id, Kind::Features, features);
set_value!(/// All labels of a node, sorted by the id of the key.
    LabelSet, sys::berth_label_v1, Kind::Labels, labels);
set_value!(/// Volumes of the pods on a node.
    VolumeSet, sys::berth_node_volume_v1, Kind::Volumes, volumes);

/// A bit per row.
#[derive(Debug, Clone, Copy)]
pub struct Bits<'a> {
    words: &'a [u64],
    rows: usize,
}
impl<'a> Bits<'a> {
    /// The bit of a row; false beyond the block.
    pub fn get(&self, row: usize) -> bool {
        row < self.rows && self.words[row / 64] >> (row % 64) & 1 != 0
    }
    /// 64 rows a word, the lowest first.
    pub fn words(&self) -> &'a [u64] {
        self.words
    }
}

/// Columns that follow the pod.
#[derive(Clone, Copy)]
pub struct OfPod<'a> {
    arrays: &'a [*const i64],
    rows: u32,
}
impl<'a> OfPod<'a> {
    /// How many there are: as many as the pod has resources, and none where no pod is at hand.
    pub fn count(&self) -> usize {
        self.arrays.len()
    }
    /// One value per row, for the resource of that place.
    pub fn get(&self, resource: usize) -> Option<&'a [i64]> {
        self.arrays.get(resource).map(|&values| unsafe { slice(values, u64::from(self.rows)) })
    }
}

/// A slice of the nodes for one pod. Copied like a pointer; lives for the call.
#[derive(Clone, Copy)]
pub struct Block<'a> {
    raw: &'a sys::berth_node_block_v1,
    asked: &'a Asked,
    resources: u32, // of the pod at hand
}

impl<'a> Block<'a> {
    pub(crate) unsafe fn new(raw: *const sys::berth_node_block_v1, asked: &'a Asked, resources: u32) -> Block<'a> {
        Block { raw: &*raw, asked, resources }
    }
    /// 1..4,096.
    pub fn rows(&self) -> usize {
        self.raw.rows as usize
    }
    /// Rows that need an answer.
    pub fn candidates(&self) -> Bits<'a> {
        let words = unsafe { slice(self.raw.candidates, (u64::from(self.raw.rows) + 63) / 64) };
        Bits { words, rows: self.rows() }
    }
    /// The node's number; none for one that is not in the snapshot (in a hint), and beyond the block.
    pub fn slot(&self, row: usize) -> Option<Slot> {
        if row >= self.rows() {
            return None;
        }
        if self.raw.slots.is_null() {
            return Some(self.raw.first_slot + row as u32);
        }
        let slot = unsafe { *self.raw.slots.add(row) };
        Some(slot).filter(|&slot| slot != sys::BERTH_NO_SLOT)
    }
    fn values(&self, index: u32, instance: u64, kind: Kind) -> Result<*const c_void, Error> {
        self.asked.check(index, instance, kind)?;
        if index >= self.raw.column_count {
            return Err(Error::new(format!("the host shows {} columns here, and column {} was read", self.raw.column_count, index)));
        }
        Ok(unsafe { *self.raw.columns.add(index as usize) })
    }
    /// One value per row. An error for a column that this instance did not ask for.
    pub fn column<T: ColumnValue<'a>>(&self, column: Column<T>) -> Result<T::View, Error> {
        let values = self.values(column.index, column.instance, T::kind())?;
        if values.is_null() {
            return Err(Error::new(format!("the host shows no values of column {}", column.index)));
        }
        Ok(unsafe { T::view(values, self.raw.rows) })
    }
    /// One column per entry of the pod's resources, in that order; empty where no pod is at hand.
    pub fn pod_columns(&self, columns: PodColumns) -> Result<OfPod<'a>, Error> {
        let first = self.values(columns.index, columns.instance, Kind::OfPod)? as *const *const i64;
        Ok(OfPod { arrays: unsafe { slice(first, u64::from(self.resources)) }, rows: self.raw.rows })
    }
}

/// One row of a block, for [`hint`](crate::Hint) and for the node that a pod is bound to.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    pub(crate) block: Block<'a>,
}
impl<'a> Row<'a> {
    /// An amount.
    pub fn amount(&self, column: Column<i64>) -> Result<i64, Error> {
        Ok(self.block.column(column)?.first().copied().unwrap_or(0))
    }
    /// An interned text, 0: absent.
    pub fn id(&self, column: Column<Id>) -> Result<Id, Error> {
        Ok(self.block.column(column)?.first().copied().unwrap_or(0))
    }
    /// A bit.
    pub fn bit(&self, column: Column<bool>) -> Result<bool, Error> {
        Ok(self.block.column(column)?.get(0))
    }
    /// For what has no function here.
    pub fn block(&self) -> Block<'a> {
        self.block
    }
}

/// A block with its answers: every candidate passes until it is rejected.
pub struct FilterBlock<'a> {
    block: Block<'a>,
    out: &'a mut sys::berth_filter_out_v1,
    wants_reasons: bool,
    wants_details: bool,
}

impl<'a> FilterBlock<'a> {
    pub(crate) unsafe fn new(block: Block<'a>, flags: u32, out: *mut sys::berth_filter_out_v1) -> FilterBlock<'a> {
        let out = &mut *out;
        let wants_reasons = flags & sys::BERTH_CYCLE_WANT_REASONS != 0 && !out.reasons.is_null();
        let wants_details = flags & sys::BERTH_CYCLE_WANT_DETAILS != 0 && out.add_detail.is_some();
        FilterBlock { block, out, wants_reasons, wants_details }
    }
    /// The nodes, for columns and slots; outlives this borrow, so that a column may be read while rows are rejected.
    pub fn block(&self) -> Block<'a> {
        self.block
    }
    /// 1..4,096.
    pub fn rows(&self) -> usize {
        self.block.rows()
    }
    /// One value per row. An error for a column that this instance did not ask for.
    pub fn column<T: ColumnValue<'a>>(&self, column: Column<T>) -> Result<T::View, Error> {
        self.block.column(column)
    }
    /// A person asks why: [`add_detail`](Self::add_detail) is worth its work.
    pub fn wants_details(&self) -> bool {
        self.wants_details
    }
    /// Whether the row is a candidate that was not rejected.
    pub fn is_open(&self, row: usize) -> bool {
        self.block.candidates().get(row) && unsafe { *self.out.pass.add(row / 64) } >> (row % 64) & 1 != 0
    }
    /// Refuses one row. One that is no candidate, or was rejected before, is left alone.
    pub fn reject(&mut self, row: usize, why: Rejection) {
        if !self.is_open(row) {
            return;
        }
        let bit = 1u64 << (row % 64);
        // is_open: the row is in the block, and the host's arrays are as long as it.
        unsafe {
            *self.out.pass.add(row / 64) &= !bit;
            if why.unresolvable {
                *self.out.unresolvable.add(row / 64) |= bit;
            }
            if self.wants_reasons {
                *self.out.reasons.add(row) = why.reason.0;
            }
        }
    }
    /// Refuses the candidates of which `test` says so.
    pub fn reject_where(&mut self, why: Rejection, mut test: impl FnMut(usize) -> bool) {
        let candidates = self.block.candidates();
        for (word, &bits) in candidates.words().iter().enumerate() {
            let mut left = bits;
            while left != 0 {
                let row = word * 64 + left.trailing_zeros() as usize;
                left &= left - 1;
                if test(row) {
                    self.reject(row, why);
                }
            }
        }
    }
    /// A rejected row is out only for now: it counts as Pending.
    pub fn rejection_is_pending(&mut self, row: usize) {
        if self.block.candidates().get(row) && !self.is_open(row) && !self.out.pending.is_null() {
            unsafe { *self.out.pending.add(row / 64) |= 1u64 << (row % 64) };
        }
    }
    /// The row cannot be judged: an error of that node alone, cut after 1,024 bytes.
    pub fn fail_row(&mut self, row: usize, text: &str) {
        if !self.block.candidates().get(row) {
            return;
        }
        let bit = 1u64 << (row % 64);
        unsafe {
            if let Some(fail) = self.out.fail_row {
                fail(self.out.ctx, row as u32, crate::abi::borrow(text));
            }
            *self.out.pass.add(row / 64) &= !bit;
            *self.out.unresolvable.add(row / 64) &= !bit;
        }
    }
    /// For people who ask: `text` is true of `count` things of the rejected row. Does nothing unless one asks.
    pub fn add_detail(&mut self, row: usize, text: &str, count: u64) {
        if self.wants_details && self.block.candidates().get(row) {
            if let Some(add) = self.out.add_detail {
                unsafe { add(self.out.ctx, row as u32, crate::abi::borrow(text), count) };
            }
        }
    }
    /// [`Reason::NONE`] where only verdicts are looked at, so that no sentence is made in vain.
    pub fn reason(&self, make: impl FnOnce() -> Reason) -> Reason {
        if self.wants_reasons {
            make()
        } else {
            Reason::NONE
        }
    }
}

/// A block with its raw scores, 0 at first.
pub struct ScoreBlock<'a> {
    block: Block<'a>,
    raw: &'a mut [i64],
}
impl<'a> ScoreBlock<'a> {
    /// What the host left in its buffer is of no use to anyone.
    pub(crate) unsafe fn new(block: Block<'a>, raw: *mut i64) -> ScoreBlock<'a> {
        std::ptr::write_bytes(raw, 0, block.rows());
        ScoreBlock { block, raw: slice_mut(raw, block.rows() as u64) }
    }
    /// The nodes; see [`FilterBlock::block`].
    pub fn block(&self) -> Block<'a> {
        self.block
    }
    /// 1..4,096.
    pub fn rows(&self) -> usize {
        self.block.rows()
    }
    /// One value per row. An error for a column that this instance did not ask for.
    pub fn column<T: ColumnValue<'a>>(&self, column: Column<T>) -> Result<T::View, Error> {
        self.block.column(column)
    }
    /// The score of each row; those of rows that are no candidates are not read.
    pub fn scores(&mut self) -> &mut [i64] {
        self.raw
    }
}
