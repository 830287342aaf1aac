// SPDX-License-Identifier: Apache-2.0
//! The part of berth's C ABI that this plugin speaks, written by hand after berth/plugin.h 1.0.
//!
//! Structs start with `struct_size` where they may grow; fields are only ever appended. Sizes are checked when this is
//! compiled, offsets by the test, against what a C compiler makes of the header (layout.c).

use std::os::raw::{c_char, c_void};

pub const ABI_MAJOR: u16 = 1;
pub const ABI_MINOR: u16 = 0;
pub const DATA_MODEL: u16 = 1;

pub const OK: u32 = 0;
pub const ERROR: u32 = 1;
pub const TOO_OLD: u32 = 17;

pub const COL_PODS: u32 = 5;
pub const NO_COLUMN: u32 = u32::MAX;
pub const CYCLE_WANT_REASONS: u32 = 1;
pub const SCORE_MAX: i64 = 100;
pub const NORM_NONE: u32 = 0;
pub const DEP_NODE_USAGE: u32 = 1 << 3;
pub const KIND_POD: u32 = 1;
pub const KIND_NODE: u32 = 2;
pub const ACTION_ADD: u32 = 1;
pub const ACTION_DELETE: u32 = 2;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Str {
    pub ptr: *const c_char,
    pub len: u64,
}

#[repr(C)]
pub struct Note {
    pub struct_size: u32,
    pub reason: u32,
    pub text: *mut c_char,
    pub text_cap: u64,
    pub text_len: u64,
}

#[repr(C)]
pub struct Host {
    pub struct_size: u32,
    pub abi_minor: u16,
    pub data_model: u16,
    pub ctx: *mut c_void,
    pub product: Str,
    pub service: unsafe extern "C" fn(*mut c_void, *const c_char) -> *const c_void,
    pub score_max: i64,
}

#[repr(C)]
pub struct Binder {
    pub struct_size: u32,
    pub reserved: u32,
    pub ctx: *mut c_void,
    pub column: unsafe extern "C" fn(*mut c_void, u32, Str) -> u32,
    pub request: unsafe extern "C" fn(*mut c_void, Str) -> u32,
    pub pod_fields: unsafe extern "C" fn(*mut c_void, u64) -> u64,
    pub pod_label: unsafe extern "C" fn(*mut c_void, Str),
}

#[repr(C)]
pub struct Point {
    pub id: *const c_char,
    pub ops: *const c_void,
}

#[repr(C)]
pub struct ReasonText {
    pub text: *const c_char,
    pub code: *const c_char,
}

#[repr(C)]
pub struct Plugin {
    pub struct_size: u32,
    pub flags: u32,
    pub name: *const c_char,
    pub version: *const c_char,
    pub summary: *const c_char,
    pub args_schema: *const c_char,
    pub points: *const Point,
    pub reasons: *const ReasonText,
    pub services: *const *const c_char,
    pub point_count: u32,
    pub reason_count: u32,
    pub service_count: u32,
    pub deps: u32,
    pub create: unsafe extern "C" fn(*const Host, *const Binder, Str, *mut *mut c_void, *mut Note) -> u32,
    pub destroy: unsafe extern "C" fn(*mut c_void),
}

#[repr(C)]
pub struct Library {
    pub struct_size: u32,
    pub abi_minor_built: u16,
    pub abi_minor_required: u16,
    pub plugin_count: u32,
    pub reserved: u32,
    pub plugins: *const *const Plugin,
}

#[repr(C)]
pub struct Cycle {
    pub struct_size: u32,
    pub flags: u32,
    pub cycle_id: u64,
    pub deadline_ns: u64,
    pub pod_class: u64,
    pub pod: *const c_void,
    pub state: *mut c_void,
    pub nodes: *const u64,
    pub word_count: u64,
    pub node_count: u32,
    pub slot_count: u32,
}

#[repr(C)]
pub struct NodeBlock {
    pub struct_size: u32,
    pub rows: u32,
    pub first_slot: u32,
    pub column_count: u32,
    pub slots: *const u32,
    pub candidates: *const u64,
    pub columns: *const *const c_void,
}

#[repr(C)]
pub struct FilterOut {
    pub struct_size: u32,
    pub flags: u32,
    pub pass: *mut u64,
    pub unresolvable: *mut u64,
    pub reasons: *mut u32,
    pub ctx: *mut c_void,
    pub fail_row: Option<unsafe extern "C" fn(*mut c_void, u32, Str) -> u32>,
    pub add_detail: Option<unsafe extern "C" fn(*mut c_void, u32, Str, u64) -> u32>,
    pub pending: *mut u64,
}

#[repr(C)]
pub struct FilterOps {
    pub struct_size: u32,
    pub flags: u32,
    pub filter:
        unsafe extern "C" fn(*mut c_void, *const Cycle, *const NodeBlock, *mut FilterOut, *mut Note) -> u32,
    pub budget_ns: Option<unsafe extern "C" fn(*mut c_void) -> u64>,
    pub deps: u32,
    pub reserved: u32,
}

pub type Normalize =
    unsafe extern "C" fn(*mut c_void, *const Cycle, *const u32, *mut i64, u32, *mut Note) -> u32;
#[repr(C)]
pub struct ScoreOps {
    pub struct_size: u32,
    pub normalize_kind: u32,
    pub score: unsafe extern "C" fn(*mut c_void, *const Cycle, *const NodeBlock, *mut i64, *mut Note) -> u32,
    pub normalize: Option<Normalize>,
    pub deps: u32,
    pub reserved: u32,
}

#[repr(C)]
pub struct Interest {
    pub resource: u32,
    pub actions: u32,
    pub flags: u32,
    pub hinted: u32,
}

pub type Hint =
    unsafe extern "C" fn(*mut c_void, *const c_void, *const *const c_void, u32, *mut u64, *mut Note) -> u32;
#[repr(C)]
pub struct RequeueOps {
    pub struct_size: u32,
    pub interest_count: u32,
    pub interests: *const Interest,
    pub hint: Option<Hint>,
}

/// The note in the ELF file, which is judged before any code runs.
#[repr(C, align(4))]
pub struct ElfNote<const N: usize> {
    pub name_size: u32,
    pub desc_size: u32,
    pub kind: u32,
    pub owner: [u8; 8],
    pub major: u16,
    pub minor_built: u16,
    pub minor_required: u16,
    pub data_model: u16,
    pub text: [u8; N],
}

impl<const N: usize> ElfNote<N> {
    /// `text`: "key=value" strings, each with its NUL. N: its length, rounded up to 4.
    pub const fn new(text: &[u8]) -> Self {
        let mut padded = [0; N];
        let mut i = 0;
        while i < text.len() {
            padded[i] = text[i];
            i += 1;
        }
        ElfNote {
            name_size: 6,
            desc_size: 8 + text.len() as u32,
            kind: 1,
            owner: *b"berth\0\0\0",
            major: ABI_MAJOR,
            minor_built: ABI_MINOR,
            minor_required: ABI_MINOR,
            data_model: DATA_MODEL,
            text: padded,
        }
    }
}

// Descriptors are constant and point to constants: any thread may read them.
unsafe impl Sync for Point {}
unsafe impl Sync for ReasonText {}
unsafe impl Sync for Plugin {}
unsafe impl Sync for Library {}
unsafe impl Sync for RequeueOps {}

macro_rules! sizes {
    ($($name:ident $size:literal),*) => {
        $(const _: () = assert!(std::mem::size_of::<$name>() == $size && std::mem::align_of::<$name>() == 8);)*
    };
}
sizes!(Str 16, Note 32, Host 48, Binder 48, Point 16, ReasonText 16, Plugin 96, Library 24, Cycle 72, NodeBlock 40,
       FilterOut 64, FilterOps 32, ScoreOps 32, RequeueOps 24);
const _: () = assert!(std::mem::size_of::<Interest>() == 16 && std::mem::align_of::<Interest>() == 4);
