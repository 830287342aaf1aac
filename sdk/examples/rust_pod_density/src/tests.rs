// SPDX-License-Identifier: Apache-2.0
//! The policy, called as berth calls it.

use super::*;

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
    let mut note = berth_note_v1 {
        struct_size: size_of::<berth_note_v1>() as u32,
        reason: 0,
        text: buffer.as_mut_ptr() as *mut c_char,
        text_cap: 8,
        text_len: 0,
    };
    let code = unsafe { guarded(&mut note, || panic!("out of {}", "luck today")) };
    assert_eq!((code, note.text_len, &buffer), (BERTH_ERROR, 17, b"out of l"));
}

#[test]
fn a_block_is_filtered_row_by_row() {
    let policy = PodDensity { pods: 0, max_pods: 2 };
    let pods: Vec<i64> = (0..70).map(|row| row % 3).collect();
    let columns = [pods.as_ptr() as *const c_void];
    let candidates = [u64::MAX, 63];
    let (mut pass, mut unresolvable, mut reasons) = (candidates, [0u64; 2], [0u32; 128]);
    let block = berth_node_block_v1 {
        struct_size: size_of::<berth_node_block_v1>() as u32,
        rows: 70,
        first_slot: 0,
        column_count: 1,
        slots: std::ptr::null(),
        candidates: candidates.as_ptr(),
        columns: columns.as_ptr(),
    };
    let mut out = berth_filter_out_v1 {
        struct_size: size_of::<berth_filter_out_v1>() as u32,
        flags: 0,
        pass: pass.as_mut_ptr(),
        unresolvable: unresolvable.as_mut_ptr(),
        reasons: reasons.as_mut_ptr(),
        ctx: std::ptr::null_mut(),
        fail_row: None,
        add_detail: None,
        pending: std::ptr::null_mut(),
    };
    let mut cycle: berth_cycle_v1 = unsafe { std::mem::zeroed() };
    cycle.flags = BERTH_CYCLE_WANT_REASONS;
    let this = &policy as *const PodDensity as *mut c_void;
    assert_eq!(unsafe { filter(this, &cycle, &block, &mut out, std::ptr::null_mut()) }, BERTH_OK);
    for row in 0..70 {
        let passes = pass[row / 64] >> (row % 64) & 1 != 0;
        assert_eq!((passes, reasons[row]), (pods[row] < 2, u32::from(pods[row] >= 2)), "row {}", row);
    }
    assert_eq!(unresolvable, [0, 0]);
}
