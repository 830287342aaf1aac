// SPDX-License-Identifier: Apache-2.0
//! Services and the points that stand on them, against the host in memory.
use super::*;
use crate::testing::{Nominates, PostFiltered};
use std::collections::HashMap;
use std::sync::PoisonError;

fn pod(uid: &str, priority: i64, cpu: i64) -> PodSpec {
    PodSpec { name: uid.into(), uid: uid.into(), priority, requests: vec![("cpu".into(), cpu)], ..PodSpec::default() }
}
fn node(name: &str, pods: &[PodSpec]) -> Node {
    pods.iter().fold(Node::new(name).resource("cpu", 1000, 0), |node, pod| node.pod(pod.clone()))
}

// --- pods on nodes ---

#[derive(Default)]
struct Sums {
    followed: FollowedPods,
    cpu: HashMap<String, i64>,
    recounts: u32,
}
struct Follows {
    pods: PlacedPods,
    cpu: Request,
    sums: Mutex<Sums>,
}
policy!(Follows, |setup| Ok(Follows { pods: setup.service()?, cpu: setup.request("cpu")?, sums: Mutex::default() }));
impl PreFilter for Follows {
    fn pre_filter(&self, cycle: &Cycle<'_>, _: &mut Candidates<'_>) -> Result<Prepared, Error> {
        let Sums { followed, cpu, recounts } = &mut *self.sums.lock().unwrap();
        followed.follow(&self.pods, cycle, |step| {
            match step {
                Step::Begin => {
                    cpu.clear();
                    *recounts += 1;
                }
                Step::Add(placed) if placed.pod.name()? == "broken" => return Err("a pod that cannot be added".into()),
                Step::Add(placed) => {
                    *cpu.entry(placed.pod.name()?.to_string()).or_default() += i64::from(placed.by) * placed.pod.request(self.cpu)?
                }
            }
            Ok(())
        })?;
        cpu.retain(|_, cpu| *cpu != 0);
        let mut said: Vec<String> = cpu.iter().map(|(name, cpu)| format!("{}={}", name, cpu)).collect();
        said.sort();
        Ok(Verdict::unschedulable(format!("{} after {}", said.join(" "), recounts)).into())
    }
}

#[test]
fn sums_over_placed_pods_follow_the_journal_and_are_counted_again_after_a_gap_or_an_error() {
    let policy = Policy::new(describe!(Follows), "").unwrap();
    let said = |nodes: &[Node]| policy.attempt(&PodSpec::default(), nodes).pre_filter().unwrap_err().1;
    let (a, b, c) = (pod("a", 0, 100), pod("b", 0, 200), pod("c", 0, 300));
    assert_eq!(said(&[node("n", &[a.clone(), b.clone()])]), "a=100 b=200 after 1");
    assert_eq!(said(&[node("n", &[a.clone(), b.clone()])]), "a=100 b=200 after 1");
    assert_eq!(said(&[node("n", &[a.clone()]), node("m", &[c.clone()])]), "a=100 c=300 after 1");
    policy.forget_changes();
    assert_eq!(said(&[node("n", &[b.clone()]), node("m", &[c.clone()])]), "b=200 c=300 after 2");
    assert_eq!(said(&[node("n", &[b.clone(), pod("broken", 0, 1)])]), "a pod that cannot be added");
    assert_eq!(said(&[node("n", &[b])]), "b=200 after 3");
}

struct Lists(PlacedPods);
policy!(Lists, |setup| Ok(Lists(setup.service()?)));
impl PreFilter for Lists {
    fn pre_filter(&self, cycle: &Cycle<'_>, _: &mut Candidates<'_>) -> Result<Prepared, Error> {
        let mut said = Vec::new();
        self.0.on_node(cycle, 1, |placed| {
            let leaving = if placed.is_terminating() { " leaves" } else { "" };
            said.push(format!("{}@{}{}", placed.pod.uid().unwrap(), placed.node, leaving));
            placed.pod.priority().unwrap() < 5
        })?;
        self.0.nominated(cycle, Some(0), |placed| {
            said.push(format!("{}->{}", placed.pod.uid().unwrap(), placed.node));
            true
        })?;
        Ok(Verdict::unschedulable(said.join(", ")).into())
    }
}

#[test]
fn pods_of_a_node_and_nominated_pods_are_visited_until_the_visitor_has_enough() {
    let policy = Policy::new(describe!(Lists), "").unwrap();
    let leaves = PodSpec { is_terminating: true, ..pod("leaves", 0, 0) };
    let nodes = [node("n", &[pod("x", 0, 0)]), node("m", &[leaves, pod("last", 5, 0), pod("unseen", 0, 0)])];
    let mut attempt = policy.attempt_with(&PodSpec::default(), &nodes, &[(0, pod("comes", 0, 0)), (1, pod("other", 0, 0))]);
    assert_eq!(attempt.pre_filter().unwrap_err().1, "leaves@1 leaves, last@1, comes->0");
}

// --- post_filter, what-ifs and the search for victims ---

/// Evicts from the first node the one pod without which the incoming one fits.
struct EvictsOne(DryRun);
policy!(EvictsOne, |setup| {
    setup.pod_fields(PodFields::PRIORITY)?;
    Ok(EvictsOne(setup.service()?))
});
impl PostFilter for EvictsOne {
    fn post_filter(&self, cycle: &Cycle<'_>, rejected: &mut Rejected<'_>) -> Result<Verdict, Error> {
        let mine = cycle.pod().priority()?;
        let mut fits = Vec::new();
        for node in 0..cycle.slot_count() {
            let mut uids = Vec::new();
            self.0.pods_on(cycle, node, |pod| {
                if pod.priority().unwrap() < mine {
                    uids.push(pod.uid().unwrap().to_string());
                }
                true
            })?;
            for uid in &uids {
                let fit = self.0.fits_without(rejected, node, &[uid])?;
                fits.push(format!("{:?}", fit));
                if fit == Fit::Fits {
                    rejected.nominate(node);
                    rejected.add_victim(uid);
                    return Ok(Verdict::Ok);
                }
            }
        }
        assert_eq!(self.0.fits_without(rejected, 99, &["missing"])?, Fit::NotFound);
        rejected.clear_nomination();
        Ok(Verdict::unschedulable(fits.join(" ")))
    }
}

#[test]
fn a_post_filter_asks_what_if_and_nominates_with_victims() {
    let policy = Policy::new(describe!(EvictsOne), "").unwrap();
    let nodes = [node("small", &[pod("a", 1, 300), pod("b", 1, 700)]), node("big", &[pod("c", 9, 800)])];
    let nominated = |node: &str, victim: &str| PostFiltered {
        said: Ok(()),
        nominates: Nominates::Node(node.into()),
        victims: vec![victim.into()],
    };
    assert_eq!(policy.attempt(&pod("new", 5, 500), &nodes).post_filter(), nominated("small", "b"));
    assert_eq!(policy.attempt(&pod("new", 10, 800), &nodes).post_filter(), nominated("big", "c"));
    let refused = PostFiltered {
        said: Err((Code::Unschedulable, "Unschedulable Unschedulable".into())),
        nominates: Nominates::Clears,
        victims: vec![],
    };
    assert_eq!(policy.attempt(&pod("new", 5, 900), &nodes).post_filter(), refused);
    let refused = PostFiltered { said: Err((Code::Unschedulable, "Unresolvable Unresolvable".into())), ..refused };
    assert_eq!(policy.attempt(&pod("new", 5, 2000), &nodes).post_filter(), refused);
}

struct Preempts {
    preemption: Preemption,
    protected: &'static str,
}
policy!(Preempts, |setup| {
    let protected = if setup.args()?.is_null() { "kept" } else { "panics" };
    Ok(Preempts { preemption: setup.service()?, protected })
});
impl PostFilter for Preempts {
    fn post_filter(&self, cycle: &Cycle<'_>, rejected: &mut Rejected<'_>) -> Result<Verdict, Error> {
        let preemptor = self.preemption.preemptor(cycle)?;
        if preemptor.never || self.preemption.evicting("new")? {
            return Ok(Verdict::unschedulable(format!("never: {}", preemptor.never)));
        }
        let may_go = |pod: Pod<'_>, _: Slot| {
            assert!(self.protected != "panics", "on purpose");
            Ok(pod.name()? != self.protected)
        };
        let search = Search::new(rejected, preemptor.priority);
        match self.preemption.search_where(rejected, &search, &DefaultVictimOrder, may_go)? {
            Found::Nothing(why) => Ok(Verdict::unschedulable(why)),
            Found::Node(choice) => {
                let mut victims = Vec::new();
                self.preemption.victims(cycle, |uid| victims.push(uid.to_string()))?;
                assert_eq!(victims.len(), choice.victim_count as usize);
                let mut shown = Vec::new();
                self.preemption.chosen(cycle, |victim, pod| {
                    shown.push(format!("{}@{}:{}", pod.name().unwrap(), victim.node(), victim.priority()));
                })?;
                let mut on_it = 0;
                self.preemption.pods_on(cycle, choice.node, |victim| {
                    let name = self.preemption.show(cycle, &victim, |pod| pod.name().unwrap().to_string());
                    on_it += usize::from(name.unwrap().is_some());
                    true
                })?;
                rejected.nominate(choice.node);
                victims.iter().for_each(|uid| rejected.add_victim(uid));
                assert!(on_it >= victims.len() && shown.len() == victims.len());
                Ok(Verdict::Ok)
            }
        }
    }
}

#[test]
fn the_search_finds_the_least_important_victims_that_may_go() {
    let policy = Policy::new(describe!(Preempts), "").unwrap();
    let at = |uid: &str, start_ns| PodSpec { start_ns: Some(start_ns), ..pod(uid, 1, 600) };
    // Of equal nodes the one whose victim has started last; a pod that fits together with the new one stays.
    let nodes = [node("early", &[at("e", 10)]), node("late", &[at("l", 20), pod("small", 0, 100)]), node("kept", &[at("kept", 30)])];
    let found = policy.attempt(&pod("new", 5, 950), &nodes).post_filter();
    let victims = |victims: &[&str]| victims.iter().map(|uid| uid.to_string()).collect::<Vec<_>>();
    assert_eq!((found.nominates, found.victims), (Nominates::Node("early".into()), victims(&["e"])));
    let found = policy.attempt(&pod("new", 5, 500), &nodes).post_filter();
    assert_eq!((found.said, found.nominates, found.victims), (Ok(()), Nominates::Node("late".into()), victims(&["l"])));
    let none = policy.attempt(&pod("new", 1, 900), &nodes).post_filter();
    let why = "preemption: No preemption victims found for incoming pod";
    assert_eq!(none.said, Err((Code::Unschedulable, why.into())));
    let never = PodSpec { never_preempts: true, ..pod("new", 5, 900) };
    assert_eq!(policy.attempt(&never, &nodes).post_filter().said, Err((Code::Unschedulable, "never: true".into())));
    policy.evicting("new");
    assert_eq!(policy.attempt(&pod("new", 5, 900), &nodes).post_filter().said, Err((Code::Unschedulable, "never: false".into())));
}

#[test]
fn a_panic_in_a_search_is_an_error_of_the_call() {
    let policy = Policy::new(describe!(Preempts), "{}").unwrap();
    let said = policy.attempt(&pod("new", 5, 900), &[node("n", &[pod("a", 1, 900)])]).post_filter().said;
    assert_eq!(said, Err((Code::Error, "panicked: on purpose".into())));
}

// --- requests about objects ---

struct Asks {
    writes: ObjectWrites,
    answers: Arc<Mutex<Vec<String>>>,
}
static ANSWERS: Mutex<Option<Arc<Mutex<Vec<String>>>>> = Mutex::new(None);
/// A policy with where it keeps its answers.
fn asks() -> (Policy, Arc<Mutex<Vec<String>>>) {
    static ONE_BY_ONE: Mutex<()> = Mutex::new(());
    let _one_by_one = ONE_BY_ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let policy = Policy::new(describe!(Asks), "").unwrap();
    let answers = ANSWERS.lock().unwrap().take().unwrap();
    (policy, answers)
}
policy!(Asks, |setup| {
    let answers: Arc<Mutex<Vec<String>>> = Arc::default();
    *ANSWERS.lock().unwrap() = Some(answers.clone());
    Ok(Asks { writes: setup.service()?, answers })
});
impl Reserve for Asks {
    fn reserve(&self, _: &Cycle<'_>, node: Slot) -> Result<Verdict, Error> {
        let widget = ObjectName { resource: "example.com/v1/widgets", namespace: "shop", name: "w", subresource: "" };
        let answers = self.answers.clone();
        let keep = move |answer: Result<&str, Refusal<'_>>| {
            answers.lock().unwrap().push(match answer {
                Ok(json) => json.to_string(),
                Err(Refusal::Conflict(why)) => format!("conflict: {}", why),
                Err(Refusal::NotFound(why)) => format!("not found: {}", why),
                Err(Refusal::Failed(why)) => format!("failed: {}", why),
            });
            Ok(())
        };
        match node {
            0 => self.writes.create(ObjectName { name: "", ..widget }, "{\"new\": 1}", keep)?,
            1 => self.writes.update(ObjectName { subresource: "status", ..widget }, "{}", keep)?,
            2 => self.writes.patch(widget, Patch::Merge, "{\"a\": 1}", keep)?,
            3 => self.writes.remove(widget, Some("u-1"), keep)?,
            4 => self.writes.read(widget, |_| Err("no use for it".into()))?,
            5 => self.writes.read(widget, |_| panic!("nor for this"))?,
            _ => self.writes.create(ObjectName { resource: "core/v1/pods", ..widget }, "{}", keep)?,
        }
        Ok(Verdict::Ok)
    }
    fn unreserve(&self, _: &Cycle<'_>, _: Slot) -> Result<(), Error> {
        Ok(())
    }
}

#[test]
fn requests_about_objects_are_answered_once_with_the_object_or_why_not() {
    let (policy, answers) = asks();
    let nodes: Vec<Node> = (0..7).map(|_| Node::new("n")).collect();
    let mut attempt = policy.attempt(&PodSpec::default(), &nodes);
    for node in 0..6 {
        assert_eq!(attempt.reserve(node), Ok(()));
    }
    let refused = "the host did not take a request about core/v1/pods w: it is malformed, or about a pod";
    assert_eq!(attempt.reserve(6), Err((Code::Error, refused.into())));
    assert_eq!(policy.requests(), [
        "create example.com/v1/widgets shop/ {\"new\": 1}", "update example.com/v1/widgets/status shop/w {}",
        "patch example.com/v1/widgets shop/w {\"a\": 1}", "delete example.com/v1/widgets shop/w u-1",
        "get example.com/v1/widgets shop/w", "get example.com/v1/widgets shop/w",
    ]);
    assert!(policy.answer(Ok("{\"as it is\": 1}")));
    assert!(policy.answer(Err(Refusal::Conflict("changed"))));
    assert!(policy.answer(Err(Refusal::NotFound("gone"))));
    assert!(policy.answer(Err(Refusal::Failed("busy"))));
    assert!(policy.answer(Ok("")) && policy.answer(Ok("")) && !policy.answer(Ok("")));
    assert_eq!(*answers.lock().unwrap(), ["{\"as it is\": 1}", "conflict: changed", "not found: gone", "failed: busy"]);
    let failed = "the answer to a request failed error=";
    assert_eq!(policy.log(), [format!("{}no use for it", failed), format!("{}panicked: nor for this", failed)]);
}

#[test]
fn a_request_that_is_under_way_at_the_end_is_answered_then() {
    let (policy, answers) = asks();
    policy.attempt(&PodSpec::default(), &[Node::new("n")]).reserve(0).unwrap();
    drop(policy);
    assert_eq!(*answers.lock().unwrap(), ["failed: the host ends"]);
    assert_eq!(Arc::strong_count(&answers), 1);
}

// --- values that instances share ---

struct Drops(Arc<AtomicU32>);
impl Drop for Drops {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}
struct Shares(Arc<Drops>);
static DROPS: Mutex<Option<Arc<AtomicU32>>> = Mutex::new(None);
policy!(Shares, |setup| {
    let shared: Shared = setup.service()?;
    let key = setup.args()?;
    match key.is_null() {
        true => Ok(Shares(shared.get("drops", || Ok(Drops(DROPS.lock().unwrap().clone().unwrap())))?)),
        false => match key.at("fails").is_ok() {
            true => shared.get::<u32, _>("fails", || Err("cannot be made".into())).map(|_| unreachable!()),
            false => shared.get("drops", || Ok(7u32)).map(|_| unreachable!()),
        },
    }
});
impl Score for Shares {
    fn score(&self, _: &Cycle<'_>, nodes: &mut ScoreBlock<'_>) -> Result<(), Error> {
        nodes.scores().fill(Arc::as_ptr(&self.0) as i64);
        Ok(())
    }
}

#[test]
fn instances_share_a_value_of_a_key_and_type_until_the_last_is_gone() {
    let drops = Arc::new(AtomicU32::new(0));
    *DROPS.lock().unwrap() = Some(drops.clone());
    let first = Policy::new(describe!(Shares), "").unwrap();
    let second = first.another("").unwrap();
    let value = |policy: &Policy| policy.attempt(&PodSpec::default(), &[Node::new("n")]).score().unwrap()[0];
    assert_eq!(value(&first), value(&second));
    assert_eq!(failure(first.another("{}")), (Code::Error, "the shared value \"drops\" is of another type".into()));
    assert_eq!(failure(first.another("{\"fails\": 1}")), (Code::Error, "cannot be made".into()));
    drop(first);
    assert_eq!(drops.load(Ordering::Relaxed), 0);
    drop(second);
    assert_eq!(drops.load(Ordering::Relaxed), 1);
}

// --- pages ---

struct Shows(Arc<AtomicU32>);
policy!(Shows, |setup| {
    let pages: DebugPages = setup.service()?;
    let calls = Arc::new(AtomicU32::new(0));
    let mine = calls.clone();
    assert_eq!(
        pages.offer("shows", move |page| {
            match mine.fetch_add(1, Ordering::Relaxed) {
                0 => page.append("{\"calls\": ").and_then(|()| page.append("1}")),
                1 => Err("not now".into()),
                _ => panic!("nor now"),
            }
        }),
        Ok(true)
    );
    assert_eq!(pages.offer("shows", |_| Ok(())), Ok(false));
    assert!(pages.offer("No Name", |_| Ok(())).unwrap_err().text().starts_with("the host takes no page of the name \"No Name\""));
    Ok(Shows(calls))
});
impl Permit for Shows {
    fn permit(&self, _: &Cycle<'_>, _: Slot) -> Result<Verdict, Error> {
        Ok(Verdict::unschedulable(self.0.load(Ordering::Relaxed).to_string()))
    }
}

#[test]
fn a_page_is_written_in_pieces_and_its_failures_are_shown_instead() {
    let policy = Policy::new(describe!(Shows), "").unwrap();
    assert_eq!(policy.page("shows"), Some(Ok("{\"calls\": 1}".into())));
    assert_eq!(policy.page("shows"), Some(Err("not now".into())));
    assert_eq!(policy.page("shows"), Some(Err("panicked: nor now".into())));
    assert_eq!(policy.page("others"), None);
}

// --- queue order, members of a group, work on several threads ---

struct Orders {
    groups: Groups,
    executor: Executor,
}
policy!(Orders, |setup| {
    setup.pod_fields(PodFields::PRIORITY | PodFields::NAMESPACE | PodFields::GROUP)?;
    Ok(Orders { groups: setup.service()?, executor: setup.service()? })
});
impl QueueLess for Orders {
    fn less(&self, a: QueuedPod<'_>, b: QueuedPod<'_>) -> Result<bool, Error> {
        match a.pod.priority()? {
            7 => panic!("not comparable"),
            first => Ok(first > b.pod.priority()?),
        }
    }
}
impl Permit for Orders {
    fn permit(&self, cycle: &Cycle<'_>, _: Slot) -> Result<Verdict, Error> {
        let (namespace, group) = (cycle.pod().namespace()?, cycle.pod().group()?);
        let mut names = Vec::new();
        self.groups.members(namespace, group, |pod| {
            names.push(pod.name().unwrap().to_string());
            names.len() < 2
        })?;
        let sum = AtomicU64::new(0);
        self.executor.parallel_for(self.groups.count(namespace, group)?.all, |i| {
            sum.fetch_add(u64::from(i) + 1, Ordering::Relaxed);
            Ok(())
        })?;
        let failed = self.executor.parallel_for(3, |i| if i == 1 { panic!("at {}", i) } else { Ok(()) }).unwrap_err();
        Ok(Verdict::unschedulable(format!("{} {} {}", names.join(","), sum.into_inner(), failed)))
    }
}

#[test]
fn less_orders_pods_and_a_panic_of_it_means_no() {
    let policy = Policy::new(describe!(Orders), "").unwrap();
    assert_eq!(policy.points(), ["berth.queue/1", "berth.permit/1"]);
    let (low, high) = (pod("low", 1, 0), pod("high", 2, 0));
    assert_eq!((policy.less(&high, &low), policy.less(&low, &high), policy.less(&low, &low)), (true, false, false));
    assert!(!policy.less(&pod("odd", 7, 0), &low));
    assert_eq!(policy.log(), ["a call failed point=less error=panicked: not comparable"]);
}

#[test]
fn members_of_a_group_are_visited_and_work_is_spread_over_threads() {
    let policy = Policy::new(describe!(Orders), "").unwrap();
    let of = |name: &str, group: &str| PodSpec { namespace: "shop".into(), group: group.into(), ..pod(name, 0, 0) };
    ["a", "b", "c"].iter().for_each(|name| policy.member(of(name, "g")));
    policy.member(of("d", "other"));
    let said = policy.attempt(&of("a", "g"), &[Node::new("n")]).permit(0);
    assert_eq!(said, Err((Code::Unschedulable, "a,b 6 panicked: at 1".into())));
}

// --- objects that are assumed ---

struct Assumes {
    objects: Objects,
    assume: Assume,
    widgets: Watch,
}
policy!(Assumes, |setup| {
    let objects: Objects = setup.service()?;
    let widgets = objects.watch("example.com/v1/widgets", &[("spec.weight", FieldType::Integer), ("spec.color", FieldType::Text)])?;
    Ok(Assumes { objects, assume: setup.service()?, widgets })
});
impl Assumes {
    fn shown(&self, object: Object<'_>) -> String {
        let weight = object.field(0).unwrap().map_or(0, |field| field.number);
        format!("{} {}", weight, object.field(1).unwrap().map_or("-", |field| field.text))
    }
}
impl Permit for Assumes {
    fn permit(&self, cycle: &Cycle<'_>, node: Slot) -> Result<Verdict, Error> {
        let _ = cycle;
        let about = |weight| [Some(FieldValue { number: weight, text: "" }), None];
        let written = |version: &str| format!(r#"{{"metadata": {{"namespace": "shop", "name": "w", "resourceVersion": "{}"}}, "spec": {{"weight": 9, "color": "blue"}}}}"#, version);
        let done = match node {
            0 => format!("{:?}", self.assume.assume(self.widgets, "shop", "w", 1, &about(5))?),
            1 => format!("{:?}", self.assume.assume(self.widgets, "shop", "w", 7, &about(6))?),
            2 => format!("{:?}", self.assume.assume(self.widgets, "shop", "missing", 1, &about(6))?),
            3 => format!("{:?}", self.assume.assume_written(self.widgets, &written("2"))?),
            4 => format!("{:?}", self.assume.assume_written(self.widgets, &written("0"))?),
            _ => self.assume.forget(self.widgets, "shop", "w").map(|()| "forgotten".to_string())?,
        };
        let get = self.objects.get(self.widgets, "shop", "w", |object| self.shown(object))?;
        let actual = self.assume.actual(self.widgets, "shop", "w", |object| self.shown(object))?;
        Ok(Verdict::unschedulable(format!("{}: {} of {}", done, get.unwrap_or_default(), actual.unwrap_or_default())))
    }
}

#[test]
fn an_assumption_is_shown_until_it_is_forgotten_or_overtaken() {
    let policy = Policy::new(describe!(Assumes), "").unwrap();
    let put = |weight| {
        let fields = [("spec.weight", FieldValue { number: weight, text: "" }), ("spec.color", FieldValue { number: 0, text: "red" })];
        policy.put_object("example.com/v1/widgets", "shop", "w", &fields)
    };
    assert_eq!(put(1), 1);
    let nodes = vec![Node::new("n"); 6];
    let mut attempt = policy.attempt(&PodSpec::default(), &nodes);
    let mut said = |node| attempt.permit(node).unwrap_err().1;
    assert_eq!(said(0), "Done: 5 - of 1 red");
    assert_eq!(said(1), "OutOfSync: 5 - of 1 red");
    assert_eq!(said(2), "NotFound: 5 - of 1 red");
    assert_eq!(said(5), "forgotten: 1 red of 1 red");
    assert_eq!(said(3), "Done: 9 blue of 1 red");
    assert_eq!(said(4), "OutOfSync: 9 blue of 1 red");
    put(2);
    assert_eq!(said(1), "OutOfSync: 2 red of 2 red");
}

// --- pods by labels, requests without an answer ---

struct Indexes {
    index: PodIndex,
    intern: Intern,
    queue: QueueControl,
    writes: Writes,
}
policy!(Indexes, |setup| {
    Ok(Indexes { index: setup.service()?, intern: setup.service()?, queue: setup.service()?, writes: setup.service()? })
});
impl Permit for Indexes {
    fn permit(&self, cycle: &Cycle<'_>, _: Slot) -> Result<Verdict, Error> {
        let mut said = Vec::new();
        self.index.each(cycle, Shapes::All, self.intern.id("shop")?, |shape| {
            let labels: Vec<_> = shape.labels().iter().map(|label| self.intern.text(label.value).unwrap()).collect();
            said.push(format!("{} {:?}", labels.join(","), shape.nodes().collect::<Vec<_>>()));
            assert!(shape.affinity().is_none() && !shape.is_terminating());
            said.len() < 2
        })?;
        said.push(format!("{} shapes", self.index.count(cycle, Shapes::All)?));
        let found = self.index.shape(cycle, 1, |shape| said.push(format!("{} of {}", shape.number(), shape.incarnation())))?;
        assert!(found && !self.index.shape(cycle, 99, |_| panic!("no such shape"))?);
        self.queue.activate_class(7)?;
        self.writes.patch_object("core/v1/persistentvolumes", "", "pv", "{}", |answer| assert_eq!(answer, Ok(())))?;
        let refused = self.writes.patch_object("core/v1/persistentvolumes", "", "", "{}", |_| panic!("not taken")).unwrap_err();
        said.push(refused.to_string());
        Ok(Verdict::unschedulable(said.join("; ")))
    }
}

#[test]
fn pods_are_visited_by_their_labels_and_requests_reach_the_host() {
    let policy = Policy::new(describe!(Indexes), "").unwrap();
    let of = |name: &str, namespace: &str, app: &str| PodSpec {
        namespace: namespace.into(),
        labels: vec![("app".into(), app.into())],
        ..pod(name, 0, 0)
    };
    let nodes = [
        node("n", &[of("1", "shop", "web"), of("2", "shop", "web"), of("3", "other", "web")]),
        node("m", &[of("4", "shop", "web"), of("5", "shop", "db"), of("6", "shop", "unseen")]),
    ];
    let said = policy.attempt(&PodSpec::default(), &nodes).permit(0).unwrap_err().1;
    assert_eq!(said, "web [(0, 2), (1, 1)]; db [(1, 1)]; 4 shapes; 1 of 2; the host did not take the write: code 18");
    assert_eq!(policy.log(), ["activate class 7", "patch core/v1/persistentvolumes /pv {}"]);
}
