// SPDX-License-Identifier: Apache-2.0
//! Pods by their labels, and what a policy asks for about pods and objects without an answer: berth.pod_index/1, berth.queue_control/1 and
//! patch_object of berth.writes/1.
use super::*;

/// Pods of one namespace with the same labels, and where they are.
struct Shape {
    namespace: u32,
    labels: Vec<sys::berth_label_v1>,
    nodes: Vec<sys::berth_shape_node_v1>,
}
/// The number of a shape is its place.
unsafe fn shapes(ctx: *mut c_void, cycle: *const sys::berth_cycle_v1) -> Vec<Shape> {
    let mut memory = host(ctx).memory();
    let nodes = memory.clusters.get(&(*cycle).cycle_id).map_or(Vec::new(), |cluster| cluster.nodes.clone());
    let mut shapes: Vec<Shape> = Vec::new();
    for (slot, node) in (0..).zip(&nodes) {
        for pod in &node.placed {
            let namespace = memory.id(&pod.namespace);
            let mut labels: Vec<(u32, u32)> = pod.labels.iter().map(|(key, value)| (memory.id(key), memory.id(value))).collect();
            labels.sort_unstable();
            let is_it = |shape: &Shape| {
                shape.namespace == namespace && shape.labels.iter().map(|label| (label.key, label.value)).eq(labels.iter().copied())
            };
            let at = shapes.iter().position(is_it).unwrap_or_else(|| {
                let labels = labels.iter().map(|&(key, value)| sys::berth_label_v1 { key, value }).collect();
                shapes.push(Shape { namespace, labels, nodes: Vec::new() });
                shapes.len() - 1
            });
            match shapes[at].nodes.iter_mut().find(|node| node.slot == slot) {
                Some(node) => node.count += 1,
                None => shapes[at].nodes.push(sys::berth_shape_node_v1 { slot, count: 1 }),
            }
        }
    }
    shapes
}
type Visit = Option<unsafe extern "C" fn(*mut c_void, *const sys::berth_shape_v1) -> u32>;
unsafe fn show(number: usize, shape: &Shape, visit: Visit, arg: *mut c_void) -> bool {
    let raw = sys::berth_shape_v1 {
        struct_size: size::<sys::berth_shape_v1>(),
        flags: 0,
        shape: number as u32,
        ns: shape.namespace,
        labels: shape.labels.as_ptr(),
        affinity: std::ptr::null(),
        nodes: shape.nodes.as_ptr(),
        label_count: shape.labels.len() as u32,
        node_count: shape.nodes.len() as u32,
        incarnation: number as u64 + 1,
    };
    visit.map_or(false, |visit| visit(arg, &raw) != 0)
}
unsafe extern "C" fn each(ctx: *mut c_void, cycle: *const sys::berth_cycle_v1, which: u32, namespace: u32, visit: Visit, arg: *mut c_void) {
    if which != sys::BERTH_SHAPES_ALL {
        return; // no pod here has affinity
    }
    for (number, shape) in shapes(ctx, cycle).iter().enumerate().filter(|(_, shape)| namespace == 0 || shape.namespace == namespace) {
        if !show(number, shape, visit, arg) {
            return;
        }
    }
}
unsafe extern "C" fn count(ctx: *mut c_void, cycle: *const sys::berth_cycle_v1, which: u32) -> u32 {
    if which == sys::BERTH_SHAPES_ALL { shapes(ctx, cycle).len() as u32 } else { 0 }
}
unsafe extern "C" fn shape(ctx: *mut c_void, cycle: *const sys::berth_cycle_v1, number: u32, visit: Visit, arg: *mut c_void) -> u32 {
    match shapes(ctx, cycle).get(number as usize) {
        Some(shape) => {
            show(number as usize, shape, visit, arg);
            1
        }
        None => 0,
    }
}
pub(super) static POD_INDEX: sys::berth_pod_index_v1 = sys::berth_pod_index_v1 {
    struct_size: size::<sys::berth_pod_index_v1>(),
    reserved: 0,
    each: Some(each),
    count: Some(count),
    position: None,
    changes: None,
    shape: Some(shape),
};

// --- berth.queue_control/1 and berth.writes/1 ---

unsafe extern "C" fn activate(ctx: *mut c_void, uid: sys::berth_str) -> u32 {
    host(ctx).memory().log.push(format!("activate {}", text(uid)));
    sys::BERTH_OK
}
unsafe extern "C" fn activate_class(ctx: *mut c_void, class: u64) -> u32 {
    host(ctx).memory().log.push(format!("activate class {}", class));
    sys::BERTH_OK
}
pub(super) static QUEUE_CONTROL: sys::berth_queue_control_v1 = sys::berth_queue_control_v1 {
    struct_size: size::<sys::berth_queue_control_v1>(),
    reserved: 0,
    activate: Some(activate),
    activate_class: Some(activate_class),
};
unsafe extern "C" fn patch_object(
    ctx: *mut c_void,
    resource: sys::berth_str,
    ns: sys::berth_str,
    name: sys::berth_str,
    json: sys::berth_str,
    done: sys::berth_write_done_v1,
    arg: *mut c_void,
) -> u32 {
    if text(name).is_empty() {
        return sys::BERTH_BAD_ARGS;
    }
    host(ctx).memory().log.push(format!("patch {} {}/{} {}", text(resource), text(ns), text(name), text(json)));
    if let Some(done) = done {
        done(arg, sys::BERTH_OK, borrow(""));
    }
    sys::BERTH_OK
}
pub(super) static WRITES: sys::berth_writes_v1 = sys::berth_writes_v1 {
    struct_size: size::<sys::berth_writes_v1>(),
    reserved: 0,
    bind: None,
    patch_pod_status: None,
    patch_pod_metadata: None,
    evict: None,
    patch_object: Some(patch_object),
};
