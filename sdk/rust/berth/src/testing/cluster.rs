// SPDX-License-Identifier: Apache-2.0
//! Pods on the nodes of an attempt: berth.pods/1 with its journal, berth.dry_run/1, berth.preemption/1 and berth.groups/1.
use super::*;
use std::sync::Arc;

/// What an attempt sees. The functions of the tables find it by the number of the attempt.
pub(super) struct Cluster {
    pub(super) pod: Pod,
    pub(super) nodes: Vec<Node>,
    pub(super) nominated: Vec<(u32, Pod)>,
}
/// A pod that came, or went.
#[derive(Clone)]
pub(super) struct Change {
    pub(super) by: i32,
    pub(super) node: u32,
    pub(super) pod: Pod,
}
/// The pods of all nodes, by slot.
fn placed(nodes: &[Node]) -> Vec<(u32, Pod)> {
    (0..).zip(nodes).flat_map(|(slot, node)| node.placed.iter().map(move |pod| (slot, pod.clone()))).collect()
}
impl Memory {
    /// What has come and gone since the attempt before, and the number of the new one.
    pub(super) fn begin(&mut self, cluster: Cluster) -> u64 {
        let now = placed(&cluster.nodes);
        for (by, from, to) in [(-1, &self.placed, &now), (1, &now, &self.placed)] {
            for (node, pod) in from.iter().filter(|each| !to.contains(each)) {
                self.changes.push(Change { by, node: *node, pod: pod.clone() });
            }
        }
        self.placed = now;
        self.attempts += 1;
        self.clusters.insert(self.attempts, Arc::new(cluster));
        self.attempts
    }
}
impl Cluster {
    fn fits(&self, slot: u32, gone: &[&str]) -> u32 {
        let node = match self.nodes.get(slot as usize) {
            Some(node) if gone.iter().all(|uid| node.placed.iter().any(|pod| pod.uid == *uid)) => node,
            _ => return sys::BERTH_NOT_FOUND,
        };
        let amount = |kind, name: &String| node.amounts.get(&(kind, name.clone())).copied().unwrap_or(0);
        let freed = |name: &String| -> i64 {
            let of = |pod: &Pod| pod.requests.iter().filter(|(each, _)| each == name).map(|(_, amount)| amount).sum::<i64>();
            node.placed.iter().filter(|pod| gone.contains(&pod.uid.as_str())).map(of).sum()
        };
        let mut code = sys::BERTH_OK;
        for (name, wanted) in self.pod.requests.iter().filter(|(_, wanted)| *wanted > 0) {
            if amount(sys::BERTH_COL_ALLOCATABLE, name) < *wanted {
                return sys::BERTH_UNRESOLVABLE;
            }
            if amount(sys::BERTH_COL_FREE, name) + freed(name) < *wanted {
                code = sys::BERTH_UNSCHEDULABLE;
            }
        }
        code
    }
}
unsafe fn cluster(ctx: *mut c_void, cycle: *const sys::berth_cycle_v1) -> Option<Arc<Cluster>> {
    host(ctx).memory().clusters.get(&(*cycle).cycle_id).cloned()
}

// --- berth.pods/1 ---

type Visit = Option<unsafe extern "C" fn(*mut c_void, *const sys::berth_placed_pod_v1) -> u32>;
/// False: the visitor has had enough. No lock is held: it may call the host.
unsafe fn visit_placed(ctx: *mut c_void, change: &Change, node_name: &str, visit: Visit, arg: *mut c_void) -> bool {
    let mut shown = ShownPod::new(host(ctx), &change.pod, crate::pod::SHOWN_PLACED);
    shown.raw.node_name = if node_name.is_empty() { 0 } else { host(ctx).memory().id(node_name) };
    let placed = sys::berth_placed_pod_v1 {
        struct_size: size::<sys::berth_placed_pod_v1>(),
        flags: if change.pod.is_terminating { sys::BERTH_PLACED_TERMINATING } else { 0 },
        node: change.node,
        by: change.by,
        pod: &shown.raw,
    };
    visit.map_or(false, |visit| visit(arg, &placed) != 0)
}
unsafe extern "C" fn on_node(ctx: *mut c_void, cycle: *const sys::berth_cycle_v1, slot: u32, visit: Visit, arg: *mut c_void) {
    if let Some(cluster) = cluster(ctx, cycle) {
        let all = placed(&cluster.nodes).into_iter().filter(|&(node, _)| slot == sys::BERTH_NO_SLOT || node == slot);
        for (node, pod) in all {
            if !visit_placed(ctx, &Change { by: 1, node, pod }, &cluster.nodes[node as usize].name, visit, arg) {
                return;
            }
        }
    }
}
unsafe extern "C" fn each(ctx: *mut c_void, cycle: *const sys::berth_cycle_v1, visit: Visit, arg: *mut c_void) {
    on_node(ctx, cycle, sys::BERTH_NO_SLOT, visit, arg);
}
unsafe extern "C" fn nominated(ctx: *mut c_void, cycle: *const sys::berth_cycle_v1, slot: u32, visit: Visit, arg: *mut c_void) {
    if let Some(cluster) = cluster(ctx, cycle) {
        for (node, pod) in cluster.nominated.iter().filter(|(node, _)| slot == sys::BERTH_NO_SLOT || *node == slot) {
            if !visit_placed(ctx, &Change { by: 1, node: *node, pod: pod.clone() }, "", visit, arg) {
                return;
            }
        }
    }
}
unsafe extern "C" fn position(ctx: *mut c_void, _: *const sys::berth_cycle_v1) -> u64 {
    let memory = host(ctx).memory();
    memory.forgotten + memory.changes.len() as u64 + 1
}
unsafe extern "C" fn changes(ctx: *mut c_void, _: *const sys::berth_cycle_v1, since: u64, visit: Visit, arg: *mut c_void) -> u32 {
    let (forgotten, changes) = {
        let memory = host(ctx).memory();
        (memory.forgotten, memory.changes.clone())
    };
    if since <= forgotten {
        return 0;
    }
    for change in changes.iter().skip((since - forgotten - 1) as usize) {
        if !visit_placed(ctx, change, "", visit, arg) {
            return 0;
        }
    }
    1
}
pub(super) static PODS: sys::berth_pods_v1 = sys::berth_pods_v1 {
    struct_size: size::<sys::berth_pods_v1>(),
    reserved: 0,
    on_node: Some(on_node),
    each: Some(each),
    nominated: Some(nominated),
    position: Some(position),
    changes: Some(changes),
};

// --- berth.dry_run/1 ---

type VisitPod = Option<unsafe extern "C" fn(*mut c_void, *const sys::berth_pod_v1) -> u32>;
unsafe extern "C" fn pods_on(ctx: *mut c_void, cycle: *const sys::berth_cycle_v1, slot: u32, visit: VisitPod, arg: *mut c_void) {
    let cluster = cluster(ctx, cycle);
    let also = crate::pod::SHOWN_TO_QUEUE | u64::from(sys::BERTH_POD_PRIORITY);
    for pod in cluster.iter().filter_map(|cluster| cluster.nodes.get(slot as usize)).flat_map(|node| &node.placed) {
        let shown = ShownPod::new(host(ctx), pod, also);
        if visit.map_or(true, |visit| visit(arg, &shown.raw) == 0) {
            return;
        }
    }
}
unsafe extern "C" fn fits_without(
    ctx: *mut c_void,
    cycle: *const sys::berth_cycle_v1,
    slot: u32,
    removed: *const sys::berth_str,
    count: u32,
    _: *mut sys::berth_note_v1,
) -> u32 {
    let gone: Vec<&str> = crate::abi::slice(removed, u64::from(count)).iter().map(|&uid| text(uid)).collect();
    cluster(ctx, cycle).map_or(sys::BERTH_DENIED, |cluster| cluster.fits(slot, &gone))
}
pub(super) static DRY_RUN: sys::berth_dry_run_v1 = sys::berth_dry_run_v1 {
    struct_size: size::<sys::berth_dry_run_v1>(),
    reserved: 0,
    pods_on: Some(pods_on),
    fits_without: Some(fits_without),
};

// --- berth.preemption/1 ---

fn victim(node: u32, position: usize, pod: &Pod) -> sys::berth_victim_v1 {
    sys::berth_victim_v1 {
        start_ns: pod.start_ns.unwrap_or(i64::MAX),
        priority: pod.priority as i32,
        flags: if pod.is_terminating { sys::BERTH_VICTIM_TERMINATING } else { 0 },
        position: position as u32,
        node,
    }
}
unsafe extern "C" fn preemptor(ctx: *mut c_void, cycle: *const sys::berth_cycle_v1, out: *mut sys::berth_preemptor_v1) {
    if let Some(cluster) = cluster(ctx, cycle) {
        (*out).priority = cluster.pod.priority;
        (*out).never = u32::from(cluster.pod.never_preempts);
        let of_it = cluster.nominated.iter().find(|(_, pod)| !pod.uid.is_empty() && pod.uid == cluster.pod.uid);
        (*out).nominated_given = u32::from(of_it.is_some());
        (*out).nominated = of_it.map_or(sys::BERTH_NO_SLOT, |(node, _)| *node);
    }
}
unsafe extern "C" fn victims_on(
    ctx: *mut c_void,
    cycle: *const sys::berth_cycle_v1,
    slot: u32,
    visit: Option<unsafe extern "C" fn(*mut c_void, *const sys::berth_victim_v1) -> u32>,
    arg: *mut c_void,
) {
    let cluster = cluster(ctx, cycle);
    let pods = cluster.iter().filter_map(|cluster| cluster.nodes.get(slot as usize)).flat_map(|node| &node.placed);
    for (position, pod) in pods.enumerate() {
        if visit.map_or(true, |visit| visit(arg, &victim(slot, position, pod)) == 0) {
            return;
        }
    }
}
/// One node: whom it would cost, the most important first, and its rank. None: evictions do not help.
unsafe fn candidate(
    ctx: *mut c_void,
    cluster: &Cluster,
    slot: u32,
    request: &sys::berth_preemption_request_v1,
    this: *mut c_void,
) -> Option<(Vec<u64>, Vec<Pod>)> {
    let policy = &*request.policy;
    let mut pods = Vec::new();
    for (position, pod) in cluster.nodes.get(slot as usize)?.placed.iter().enumerate() {
        let goes = || match request.may_go {
            Some(may_go) => may_go(request.may_go_arg, &ShownPod::new(host(ctx), pod, crate::pod::SHOWN_PLACED).raw, slot) != 0,
            None => true,
        };
        if pod.priority < request.below_priority && goes() {
            let (seen, mut key) = (victim(slot, position, pod), [0; 2]);
            (policy.importance?)(this, &seen, 1, key.as_mut_ptr());
            pods.push((key, seen, pod.clone()));
        }
    }
    pods.sort_by_key(|(key, _, _)| *key); // stable
    let uids = |evicted: &[u8]| -> Vec<&str> {
        pods.iter().zip(evicted).filter(|(_, &goes)| goes != 0).map(|((_, _, pod), _)| pod.uid.as_str()).collect()
    };
    let mut evicted = vec![1u8; pods.len()];
    if pods.is_empty() || cluster.fits(slot, &uids(&evicted)) != sys::BERTH_OK {
        return None;
    }
    for i in 0..pods.len() {
        evicted[i] = 0;
        if cluster.fits(slot, &uids(&evicted)) != sys::BERTH_OK {
            evicted[i] = 1;
        }
    }
    let seen: Vec<_> = pods.iter().map(|(_, seen, _)| *seen).collect();
    let raw = sys::berth_victims_v1 { pods: seen.as_ptr(), evicted: evicted.as_ptr(), count: pods.len() as u32, violations: 0 };
    let mut rank = vec![0; policy.rank_words as usize];
    (policy.rank?)(this, &raw, 1, rank.as_mut_ptr());
    Some((rank, pods.iter().zip(&evicted).filter(|(_, &goes)| goes != 0).map(|((_, _, pod), _)| pod.clone()).collect()))
}
unsafe extern "C" fn search(
    ctx: *mut c_void,
    cycle: *const sys::berth_cycle_v1,
    request: *const sys::berth_preemption_request_v1,
    this: *mut c_void,
    result: *mut sys::berth_preemption_result_v1,
    _: *mut sys::berth_note_v1,
) -> u32 {
    let cluster = match cluster(ctx, cycle) {
        Some(cluster) => cluster,
        None => return sys::BERTH_DENIED,
    };
    let (request, result) = (&*request, &mut *result);
    let nodes = crate::abi::slice(request.nodes, request.word_count);
    let mut best: Option<(Vec<u64>, Vec<Pod>)> = None;
    for slot in (0..cluster.nodes.len() as u32).filter(|&slot| nodes[slot as usize / 64] >> (slot % 64) & 1 != 0) {
        if let Some(found) = candidate(ctx, &cluster, slot, request, this) {
            result.candidates += 1;
            if best.as_ref().map_or(true, |best| found.0 < best.0) {
                result.node = slot;
                best = Some(found);
            }
        }
    }
    let victims = best.map(|(_, victims)| victims).unwrap_or_default();
    result.victim_count = victims.len() as u32;
    host(ctx).memory().victims = (result.node, victims);
    if result.node != sys::BERTH_NO_SLOT {
        return sys::BERTH_OK;
    }
    let said = format!("{}{}", text(request.prefix), text(request.no_victims));
    result.explanation = make_reason(ctx, &borrow(&said), 1);
    sys::BERTH_UNSCHEDULABLE
}
unsafe extern "C" fn victims(
    ctx: *mut c_void,
    _: *const sys::berth_cycle_v1,
    visit: Option<unsafe extern "C" fn(*mut c_void, sys::berth_str)>,
    arg: *mut c_void,
) {
    let victims = host(ctx).memory().victims.1.clone();
    if let Some(visit) = visit {
        victims.iter().for_each(|pod| visit(arg, borrow(&pod.uid)));
    }
}
unsafe extern "C" fn chosen(
    ctx: *mut c_void,
    cycle: *const sys::berth_cycle_v1,
    visit: Option<unsafe extern "C" fn(*mut c_void, *const sys::berth_victim_v1, *const sys::berth_pod_v1)>,
    arg: *mut c_void,
) {
    let (node, victims) = host(ctx).memory().victims.clone();
    if let (Some(visit), Some(cluster)) = (visit, cluster(ctx, cycle)) {
        for pod in &victims {
            let position = cluster.nodes[node as usize].placed.iter().position(|each| each == pod).unwrap_or(0);
            visit(arg, &victim(node, position, pod), &ShownPod::new(host(ctx), pod, crate::pod::SHOWN_PLACED).raw);
        }
    }
}
unsafe extern "C" fn evicting(ctx: *mut c_void, uid: sys::berth_str) -> u32 {
    u32::from(host(ctx).memory().evicting.iter().any(|each| each == text(uid)))
}
unsafe extern "C" fn show(
    ctx: *mut c_void,
    cycle: *const sys::berth_cycle_v1,
    of: *const sys::berth_victim_v1,
    look: Option<unsafe extern "C" fn(*mut c_void, *const sys::berth_pod_v1)>,
    arg: *mut c_void,
) -> u32 {
    let cluster = cluster(ctx, cycle);
    let node = cluster.as_ref().and_then(|cluster| cluster.nodes.get((*of).node as usize));
    match (node.and_then(|node| node.placed.get((*of).position as usize)), look) {
        (Some(pod), Some(look)) => {
            look(arg, &ShownPod::new(host(ctx), pod, crate::pod::SHOWN_PLACED).raw);
            sys::BERTH_OK
        }
        _ => sys::BERTH_NOT_FOUND,
    }
}
pub(super) static PREEMPTION: sys::berth_preemption_v1 = sys::berth_preemption_v1 {
    struct_size: size::<sys::berth_preemption_v1>(),
    reserved: 0,
    preemptor: Some(preemptor),
    pods_on: Some(victims_on),
    search: Some(search),
    victims: Some(victims),
    evicting: Some(evicting),
    show: Some(show),
    chosen: Some(chosen),
};

// --- berth.groups/1 ---

unsafe fn members_of(ctx: *mut c_void, namespace: u32, group: sys::berth_str) -> Vec<Pod> {
    let mut memory = host(ctx).memory();
    let pods = memory.members.clone();
    pods.into_iter().filter(|pod| pod.group == text(group) && memory.id(&pod.namespace) == namespace).collect()
}
unsafe extern "C" fn count(ctx: *mut c_void, namespace: u32, group: sys::berth_str, out: *mut sys::berth_group_count_v1) {
    (*out).all = members_of(ctx, namespace, group).len() as u32;
    (*out).ready = (*out).all;
}
unsafe extern "C" fn members(ctx: *mut c_void, namespace: u32, group: sys::berth_str, visit: VisitPod, arg: *mut c_void) {
    for pod in members_of(ctx, namespace, group) {
        let shown = ShownPod::new(host(ctx), &pod, crate::pod::SHOWN_TO_QUEUE);
        if visit.map_or(true, |visit| visit(arg, &shown.raw) == 0) {
            return;
        }
    }
}
unsafe extern "C" fn planned(_: *mut c_void, group: *mut sys::berth_str) {
    *group = borrow("");
}
pub(super) static GROUPS: sys::berth_groups_v1 = sys::berth_groups_v1 {
    struct_size: size::<sys::berth_groups_v1>(),
    reserved: 0,
    count: Some(count),
    members: Some(members),
    planned: Some(planned),
};

/// What became of a nomination.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Nominates {
    /// What an earlier attempt nominated stays.
    Nothing,
    /// It is taken away.
    Clears,
    /// The node of that name.
    Node(String),
}
/// What a post_filter did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostFiltered {
    /// Its verdict.
    pub said: Said,
    /// The node that the pod is to come to.
    pub nominates: Nominates,
    /// Uids of the pods that have to go from it.
    pub victims: Vec<String>,
}
impl Attempt<'_> {
    /// No node suits: those that the policy's own filter rejects as unresolvable, or every node where it has none, as unschedulable.
    pub fn post_filter(&mut self) -> PostFiltered {
        unsafe extern "C" fn add_victim(ctx: *mut c_void, uid: sys::berth_str) {
            (*(ctx as *const RefCell<Vec<String>>)).borrow_mut().push(text(uid).to_string());
        }
        let mut bits = vec![[0u64; 2]; self.candidates.len()];
        let answers = match self.policy.ops::<sys::berth_filter_ops_v1>("berth.filter/1") {
            Some(_) => self.filter().expect("the filter fails"),
            None => vec![Answer::Unschedulable(String::new()); self.rows],
        };
        for (row, answer) in answers.iter().enumerate() {
            bits[row / 64][usize::from(matches!(answer, Answer::Unresolvable(_)))] |= 1 << (row % 64);
        }
        let (unschedulable, unresolvable): (Vec<u64>, Vec<u64>) = bits.iter().map(|&[first, second]| (first, second)).unzip();
        let ops = self.policy.ops::<sys::berth_post_filter_ops_v1>("berth.post_filter/1").and_then(|ops| ops.post_filter);
        let call = ops.expect("the policy has no post_filter");
        let input = sys::berth_post_filter_in_v1 {
            struct_size: size::<sys::berth_post_filter_in_v1>(),
            reserved: 0,
            unschedulable: unschedulable.as_ptr(),
            unresolvable: unresolvable.as_ptr(),
            word_count: unschedulable.len() as u64,
        };
        let victims: RefCell<Vec<String>> = RefCell::default();
        let mut out = sys::berth_post_filter_out_v1 {
            struct_size: size::<sys::berth_post_filter_out_v1>(),
            nominate: sys::BERTH_NOMINATE_KEEP,
            node: 0,
            reserved: 0,
            victims_ctx: &victims as *const _ as *mut c_void,
            add_victim: Some(add_victim),
        };
        let mut note = Note::new();
        let code = unsafe { call(self.policy.this, &mut self.cycle, &input, &mut out, &mut note.raw) };
        let nominates = match out.nominate {
            sys::BERTH_NOMINATE_SET => Nominates::Node(self.names[out.node as usize].clone()),
            sys::BERTH_NOMINATE_CLEAR => Nominates::Clears,
            _ => Nominates::Nothing,
        };
        PostFiltered { said: self.policy.said(code, &note), nominates, victims: victims.into_inner() }
    }
}
