// SPDX-License-Identifier: Apache-2.0
//! The host's services. Resolved once, in [`Plugin::new`](crate::Plugin::new): `setup.service::<Log>()?`. A service is cloned
//! freely and may be kept by tasks and threads: once the instance is destroyed it answers errors. What may be called on which
//! thread stands in the C headers; elsewhere the host denies it.
use crate::abi::{borrow, size, slice, text, NoteBuffer, Visitor};
use crate::instance::Asked;
use crate::link::Link;
use crate::nodes::{Column, ColumnValue};
use crate::pod::SHOWN_TO_QUEUE;
use crate::tasks::{Executor, Tasks};
use crate::{Cycle, Error, Id, Pod, Reason, Requirement, Slot};
use berth_sys as sys;
use std::os::raw::c_void;
use std::sync::Arc;

/// A service of the host.
pub trait Service: Sized {
    /// "berth.log/1"
    const ID: &'static str;
    #[doc(hidden)]
    type Table: 'static;
    #[doc(hidden)]
    fn of(link: &Arc<Link>, table: &'static Self::Table, tasks: &Arc<Tasks>) -> Self;
}
impl Service for Executor {
    const ID: &'static str = "berth.executor/1";
    type Table = sys::berth_executor_v1;
    fn of(link: &Arc<Link>, table: &'static Self::Table, tasks: &Arc<Tasks>) -> Self {
        Executor { link: link.clone(), table, tasks: tasks.clone() }
    }
}

macro_rules! service {
    ($(#[$about:meta])* $name:ident, $table:ident, $id:literal) => {
        $(#[$about])*
        #[derive(Clone)]
        pub struct $name {
            link: Arc<Link>,
            table: &'static sys::$table,
        }
        impl Service for $name {
            const ID: &'static str = $id;
            type Table = sys::$table;
            fn of(link: &Arc<Link>, table: &'static Self::Table, _tasks: &Arc<Tasks>) -> Self {
                $name { link: link.clone(), table }
            }
        }
    };
}
/// Calls a function of a service's table while the instance is there.
macro_rules! host {
    ($self:ident.$function:ident($($arg:expr),*)) => {
        match $self.table.$function {
            Some(function) => $self.link.enter(|ctx| unsafe { function(ctx, $($arg),*) }),
            None => Err(Error::new(concat!("the host has no function ", stringify!($function)))),
        }
    };
}
mod assume;
mod debug_pages;
mod dry_run;
mod object_writes;
mod placed_pods;
mod pod_index;
mod preemption;
mod shared;
pub use assume::{Assume, Assumed};
pub use debug_pages::{DebugPages, Page};
pub use dry_run::{DryRun, Fit};
pub use object_writes::{ObjectName, ObjectWrites, Patch, Refusal};
pub use placed_pods::{FollowedPods, PlacedPod, PlacedPods, Step};
pub use pod_index::{PodIndex, Shape, ShapeChange, Shapes};
pub use preemption::{Choice, DefaultVictimOrder, Found, Nomination, Preemption, Preemptor, Search, Victim, VictimOrder, Victims};
pub use shared::Shared;

/// OK is true, NOT_FOUND false, everything else an error.
fn found(code: u32, what: &str) -> Result<bool, Error> {
    match code {
        sys::BERTH_OK => Ok(true),
        sys::BERTH_NOT_FOUND => Ok(false),
        code => Err(Error::of(code, format!("{}: code {}", what, code))),
    }
}
fn taken(code: u32, what: &str) -> Result<(), Error> {
    if code == sys::BERTH_OK {
        return Ok(());
    }
    Err(Error::of(code, format!("{}: code {}", what, code)))
}

/// How much a line of the log matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// Something is broken.
    Error,
    /// Something is odd.
    Warn,
    /// For operators.
    Info,
    /// For authors.
    Debug,
    /// Everything.
    Trace,
}
impl Severity {
    fn raw(self) -> u32 {
        match self {
            Severity::Error => sys::BERTH_LOG_ERROR,
            Severity::Warn => sys::BERTH_LOG_WARN,
            Severity::Info => sys::BERTH_LOG_INFO,
            Severity::Debug => sys::BERTH_LOG_DEBUG,
            Severity::Trace => sys::BERTH_LOG_TRACE,
        }
    }
}

service!(/// Lines in the host's log, with the plugin's name: 20 a second of one message. Keep what varies in fields.
    Log, berth_log_v1, "berth.log/1");
impl Log {
    /// Ask before a text is made: a disabled line then costs nothing.
    pub fn is_enabled(&self, severity: Severity) -> bool {
        host!(self.enabled(severity.raw())).map_or(false, |enabled| enabled != 0)
    }
    /// Writes a line if the severity is enabled. After the end of the instance, nothing.
    pub fn write(&self, severity: Severity, message: &str, fields: &[(&str, &str)]) {
        if self.is_enabled(severity) {
            let fields: Vec<_> = fields.iter().map(|(key, value)| sys::berth_kv_v1 { key: borrow(key), value: borrow(value) }).collect();
            let _ = host!(self.write(severity.raw(), borrow(message), fields.as_ptr(), fields.len() as u32));
        }
    }
}
/// For calls that cannot answer an error.
pub(crate) fn write_log(link: &Arc<Link>, severity: Severity, message: &str, fields: &[(&str, &str)]) -> Result<(), Error> {
    if let Some(table) = link.table::<sys::berth_log_v1>(Log::ID) {
        Log { link: link.clone(), table }.write(severity, message, fields);
    }
    Ok(())
}

service!(/// Texts as numbers, so that hot calls compare integers.
    Intern, berth_intern_v1, "berth.intern/1");
impl Intern {
    /// For as long as the instance lives: up to 65,536 texts after `new`, 0 beyond. Equal texts have equal ids.
    pub fn id(&self, text: &str) -> Result<Id, Error> {
        host!(self.intern(borrow(text)))
    }
    /// For the call or the cycle: for texts without end, such as names of pods.
    pub fn id_for_cycle(&self, text: &str) -> Result<Id, Error> {
        host!(self.intern_for_cycle(borrow(text)))
    }
    /// A copy of the text of an id that is alive; empty for 0.
    pub fn text(&self, id: Id) -> Result<String, Error> {
        let mut out = borrow("");
        host!(self.text(id, &mut out)).map(|()| unsafe { text(out) }.to_string())
    }
    /// Keeps an id that the host showed beyond the cycle, until as many calls of `unpin`.
    pub fn pin(&self, id: Id) -> Result<(), Error> {
        host!(self.pin(id))
    }
    /// See `pin`.
    pub fn unpin(&self, id: Id) -> Result<(), Error> {
        host!(self.unpin(id))
    }
}

service!(/// Sentences that are known only when a node is judged.
    Reasons, berth_reasons_v1, "berth.reasons/1");
impl Reasons {
    /// One reason of one or several sentences; valid for the cycle.
    pub fn make(&self, texts: &[&str]) -> Result<Reason, Error> {
        let texts: Vec<_> = texts.iter().map(|text| borrow(text)).collect();
        host!(self.make(texts.as_ptr(), texts.len() as u32)).map(Reason)
    }
}

service!(/// Time, virtual in tests and simulations: never ask the machine.
    Clock, berth_clock_v1, "berth.clock/1");
impl Clock {
    /// Nanoseconds, for durations.
    pub fn monotonic_ns(&self) -> Result<i64, Error> {
        host!(self.monotonic_ns())
    }
    /// Nanoseconds since 1970.
    pub fn wall_ns(&self) -> Result<i64, Error> {
        host!(self.wall_ns())
    }
}

/// What a metric counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    /// record() adds.
    Counter,
    /// record() sets.
    Gauge,
    /// record() observes.
    Histogram,
}
/// A family of metrics, exported as `berth_plugin_<plugin>_<name>`.
#[derive(Debug, Clone, Copy)]
pub struct Metric<'a> {
    /// What it counts.
    pub kind: MetricKind,
    /// Without the prefix.
    pub name: &'a str,
    /// A sentence.
    pub help: &'a str,
    /// Names of labels.
    pub labels: &'a [&'a str],
    /// Of a histogram.
    pub buckets: &'a [f64],
    /// Further combinations of labels are folded into "other"; 0: 100.
    pub max_series: u32,
}
/// What [`Metrics::define`] gave.
#[derive(Debug, Clone, Copy)]
pub struct Family(u32);
/// What [`Metrics::series`] gave.
#[derive(Debug, Clone, Copy)]
pub struct Series(u32);
service!(/// Metrics of the plugin, on the host's page.
    Metrics, berth_metrics_v1, "berth.metrics/1");
impl Metrics {
    /// In `new` only.
    pub fn define(&self, metric: &Metric<'_>) -> Result<Family, Error> {
        let labels: Vec<_> = metric.labels.iter().map(|label| borrow(label)).collect();
        let spec = sys::berth_metric_spec_v1 {
            struct_size: size::<sys::berth_metric_spec_v1>(),
            kind: match metric.kind {
                MetricKind::Counter => sys::BERTH_METRIC_COUNTER,
                MetricKind::Gauge => sys::BERTH_METRIC_GAUGE,
                MetricKind::Histogram => sys::BERTH_METRIC_HISTOGRAM,
            },
            name: borrow(metric.name),
            help: borrow(metric.help),
            label_names: labels.as_ptr(),
            buckets: metric.buckets.as_ptr(),
            label_count: labels.len() as u32,
            bucket_count: metric.buckets.len() as u32,
            max_series: metric.max_series,
            reserved: 0,
        };
        let mut family = 0;
        NoteBuffer::new().explain(&format!("cannot define metric {}", metric.name), |note| {
            host!(self.define(&spec, &mut family, note)).unwrap_or(sys::BERTH_DENIED)
        })?;
        Ok(Family(family))
    }
    /// One value per label, in the order of the definition. An empty value of a label "profile" stands for the instance's.
    pub fn series(&self, family: Family, labels: &[&str]) -> Result<Series, Error> {
        let labels: Vec<_> = labels.iter().map(|label| borrow(label)).collect();
        let mut series = 0;
        taken(host!(self.series(family.0, labels.as_ptr(), labels.len() as u32, &mut series))?, "no such series")?;
        Ok(Series(series))
    }
    /// Adds, sets or observes. After the end of the instance, nothing.
    pub fn record(&self, series: Series, value: f64) {
        let _ = host!(self.record(series.0, value));
    }
}

/// An event of Kubernetes about an object.
#[derive(Debug, Clone, Copy)]
pub struct ObjectEvent<'a> {
    /// Else Normal.
    pub is_warning: bool,
    /// "Pod"
    pub kind: &'a str,
    /// Of the object; empty for cluster-wide ones.
    pub namespace: &'a str,
    /// Of the object.
    pub name: &'a str,
    /// Of the object.
    pub uid: &'a str,
    /// In CamelCase.
    pub reason: &'a str,
    /// In CamelCase.
    pub action: &'a str,
    /// Cut at 1,024 bytes.
    pub note: &'a str,
}
service!(/// Events of Kubernetes, aggregated and rate-limited by the host.
    Events, berth_events_v1, "berth.events/1");
impl Events {
    /// The host copies it.
    pub fn record(&self, event: &ObjectEvent<'_>) -> Result<(), Error> {
        let spec = sys::berth_event_spec_v1 {
            struct_size: size::<sys::berth_event_spec_v1>(),
            type_: if event.is_warning { sys::BERTH_EVENT_WARNING } else { sys::BERTH_EVENT_NORMAL },
            regarding_kind: borrow(event.kind),
            regarding_ns: borrow(event.namespace),
            regarding_name: borrow(event.name),
            regarding_uid: borrow(event.uid),
            reason: borrow(event.reason),
            action: borrow(event.action),
            note: borrow(event.note),
        };
        taken(host!(self.record(&spec))?, "the host did not take the event")
    }
}

/// What a field of a watch is read as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldType {
    /// A text.
    Text,
    /// A whole number.
    Integer,
    /// 0 or 1.
    Bool,
    /// A quantity, rounded up to units; its text as written.
    Quantity,
    /// A quantity in thousandths, likewise.
    Milli,
    /// Canonical JSON of the value, as text.
    Json,
}
/// A watched resource of this instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watch(u32);
impl Watch {
    /// `BERTH_KIND_WATCH` and more: what an event about it says.
    pub fn kind(self) -> u32 {
        sys::BERTH_KIND_WATCH + self.0
    }
}
/// An object as the fields of its watch. Lives for the call.
#[derive(Clone, Copy)]
pub struct Object<'a> {
    raw: &'a sys::berth_object_v1,
}
/// One field of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldValue<'a> {
    /// Numbers, and 0 or 1.
    pub number: i64,
    /// Texts, JSON, and quantities as they are written.
    pub text: &'a str,
}
impl<'a> Object<'a> {
    pub(crate) unsafe fn new(raw: *const sys::berth_object_v1) -> Option<Object<'a>> {
        raw.as_ref().map(|raw| Object { raw })
    }
    /// Empty for cluster-wide objects.
    pub fn namespace(&self) -> &'a str {
        unsafe { text(self.raw.ns) }
    }
    /// metadata.name
    pub fn name(&self) -> &'a str {
        unsafe { text(self.raw.name) }
    }
    /// metadata.uid
    pub fn uid(&self) -> &'a str {
        unsafe { text(self.raw.uid) }
    }
    /// The host's counter, not resourceVersion.
    pub fn version(&self) -> u64 {
        self.raw.version
    }
    /// By the field's place in the watch. None: the object does not have it.
    pub fn field(&self, index: usize) -> Result<Option<FieldValue<'a>>, Error> {
        let values = unsafe { slice(self.raw.values, u64::from(self.raw.value_count)) };
        let value = values.get(index).ok_or_else(|| Error::new(format!("reads field {} of a watch of {}", index, values.len())))?;
        if value.type_ == sys::BERTH_VALUE_UNREADABLE {
            return Err(Error::new(format!("field {} of {}/{} is of another type", index, self.namespace(), self.name())));
        }
        Ok((value.present != 0).then(|| FieldValue { number: value.number, text: unsafe { text(value.text) } }))
    }
}
type UseObject = unsafe extern "C" fn(*mut c_void, *const sys::berth_object_v1);
/// Shows the object that `call` finds.
fn look_at<R, F: FnOnce(Object<'_>) -> R>(
    look: F,
    call: impl FnOnce(UseObject, *mut c_void) -> Result<u32, Error>,
) -> Result<Option<R>, Error> {
    unsafe extern "C" fn called<R, F: FnOnce(Object<'_>) -> R>(arg: *mut c_void, raw: *const sys::berth_object_v1) {
        Visitor::<(Option<F>, Option<R>)>::run(arg, |(look, answer)| {
            if let (Some(object), Some(look)) = (Object::new(raw), look.take()) {
                *answer = Some(look(object));
            }
            Ok(true)
        });
    }
    let mut visitor = Visitor::new((Some(look), None));
    let code = call(called::<R, F>, visitor.arg())?;
    let ((_, answer), failed) = visitor.into_parts();
    failed.map_or(Ok(()), Err)?;
    Ok(if found(code, "get")? { answer } else { None })
}
service!(/// API objects as the fields that a policy names. [`Plugin::WATCHES`](crate::Plugin::WATCHES) lists the resource.
    Objects, berth_objects_v1, "berth.objects/1");
impl Objects {
    /// In `new` only: "example.com/v1/widgets" and paths such as "spec.weight".
    pub fn watch(&self, resource: &str, fields: &[(&str, FieldType)]) -> Result<Watch, Error> {
        let of = |kind| match kind {
            FieldType::Text => sys::BERTH_FIELD_STR,
            FieldType::Integer => sys::BERTH_FIELD_INT,
            FieldType::Bool => sys::BERTH_FIELD_BOOL,
            FieldType::Quantity => sys::BERTH_FIELD_QUANTITY,
            FieldType::Milli => sys::BERTH_FIELD_MILLI,
            FieldType::Json => sys::BERTH_FIELD_JSON,
        };
        let fields: Vec<_> =
            fields.iter().map(|&(path, kind)| sys::berth_field_v1 { path: borrow(path), type_: of(kind), reserved: 0 }).collect();
        let mut watch = 0;
        NoteBuffer::new().explain(&format!("cannot watch {}", resource), |note| {
            host!(self.watch(borrow(resource), fields.as_ptr(), fields.len() as u32, &mut watch, note)).unwrap_or(sys::BERTH_DENIED)
        })?;
        Ok(Watch(watch))
    }
    /// Calls `look` with the object; none if there is no such object.
    pub fn get<R>(&self, watch: Watch, namespace: &str, name: &str, look: impl FnOnce(Object<'_>) -> R) -> Result<Option<R>, Error> {
        look_at(look, |call, arg| host!(self.get(watch.0, borrow(namespace), borrow(name), Some(call), arg)))
    }
    /// Visits the objects of a namespace (empty: all) in order, until `visit` answers false.
    pub fn each(&self, watch: Watch, namespace: &str, visit: impl FnMut(Object<'_>) -> bool) -> Result<(), Error> {
        unsafe extern "C" fn called<F: FnMut(Object<'_>) -> bool>(arg: *mut c_void, raw: *const sys::berth_object_v1) -> u32 {
            Visitor::<F>::run(arg, |visit| Ok(Object::new(raw).map_or(true, visit)))
        }
        fn pointer<F: FnMut(Object<'_>) -> bool>(_: &F) -> unsafe extern "C" fn(*mut c_void, *const sys::berth_object_v1) -> u32 {
            called::<F>
        }
        let call = pointer(&visit);
        let mut visitor = Visitor::new(visit);
        host!(self.each(watch.0, borrow(namespace), Some(call), visitor.arg()))?;
        visitor.end()
    }
    /// Visits what changed after `since` (0: all), as it is now: namespace, name, and none where it is gone; an empty name: forget
    /// everything, all follow. Answers what to pass next time. Not from a visit.
    pub fn changes(&self, watch: Watch, since: u64, visit: impl FnMut(&str, &str, Option<Object<'_>>)) -> Result<u64, Error> {
        unsafe extern "C" fn called<F: FnMut(&str, &str, Option<Object<'_>>)>(
            arg: *mut c_void,
            ns: sys::berth_str,
            name: sys::berth_str,
            raw: *const sys::berth_object_v1,
        ) {
            Visitor::<F>::run(arg, |visit| {
                visit(text(ns), text(name), Object::new(raw));
                Ok(true)
            });
        }
        type Call = unsafe extern "C" fn(*mut c_void, sys::berth_str, sys::berth_str, *const sys::berth_object_v1);
        fn pointer<F: FnMut(&str, &str, Option<Object<'_>>)>(_: &F) -> Call {
            called::<F>
        }
        let call = pointer(&visit);
        let mut visitor = Visitor::new(visit);
        let next = host!(self.changes(watch.0, since, Some(call), visitor.arg()))?;
        visitor.end().map(|()| next)
    }
    /// Grows with every change of the watch.
    pub fn epoch(&self, watch: Watch) -> Result<u64, Error> {
        host!(self.epoch(watch.0))
    }
}

/// Shows pods to a closure.
struct Shown<F> {
    visit: F,
    asked: Arc<Asked>,
}
/// For functions that show pods and nothing else; `also`: the groups that they show besides those that were asked for.
struct ShownPods<F> {
    visit: F,
    asked: Arc<Asked>,
    also: u64,
}
type VisitPod = unsafe extern "C" fn(*mut c_void, *const sys::berth_pod_v1) -> u32;
impl<F: FnMut(Pod<'_>) -> bool> ShownPods<F> {
    unsafe extern "C" fn show(arg: *mut c_void, pod: *const sys::berth_pod_v1) -> u32 {
        Visitor::<ShownPods<F>>::run(arg, |shown| Ok((shown.visit)(Pod::new(pod, &shown.asked, shown.also))))
    }
    /// Visits what `call` shows, until the closure answers false.
    fn visit(link: &Arc<Link>, also: u64, visit: F, call: impl FnOnce(VisitPod, *mut c_void) -> Result<(), Error>) -> Result<(), Error> {
        let mut visitor = Visitor::new(ShownPods { visit, asked: link.asked()?, also });
        call(Self::show, visitor.arg())?;
        visitor.end()
    }
}
service!(/// Pods that permit let wait, by uid.
    Waiting, berth_waiting_v1, "berth.waiting/1");
impl Waiting {
    /// This policy has nothing against it any more. False: no such pod waits.
    pub fn allow(&self, uid: &str) -> Result<bool, Error> {
        found(host!(self.allow(borrow(uid)))?, "allow")
    }
    /// Final, whatever others say; the message becomes part of the pod's. False: no such pod waits.
    pub fn reject(&self, uid: &str, message: &str) -> Result<bool, Error> {
        found(host!(self.reject(borrow(uid), borrow(message)))?, "reject")
    }
    /// Visits the waiting pods of a namespace (0: all) with the name of their node, until `visit` answers false.
    pub fn each(&self, namespace: Id, visit: impl FnMut(Pod<'_>, &str) -> bool) -> Result<(), Error> {
        unsafe extern "C" fn called<F: FnMut(Pod<'_>, &str) -> bool>(
            arg: *mut c_void,
            pod: *const sys::berth_pod_v1,
            node: sys::berth_str,
        ) -> u32 {
            Visitor::<Shown<F>>::run(arg, |shown| Ok((shown.visit)(Pod::new(pod, &shown.asked, SHOWN_TO_QUEUE), text(node))))
        }
        type Call = unsafe extern "C" fn(*mut c_void, *const sys::berth_pod_v1, sys::berth_str) -> u32;
        fn pointer<F: FnMut(Pod<'_>, &str) -> bool>(_: &F) -> Call {
            called::<F>
        }
        let call = pointer(&visit);
        let mut visitor = Visitor::new(Shown { visit, asked: self.link.asked()? });
        host!(self.each(namespace, Some(call), visitor.arg()))?;
        visitor.end()
    }
}

/// Members of a group of pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupCount {
    /// Those that are being deleted, too.
    pub all: u32,
    /// On a node, or reserved.
    pub assigned: u32,
    /// Pending, without scheduling gates.
    pub ready: u32,
    /// Pending, with scheduling gates.
    pub gated: u32,
}
service!(/// Pods that get nodes together.
    Groups, berth_groups_v1, "berth.groups/1");
impl Groups {
    /// How many members there are.
    pub fn count(&self, namespace: Id, group: &str) -> Result<GroupCount, Error> {
        let struct_size = size::<sys::berth_group_count_v1>();
        let mut out = sys::berth_group_count_v1 { struct_size, all: 0, assigned: 0, ready: 0, gated: 0, reserved: 0 };
        host!(self.count(namespace, borrow(group), &mut out))?;
        Ok(GroupCount { all: out.all, assigned: out.assigned, ready: out.ready, gated: out.gated })
    }
    /// Visits the members, in no order, until `visit` answers false: pods of every scheduler, with what was asked for, identity and
    /// placement; `node_name` of a reserved one is its node. Not from a visit. \[any\]
    pub fn members(&self, namespace: Id, group: &str, visit: impl FnMut(Pod<'_>) -> bool) -> Result<(), Error> {
        ShownPods::visit(&self.link, SHOWN_TO_QUEUE, visit, |call, arg| host!(self.members(namespace, borrow(group), Some(call), arg)))
    }
    /// "namespace/name" of the group whose members are being planned; empty: the pod at hand goes by itself.
    pub fn planned(&self) -> Result<String, Error> {
        let mut out = borrow("");
        host!(self.planned(&mut out)).map(|()| unsafe { text(out) }.to_string())
    }
}

service!(/// Labels of nodes for keys that only the pod at hand names.
    Labels, berth_labels_v1, "berth.labels/1");
impl Labels {
    /// Value ids by slot, 0: absent.
    pub fn column<'a>(&self, cycle: &Cycle<'a>, key: Id) -> Result<&'a [Id], Error> {
        let first = host!(self.column(cycle.as_raw(), key))?;
        Ok(unsafe { slice(first, u64::from(cycle.slot_count())) })
    }
    /// Bitmap by slot of the nodes that meet one requirement of the pod at hand; as long as [`Cycle::nodes`]. \[cycle\]
    pub fn matches(&self, cycle: &Cycle<'_>, requirement: &Requirement) -> Result<Vec<u64>, Error> {
        let mut out = vec![0; cycle.nodes().len()];
        let code = host!(self.match_(cycle.as_raw(), requirement.raw(), out.as_mut_ptr(), out.len() as u64))?;
        taken(code, "a requirement of an operator that is not known").map(|()| out)
    }
}

/// What [`AllNodes::resource`] is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// allocatable - requested; may be below 0.
    Free,
    /// status.allocatable.
    Allocatable,
    /// What the pods on the node request, summed.
    Requested,
    /// 1 where the node's allocatable names the resource, be it as 0.
    IsListed,
}
service!(/// Declared columns of the whole snapshot.
    AllNodes, berth_nodes_v1, "berth.nodes/1");
impl AllNodes {
    /// By slot. An error for a column that this instance did not ask for.
    pub fn column<'a, T: ColumnValue<'a>>(&self, cycle: &Cycle<'a>, column: Column<T>) -> Result<T::View, Error> {
        self.link.asked()?.check(column.index, column.instance, T::kind())?;
        let values = host!(self.column(cycle.as_raw(), column.index))?;
        if values.is_null() {
            return Err(Error::new("the host shows no columns of the snapshot here"));
        }
        Ok(unsafe { T::view(values, cycle.slot_count()) })
    }
    /// Amounts by slot of a resource that only the pod or an object at hand names. Cheap after the first call for it. \[cycle\]
    pub fn resource<'a>(&self, cycle: &Cycle<'a>, amount: Amount, resource: Id) -> Result<&'a [i64], Error> {
        let kind = match amount {
            Amount::Free => sys::BERTH_COL_FREE,
            Amount::Allocatable => sys::BERTH_COL_ALLOCATABLE,
            Amount::Requested => sys::BERTH_COL_REQUESTED,
            Amount::IsListed => sys::BERTH_COL_LISTED,
        };
        let values = host!(self.resource(cycle.as_raw(), kind, resource))?;
        if values.is_null() {
            return Err(Error::new("the host shows no amounts of the snapshot here"));
        }
        Ok(unsafe { slice(values, u64::from(cycle.slot_count())) })
    }
    /// The node of that name.
    pub fn find(&self, cycle: &Cycle<'_>, name: Id) -> Result<Option<Slot>, Error> {
        Ok(Some(host!(self.find(cycle.as_raw(), name))?).filter(|&slot| slot != sys::BERTH_NO_SLOT))
    }
    /// As it was: no node has come, gone, or changed in anything but the pods on it.
    pub fn facts(&self, cycle: &Cycle<'_>) -> Result<u64, Error> {
        host!(self.facts(cycle.as_raw()))
    }
}

service!(/// The snapshot's nodes in list order.
    NodeOrder, berth_node_order_v1, "berth.node_order/1");
impl NodeOrder {
    /// The zones in turn, each with its nodes as they came.
    pub fn slots<'a>(&self, cycle: &Cycle<'a>) -> Result<&'a [Slot], Error> {
        let first = host!(self.slots(cycle.as_raw()))?;
        Ok(unsafe { slice(first, u64::from(cycle.node_count())) })
    }
}

service!(/// Waiting pods that are to be tried at once, whatever their back-off.
    QueueControl, berth_queue_control_v1, "berth.queue_control/1");
impl QueueControl {
    /// Takes effect after the current call.
    pub fn activate(&self, uid: &str) -> Result<(), Error> {
        taken(host!(self.activate(borrow(uid)))?, "activate")
    }
    /// The same for all waiting pods of a class, as [`Cycle::pod_class`] says it.
    pub fn activate_class(&self, pod_class: u64) -> Result<(), Error> {
        taken(host!(self.activate_class(pod_class))?, "activate_class")
    }
}

service!(/// Tells berth that answers may have changed, for policies whose [`Deps`](crate::Deps) are announced.
    Epoch, berth_epoch_v1, "berth.epoch/1");
impl Epoch {
    /// Verdicts and scores of this instance from before are not used again. After the end of the instance, nothing.
    pub fn bump(&self) {
        let _ = host!(self.bump());
    }
}

service!(/// The feature gates of Kubernetes that the host follows.
    Gates, berth_gates_v1, "berth.gates/1");
impl Gates {
    /// None: the host does not follow it.
    pub fn is_on(&self, gate: &str) -> Result<Option<bool>, Error> {
        let answer = host!(self.is_on(borrow(gate)))?;
        Ok(if answer < 0 { None } else { Some(answer != 0) })
    }
}

/// Which pod a write is about.
#[derive(Debug, Clone, Copy)]
pub struct PodRef<'a> {
    /// metadata.namespace
    pub namespace: &'a str,
    /// metadata.name
    pub name: &'a str,
    /// A precondition; empty: none.
    pub uid: &'a str,
}
type Done = Box<dyn FnOnce(Result<(), Error>) + Send>;
unsafe extern "C" fn done(arg: *mut c_void, code: sys::berth_code, said: sys::berth_str) {
    let done = Box::from_raw(arg as *mut Done);
    let answer = if code == sys::BERTH_OK { Ok(()) } else { Err(Error::of(code, text(said))) };
    let _ = crate::abi::caught(|| {
        done(answer);
        Ok(())
    });
}
service!(/// Changes of pods through the host's client. Each needs its rule in [`Plugin::RBAC`](crate::Plugin::RBAC). `done` is called
    /// exactly once for a write that was taken, from any thread, possibly before the call returns.
    Writes, berth_writes_v1, "berth.writes/1");
impl Writes {
    fn write(&self, call: impl FnOnce(*mut c_void) -> Result<u32, Error>, body: Done) -> Result<(), Error> {
        let arg = Box::into_raw(Box::new(body)) as *mut c_void;
        let refused = match call(arg) {
            Ok(code) if code == sys::BERTH_OK => return Ok(()),
            Ok(code) => Error::of(code, format!("the host did not take the write: code {}", code)),
            Err(error) => error,
        };
        drop(unsafe { Box::from_raw(arg as *mut Done) }); // not called
        Err(refused)
    }
    /// "create core/pods/binding"
    pub fn bind(&self, pod: PodRef<'_>, node: &str, then: impl FnOnce(Result<(), Error>) + Send + 'static) -> Result<(), Error> {
        self.write(
            |arg| host!(self.bind(borrow(pod.namespace), borrow(pod.name), borrow(pod.uid), borrow(node), Some(done), arg)),
            Box::new(then),
        )
    }
    /// "patch core/pods/status": a JSON merge patch.
    pub fn patch_pod_status(&self, pod: PodRef<'_>, json: &str, then: impl FnOnce(Result<(), Error>) + Send + 'static) -> Result<(), Error> {
        self.write(
            |arg| host!(self.patch_pod_status(borrow(pod.namespace), borrow(pod.name), borrow(pod.uid), borrow(json), Some(done), arg)),
            Box::new(then),
        )
    }
    /// "patch core/pods": a JSON merge patch of labels and annotations.
    pub fn patch_pod_metadata(&self, pod: PodRef<'_>, json: &str, then: impl FnOnce(Result<(), Error>) + Send + 'static) -> Result<(), Error> {
        self.write(
            |arg| host!(self.patch_pod_metadata(borrow(pod.namespace), borrow(pod.name), borrow(pod.uid), borrow(json), Some(done), arg)),
            Box::new(then),
        )
    }
    /// "patch <group>/<plural>": a JSON merge patch of an object that is no pod; `resource` as in [`Objects::watch`], `namespace` empty
    /// for cluster-wide ones. metadata.resourceVersion or metadata.uid in it is a precondition. \[binder\]
    pub fn patch_object(
        &self,
        resource: &str,
        namespace: &str,
        name: &str,
        json: &str,
        then: impl FnOnce(Result<(), Error>) + Send + 'static,
    ) -> Result<(), Error> {
        self.write(
            |arg| host!(self.patch_object(borrow(resource), borrow(namespace), borrow(name), borrow(json), Some(done), arg)),
            Box::new(then),
        )
    }
    /// "delete core/pods": gracefully; a pod that is gone is OK.
    pub fn evict(&self, pod: PodRef<'_>, message: &str, then: impl FnOnce(Result<(), Error>) + Send + 'static) -> Result<(), Error> {
        self.write(
            |arg| host!(self.evict(borrow(pod.namespace), borrow(pod.name), borrow(pod.uid), borrow(message), Some(done), arg)),
            Box::new(then),
        )
    }
}
