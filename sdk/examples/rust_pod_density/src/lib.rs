// SPDX-License-Identifier: Apache-2.0
//! example.com/PodDensity: keeps nodes from being crowded, in Rust and without crates.
//!
//! Assumes: what counts is the number of pods on a node, whatever they ask for.
//! Steps:   a node with `maxPods` pods or more is refused. Of the others, the fewer pods, the higher the score.
//! Ties:    left to the host.

mod abi;

use abi::*;
use std::mem::size_of;
use std::os::raw::{c_char, c_void};
use std::panic::{catch_unwind, AssertUnwindSafe};

/// One use in a profile. Written in create() alone, so any thread may read it.
struct PodDensity {
    pods: usize, // index of the column
    max_pods: i64,
}

impl PodDensity {
    fn is_full(&self, pods: i64) -> bool {
        pods >= self.max_pods
    }
    fn score(&self, pods: i64) -> i64 {
        SCORE_MAX - SCORE_MAX * pods.clamp(0, self.max_pods) / self.max_pods
    }
}

/// The args are compact JSON that has passed the schema below: one integer, its default filled in.
fn max_pods_of(args: &str) -> Option<i64> {
    let value = args.strip_prefix("{\"maxPods\":")?.strip_suffix('}')?;
    value.parse().ok().filter(|&max_pods| max_pods > 0)
}

/// A panic must not cross into the host: it is an error of this call, with its text.
unsafe fn guarded(note: *mut Note, body: impl FnOnce() -> Result<(), (u32, String)>) -> u32 {
    let (code, text) = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => return OK,
        Ok(Err(problem)) => problem,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string()));
            (ERROR, text.unwrap_or_else(|| "unknown panic".to_string()))
        }
    };
    if let Some(note) = note.as_mut() {
        let fits = text.len().min(note.text_cap as usize);
        if !note.text.is_null() {
            std::ptr::copy_nonoverlapping(text.as_ptr() as *const c_char, note.text, fits);
        }
        note.text_len = text.len() as u64;
    }
    code
}

unsafe fn text_of<'a>(text: Str) -> &'a str {
    if text.len == 0 {
        return "";
    }
    std::str::from_utf8(std::slice::from_raw_parts(text.ptr as *const u8, text.len as usize)).unwrap_or("")
}

/// A column as rows; the host pads it to a multiple of 64.
unsafe fn column<'a>(block: &NodeBlock, index: usize) -> &'a [i64] {
    std::slice::from_raw_parts(*block.columns.add(index) as *const i64, block.rows as usize)
}

unsafe extern "C" fn create(
    _host: *const Host,
    binder: *const Binder,
    args: Str,
    out: *mut *mut c_void,
    note: *mut Note,
) -> u32 {
    guarded(note, || {
        let binder = &*binder;
        let none = Str { ptr: std::ptr::null(), len: 0 };
        let pods = (binder.column)(binder.ctx, COL_PODS, none);
        if pods == NO_COLUMN {
            return Err((TOO_OLD, "the host does not count pods".to_string()));
        }
        let max_pods = max_pods_of(text_of(args)).ok_or((ERROR, format!("unexpected args {}", text_of(args))))?;
        *out = Box::into_raw(Box::new(PodDensity { pods: pods as usize, max_pods })) as *mut c_void;
        Ok(())
    })
}

unsafe extern "C" fn destroy(this: *mut c_void) {
    drop(Box::from_raw(this as *mut PodDensity));
}

unsafe extern "C" fn filter(
    this: *mut c_void,
    cycle: *const Cycle,
    block: *const NodeBlock,
    out: *mut FilterOut,
    note: *mut Note,
) -> u32 {
    guarded(note, || {
        let (this, block, out) = (&*(this as *const PodDensity), &*block, &*out);
        let wants_reasons = (*cycle).flags & CYCLE_WANT_REASONS != 0 && !out.reasons.is_null();
        for (row, &pods) in column(block, this.pods).iter().enumerate() {
            if this.is_full(pods) {
                *out.pass.add(row / 64) &= !(1u64 << (row % 64));
                if wants_reasons {
                    *out.reasons.add(row) = 1;
                }
            }
        }
        Ok(())
    })
}

unsafe extern "C" fn score(
    this: *mut c_void,
    _cycle: *const Cycle,
    block: *const NodeBlock,
    raw: *mut i64,
    note: *mut Note,
) -> u32 {
    guarded(note, || {
        let (this, block) = (&*(this as *const PodDensity), &*block);
        for (row, &pods) in column(block, this.pods).iter().enumerate() {
            *raw.add(row) = this.score(pods);
        }
        Ok(())
    })
}

macro_rules! text {
    ($text:expr) => {
        concat!($text, "\0").as_ptr() as *const c_char
    };
}

static FILTER: FilterOps =
    FilterOps { struct_size: size_of::<FilterOps>() as u32, flags: 0, filter, budget_ns: None, deps: 0, reserved: 0 };
static SCORE: ScoreOps = ScoreOps {
    struct_size: size_of::<ScoreOps>() as u32,
    normalize_kind: NORM_NONE,
    score,
    normalize: None,
    deps: 0,
    reserved: 0,
};

// A pod that was refused may fit when a pod goes, or a node comes.
static INTERESTS: [Interest; 2] = [
    Interest { resource: KIND_POD, actions: ACTION_DELETE, flags: 0, hinted: 0 },
    Interest { resource: KIND_NODE, actions: ACTION_ADD, flags: 0, hinted: 0 },
];
static REQUEUE: RequeueOps = RequeueOps {
    struct_size: size_of::<RequeueOps>() as u32,
    interest_count: INTERESTS.len() as u32,
    interests: &INTERESTS as *const Interest,
    hint: None,
};

static POINTS: [Point; 3] = [
    Point { id: text!("berth.filter/1"), ops: &FILTER as *const FilterOps as *const c_void },
    Point { id: text!("berth.score/1"), ops: &SCORE as *const ScoreOps as *const c_void },
    Point { id: text!("berth.requeue/1"), ops: &REQUEUE as *const RequeueOps as *const c_void },
];
static REASONS: [ReasonText; 2] = [
    ReasonText { text: text!(""), code: text!("") },
    ReasonText { text: text!("node(s) had as many pods as they should"), code: text!("Crowded") },
];
static PLUGIN: Plugin = Plugin {
    struct_size: size_of::<Plugin>() as u32,
    flags: 0,
    name: text!("example.com/PodDensity"),
    version: text!("1.0.0"),
    summary: text!("Keeps nodes from being crowded with pods."),
    args_schema: text!(
        r#"{"type": "object", "additionalProperties": false, "properties": {
            "maxPods": {"type": "integer", "minimum": 1, "maximum": 10000, "default": 50,
                        "description": "pods on a node that get no company"}}}"#
    ),
    points: &POINTS as *const Point,
    reasons: &REASONS as *const ReasonText,
    services: std::ptr::null(),
    point_count: POINTS.len() as u32,
    reason_count: REASONS.len() as u32,
    service_count: 0,
    deps: DEP_NODE_USAGE,
    create,
    destroy,
};

struct Plugins([*const Plugin; 1]);
unsafe impl Sync for Plugins {}
static PLUGINS: Plugins = Plugins([&PLUGIN]);
static LIBRARY: Library = Library {
    struct_size: size_of::<Library>() as u32,
    abi_minor_built: ABI_MINOR,
    abi_minor_required: ABI_MINOR,
    plugin_count: 1,
    reserved: 0,
    plugins: &PLUGINS.0 as *const *const Plugin,
};

/// The only symbol that the file exports.
#[no_mangle]
pub extern "C" fn berth_library_entry_v1() -> *const Library {
    &LIBRARY
}

const NOTE_TEXT: &[u8] = b"plugin=example.com/PodDensity\0version=1.0.0\0points=berth.filter/1\0points=berth.score/1\0\
    points=berth.requeue/1\0sdk=1.0.0\0compiler=rustc\0isa=baseline\0";
#[used]
#[link_section = ".note.berth"]
static ELF_NOTE: ElfNote<{ (NOTE_TEXT.len() + 3) / 4 * 4 }> = ElfNote::new(NOTE_TEXT);

#[cfg(test)]
mod tests;
