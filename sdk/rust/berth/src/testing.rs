// SPDX-License-Identifier: Apache-2.0
//! A host in memory for tests of a policy: nodes and pods as far as the policy asked for them, called through the same C tables as in
//! berth.
//!
//! ```
//! # use berth::*;
//! # struct Few { pods: Column<i64> }
//! # impl Plugin for Few {
//! #     const NAME: &'static str = "example.com/Few";
//! #     const VERSION: &'static str = "1.0.0";
//! #     const SUMMARY: &'static str = "Few pods on a node.";
//! #     const REASONS: &'static [ReasonText] = &[ReasonText::new("crowded", "Crowded")];
//! #     fn new(setup: &mut Setup<'_>) -> Result<Self, Error> { Ok(Few { pods: setup.pods()? }) }
//! # }
//! # impl Filter for Few {
//! #     fn filter(&self, _: &Cycle<'_>, nodes: &mut FilterBlock<'_>) -> Result<(), Error> {
//! #         let pods = nodes.column(self.pods)?;
//! #         Ok(nodes.reject_where(Rejection::unschedulable(Reason::row(1)), |row| pods[row] > 1))
//! #     }
//! # }
//! use berth::testing::{Answer, Node, Pod, Policy};
//! let policy = Policy::new(berth::describe!(Few), "").unwrap();
//! let mut attempt = policy.attempt(&Pod::default(), &[Node::new("a").pods(1), Node::new("b").pods(2)]);
//! assert_eq!(attempt.filter().unwrap(), [Answer::Passes, Answer::Unschedulable("crowded".into())]);
//! ```
//!
//! It has the services log, intern, clock, executor, epoch, reasons, pods, pod_index, dry_run, preemption, groups, labels, objects, assume, object_writes,
//! shared and debug_pages; of pods names, labels, requests, priority, placement, status and group. What fits on a node is told there by resources
//! alone. For what it does not have, a plugin of any language is tested with the test kit of C++, or with `berth plugin verify` and
//! `berth simulate`.
use crate::abi::{borrow, size, text};
use crate::Descriptor;
use berth_sys as sys;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::ffi::CStr;
use std::os::raw::{c_char, c_void};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

mod cluster;
mod domains;
mod index;
mod objects;
mod requests;
pub use cluster::{Nominates, PostFiltered};

/// A node: what is not said of it is 0 or absent.
#[derive(Debug, Clone, Default)]
pub struct Node {
    name: String,
    amounts: HashMap<(u32, String), i64>,
    texts: HashMap<(u32, String), String>,
    is_unschedulable: bool,
    placed: Vec<Pod>,
}
impl Node {
    /// A node of that name.
    pub fn new(name: &str) -> Node {
        Node { name: name.to_string(), ..Node::default() }
    }
    fn amount(mut self, kind: u32, key: &str, value: i64) -> Node {
        self.amounts.insert((kind, key.to_string()), value);
        self
    }
    /// Number of pods on it.
    pub fn pods(self, count: i64) -> Node {
        self.amount(sys::BERTH_COL_PODS, "", count)
    }
    /// What is there, and what pods on it request.
    pub fn resource(self, name: &str, allocatable: i64, requested: i64) -> Node {
        self.amount(sys::BERTH_COL_ALLOCATABLE, name, allocatable)
            .amount(sys::BERTH_COL_REQUESTED, name, requested)
            .amount(sys::BERTH_COL_NONZERO, name, requested)
            .amount(sys::BERTH_COL_FREE, name, allocatable - requested)
    }
    /// A pod that is on it: one more of `pods`, and its requests are taken from what is free. Say `resource` before.
    pub fn pod(mut self, pod: Pod) -> Node {
        *self.amounts.entry((sys::BERTH_COL_PODS, String::new())).or_default() += 1;
        for (name, amount) in &pod.requests {
            for (kind, by) in [(sys::BERTH_COL_REQUESTED, 1), (sys::BERTH_COL_NONZERO, 1), (sys::BERTH_COL_FREE, -1)] {
                *self.amounts.entry((kind, name.clone())).or_default() += by * amount;
            }
        }
        self.placed.push(pod);
        self
    }
    /// A label.
    pub fn label(mut self, key: &str, value: &str) -> Node {
        self.texts.insert((sys::BERTH_COL_LABEL, key.to_string()), value.to_string());
        self
    }
    /// An annotation.
    pub fn annotation(mut self, key: &str, value: &str) -> Node {
        self.texts.insert((sys::BERTH_COL_ANNOTATION, key.to_string()), value.to_string());
        self
    }
    /// spec.unschedulable
    pub fn unschedulable(mut self) -> Node {
        self.is_unschedulable = true;
        self
    }
}

/// A pod.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pod {
    /// metadata.name
    pub name: String,
    /// metadata.uid
    pub uid: String,
    /// metadata.namespace
    pub namespace: String,
    /// spec.priority
    pub priority: i64,
    /// metadata.labels
    pub labels: Vec<(String, String)>,
    /// Sums of requests: cpu in milli-cores, others in units.
    pub requests: Vec<(String, i64)>,
    /// spec.schedulingGroup.podGroupName
    pub group: String,
    /// spec.preemptionPolicy is Never.
    pub never_preempts: bool,
    /// metadata.deletionTimestamp is set.
    pub is_terminating: bool,
    /// status.startTime
    pub start_ns: Option<i64>,
}

/// What a filter says of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// It suits.
    Passes,
    /// With the text of its reason.
    Unschedulable(String),
    /// Likewise.
    Unresolvable(String),
    /// It cannot be judged.
    Fails(String),
}

/// What a point says of the pod: OK, or the name of the code with the text.
pub type Said = Result<(), (Code, String)>;

/// A code that is not OK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Code {
    Error,
    Unschedulable,
    Unresolvable,
    Wait,
    Skip,
    Pending,
    Later,
    TooOld,
    BadArgs,
    Other(u32),
}
impl Code {
    fn of(code: u32) -> Code {
        match code {
            sys::BERTH_ERROR => Code::Error,
            sys::BERTH_UNSCHEDULABLE => Code::Unschedulable,
            sys::BERTH_UNRESOLVABLE => Code::Unresolvable,
            sys::BERTH_WAIT => Code::Wait,
            sys::BERTH_SKIP => Code::Skip,
            sys::BERTH_PENDING => Code::Pending,
            sys::BERTH_ASYNC => Code::Later,
            sys::BERTH_TOO_OLD => Code::TooOld,
            sys::BERTH_BAD_ARGS => Code::BadArgs,
            other => Code::Other(other),
        }
    }
}

type TaskFn = unsafe extern "C" fn(*mut c_void);
struct Waiting {
    at_ms: u64,
    period_ms: u32,
    handle: u64,
    task: TaskFn,
    arg: usize,
}

/// What the fake host remembers. The functions of its tables find it by their ctx.
#[derive(Default)]
struct Memory {
    ids: HashMap<String, u32>,
    texts: Vec<Box<str>>, // by id; 0 is none, 1 the empty text
    columns: Vec<(u32, String)>,
    requests: Vec<String>,
    pod_labels: Vec<String>,
    groups: u64,
    log: Vec<String>,
    reasons: Vec<String>,
    now_ms: u64,
    tasks: Vec<Waiting>,
    handles: u64,
    bumps: u64,
    attempts: u64,
    clusters: HashMap<u64, Arc<cluster::Cluster>>, // by attempt
    placed: Vec<(u32, Pod)>,                       // in the last attempt
    changes: Vec<cluster::Change>,
    forgotten: u64, // changes before these
    victims: (u32, Vec<Pod>),
    evicting: Vec<String>,
    members: Vec<Pod>,
    objects: objects::Objects,
    label_columns: Vec<Box<[u32]>>, // until the end
    asked: Vec<requests::Asked>,
    pages: Vec<requests::OfferedPage>,
}
struct Host {
    memory: Mutex<Memory>,
    shared: Arc<requests::SharedValues>,
}
impl Host {
    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
impl Memory {
    fn id(&mut self, of: &str) -> u32 {
        if self.texts.is_empty() {
            self.texts = vec!["".into(), "".into()];
            self.ids.insert(String::new(), sys::BERTH_ID_EMPTY);
        }
        let next = self.texts.len() as u32;
        let id = *self.ids.entry(of.to_string()).or_insert(next);
        if id == next {
            self.texts.push(of.into());
        }
        id
    }
}

/// Of the tables: ctx is a Host that lives as long as the policy.
unsafe fn host<'a>(ctx: *mut c_void) -> &'a Host {
    &*(ctx as *const Host)
}
unsafe extern "C" fn intern(ctx: *mut c_void, of: sys::berth_str) -> u32 {
    host(ctx).memory().id(text(of))
}
unsafe extern "C" fn text_of(ctx: *mut c_void, id: u32, out: *mut sys::berth_str) {
    let memory = host(ctx).memory();
    // Texts are never given back: a boxed one stays where it is.
    *out = memory.texts.get(id as usize).map_or(borrow(""), |found| borrow(found));
}
unsafe extern "C" fn pin(_: *mut c_void, _: u32) {}
unsafe extern "C" fn log_enabled(_: *mut c_void, _: u32) -> u32 {
    1
}
unsafe extern "C" fn log_write(ctx: *mut c_void, _: u32, message: sys::berth_str, fields: *const sys::berth_kv_v1, count: u32) {
    let mut line = text(message).to_string();
    for field in crate::abi::slice(fields, u64::from(count)) {
        line += &format!(" {}={}", text(field.key), text(field.value));
    }
    host(ctx).memory().log.push(line);
}
unsafe extern "C" fn monotonic_ns(ctx: *mut c_void) -> i64 {
    host(ctx).memory().now_ms as i64 * 1_000_000
}
unsafe extern "C" fn submit(ctx: *mut c_void, task: Option<TaskFn>, arg: *mut c_void) -> u32 {
    let mut handle = 0;
    start(ctx, 0, 0, task, arg, &mut handle)
}
unsafe extern "C" fn start(ctx: *mut c_void, delay: u32, period_ms: u32, task: Option<TaskFn>, arg: *mut c_void, out: *mut u64) -> u32 {
    let task = match task {
        Some(task) => task,
        None => return sys::BERTH_BAD_ARGS,
    };
    let mut memory = host(ctx).memory();
    memory.handles += 1;
    *out = memory.handles;
    let waiting = Waiting { at_ms: memory.now_ms + u64::from(delay), period_ms, handle: memory.handles, task, arg: arg as usize };
    memory.tasks.push(waiting);
    sys::BERTH_OK
}
unsafe extern "C" fn cancel(ctx: *mut c_void, handle: u64) -> u32 {
    let mut memory = host(ctx).memory();
    let before = memory.tasks.len();
    memory.tasks.retain(|task| task.handle != handle);
    if memory.tasks.len() < before { sys::BERTH_OK } else { sys::BERTH_NOT_FOUND }
}
unsafe extern "C" fn parallel_for(_: *mut c_void, count: u32, body: Option<unsafe extern "C" fn(*mut c_void, u32)>, arg: *mut c_void) {
    if let Some(body) = body {
        (0..count).for_each(|i| body(arg, i));
    }
}
unsafe extern "C" fn bump(ctx: *mut c_void) {
    host(ctx).memory().bumps += 1;
}
unsafe extern "C" fn make_reason(ctx: *mut c_void, texts: *const sys::berth_str, count: u32) -> u32 {
    let said: Vec<&str> = crate::abi::slice(texts, u64::from(count)).iter().map(|&each| text(each)).collect();
    let said = said.join("; ");
    let mut memory = host(ctx).memory();
    let at = memory.reasons.iter().position(|each| *each == said).unwrap_or_else(|| {
        memory.reasons.push(said);
        memory.reasons.len() - 1
    });
    REASONS_FROM + at as u32
}
const REASONS_FROM: u32 = 1 << 20;

static INTERN: sys::berth_intern_v1 = sys::berth_intern_v1 {
    struct_size: size::<sys::berth_intern_v1>(),
    reserved: 0,
    intern: Some(intern),
    text: Some(text_of),
    pin: Some(pin),
    unpin: Some(pin),
    intern_for_cycle: Some(intern),
};
static LOG: sys::berth_log_v1 = sys::berth_log_v1 {
    struct_size: size::<sys::berth_log_v1>(),
    reserved: 0,
    enabled: Some(log_enabled),
    write: Some(log_write),
};
static CLOCK: sys::berth_clock_v1 = sys::berth_clock_v1 {
    struct_size: size::<sys::berth_clock_v1>(),
    reserved: 0,
    monotonic_ns: Some(monotonic_ns),
    wall_ns: Some(monotonic_ns),
};
static EXECUTOR: sys::berth_executor_v1 = sys::berth_executor_v1 {
    struct_size: size::<sys::berth_executor_v1>(),
    reserved: 0,
    submit: Some(submit),
    parallel_for: Some(parallel_for),
    start: Some(start),
    cancel: Some(cancel),
};
static EPOCH: sys::berth_epoch_v1 =
    sys::berth_epoch_v1 { struct_size: size::<sys::berth_epoch_v1>(), reserved: 0, bump: Some(bump) };
static REASONS: sys::berth_reasons_v1 =
    sys::berth_reasons_v1 { struct_size: size::<sys::berth_reasons_v1>(), reserved: 0, make: Some(make_reason) };

unsafe extern "C" fn service(_: *mut c_void, id: *const c_char) -> *const c_void {
    match CStr::from_ptr(id).to_bytes() {
        b"berth.intern/1" => &INTERN as *const _ as *const c_void,
        b"berth.log/1" => &LOG as *const _ as *const c_void,
        b"berth.clock/1" => &CLOCK as *const _ as *const c_void,
        b"berth.executor/1" => &EXECUTOR as *const _ as *const c_void,
        b"berth.epoch/1" => &EPOCH as *const _ as *const c_void,
        b"berth.reasons/1" => &REASONS as *const _ as *const c_void,
        b"berth.labels/1" => &domains::LABELS as *const _ as *const c_void,
        b"berth.objects/1" => &objects::OBJECTS as *const _ as *const c_void,
        b"berth.assume/1" => &objects::ASSUME as *const _ as *const c_void,
        b"berth.pod_index/1" => &index::POD_INDEX as *const _ as *const c_void,
        b"berth.queue_control/1" => &index::QUEUE_CONTROL as *const _ as *const c_void,
        b"berth.writes/1" => &index::WRITES as *const _ as *const c_void,
        b"berth.pods/1" => &cluster::PODS as *const _ as *const c_void,
        b"berth.dry_run/1" => &cluster::DRY_RUN as *const _ as *const c_void,
        b"berth.preemption/1" => &cluster::PREEMPTION as *const _ as *const c_void,
        b"berth.groups/1" => &cluster::GROUPS as *const _ as *const c_void,
        b"berth.object_writes/1" => &requests::OBJECT_WRITES as *const _ as *const c_void,
        b"berth.shared/1" => &requests::SHARED as *const _ as *const c_void,
        b"berth.debug_pages/1" => &requests::DEBUG_PAGES as *const _ as *const c_void,
        _ => std::ptr::null(),
    }
}
unsafe extern "C" fn column(ctx: *mut c_void, kind: u32, key: sys::berth_str) -> u32 {
    let shown = [
        sys::BERTH_COL_FREE,
        sys::BERTH_COL_ALLOCATABLE,
        sys::BERTH_COL_REQUESTED,
        sys::BERTH_COL_NONZERO,
        sys::BERTH_COL_PODS,
        sys::BERTH_COL_LABEL,
        sys::BERTH_COL_ANNOTATION,
        sys::BERTH_COL_NAME,
        sys::BERTH_COL_UNSCHEDULABLE,
    ];
    if !shown.contains(&kind) {
        return sys::BERTH_NO_COLUMN;
    }
    place(&mut host(ctx).memory().columns, (kind, text(key).to_string()))
}
unsafe extern "C" fn request(ctx: *mut c_void, resource: sys::berth_str) -> u32 {
    place(&mut host(ctx).memory().requests, text(resource).to_string())
}
unsafe extern "C" fn pod_fields(ctx: *mut c_void, groups: u64) -> u64 {
    let shown = sys::BERTH_POD_REQUESTS
        | sys::BERTH_POD_LABELS
        | sys::BERTH_POD_PRIORITY
        | sys::BERTH_POD_NAMESPACE
        | sys::BERTH_POD_IDENTITY
        | sys::BERTH_POD_PLACEMENT
        | sys::BERTH_POD_STATUS
        | sys::BERTH_POD_GROUP;
    let accepted = groups & u64::from(shown);
    host(ctx).memory().groups |= accepted;
    accepted
}
unsafe extern "C" fn pod_label(ctx: *mut c_void, key: sys::berth_str) {
    host(ctx).memory().pod_labels.push(text(key).to_string());
}
fn place<T: PartialEq>(list: &mut Vec<T>, item: T) -> u32 {
    let at = list.iter().position(|each| *each == item).unwrap_or_else(|| {
        list.push(item);
        list.len() - 1
    });
    at as u32
}

/// A note of 1,024 bytes.
struct Note {
    text: Vec<u8>,
    raw: sys::berth_note_v1,
}
impl Note {
    fn new() -> Note {
        let mut text = vec![0u8; 1024];
        let raw = sys::berth_note_v1 {
            struct_size: size::<sys::berth_note_v1>(),
            reason: 0,
            text: text.as_mut_ptr() as *mut c_char,
            text_cap: 1024,
            text_len: 0,
        };
        Note { text, raw }
    }
    fn said(&self) -> String {
        String::from_utf8_lossy(&self.text[..(self.raw.text_len as usize).min(self.text.len())]).into_owned()
    }
}

/// An instance of a policy in a host in memory.
pub struct Policy {
    plugin: &'static sys::berth_plugin_v1,
    this: *mut c_void,
    host: Box<Host>,
    _raw: Box<sys::berth_host_v1>,
}

impl Policy {
    /// Made with these args, as JSON; "" is none. The schema is berth's to check, and its defaults are not filled in here.
    pub fn new(descriptor: Descriptor, args: &str) -> Result<Policy, (Code, String)> {
        Policy::of(descriptor.plugin, args, Arc::default())
    }
    /// Another instance of the plugin, in a host of its own, with the values that the plugin shares.
    pub fn another(&self, args: &str) -> Result<Policy, (Code, String)> {
        Policy::of(self.plugin, args, self.host.shared.clone())
    }
    fn of(
        plugin: &'static sys::berth_plugin_v1,
        args: &str,
        shared: Arc<requests::SharedValues>,
    ) -> Result<Policy, (Code, String)> {
        let host = Box::new(Host { memory: Mutex::default(), shared });
        let ctx = &*host as *const Host as *mut c_void;
        let raw = Box::new(sys::berth_host_v1 {
            struct_size: size::<sys::berth_host_v1>(),
            abi_minor: sys::BERTH_ABI_MINOR as u16,
            data_model: sys::BERTH_DATA_MODEL as u16,
            ctx,
            product: borrow("tests"),
            service: Some(service),
            score_max: i64::from(sys::BERTH_SCORE_MAX),
        });
        let binder = sys::berth_binder_v1 {
            struct_size: size::<sys::berth_binder_v1>(),
            reserved: 0,
            ctx,
            column: Some(column),
            request: Some(request),
            pod_fields: Some(pod_fields),
            pod_label: Some(pod_label),
        };
        let (mut note, mut this) = (Note::new(), std::ptr::null_mut());
        let code = match plugin.create {
            Some(create) => unsafe { create(&*raw, &binder, borrow(args), &mut this, &mut note.raw) },
            None => sys::BERTH_ERROR,
        };
        if code != sys::BERTH_OK {
            return Err((Code::of(code), note.said()));
        }
        Ok(Policy { plugin, this, host, _raw: raw })
    }
    fn ops<T>(&self, id: &str) -> Option<&'static T> {
        let points = unsafe { crate::abi::slice(self.plugin.points, u64::from(self.plugin.point_count)) };
        let point = points.iter().find(|point| unsafe { CStr::from_ptr(point.id) }.to_bytes() == id.as_bytes())?;
        unsafe { (point.ops as *const T).as_ref() }
    }
    /// Ids of the points that it offers, in the order of an attempt.
    pub fn points(&self) -> Vec<String> {
        let points = unsafe { crate::abi::slice(self.plugin.points, u64::from(self.plugin.point_count)) };
        points.iter().map(|point| unsafe { CStr::from_ptr(point.id) }.to_string_lossy().into_owned()).collect()
    }
    /// Lines of its log so far; what it asked of queue_control and writes is there, too.
    pub fn log(&self) -> Vec<String> {
        self.host.memory().log.clone()
    }
    /// How often it has announced changes.
    pub fn bumps(&self) -> u64 {
        self.host.memory().bumps
    }
    /// The host forgets what has come and gone so far: sums of it are counted again.
    pub fn forget_changes(&self) {
        let mut memory = self.host.memory();
        memory.forgotten += memory.changes.len() as u64 + 1;
        memory.changes.clear();
    }
    /// Evictions that an earlier attempt of the pod of this uid asked for are under way.
    pub fn evicting(&self, uid: &str) {
        self.host.memory().evicting.push(uid.to_string());
    }
    /// A pod that is a member of its group.
    pub fn member(&self, pod: Pod) {
        self.host.memory().members.push(pod);
    }
    /// Whether the first pod comes before the second in the queue, where their keys are equal.
    pub fn less(&self, first: &Pod, second: &Pod) -> bool {
        let ops = self.ops::<sys::berth_queue_ops_v1>("berth.queue/1").and_then(|ops| ops.less);
        let call = ops.expect("the policy has no less");
        let shown = [first, second].map(|pod| ShownPod::new(&self.host, pod, 0));
        let [first, second] = [&shown[0], &shown[1]].map(|pod| sys::berth_queue_pod_v1 {
            struct_size: size::<sys::berth_queue_pod_v1>(),
            attempts: 0,
            enqueued_ns: 0,
            pod: &pod.raw,
            first_attempt_ns: 0,
        });
        unsafe { call(self.this, &first, &second) != 0 }
    }
    /// So much time goes by; tasks run when they are due, one after the other.
    pub fn advance_ms(&self, by: u64) {
        let end = self.host.memory().now_ms + by;
        loop {
            let mut memory = self.host.memory();
            let due = memory.tasks.iter().enumerate().filter(|(_, task)| task.at_ms <= end).min_by_key(|(_, task)| (task.at_ms, task.handle));
            let (task, arg) = match due.map(|(at, _)| at) {
                None => {
                    memory.now_ms = end;
                    return;
                }
                Some(at) => {
                    memory.now_ms = memory.now_ms.max(memory.tasks[at].at_ms);
                    let (task, arg) = (memory.tasks[at].task, memory.tasks[at].arg);
                    if memory.tasks[at].period_ms == 0 {
                        memory.tasks.remove(at);
                    } else {
                        memory.tasks[at].at_ms += u64::from(memory.tasks[at].period_ms);
                    }
                    (task, arg)
                }
            };
            drop(memory);
            unsafe { task(arg as *mut c_void) };
        }
    }
    fn said(&self, code: u32, note: &Note) -> Said {
        if code == sys::BERTH_OK {
            return Ok(());
        }
        let text = if note.raw.reason != 0 { self.reason(note.raw.reason) } else { note.said() };
        Err((Code::of(code), text))
    }
    fn reason(&self, reason: u32) -> String {
        if reason >= REASONS_FROM {
            return self.host.memory().reasons.get((reason - REASONS_FROM) as usize).cloned().unwrap_or_default();
        }
        let reasons = unsafe { crate::abi::slice(self.plugin.reasons, u64::from(self.plugin.reason_count)) };
        match reasons.get(reason as usize) {
            Some(row) if reason != 0 => unsafe { CStr::from_ptr(row.text) }.to_string_lossy().into_owned(),
            _ => String::new(),
        }
    }
    /// Whether the pod may be tried at all.
    pub fn pre_enqueue(&self, pod: &Pod) -> Said {
        let ops = self.ops::<sys::berth_queue_ops_v1>("berth.queue/1").and_then(|ops| ops.pre_enqueue);
        let call = ops.expect("the policy has no pre_enqueue");
        let shown = ShownPod::new(&self.host, pod, crate::pod::SHOWN_TO_QUEUE);
        let mut note = Note::new();
        let queued = sys::berth_queue_pod_v1 {
            struct_size: size::<sys::berth_queue_pod_v1>(),
            attempts: 0,
            enqueued_ns: 0,
            pod: &shown.raw,
            first_attempt_ns: 0,
        };
        let code = unsafe { call(self.this, &queued, &mut note.raw) };
        self.said(code, &note)
    }
    /// An attempt to place a pod on one of these nodes, which have the slots 0, 1 and so on.
    pub fn attempt(&self, pod: &Pod, nodes: &[Node]) -> Attempt<'_> {
        Attempt::new(self, pod, nodes, &[])
    }
    /// The same with pods that are nominated to a node, by its slot, and are not on it.
    pub fn attempt_with(&self, pod: &Pod, nodes: &[Node], nominated: &[(u32, Pod)]) -> Attempt<'_> {
        Attempt::new(self, pod, nodes, nominated)
    }
}
impl Drop for Policy {
    fn drop(&mut self) {
        self.host.memory().tasks.clear();
        while self.answer(Err(crate::Refusal::Failed("the host ends"))) {}
        if let Some(destroy) = self.plugin.destroy {
            unsafe { destroy(self.this) };
        }
    }
}

/// A pod as the policy asked to see it.
struct ShownPod {
    raw: sys::berth_pod_v1,
    _requests: Vec<i64>,
    _resources: Vec<sys::berth_resource_v1>,
    _labels: Vec<sys::berth_label_v1>,
    _texts: Box<Pod>,
}
impl ShownPod {
    fn new(host: &Host, pod: &Pod, also: u64) -> ShownPod {
        let mut memory = host.memory();
        let groups = memory.groups | also;
        let shows = |group: u32| groups & u64::from(group) != 0;
        let texts = Box::new(pod.clone());
        // All fields are numbers and pointers, for which 0 is absent.
        let mut raw: sys::berth_pod_v1 = unsafe { std::mem::zeroed() };
        raw.struct_size = size::<sys::berth_pod_v1>();
        let amount = |name: &str| pod.requests.iter().find(|(each, _)| each == name).map_or(0, |&(_, amount)| amount);
        let requests: Vec<i64> = memory.requests.iter().map(|name| amount(name)).collect();
        raw.requests = requests.as_ptr();
        raw.request_count = requests.len() as u32;
        let mut resources = Vec::new();
        if shows(sys::BERTH_POD_REQUESTS) {
            let first = ["cpu", "memory", "ephemeral-storage"];
            let others: BTreeMap<&str, ()> = pod.requests.iter().map(|(name, _)| (name.as_str(), ())).collect();
            let names = first.iter().copied().chain(others.keys().copied().filter(|name| !first.contains(name)));
            for name in names {
                let (id, amount) = (memory.id(name), amount(name));
                resources.push(sys::berth_resource_v1 { name: id, flags: 0, request: amount, effective: amount, scoring: amount });
            }
        }
        raw.resources = resources.as_ptr();
        raw.resource_count = resources.len() as u32;
        let all = shows(sys::BERTH_POD_LABELS);
        let mut labels = Vec::new();
        for (key, value) in &pod.labels {
            if all || memory.pod_labels.contains(key) {
                labels.push(sys::berth_label_v1 { key: memory.id(key), value: memory.id(value) });
            }
        }
        labels.sort_by_key(|label| label.key);
        raw.labels = labels.as_ptr();
        raw.label_count = labels.len() as u32;
        if shows(sys::BERTH_POD_IDENTITY) {
            raw.name = borrow(&texts.name);
            raw.uid = borrow(&texts.uid);
        }
        if shows(sys::BERTH_POD_NAMESPACE) {
            raw.ns = memory.id(&pod.namespace);
        }
        if shows(sys::BERTH_POD_PRIORITY) {
            raw.priority = pod.priority;
        }
        if shows(sys::BERTH_POD_STATUS) {
            raw.start_ns = pod.start_ns.unwrap_or(0);
            raw.deletion_ns = i64::from(pod.is_terminating);
        }
        if shows(sys::BERTH_POD_GROUP) {
            raw.group = borrow(&texts.group);
        }
        ShownPod { raw, _requests: requests, _resources: resources, _labels: labels, _texts: texts }
    }
}

/// 64 rows of bits, or of values.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
struct Line([u64; 8]);

/// An attempt: the points of it that a test calls, in their order.
pub struct Attempt<'a> {
    policy: &'a Policy,
    cycle: sys::berth_cycle_v1,
    rows: usize,
    names: Vec<String>,
    columns: Vec<Vec<Line>>,
    candidates: Vec<u64>,
    _pod: Box<ShownPod>,
}

impl<'a> Attempt<'a> {
    fn new(policy: &'a Policy, pod: &Pod, nodes: &[Node], nominated: &[(u32, Pod)]) -> Attempt<'a> {
        let seen = cluster::Cluster { pod: pod.clone(), nodes: nodes.to_vec(), nominated: nominated.to_vec() };
        let number = policy.host.memory().begin(seen);
        let shown = Box::new(ShownPod::new(&policy.host, pod, 0));
        let words = nodes.len() / 64 + 1;
        let mut candidates = vec![0u64; words];
        (0..nodes.len()).for_each(|row| candidates[row / 64] |= 1 << (row % 64));
        let wanted = policy.host.memory().columns.clone();
        let mut columns = Vec::new();
        for (kind, key) in wanted {
            // Room for the widest values, rounded up to 64 rows.
            let mut lines = vec![Line([0; 8]); words * 8];
            let bytes = lines.as_mut_ptr() as *mut u8;
            for (row, node) in nodes.iter().enumerate() {
                let place = (kind, key.clone());
                let mut memory = policy.host.memory();
                unsafe {
                    match kind {
                        sys::BERTH_COL_LABEL | sys::BERTH_COL_ANNOTATION => {
                            *(bytes as *mut u32).add(row) = node.texts.get(&place).map_or(0, |value| memory.id(value))
                        }
                        sys::BERTH_COL_NAME => *(bytes as *mut u32).add(row) = memory.id(&node.name),
                        sys::BERTH_COL_UNSCHEDULABLE => {
                            *(bytes as *mut u64).add(row / 64) |= u64::from(node.is_unschedulable) << (row % 64)
                        }
                        _ => *(bytes as *mut i64).add(row) = node.amounts.get(&place).copied().unwrap_or(0),
                    }
                }
            }
            columns.push(lines);
        }
        let cycle = sys::berth_cycle_v1 {
            struct_size: size::<sys::berth_cycle_v1>(),
            flags: sys::BERTH_CYCLE_WANT_REASONS,
            cycle_id: number,
            deadline_ns: 0,
            pod_class: 0,
            pod: &shown.raw,
            state: std::ptr::null_mut(),
            nodes: candidates.as_ptr(),
            word_count: words as u64,
            node_count: nodes.len() as u32,
            slot_count: nodes.len() as u32,
        };
        let names = nodes.iter().map(|node| node.name.clone()).collect();
        Attempt { policy, cycle, rows: nodes.len(), names, columns, candidates, _pod: shown }
    }
    fn with_block<R>(&self, call: impl FnOnce(&sys::berth_node_block_v1) -> R) -> R {
        let columns: Vec<*const c_void> = self.columns.iter().map(|lines| lines.as_ptr() as *const c_void).collect();
        call(&sys::berth_node_block_v1 {
            struct_size: size::<sys::berth_node_block_v1>(),
            rows: self.rows as u32,
            first_slot: 0,
            column_count: columns.len() as u32,
            slots: std::ptr::null(),
            candidates: self.candidates.as_ptr(),
            columns: columns.as_ptr(),
        })
    }
    /// Leaves its state for the later points. Answers the nodes that are still worth it, by name.
    pub fn pre_filter(&mut self) -> Result<Vec<String>, (Code, String)> {
        let ops = self.policy.ops::<sys::berth_prepare_ops_v1>("berth.prepare/1").and_then(|ops| ops.pre_filter);
        let call = ops.expect("the policy has no pre_filter");
        let (mut bits, mut note) = (self.candidates.clone(), Note::new());
        let mut out = sys::berth_prepare_out_v1 {
            struct_size: size::<sys::berth_prepare_out_v1>(),
            narrowed: 0,
            candidates: bits.as_mut_ptr(),
            word_count: bits.len() as u64,
        };
        let code = unsafe { call(self.policy.this, &mut self.cycle, &mut out, &mut note.raw) };
        self.policy.said(code, &note)?;
        Ok((0..self.rows).filter(|row| bits[row / 64] >> (row % 64) & 1 != 0).map(|row| self.names[row].clone()).collect())
    }
    /// Another pod is imagined on a node.
    pub fn pod_added(&mut self, other: &Pod, node: u32) -> Said {
        let ops = self.policy.ops::<sys::berth_prepare_ops_v1>("berth.prepare/1").and_then(|ops| ops.pod_added);
        let call = ops.expect("the policy has no what-ifs");
        let (other, mut note) = (ShownPod::new(&self.policy.host, other, 0), Note::new());
        let code = unsafe { call(self.policy.this, &mut self.cycle, &other.raw, node, &mut note.raw) };
        self.policy.said(code, &note)
    }
    /// What it says of each node, in their order; the text of an error of the whole.
    pub fn filter(&mut self) -> Result<Vec<Answer>, String> {
        unsafe extern "C" fn fail_row(ctx: *mut c_void, row: u32, said: sys::berth_str) -> u32 {
            (*(ctx as *const RefCell<BTreeMap<u32, String>>)).borrow_mut().entry(row).or_insert_with(|| text(said).to_string());
            sys::BERTH_OK
        }
        let ops = self.policy.ops::<sys::berth_filter_ops_v1>("berth.filter/1").and_then(|ops| ops.filter);
        let call = ops.expect("the policy has no filter");
        let words = self.candidates.len();
        let (mut pass, mut unresolvable, mut pending) = (self.candidates.clone(), vec![0u64; words], vec![0u64; words]);
        let mut reasons = vec![0u32; words * 64];
        let failed: RefCell<BTreeMap<u32, String>> = RefCell::default();
        let mut out = sys::berth_filter_out_v1 {
            struct_size: size::<sys::berth_filter_out_v1>(),
            flags: 0,
            pass: pass.as_mut_ptr(),
            unresolvable: unresolvable.as_mut_ptr(),
            reasons: reasons.as_mut_ptr(),
            ctx: &failed as *const _ as *mut c_void,
            fail_row: Some(fail_row),
            add_detail: None,
            pending: pending.as_mut_ptr(),
        };
        let mut note = Note::new();
        let code = self.with_block(|block| unsafe { call(self.policy.this, &self.cycle, block, &mut out, &mut note.raw) });
        if code != sys::BERTH_OK {
            return Err(note.said());
        }
        let failed = failed.into_inner();
        let answer = |row: usize| match failed.get(&(row as u32)) {
            Some(said) => Answer::Fails(said.clone()),
            None if pass[row / 64] >> (row % 64) & 1 != 0 => Answer::Passes,
            None if unresolvable[row / 64] >> (row % 64) & 1 != 0 => Answer::Unresolvable(self.policy.reason(reasons[row])),
            None => Answer::Unschedulable(self.policy.reason(reasons[row])),
        };
        Ok((0..self.rows).map(answer).collect())
    }
    /// Raw scores, in the order of the nodes; the text of an error.
    pub fn score(&mut self) -> Result<Vec<i64>, String> {
        let ops = self.policy.ops::<sys::berth_score_ops_v1>("berth.score/1").and_then(|ops| ops.score);
        let call = ops.expect("the policy has no score");
        let mut raw = vec![0i64; self.candidates.len() * 64];
        let mut note = Note::new();
        let code = self.with_block(|block| unsafe { call(self.policy.this, &self.cycle, block, raw.as_mut_ptr(), &mut note.raw) });
        if code != sys::BERTH_OK {
            return Err(note.said());
        }
        raw.truncate(self.rows);
        Ok(raw)
    }
    /// The node of that slot was chosen.
    pub fn reserve(&mut self, node: u32) -> Said {
        let ops = self.policy.ops::<sys::berth_reserve_ops_v1>("berth.reserve/1").and_then(|ops| ops.reserve);
        let (call, mut note) = (ops.expect("the policy has no reserve"), Note::new());
        let code = unsafe { call(self.policy.this, &mut self.cycle, node, &mut note.raw) };
        self.policy.said(code, &note)
    }
    /// It is given back.
    pub fn unreserve(&mut self, node: u32) {
        let ops = self.policy.ops::<sys::berth_reserve_ops_v1>("berth.reserve/1").and_then(|ops| ops.unreserve);
        unsafe { ops.expect("the policy has no reserve")(self.policy.this, &mut self.cycle, node) };
    }
    /// Now, later or never; the time-out of a wait, in milliseconds, is its text.
    pub fn permit(&mut self, node: u32) -> Said {
        let ops = self.policy.ops::<sys::berth_permit_ops_v1>("berth.permit/1").and_then(|ops| ops.permit);
        let (call, mut note) = (ops.expect("the policy has no permit"), Note::new());
        let mut out = sys::berth_permit_out_v1 { struct_size: size::<sys::berth_permit_out_v1>(), timeout_ms: 0 };
        let code = unsafe { call(self.policy.this, &self.cycle, node, &mut out, &mut note.raw) };
        match self.policy.said(code, &note) {
            Err((Code::Wait, _)) => Err((Code::Wait, out.timeout_ms.to_string())),
            said => said,
        }
    }
    /// Work before the binding to the node of that slot. An answer that was promised for later is in `answers` once it is given.
    pub fn pre_bind(&mut self, node: u32, answers: &Answers) -> Said {
        let ops = self.policy.ops::<sys::berth_bind_ops_v1>("berth.bind/1").and_then(|ops| ops.pre_bind);
        let (call, mut note) = (ops.expect("the policy has no pre_bind"), Note::new());
        let raw = answers.call(&self.names[node as usize]);
        let code = unsafe { call(self.policy.this, &mut self.cycle, raw, &mut note.raw) };
        self.policy.said(code, &note)
    }
}
impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        self.policy.host.memory().clusters.remove(&self.cycle.cycle_id);
        let ops = self.policy.ops::<sys::berth_prepare_ops_v1>("berth.prepare/1").and_then(|ops| ops.state_free);
        if let Some(free) = ops.filter(|_| !self.cycle.state.is_null()) {
            unsafe { free(self.policy.this, self.cycle.state) };
        }
    }
}

/// Answers to bindings that came later. Outlives the policy that gives them.
#[derive(Default)]
pub struct Answers {
    calls: Mutex<Vec<Box<Pending>>>,
}
struct Pending {
    raw: sys::berth_bind_call_v1,
    _node: String,
    answer: Mutex<Option<(u32, String)>>,
}
// The pointers in it are to its own parts.
unsafe impl Send for Pending {}
impl Answers {
    /// What was said to each call of pre_bind so far; none: nothing yet.
    pub fn given(&self) -> Vec<Option<Said>> {
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let said = |(code, text): (u32, String)| if code == sys::BERTH_OK { Ok(()) } else { Err((Code::of(code), text)) };
        calls.iter().map(|call| call.answer.lock().unwrap_or_else(PoisonError::into_inner).clone().map(said)).collect()
    }
    fn call(&self, node: &str) -> *mut sys::berth_bind_call_v1 {
        unsafe extern "C" fn complete(ctx: *mut c_void, code: u32, said: sys::berth_str) {
            let pending = &*(ctx as *const Pending);
            *pending.answer.lock().unwrap_or_else(PoisonError::into_inner) = Some((code, text(said).to_string()));
        }
        unsafe extern "C" fn no(_: *mut c_void) -> u32 {
            0
        }
        unsafe extern "C" fn yes(_: *mut c_void) -> u32 {
            1
        }
        let node = node.to_string();
        let raw = sys::berth_bind_call_v1 {
            struct_size: size::<sys::berth_bind_call_v1>(),
            flags: 0,
            ctx: std::ptr::null_mut(),
            node_name: borrow(&node),
            cancelled: Some(no),
            complete: Some(complete),
            pod_exists: Some(yes),
            node: None,
        };
        let mut pending = Box::new(Pending { raw, _node: node, answer: Mutex::new(None) });
        pending.raw.ctx = &*pending as *const Pending as *mut c_void;
        let call = &mut pending.raw as *mut sys::berth_bind_call_v1;
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).push(pending);
        call
    }
}
