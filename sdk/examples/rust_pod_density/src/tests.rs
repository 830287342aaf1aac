// SPDX-License-Identifier: Apache-2.0
//! The policy, and the layout of abi.rs against what a C compiler makes of berth/plugin.h.

use super::*;
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::ptr::addr_of;

#[test]
fn refuses_nodes_that_have_as_many_pods_as_they_should() {
    let policy = PodDensity { pods: 0, max_pods: 4 };
    assert!(!policy.is_full(3));
    assert!(policy.is_full(4));
    assert!(policy.is_full(5));
}

#[test]
fn scores_nodes_with_fewer_pods_higher() {
    let policy = PodDensity { pods: 0, max_pods: 4 };
    assert_eq!([0, 1, 3, 4, 9].map(|pods| policy.score(pods)), [100, 75, 25, 0, 0]);
}

#[test]
fn reads_the_one_integer_of_its_args() {
    assert_eq!(max_pods_of("{\"maxPods\":7}"), Some(7));
    assert_eq!(max_pods_of("{\"maxPods\":0}"), None);
    assert_eq!(max_pods_of(""), None);
}

#[test]
fn says_a_panic_as_an_error_with_its_text_cut_to_the_buffer() {
    let mut buffer = [0u8; 8];
    let mut note = abi::Note {
        struct_size: size_of::<abi::Note>() as u32,
        reason: 0,
        text: buffer.as_mut_ptr() as *mut c_char,
        text_cap: 8,
        text_len: 0,
    };
    let code = unsafe { guarded(&mut note, || panic!("out of {}", "luck today")) };
    assert_eq!((code, note.text_len, &buffer), (ERROR, 17, b"out of l"));
}

#[test]
fn a_block_is_filtered_row_by_row() {
    let policy = PodDensity { pods: 0, max_pods: 2 };
    let pods: Vec<i64> = (0..70).map(|row| row % 3).collect();
    let columns = [pods.as_ptr() as *const c_void];
    let candidates = [u64::MAX, 63];
    let (mut pass, mut unresolvable, mut reasons) = (candidates, [0u64; 2], [0u32; 128]);
    let block = NodeBlock {
        struct_size: size_of::<NodeBlock>() as u32,
        rows: 70,
        first_slot: 0,
        column_count: 1,
        slots: std::ptr::null(),
        candidates: candidates.as_ptr(),
        columns: columns.as_ptr(),
    };
    let mut out = FilterOut {
        struct_size: size_of::<FilterOut>() as u32,
        flags: 0,
        pass: pass.as_mut_ptr(),
        unresolvable: unresolvable.as_mut_ptr(),
        reasons: reasons.as_mut_ptr(),
        ctx: std::ptr::null_mut(),
        fail_row: None,
        add_detail: None,
        pending: std::ptr::null_mut(),
    };
    let mut cycle: Cycle = unsafe { std::mem::zeroed() };
    cycle.flags = CYCLE_WANT_REASONS;
    let this = &policy as *const PodDensity as *mut c_void;
    assert_eq!(unsafe { filter(this, &cycle, &block, &mut out, std::ptr::null_mut()) }, OK);
    for row in 0..70 {
        let passes = pass[row / 64] >> (row % 64) & 1 != 0;
        assert_eq!((passes, reasons[row]), (pods[row] < 2, u32::from(pods[row] >= 2)), "row {}", row);
    }
    assert_eq!(unresolvable, [0, 0]);
}

/// layout.c
#[repr(C)]
struct FieldLayout {
    name: *const c_char,
    offset: u64,
}
extern "C" {
    static berth_layout: [FieldLayout; 0];
    static berth_layout_count: u64;
}

/// (name as in the header, offset as in abi.rs) of each field.
macro_rules! fields {
    ($($c:literal $rust:ident { $($field:ident)* })*) => {{
        let mut all = Vec::new();
        $({
            let value = MaybeUninit::<abi::$rust>::uninit();
            let base = value.as_ptr();
            $(all.push((
                format!("{}.{}", $c, stringify!($field)),
                unsafe { addr_of!((*base).$field) as u64 - base as u64 },
            ));)*
            all.push((format!("{}.", $c), size_of::<abi::$rust>() as u64));
        })*
        all
    }};
}

#[test]
fn every_field_lies_where_the_header_has_it() {
    let ours = fields! {
        "berth_str" Str { ptr len }
        "berth_note_v1" Note { struct_size reason text text_cap text_len }
        "berth_host_v1" Host { struct_size abi_minor data_model ctx product service score_max }
        "berth_binder_v1" Binder { struct_size reserved ctx column request pod_fields pod_label }
        "berth_point_v1" Point { id ops }
        "berth_reason_text_v1" ReasonText { text code }
        "berth_plugin_v1" Plugin { struct_size flags name version summary args_schema points reasons services
                                   point_count reason_count service_count deps create destroy }
        "berth_library_v1" Library { struct_size abi_minor_built abi_minor_required plugin_count reserved plugins }
        "berth_cycle_v1" Cycle { struct_size flags cycle_id deadline_ns pod_class pod state nodes word_count node_count
                                 slot_count }
        "berth_node_block_v1" NodeBlock { struct_size rows first_slot column_count slots candidates columns }
        "berth_filter_out_v1" FilterOut { struct_size flags pass unresolvable reasons ctx fail_row add_detail
                                         pending }
        "berth_filter_ops_v1" FilterOps { struct_size flags filter budget_ns deps reserved }
        "berth_score_ops_v1" ScoreOps { struct_size normalize_kind score normalize deps reserved }
        "berth_interest_v1" Interest { resource actions flags hinted }
        "berth_requeue_ops_v1" RequeueOps { struct_size interest_count interests hint }
    };
    let header = unsafe {
        std::slice::from_raw_parts(&berth_layout as *const _ as *const FieldLayout, berth_layout_count as usize)
    };
    let header: Vec<(String, u64)> = header
        .iter()
        .map(|field| (unsafe { CStr::from_ptr(field.name) }.to_str().unwrap().to_string(), field.offset))
        .collect();
    assert_eq!(ours, header);
}
