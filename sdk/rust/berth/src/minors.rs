// SPDX-License-Identifier: Apache-2.0
//! Which minor of the ABI brought what a plugin may use. What is newer than the headers of this crate counts as of their minor. 1.0
//! has all that is listed here; a later minor adds its own with the headers (sdk/cpp/berth/minors.hpp has the same tables).
use berth_sys as sys;

const NEWEST: u16 = sys::BERTH_ABI_MINOR as u16;

pub const fn of_column(kind: u32) -> u16 {
    if kind <= sys::BERTH_COL_HAS_STATUS_CAPACITY { 0 } else { NEWEST }
}
pub const fn of_pod_groups(groups: u64) -> u16 {
    let first = ((sys::BERTH_POD_QOS as u64) << 1) - 1 | sys::BERTH_POD_JSON as u64;
    if groups & !first == 0 { 0 } else { NEWEST }
}
pub const fn of_deps(deps: u32) -> u16 {
    if deps == u32::MAX || deps < sys::BERTH_DEP_ANNOUNCED << 1 { 0 } else { NEWEST }
}
pub const fn of_kind(kind: u32) -> u16 {
    if kind <= sys::BERTH_KIND_UNSCHEDULABLE_POD || kind >= sys::BERTH_KIND_ANY { 0 } else { NEWEST }
}
const FIRST_IDS: &[&str] = &[
    "berth.queue/1", "berth.prepare/1", "berth.filter/1", "berth.post_filter/1", "berth.score/1", "berth.reserve/1", "berth.permit/1",
    "berth.bind/1", "berth.requeue/1", "berth.groups/1", "berth.log/1", "berth.metrics/1", "berth.events/1", "berth.clock/1",
    "berth.intern/1", "berth.reasons/1", "berth.cycle/1", "berth.executor/1", "berth.queue_control/1", "berth.epoch/1", "berth.sets/1",
    "berth.labels/1", "berth.objects/1", "berth.waiting/1", "berth.nodes/1", "berth.dry_run/1", "berth.assume/1", "berth.writes/1",
    "berth.pod_index/1", "berth.preemption/1", "berth.node_order/1", "berth.pods/1", "berth.object_writes/1", "berth.shared/1",
    "berth.debug_pages/1", "berth.gates/1", "berth.domains/1",
];
/// The first `length` bytes of b are a.
const fn is_same(a: &[u8], b: &[u8], length: usize) -> bool {
    if a.len() != length {
        return false;
    }
    let mut i = 0;
    while i < length {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}
/// Of an extension point or a service.
pub const fn of_id(id: &str) -> u16 {
    of_bytes(id.as_bytes(), id.len())
}
/// The same for an id that ends with NUL.
pub const fn of_id_with_nul(id: &str) -> u16 {
    of_bytes(id.as_bytes(), id.len() - 1)
}
const fn of_bytes(id: &[u8], length: usize) -> u16 {
    let mut i = 0;
    while i < FIRST_IDS.len() {
        if is_same(FIRST_IDS[i].as_bytes(), id, length) {
            return 0;
        }
        i += 1;
    }
    NEWEST
}
