// SPDX-License-Identifier: Apache-2.0
//! What the crate promises, on plugins that keep it and plugins that do not.
use crate::testing::{Answer, Answers, Code, Node, Pod as PodSpec, Policy};
use crate::*;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// A policy whose functions a test gives.
macro_rules! policy {
    ($name:ident, $new:expr) => {
        impl Plugin for $name {
            const NAME: &'static str = concat!("example.com/", stringify!($name));
            const VERSION: &'static str = "1.2.3";
            const SUMMARY: &'static str = "For tests.";
            const REASONS: &'static [ReasonText] = &[ReasonText::new("first", "First"), ReasonText::new("second", "Second")];
            fn new(setup: &mut Setup<'_>) -> Result<Self, Error> {
                let new: fn(&mut Setup<'_>) -> Result<Self, Error> = $new;
                new(setup)
            }
        }
    };
}

fn failure(result: Result<Policy, (Code, String)>) -> (Code, String) {
    match result {
        Ok(_) => panic!("the policy was made"),
        Err(failure) => failure,
    }
}

mod domains;
mod services;

// --- columns, rows and answers ---

struct Fits {
    free: Column<i64>,
    rack: Column<Id>,
    unschedulable: Column<bool>,
    cpu: Request,
    first_rack: Id,
}
policy!(Fits, |setup| {
    let intern: Intern = setup.service()?;
    Ok(Fits {
        free: setup.free("cpu")?,
        rack: setup.label("rack")?,
        unschedulable: setup.unschedulable()?,
        cpu: setup.request("cpu")?,
        first_rack: intern.id("r1")?,
    })
});
impl Filter for Fits {
    fn filter(&self, cycle: &Cycle<'_>, nodes: &mut FilterBlock<'_>) -> Result<(), Error> {
        let (free, rack, off) = (nodes.column(self.free)?, nodes.column(self.rack)?, nodes.column(self.unschedulable)?);
        let cpu = cycle.pod().request(self.cpu)?;
        nodes.reject_where(Rejection::unresolvable(Reason::row(2)), |row| off.get(row));
        nodes.reject_where(Rejection::unschedulable(Reason::row(1)), |row| free[row] < cpu);
        for row in 0..nodes.rows() {
            if rack[row] == EMPTY {
                nodes.fail_row(row, "the rack has no name");
            }
        }
        Ok(())
    }
}
impl Score for Fits {
    fn score(&self, _: &Cycle<'_>, nodes: &mut ScoreBlock<'_>) -> Result<(), Error> {
        let rack = nodes.column(self.rack)?;
        nodes.scores().iter_mut().zip(rack).for_each(|(score, &rack)| *score = if rack == self.first_rack { 100 } else { 1 });
        Ok(())
    }
}

#[test]
fn a_filter_reads_columns_and_rejects_rows_with_reasons() {
    let policy = Policy::new(describe!(Fits), "").unwrap();
    let mut nodes = vec![
        Node::new("a").resource("cpu", 1000, 0),
        Node::new("b").resource("cpu", 1000, 800),
        Node::new("c").resource("cpu", 1000, 0).unschedulable(),
        Node::new("d").resource("cpu", 1000, 0).label("rack", ""),
    ];
    nodes.extend((0..70).map(|_| Node::new("e").resource("cpu", 500, 0).label("rack", "r1")));
    let mut attempt = policy.attempt(&PodSpec { requests: vec![("cpu".into(), 500)], ..PodSpec::default() }, &nodes);
    let answers = attempt.filter().unwrap();
    assert_eq!(answers[..4], [
        Answer::Passes,
        Answer::Unschedulable("first".into()),
        Answer::Unresolvable("second".into()),
        Answer::Fails("the rack has no name".into()),
    ]);
    assert!(answers[4..].iter().all(|answer| *answer == Answer::Passes));
    let scores = attempt.score().unwrap();
    assert_eq!((scores[0], scores[4], scores[73], scores.len()), (1, 100, 100, 74));
}

#[test]
fn points_are_found_by_their_traits() {
    let policy = Policy::new(describe!(Fits), "").unwrap();
    assert_eq!(policy.points(), ["berth.filter/1", "berth.score/1"]);
}

// --- what was not asked for ---

/// Reads, with its first instance's handle, a column that the second one did not ask for.
struct Strays {
    pods: Option<Column<i64>>,
}
static STRAY: Mutex<Option<Column<i64>>> = Mutex::new(None);
policy!(Strays, |setup| {
    let mut stray = STRAY.lock().unwrap();
    let pods = if stray.is_none() { Some(setup.pods()?) } else { None };
    *stray = pods.or(*stray);
    Ok(Strays { pods })
});
impl Filter for Strays {
    fn filter(&self, _: &Cycle<'_>, nodes: &mut FilterBlock<'_>) -> Result<(), Error> {
        let pods = nodes.column(self.pods.or(*STRAY.lock().unwrap()).ok_or("no column")?)?;
        nodes.reject_where(Rejection::unschedulable(Reason::row(1)), |row| pods[row] > 1);
        Ok(())
    }
}

#[test]
fn a_column_that_was_not_asked_for_is_an_error_of_the_call() {
    let nodes = [Node::new("a").pods(1), Node::new("b").pods(2)];
    let (first, second) = (Policy::new(describe!(Strays), "").unwrap(), Policy::new(describe!(Strays), "").unwrap());
    assert_eq!(first.attempt(&PodSpec::default(), &nodes).filter(),
               Ok(vec![Answer::Passes, Answer::Unschedulable("first".into())]));
    assert_eq!(second.attempt(&PodSpec::default(), &nodes).filter(),
               Err("reads a column that another instance asked for, and this one did not".into()));
}

struct Curious;
policy!(Curious, |setup| {
    setup.pod_fields(PodFields::PRIORITY)?;
    Ok(Curious)
});
impl Filter for Curious {
    fn filter(&self, cycle: &Cycle<'_>, _: &mut FilterBlock<'_>) -> Result<(), Error> {
        let pod = cycle.pod();
        match pod.priority()? {
            0 => pod.labels().map(drop),
            1 => pod.affinity().map(drop),
            2 => pod.volumes().map(drop),
            _ => pod.name().map(drop),
        }
    }
}
impl PreEnqueue for Curious {
    fn pre_enqueue(&self, queued: QueuedPod<'_>) -> Result<Verdict, Error> {
        Ok(Verdict::unschedulable(format!("{} waits", queued.pod.name()?)))
    }
}

#[test]
fn a_pod_field_that_was_not_asked_for_is_an_error_with_the_name_of_its_group() {
    let policy = Policy::new(describe!(Curious), "").unwrap();
    let said = |priority| policy.attempt(&PodSpec { priority, ..PodSpec::default() }, &[Node::new("a")]).filter().unwrap_err();
    assert_eq!(said(0), "reads labels of a pod, and did not ask for pod_fields(PodFields::LABELS)");
    assert_eq!(said(1), "reads affinity of a pod, and did not ask for pod_fields(PodFields::AFFINITY)");
    assert_eq!(said(2), "reads volumes of a pod, and did not ask for pod_fields(PodFields::VOLUMES or STORAGE)");
    assert_eq!(said(3), "reads name of a pod, and did not ask for pod_fields(PodFields::IDENTITY or STORAGE or CLAIMS)");
}

#[test]
fn the_queue_shows_names_to_everyone() {
    let policy = Policy::new(describe!(Curious), "").unwrap();
    let pod = PodSpec { name: "web".into(), ..PodSpec::default() };
    assert_eq!(policy.pre_enqueue(&pod), Err((Code::Unschedulable, "web waits".into())));
}

// --- panics ---

struct Panics(Column<i64>);
policy!(Panics, |setup| match setup.args()?.is_null() {
    true => Ok(Panics(setup.pods()?)),
    false => panic!("no luck in new"),
});
impl Filter for Panics {
    fn filter(&self, _: &Cycle<'_>, nodes: &mut FilterBlock<'_>) -> Result<(), Error> {
        let pods = nodes.column(self.0)?;
        assert!(pods[0] != 1, "out of {} today", "luck");
        let beyond = pods.len() + pods[0] as usize;
        Err(format!("{}", pods[beyond]).into())
    }
}
impl Reserve for Panics {
    fn reserve(&self, _: &Cycle<'_>, _: Slot) -> Result<Verdict, Error> {
        std::panic::panic_any(7)
    }
    fn unreserve(&self, _: &Cycle<'_>, _: Slot) -> Result<(), Error> {
        panic!("nothing to give back")
    }
}
impl Drop for Panics {
    fn drop(&mut self) {
        panic!("at the end")
    }
}

#[test]
fn a_panic_is_an_error_of_the_call_with_its_text() {
    let policy = Policy::new(describe!(Panics), "").unwrap();
    let said = |pods| policy.attempt(&PodSpec::default(), &[Node::new("a").pods(pods)]).filter().unwrap_err();
    assert_eq!(said(1), "panicked: out of luck today");
    assert_eq!(said(5), "panicked: index out of bounds: the len is 1 but the index is 6");
    let mut attempt = policy.attempt(&PodSpec::default(), &[Node::new("a")]);
    assert_eq!(attempt.reserve(0), Err((Code::Error, "panicked: without a text".into())));
    attempt.unreserve(0);
    assert_eq!(policy.log(), ["a call failed point=unreserve error=panicked: nothing to give back"]);
}

#[test]
fn a_panic_in_new_stops_the_start_with_its_text() {
    assert_eq!(failure(Policy::new(describe!(Panics), "{}")), (Code::Error, "panicked: no luck in new".into()));
}

// --- args ---

struct Args(i64);
policy!(Args, |setup| {
    let args = setup.args()?;
    let zones = args.at("zones")?.items()?;
    Ok(Args(zones.iter().map(|zone| zone.at("weight")?.integer_in(0, 10)).sum::<Result<i64, Error>>()?))
});
impl Score for Args {
    fn score(&self, _: &Cycle<'_>, nodes: &mut ScoreBlock<'_>) -> Result<(), Error> {
        nodes.scores().fill(self.0);
        Ok(())
    }
}

#[test]
fn args_that_are_nonsense_are_refused_with_their_place() {
    let refused = |args| failure(Policy::new(describe!(Args), args));
    let of = |text: &str| (Code::BadArgs, text.to_string());
    assert_eq!(refused(""), of("args: expected an object, found null"));
    assert_eq!(refused("{]"), of("args: expected the name of a member (byte 1)"));
    assert_eq!(refused(r#"{"zones": 3}"#), of("args.zones: expected a list, found 3"));
    assert_eq!(refused(r#"{"zones": [{"weight": 1}, {}]}"#), of("args.zones[1] has no \"weight\""));
    assert_eq!(refused(r#"{"zones": [{"weight": 11}]}"#), of("args.zones[0].weight: 11 is not in 0..10"));
    let policy = Policy::new(describe!(Args), r#"{"zones": [{"weight": 3}, {"weight": 4}]}"#).unwrap();
    assert_eq!(policy.attempt(&PodSpec::default(), &[Node::new("a")]).score(), Ok(vec![7]));
}

// --- state and what-ifs ---

#[derive(Clone)]
struct Others(u32);
struct Counts;
policy!(Counts, |setup| {
    setup.pod_fields(PodFields::PRIORITY)?;
    Ok(Counts)
});
impl PreFilter for Counts {
    fn pre_filter(&self, cycle: &Cycle<'_>, nodes: &mut Candidates<'_>) -> Result<Prepared, Error> {
        if cycle.pod().priority()? < 0 {
            return Ok(Verdict::unresolvable("below everything").into());
        }
        nodes.keep(|node| node != 1);
        Ok(Prepared::with(Others(0)))
    }
}
impl WhatIf for Counts {
    type State = Others;
    fn pod_added(&self, cycle: &Cycle<'_>, state: &mut Others, other: Pod<'_>, _: Slot) -> Result<bool, Error> {
        assert!(cycle.state::<Others>().is_none(), "what is changed cannot be looked at");
        state.0 += other.priority()? as u32;
        Ok(true)
    }
    fn pod_removed(&self, _: &Cycle<'_>, state: &mut Others, other: Pod<'_>, _: Slot) -> Result<bool, Error> {
        state.0 -= other.priority()? as u32;
        Ok(true)
    }
}
impl Score for Counts {
    fn score(&self, cycle: &Cycle<'_>, nodes: &mut ScoreBlock<'_>) -> Result<(), Error> {
        assert!(cycle.state::<String>().is_none());
        nodes.scores().fill(i64::from(cycle.state::<Others>().ok_or("no state")?.0));
        Ok(())
    }
}

#[test]
fn state_goes_from_pre_filter_through_what_ifs_to_score() {
    let policy = Policy::new(describe!(Counts), "").unwrap();
    let nodes = [Node::new("a"), Node::new("b"), Node::new("c")];
    let mut attempt = policy.attempt(&PodSpec::default(), &nodes);
    assert_eq!(attempt.score(), Err("no state".into()));
    assert_eq!(attempt.pre_filter(), Ok(vec!["a".into(), "c".into()]));
    attempt.pod_added(&PodSpec { priority: 5, ..PodSpec::default() }, 0).unwrap();
    assert_eq!(attempt.score(), Ok(vec![5, 5, 5]));
    let mut refused = policy.attempt(&PodSpec { priority: -1, ..PodSpec::default() }, &nodes);
    assert_eq!(refused.pre_filter(), Err((Code::Unresolvable, "below everything".into())));
}

// --- permit, bindings that are answered later, tasks ---

#[derive(Clone)]
struct Binds {
    executor: Executor,
    epoch: Epoch,
    runs: Arc<AtomicU32>,
}
policy!(Binds, |setup| {
    let binds = Binds { executor: setup.service()?, epoch: setup.service()?, runs: Arc::default() };
    let mine = binds.clone();
    binds.executor.every(10, move || {
        mine.epoch.bump();
        match mine.runs.fetch_add(1, Ordering::Relaxed) {
            0 => Ok(()),
            1 => Err("not this time".into()),
            _ => panic!("nor this time"),
        }
    })?;
    Ok(binds)
});
impl Permit for Binds {
    fn permit(&self, _: &Cycle<'_>, _: Slot) -> Result<Verdict, Error> {
        Ok(Verdict::Wait { timeout_ms: 1500 })
    }
}
impl PreBind for Binds {
    fn pre_bind(&self, _: &Cycle<'_>, call: &mut BindCall<'_>) -> Result<Verdict, Error> {
        match call.node_name() {
            "now" => Ok(Verdict::Ok),
            "dropped" => {
                drop(call.later());
                Ok(Verdict::Ok)
            }
            "taken back" => {
                let completion = call.later();
                self.executor.after(5, move || Ok(completion.complete(Ok(Verdict::Ok))))?;
                Err("on second thoughts".into())
            }
            _ => {
                let completion = call.later();
                assert!(completion.pod_exists() && !completion.is_cancelled());
                self.executor.after(5, move || {
                    let said = format!("{} is far", completion.node_name());
                    Ok(completion.complete(Ok(Verdict::unschedulable(said))))
                })?;
                Ok(Verdict::Ok)
            }
        }
    }
}

#[test]
fn a_binding_is_answered_now_later_or_by_what_went_wrong() {
    let answers = Answers::default();
    let policy = Policy::new(describe!(Binds), "").unwrap();
    let nodes = ["now", "later", "taken back", "dropped"].map(Node::new);
    let mut attempt = policy.attempt(&PodSpec::default(), &nodes);
    assert_eq!(attempt.permit(0), Err((Code::Wait, "1500".into())));
    assert_eq!(attempt.pre_bind(0, &answers), Ok(()));
    assert_eq!(attempt.pre_bind(1, &answers), Err((Code::Later, "".into())));
    assert_eq!(attempt.pre_bind(2, &answers), Err((Code::Error, "on second thoughts".into())));
    assert_eq!(attempt.pre_bind(3, &answers), Err((Code::Later, "".into())));
    let dropped = Some(Err((Code::Error, "the plugin dropped the binding without an answer".to_string())));
    assert_eq!(answers.given(), [None, None, None, dropped.clone()]);
    policy.advance_ms(5);
    assert_eq!(answers.given(), [None, Some(Err((Code::Unschedulable, "later is far".into()))), None, dropped]);
}

#[test]
fn what_a_task_answers_as_an_error_and_a_panic_of_it_are_logged() {
    let policy = Policy::new(describe!(Binds), "").unwrap();
    policy.advance_ms(30);
    assert_eq!(policy.bumps(), 3);
    assert_eq!(policy.log(), ["a task failed error=not this time", "a task failed error=panicked: nor this time"]);
}

// --- the end ---

struct Keeps;
static KEPT: Mutex<Option<(Clock, Executor, Log)>> = Mutex::new(None);
policy!(Keeps, |setup| {
    *KEPT.lock().unwrap() = Some((setup.service()?, setup.service()?, setup.service()?));
    Ok(Keeps)
});
impl Permit for Keeps {
    fn permit(&self, _: &Cycle<'_>, _: Slot) -> Result<Verdict, Error> {
        Ok(Verdict::Ok)
    }
}

#[test]
fn a_service_that_outlives_the_instance_answers_errors() {
    let policy = Policy::new(describe!(Keeps), "").unwrap();
    let (clock, executor, log) = KEPT.lock().unwrap().take().unwrap();
    policy.advance_ms(2);
    assert_eq!(clock.monotonic_ns(), Ok(2_000_000));
    drop(policy);
    assert_eq!(clock.monotonic_ns().unwrap_err().text(), "the instance is destroyed");
    assert_eq!(executor.submit(|| Ok(())).unwrap_err().text(), "the instance is destroyed");
    assert!(!log.is_enabled(Severity::Error));
}

struct Holds(Option<Arc<AtomicU64>>);
impl Drop for Holds {
    fn drop(&mut self) {
        if let Some(dropped) = &self.0 {
            dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}
struct Schedules;
static DROPPED: Mutex<Option<Arc<AtomicU64>>> = Mutex::new(None);
policy!(Schedules, |setup| {
    let executor: Executor = setup.service()?;
    let holds = |which: &'static str| {
        let holds = Holds(DROPPED.lock().unwrap().clone());
        move || {
            let _ = (&holds, which);
            Ok(())
        }
    };
    executor.submit(holds("runs"))?;
    executor.after(5, holds("waits"))?;
    let task = executor.after(5, holds("is cancelled"))?;
    assert_eq!((executor.cancel(task), executor.cancel(task)), (Ok(true), Ok(false)));
    executor.every(0, || Ok(())).unwrap_err();
    Ok(Schedules)
});
impl Permit for Schedules {
    fn permit(&self, _: &Cycle<'_>, _: Slot) -> Result<Verdict, Error> {
        Ok(Verdict::Ok)
    }
}

#[test]
fn what_tasks_hold_is_dropped_when_they_end_are_cancelled_or_the_instance_ends() {
    let dropped = Arc::new(AtomicU64::new(0));
    *DROPPED.lock().unwrap() = Some(dropped.clone());
    let policy = Policy::new(describe!(Schedules), "").unwrap();
    assert_eq!(dropped.load(Ordering::Relaxed), 1);
    policy.advance_ms(0);
    assert_eq!(dropped.load(Ordering::Relaxed), 2);
    drop(policy);
    assert_eq!(dropped.load(Ordering::Relaxed), 3);
}

// --- descriptor and note ---

struct Whole;
impl Plugin for Whole {
    const NAME: &'static str = "example.com/Whole";
    const VERSION: &'static str = "2.0.0";
    const SUMMARY: &'static str = "All there is.";
    const ARGS_SCHEMA: Option<&'static str> = Some("{}");
    const SERVICES: &'static [&'static str] = &["berth.log/1", "berth.clock/1"];
    const WATCHES: &'static [&'static str] = &["example.com/v1/widgets"];
    const RBAC: &'static [&'static str] = &["create core/pods/binding"];
    const INTERESTS: &'static [Interest] = &[
        Interest::hinted(berth_sys::BERTH_KIND_NODE, berth_sys::BERTH_ACTION_ADD),
        Interest::always(berth_sys::BERTH_KIND_POD, berth_sys::BERTH_ACTION_DELETE),
    ];
    fn new(_: &mut Setup<'_>) -> Result<Self, Error> {
        Ok(Whole)
    }
}
impl Hint for Whole {
    fn hint(&self, _: &Event<'_>, _: Pod<'_>) -> Result<bool, Error> {
        Ok(true)
    }
}
impl QueueSort for Whole {
    const KEY_WORDS: u32 = 1;
    fn key(&self, pod: QueuedPod<'_>) -> Result<[u64; 4], Error> {
        Ok([pod.enqueued_ns as u64, 0, 0, 0])
    }
}
impl PostBind for Whole {
    fn post_bind(&self, _: &Cycle<'_>, _: &str) -> Result<(), Error> {
        Ok(())
    }
}
export!(Whole, Fits);

#[test]
fn the_note_says_what_the_descriptor_says() {
    let about = describe!(Whole).about;
    const SIZE: usize = detail::note_size(describe!(Whole).about);
    let note = detail::note::<SIZE>(about);
    let entries: Vec<&str> = std::str::from_utf8(&note).unwrap().split_terminator('\0').collect();
    assert_eq!(entries[..10], [
        "plugin=example.com/Whole", "version=2.0.0", "points=berth.queue/1", "points=berth.bind/1", "points=berth.requeue/1",
        "service=berth.log/1", "service=berth.clock/1", "watch=example.com/v1/widgets", "rbac=create core/pods/binding", "sdk=1.0.0",
    ]);
    assert_eq!(entries[10], "compiler=rustc");
    assert!(entries[11].starts_with("isa="));
    assert_eq!(entries.len(), 12);
}

#[test]
fn what_is_of_abi_1_0_requires_no_later_minor() {
    assert_eq!(describe!(Whole).about.minor_required, 0);
    assert_eq!(minors::of_id("berth.later/1"), berth_sys::BERTH_ABI_MINOR as u16);
    assert_eq!(minors::of_column(berth_sys::BERTH_COL_POD_FREE), 0);
    assert_eq!(minors::of_pod_groups(u64::from(berth_sys::BERTH_POD_QOS)), 0);
}

#[test]
fn the_descriptor_has_each_text_and_table() {
    let plugin = describe!(Whole).plugin;
    let text = |text| unsafe { std::ffi::CStr::from_ptr(text) }.to_str().unwrap();
    assert_eq!((text(plugin.name), text(plugin.version), text(plugin.summary), text(plugin.args_schema)),
               ("example.com/Whole", "2.0.0", "All there is.", "{}"));
    let services = unsafe { abi::slice(plugin.services, u64::from(plugin.service_count)) };
    assert_eq!(services.iter().map(|&service| text(service)).collect::<Vec<_>>(), ["berth.log/1", "berth.clock/1"]);
    let plugin = describe!(Fits).plugin;
    let reasons = unsafe { abi::slice(plugin.reasons, u64::from(plugin.reason_count)) };
    assert_eq!(reasons.iter().map(|reason| (text(reason.text), text(reason.code))).collect::<Vec<_>>(),
               [("", ""), ("first", "First"), ("second", "Second")]);
    assert!(plugin.args_schema.is_null());
}
