// SPDX-License-Identifier: Apache-2.0
//! example.com/PodDensity: keeps nodes from being crowded, in Rust and with no crate but the SDK's berth-sys.
//!
//! Assumes: what counts is the number of pods on a node, whatever they ask for.
//! Steps:   a node with `maxPods` pods or more is refused. Of the others, the fewer pods, the higher the score.
//! Ties:    left to the host.

use berth_sys::*;
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
        let most = i64::from(BERTH_SCORE_MAX);
        most - most * pods.clamp(0, self.max_pods) / self.max_pods
    }
}

/// The args are compact JSON that has passed the schema below: one integer, its default filled in.
fn max_pods_of(args: &str) -> Option<i64> {
    let value = args.strip_prefix("{\"maxPods\":")?.strip_suffix('}')?;
    value.parse().ok().filter(|&max_pods| max_pods > 0)
}

/// A panic must not cross into the host: it is an error of this call, with its text.
unsafe fn guarded(note: *mut berth_note_v1, body: impl FnOnce() -> Result<(), (u32, String)>) -> u32 {
    let (code, text) = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => return BERTH_OK,
        Ok(Err(problem)) => problem,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string()));
            (BERTH_ERROR, text.unwrap_or_else(|| "unknown panic".to_string()))
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

unsafe fn text_of<'a>(text: berth_str) -> &'a str {
    if text.len == 0 {
        return "";
    }
    std::str::from_utf8(std::slice::from_raw_parts(text.ptr as *const u8, text.len as usize)).unwrap_or("")
}

/// A column as rows; the host pads it to a multiple of 64.
unsafe fn column<'a>(block: &berth_node_block_v1, index: usize) -> &'a [i64] {
    std::slice::from_raw_parts(*block.columns.add(index) as *const i64, block.rows as usize)
}

unsafe extern "C" fn create(
    _host: *const berth_host_v1,
    binder: *const berth_binder_v1,
    args: berth_str,
    out: *mut *mut c_void,
    note: *mut berth_note_v1,
) -> u32 {
    guarded(note, || {
        let binder = &*binder;
        let none = berth_str { ptr: std::ptr::null(), len: 0 };
        let column = binder.column.ok_or((BERTH_ERROR, "no column() in the binder".to_string()))?;
        let pods = column(binder.ctx, BERTH_COL_PODS, none);
        if pods == BERTH_NO_COLUMN {
            return Err((BERTH_TOO_OLD, "the host does not count pods".to_string()));
        }
        let max_pods = max_pods_of(text_of(args)).ok_or((BERTH_ERROR, format!("unexpected args {}", text_of(args))))?;
        *out = Box::into_raw(Box::new(PodDensity { pods: pods as usize, max_pods })) as *mut c_void;
        Ok(())
    })
}

unsafe extern "C" fn destroy(this: *mut c_void) {
    drop(Box::from_raw(this as *mut PodDensity));
}

unsafe extern "C" fn filter(
    this: *mut c_void,
    cycle: *const berth_cycle_v1,
    block: *const berth_node_block_v1,
    out: *mut berth_filter_out_v1,
    note: *mut berth_note_v1,
) -> u32 {
    guarded(note, || {
        let (this, block, out) = (&*(this as *const PodDensity), &*block, &*out);
        let wants_reasons = (*cycle).flags & BERTH_CYCLE_WANT_REASONS != 0 && !out.reasons.is_null();
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
    _cycle: *const berth_cycle_v1,
    block: *const berth_node_block_v1,
    raw: *mut i64,
    note: *mut berth_note_v1,
) -> u32 {
    guarded(note, || {
        let (this, block) = (&*(this as *const PodDensity), &*block);
        for (row, &pods) in column(block, this.pods).iter().enumerate() {
            *raw.add(row) = this.score(pods);
        }
        Ok(())
    })
}

/// The oldest minor of a host that this works with.
const MINOR_REQUIRED: u16 = 0;

static FILTER: berth_filter_ops_v1 =
    berth_filter_ops_v1 { struct_size: size_of::<berth_filter_ops_v1>() as u32, flags: 0, filter: Some(filter), budget_ns: None, deps: 0, reserved: 0 };
static SCORE: berth_score_ops_v1 = berth_score_ops_v1 {
    struct_size: size_of::<berth_score_ops_v1>() as u32,
    normalize_kind: BERTH_NORM_NONE,
    score: Some(score),
    normalize: None,
    deps: 0,
    reserved: 0,
};

// A pod that was refused may fit when a pod goes, or a node comes.
static INTERESTS: [berth_interest_v1; 2] = [
    berth_interest_v1 { resource: BERTH_KIND_POD, actions: BERTH_ACTION_DELETE, flags: 0, hinted: 0 },
    berth_interest_v1 { resource: BERTH_KIND_NODE, actions: BERTH_ACTION_ADD, flags: 0, hinted: 0 },
];
static REQUEUE: berth_requeue_ops_v1 = berth_requeue_ops_v1 {
    struct_size: size_of::<berth_requeue_ops_v1>() as u32,
    interest_count: INTERESTS.len() as u32,
    interests: &INTERESTS as *const berth_interest_v1,
    hint: None,
};

static POINTS: [berth_point_v1; 3] = [
    berth_point_v1 { id: c_text!("berth.filter/1"), ops: &FILTER as *const berth_filter_ops_v1 as *const c_void },
    berth_point_v1 { id: c_text!("berth.score/1"), ops: &SCORE as *const berth_score_ops_v1 as *const c_void },
    berth_point_v1 { id: c_text!("berth.requeue/1"), ops: &REQUEUE as *const berth_requeue_ops_v1 as *const c_void },
];
static REASONS: [berth_reason_text_v1; 2] = [
    berth_reason_text_v1 { text: c_text!(""), code: c_text!("") },
    berth_reason_text_v1 { text: c_text!("node(s) had as many pods as they should"), code: c_text!("Crowded") },
];
static PLUGIN: berth_plugin_v1 = berth_plugin_v1 {
    struct_size: size_of::<berth_plugin_v1>() as u32,
    flags: 0,
    name: c_text!("example.com/PodDensity"),
    version: c_text!("1.0.0"),
    summary: c_text!("Keeps nodes from being crowded with pods."),
    args_schema: c_text!(
        r#"{"type": "object", "additionalProperties": false, "properties": {
            "maxPods": {"type": "integer", "minimum": 1, "maximum": 10000, "default": 50,
                        "description": "pods on a node that get no company"}}}"#
    ),
    points: &POINTS as *const berth_point_v1,
    reasons: &REASONS as *const berth_reason_text_v1,
    services: std::ptr::null(),
    point_count: POINTS.len() as u32,
    reason_count: REASONS.len() as u32,
    service_count: 0,
    deps: BERTH_DEP_NODE_USAGE,
    create: Some(create),
    destroy: Some(destroy),
};

static PLUGINS: PluginList<1> = PluginList([&PLUGIN]);
static LIBRARY: berth_library_v1 = berth_library_v1 {
    struct_size: size_of::<berth_library_v1>() as u32,
    abi_minor_built: BERTH_ABI_MINOR as u16,
    abi_minor_required: MINOR_REQUIRED,
    plugin_count: 1,
    reserved: 0,
    plugins: &PLUGINS.0 as *const *const berth_plugin_v1,
};

/// The only symbol that the file exports.
#[no_mangle]
pub extern "C" fn berth_library_entry_v1() -> *const berth_library_v1 {
    &LIBRARY
}

const NOTE_TEXT: &[u8] = b"plugin=example.com/PodDensity\0version=1.0.0\0points=berth.filter/1\0points=berth.score/1\0\
    points=berth.requeue/1\0sdk=1.0.0\0compiler=rustc\0isa=baseline\0";
#[used]
#[link_section = ".note.berth"]
static ELF_NOTE: ElfNote<{ note_size(NOTE_TEXT) }> = ElfNote::new(NOTE_TEXT, MINOR_REQUIRED);

#[cfg(test)]
mod tests;
