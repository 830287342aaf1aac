// SPDX-License-Identifier: Apache-2.0
//! The policy, called as berth calls it.
use berth::testing::{Code, Node, Nominates, Pod, Policy};

const ARGS: &str = r#"{"shares": [{"namespace": "a", "cpuMilli": 2000}, {"namespace": "b", "cpuMilli": 2000}]}"#;

fn policy() -> Policy {
    Policy::new(berth::describe!(super::FairShare), ARGS).unwrap()
}
fn pod(namespace: &str, name: &str, cpu: i64) -> Pod {
    let name_of = || format!("{}-{}", namespace, name);
    Pod { name: name_of(), uid: name_of(), namespace: namespace.into(), requests: vec![("cpu".into(), cpu)], ..Pod::default() }
}
fn node(name: &str, pods: &[Pod]) -> Node {
    pods.iter().fold(Node::new(name).resource("cpu", 4000, 0), |node, pod| node.pod(pod.clone()))
}
fn evicts(policy: &Policy, pod: &Pod, nodes: &[Node]) -> (Nominates, Vec<String>) {
    let did = policy.attempt(pod, nodes).post_filter();
    assert_eq!(did.said, Ok(()));
    (did.nominates, did.victims)
}
fn refuses(policy: &Policy, pod: &Pod, nodes: &[Node]) -> String {
    let did = policy.attempt(pod, nodes).post_filter();
    assert_eq!((did.nominates, did.victims), (Nominates::Nothing, vec![]));
    match did.said {
        Err((Code::Unschedulable, said)) => said,
        other => panic!("{:?}", other),
    }
}

#[test]
fn takes_back_what_is_borrowed_where_it_costs_the_fewest_pods() {
    let small: Vec<Pod> = ["1", "2", "3", "4"].iter().map(|name| pod("b", name, 1000)).collect();
    let nodes = [node("small", &small), node("large", &[pod("b", "5", 2000), pod("b", "6", 2000)])];
    let two = vec!["b-1".to_string(), "b-2".to_string()];
    assert_eq!(evicts(&policy(), &pod("a", "new", 2000), &nodes[..1]), (Nominates::Node("small".into()), two));
    let one = vec!["b-5".to_string()];
    assert_eq!(evicts(&policy(), &pod("a", "new", 2000), &nodes), (Nominates::Node("large".into()), one));
}

#[test]
fn leaves_a_namespace_its_share_and_takes_all_of_one_without() {
    let at_its_share = [node("n", &[pod("b", "1", 1000), pod("b", "2", 1000), pod("other", "1", 1000), pod("other", "2", 1000)])];
    let others = vec!["other-1".to_string(), "other-2".to_string()];
    assert_eq!(evicts(&policy(), &pod("a", "new", 2000), &at_its_share), (Nominates::Node("n".into()), others));
    let above_by_less_than_a_pod = [node("n", &[pod("b", "1", 1500), pod("b", "2", 1500), pod("a", "1", 1000)])];
    assert_eq!(refuses(&policy(), &pod("a", "new", 1000), &above_by_less_than_a_pod), "no node has enough that is borrowed");
}

#[test]
fn a_namespace_gets_no_more_than_its_share_and_nothing_twice() {
    let policy = policy();
    let nodes = [node("n", &[pod("b", "1", 3000), pod("a", "1", 1000)])];
    assert_eq!(refuses(&policy, &pod("a", "new", 1500), &nodes), "the namespace has used up its share");
    assert_eq!(refuses(&policy, &pod("other", "new", 1), &nodes), "the namespace has used up its share");
    let mut one_comes = policy.attempt_with(&pod("a", "new", 1000), &nodes, &[(0, pod("a", "2", 500)), (0, pod("b", "2", 500))]);
    assert_eq!(one_comes.post_filter().said, Err((Code::Unschedulable, "the namespace has used up its share".into())));
    drop(one_comes);
    // Sums follow what comes and goes.
    let nodes = [node("n", &[pod("b", "1", 1000), pod("b", "2", 1000), pod("b", "3", 1500)])];
    assert_eq!(evicts(&policy, &pod("a", "new", 1500), &nodes).1, ["b-1"]);
    policy.evicting("a-new");
    assert_eq!(refuses(&policy, &pod("a", "new", 1500), &nodes), "pods that have borrowed are still going");
}

#[test]
fn the_least_important_go_first_and_those_that_go_anyway_are_left_alone() {
    let important = Pod { priority: 5, ..pod("b", "1", 2000) };
    let nodes = [node("n", &[important, Pod { priority: 1, ..pod("b", "2", 2000) }])];
    assert_eq!(evicts(&policy(), &pod("a", "new", 1000), &nodes).1, ["b-2"]);
    let nodes = [node("n", &[Pod { is_terminating: true, ..pod("b", "1", 4000) }])];
    assert_eq!(refuses(&policy(), &pod("a", "new", 1000), &nodes), "no node has enough that is borrowed");
}

#[test]
fn a_namespace_that_is_there_twice_is_refused() {
    let args = r#"{"shares": [{"namespace": "a", "cpuMilli": 1}, {"namespace": "a", "cpuMilli": 2}]}"#;
    let refused = Policy::new(berth::describe!(super::FairShare), args).map(|_| ()).unwrap_err();
    assert_eq!(refused, (Code::BadArgs, "args.shares: namespace a is there twice".into()));
}
