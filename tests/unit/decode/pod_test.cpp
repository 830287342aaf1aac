// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "decode/selectors/labels.hpp"
#include "decoding.hpp"

namespace berth::decode {
namespace {

TEST(PodDecoder, ReadsIdentityAndState) {
  Decoding in;
  const auto pod = in.pod(R"({"metadata":{"name":"p","namespace":"ns","uid":"u","resourceVersion":"7","generation":3,
      "creationTimestamp":"2026-01-02T03:04:05Z","deletionTimestamp":"2026-01-02T03:04:06Z","labels":{"b":"1","a":""},"annotations":{"x":"y"},
      "ownerReferences":[{"kind":"Job","name":"no"},{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"rs","uid":"ru","controller":true}]},
      "spec":{"schedulerName":"s","priority":-4,"preemptionPolicy":"Never","nodeName":"n","containers":[{"name":"c"}],
      "schedulingGates":[{"name":"g"}],"schedulingGroup":{"podGroupName":"pg"},"hostUsers":false},
      "status":{"phase":"Running","startTime":"1970-01-01T00:00:01.5+00:00","nominatedNodeName":"m",
      "conditions":[{"type":"PodScheduled","status":"False","reason":"r","message":"m"}],"resourceClaimStatuses":[{"name":"c"}]}})");
  EXPECT_EQ(pod->key(), "ns/p");
  EXPECT_EQ(pod->uid, "u");
  EXPECT_EQ(pod->resource_version, "7");
  EXPECT_EQ(pod->spec->generation, 3);
  EXPECT_EQ(pod->creation_ns, 1767323045'000000000);
  EXPECT_EQ(pod->start_ns, 1'500'000'000);
  EXPECT_TRUE(pod->deleting);
  EXPECT_EQ(pod->deletion_s, 1767323046u);
  EXPECT_EQ(find_label(pod->labels, in("b")), in("1"));
  EXPECT_EQ(find_label(pod->labels, in("a")), k_empty_symbol);
  EXPECT_EQ(find_label(pod->labels, in("c")), k_no_symbol);
  EXPECT_LT(pod->labels[0].key, pod->labels[1].key);
  EXPECT_EQ(find_label(pod->annotations, in("x")), in("y"));
  EXPECT_EQ(*pod->controller, (model::OwnerReference{"apps/v1", "ReplicaSet", "rs", "ru"}));
  EXPECT_EQ(pod->scheduler_name, "s");
  EXPECT_EQ(pod->priority, -4);
  EXPECT_FALSE(pod->spec->preempts);
  EXPECT_EQ(pod->node_name, in("n"));
  EXPECT_EQ(pod->nominated_node, in("m"));
  EXPECT_EQ(pod->spec->gates, (std::vector<std::string>{"g"}));
  EXPECT_EQ(pod->spec->group, "pg");
  EXPECT_TRUE(pod->spec->host_users_false);
  EXPECT_EQ(pod->phase, "Running");
  EXPECT_EQ(pod->conditions, (std::vector<model::PodCondition>{{"PodScheduled", "False", "r", "m"}}));
  EXPECT_EQ(pod->claim_statuses->generated, (std::vector<model::PodClaimStatuses::Generated>{{"c", ""}}));
  EXPECT_TRUE(pod->body.empty());
}

TEST(PodDecoder, CountsHostPortsOfContainersThatRunTogether) {
  Decoding in;
  const auto pod = in.pod(
      "{metadata: {name: p, uid: u}, spec: {containers: [{name: a, ports: [{containerPort: 1, hostPort: 80}, "
      "{containerPort: 2}, {hostPort: -3}]}],"
      " initContainers: [{name: i, ports: [{hostPort: 81}]}, {name: s, restartPolicy: Always, ports: [{hostPort: 82, "
      "protocol: UDP, hostIP: '::'}]}]}}");
  EXPECT_EQ(pod->spec->host_ports,
            (std::vector<model::HostPort>{{in("::"), in("UDP"), 82, false}, {in("0.0.0.0"), in("TCP"), 80, true}}));
}

TEST(PodDecoder, NormalisesImagesInOrder) {
  Decoding in;
  const auto pod = in.pod(
      "{metadata: {name: p, uid: u}, spec: {containers: [{name: a, image: 'localhost:5000/a'}, {name: b, image: "
      "'x@sha256:abc'}, {name: c}],"
      " initContainers: [{name: i, image: 'x/y:1'}], volumes: [{name: v, image: {reference: z}}]}}");
  using Kind = model::ImageRef::Kind;
  EXPECT_EQ(pod->spec->images, (std::vector<model::ImageRef>{{in("x/y:1"), Kind::init_container},
                                                             {in("localhost:5000/a:latest"), Kind::container},
                                                             {in("x@sha256:abc"), Kind::container},
                                                             {in(":latest"), Kind::container},
                                                             {in("z:latest"), Kind::volume}}));
  EXPECT_EQ(pod->spec->container_count, 4u);
}

TEST(PodDecoder, SeesRestartRulesOfAnyContainer) {
  Decoding in;
  const std::string rule = "restartPolicyRules: [{action: Restart}, {action: RestartAllContainers}]";
  EXPECT_TRUE(in.pod("{metadata: {name: p, uid: u}, spec: {containers: [{name: a}], initContainers: [{name: i, " +
                     rule + "}]}}")
                  ->spec->restarts_all_containers);
  EXPECT_FALSE(in.with_spec("hostUsers: true")->spec->restarts_all_containers);
}

TEST(PodDecoder, ReadsTolerationsOfEveryKind) {
  Decoding in;
  in.options.gates.toleration_comparison = true;
  const auto pod = in.with_spec(
      "tolerations: [{}, {key: a, operator: Equal, value: b, effect: NoSchedule}, {key: a, operator: Exists, effect: "
      "NoExecute,"
      " tolerationSeconds: 0}, {operator: Lt, value: '5', effect: PreferNoSchedule}, {operator: Gt}, {operator: Odd, "
      "effect: Weird}]");
  using O = model::TolerationOperator;
  using E = model::TaintEffect;
  EXPECT_EQ(pod->spec->tolerations, (std::vector<model::Toleration>{{1, 1, O::equal, E::any, -1},
                                                                    {in("a"), in("b"), O::equal, E::no_schedule, -1},
                                                                    {in("a"), 1, O::exists, E::no_execute, 0},
                                                                    {1, in("5"), O::lt, E::prefer_no_schedule, -1},
                                                                    {1, 1, O::gt, E::any, -1},
                                                                    {1, 1, O::other, E::other, -1}}));
}

TEST(PodDecoder, ReadsSpreadConstraints) {
  Decoding in;
  const auto pod = in.with_spec(
      "topologySpreadConstraints: [{topologyKey: z, maxSkew: 2, whenUnsatisfiable: DoNotSchedule, minDomains: 3, "
      "nodeAffinityPolicy: Ignore,"
      " nodeTaintsPolicy: Honor, matchLabelKeys: [k]}, {whenUnsatisfiable: ScheduleAnyway}, {whenUnsatisfiable: Odd, "
      "nodeAffinityPolicy: Odd}]",
      "labels: {k: v}");
  ASSERT_EQ(pod->spec->spread.size(), 3u);
  const model::SpreadConstraint& first = pod->spec->spread[0];
  EXPECT_EQ(first.topology_key, in("z"));
  EXPECT_EQ(first.max_skew, 2);
  EXPECT_EQ(first.min_domains, 3);
  EXPECT_EQ(first.action, model::SpreadAction::do_not_schedule);
  EXPECT_FALSE(first.honor_node_affinity);
  EXPECT_TRUE(first.honor_node_taints);
  EXPECT_EQ(first.match_label_keys, (std::vector<Symbol>{in("k")}));
  EXPECT_EQ(pod->spec->spread[1].action, model::SpreadAction::schedule_anyway);
  EXPECT_EQ(pod->spec->spread[1].min_domains, 1);
  EXPECT_TRUE(pod->spec->spread[1].honor_node_affinity);
  EXPECT_FALSE(pod->spec->spread[1].honor_node_taints);
  EXPECT_EQ(pod->spec->spread[2].action, model::SpreadAction::other);
  EXPECT_FALSE(pod->spec->spread[2].honor_node_affinity);
}

TEST(PodDecoder, ReadsAffinityTermsWithTheirNamespaces) {
  Decoding in;
  const auto pod = in.with_spec(
      "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: z, labelSelector: {}}, "
      "{namespaceSelector: {}},"
      " {namespaces: [a, b], namespaceSelector: {matchLabels: {-: x}}}]}, podAntiAffinity: "
      "{preferredDuringSchedulingIgnoredDuringExecution:"
      " [{weight: 9, podAffinityTerm: {topologyKey: h, labelSelector: {matchLabels: {x: y}}, matchLabelKeys: [k]}}]}}",
      "labels: {k: v}");
  ASSERT_EQ(pod->spec->affinity.required.size(), 3u);
  EXPECT_TRUE(pod->spec->affinity.present);
  EXPECT_EQ(pod->spec->affinity.required[0].namespaces, (std::vector<Symbol>{in("ns")}));
  EXPECT_EQ(pod->spec->affinity.required[0].selector.kind, model::Selector::Kind::match);
  EXPECT_TRUE(pod->spec->affinity.required[1].namespaces.empty());
  EXPECT_EQ(pod->spec->affinity.required[1].selector.kind, model::Selector::Kind::nothing);
  EXPECT_EQ(pod->spec->affinity.required[2].namespaces, (std::vector<Symbol>{in("a"), in("b")}));
  EXPECT_EQ(pod->spec->affinity.required[2].namespace_selector.kind, model::Selector::Kind::invalid);
  ASSERT_EQ(pod->spec->affinity.anti_preferred.size(), 1u);
  EXPECT_EQ(pod->spec->affinity.anti_preferred[0].weight, 9);
  EXPECT_EQ(pod->spec->affinity.anti_preferred[0].selector.requirements.size(),
            1u);  // from a server: keys were merged there
  EXPECT_TRUE(in.with_spec("affinity: {podAffinity: {}}")->spec->affinity.present);
  EXPECT_FALSE(in.with_spec("affinity: {}")->spec->affinity.present);
}

TEST(PodDecoder, TellsVolumeSourcesApart) {
  Decoding in;
  const auto pod = in.with_spec(
      "volumes: [{name: a, persistentVolumeClaim: {claimName: c, readOnly: true}}, {name: b, ephemeral: {}}, {name: d, "
      "rbd: {image: i, readOnly:"
      " true}}, {name: e, configMap: {name: x}}, {name: f}]");
  using Kind = model::PodVolume::Kind;
  EXPECT_EQ(pod->volumes, (std::vector<model::PodVolume>{
                              {"a", "c", Kind::claim, true},
                              {"b", "p-b", Kind::ephemeral, false},
                              {"d", R"({"name":"d","rbd":{"image":"i","readOnly":true}})", Kind::inline_source, true},
                              {"e", "", Kind::other, false},
                              {"f", "", Kind::other, false}}));
}

TEST(PodDecoder, ReportsEverythingThatIsWrongAtOnce) {
  Decoding in;
  EXPECT_EQ(in.try_pod("metadata:\n  name: p\n  labels: {a: 1}\n  creationTimestamp: yesterday\nspec:\n  priority: "
                       "'5'\n  containers: []\n"
                       "  hostNetwork: 'yes'\n  nodeSelector: [a]\n  tolerations: [{key: [x]}, null]\n  "
                       "topologySpreadConstraints: [{maxSkew: 99999999999}]\n"),
            nullptr);
  EXPECT_EQ(in.problems.render(),
            "f.yaml:4:22: metadata.creationTimestamp: \"yesterday\" is not a time (such as \"2026-01-31T12:00:00Z\")\n"
            "f.yaml:3:15: metadata.labels.a: must be a string, not a number (write \"1\")\n"
            "f.yaml:8:16: spec.hostNetwork: must be true or false, not a string\n"
            "f.yaml:6:13: spec.priority: must be an integer, not a string\n"
            "f.yaml:10:23: spec.tolerations[0].key: must be a string, not a list\n"
            "f.yaml:10:29: spec.tolerations[1]: must not be null\n"
            "f.yaml:9:17: spec.nodeSelector: must be an object, not a list\n"
            "f.yaml:11:41: spec.topologySpreadConstraints[0].maxSkew: 99999999999 is not an integer from -2147483648 "
            "to 2147483647\n"
            "f.yaml:7:15: spec.containers: a pod needs at least one container\n");
  Decoding nameless;
  EXPECT_EQ(nameless.try_pod("metadata: {generateName: x-}\nspec: {}\n"), nullptr);
  EXPECT_EQ(nameless.problems.render(),
            "f.yaml:1:11: metadata.name: a pod needs a name\nf.yaml:2:7: spec.containers: a pod needs at least one "
            "container\n");
}

TEST(Times, AreReadInEveryFormOfRfc3339) {
  EXPECT_EQ(parse_time_ns("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(parse_time_ns("1970-01-01T01:00:00+01:00"), 0);
  EXPECT_EQ(parse_time_ns("1969-12-31T23:59:59.999999999Z"), -1);
  EXPECT_EQ(parse_time_ns("2024-02-29T00:00:00Z"), 1709164800'000000000);
  EXPECT_EQ(parse_time_ns("2000-01-01t00:00:00.1234567891z"), 946684800'123456789);
  for (const std::string_view bad : {"", "2024", "2024-01-01", "2024-01-01T00:00:00", "2024-13-01T00:00:00Z",
                                     "2024-01-01T24:00:00Z", "x", "2024-01-01T00:00:00Zx", "2024-01-01T00:00:00.Z"})
    EXPECT_EQ(parse_time_ns(bad), std::nullopt) << bad;
}

// A kubelet may write any time that Go can hold, and Go writes it.
TEST(Times, OutOfRangeAreTheNearestInRange) {
  constexpr std::int64_t k_last = std::int64_t{1} << 62;  // the difference of any two is a number
  for (const std::string_view late : {"9999-01-01T00:00:00Z", "2262-04-12T00:00:00Z", "292277026596-12-04T15:30:07Z"})
    EXPECT_EQ(parse_time_ns(late), k_last) << late;
  for (const std::string_view early : {"0000-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "-0001-11-30T00:00:00Z"})
    EXPECT_EQ(parse_time_ns(early), -k_last) << early;
}

TEST(PodDecoder, LeavesOutPartsThatNoPluginReads) {
  const std::string yaml =
      "{metadata: {name: p, uid: u, annotations: {address: 10.0.0.1}}, spec: {containers: [{name: c}], volumes: "
      "[{name: kube-api-access-x, projected: {}}, {name: data, persistentVolumeClaim: {claimName: c}}]}}";
  Decoding all;
  EXPECT_EQ(all.pod(yaml)->annotations.size(), 1u);
  EXPECT_EQ(all.pod(yaml)->volumes.size(), 2u);
  Decoding few;
  few.options.pod_parts = {false, false};
  const auto pod = few.pod(yaml);
  EXPECT_TRUE(pod->annotations.empty());
  ASSERT_EQ(pod->volumes.size(), 1u);
  EXPECT_EQ(pod->volumes[0].source, "c");
  EXPECT_EQ(pod->node_volumes.size(), 1u);
  EXPECT_EQ(few.problems.render(), "");
  EXPECT_EQ(few.try_pod("{metadata: {name: p, uid: u, annotations: {a: [1]}}, spec: {containers: [{name: c}]}}"),
            nullptr);
  EXPECT_EQ(few.problems.render(), "f.yaml:1:47: metadata.annotations.a: must be a string, not a list\n");
}

TEST(PodDecoder, PodsOfOneWorkloadShareWhatTheyHaveInCommon) {
  Decoding decoding;
  const auto documents = text::parse(
      "{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: ns, uid: u1, labels: {app: web}}, spec: {containers: "
      "[{name: c, image: i, resources: {requests: {cpu: 1}}}], tolerations: [{key: k, operator: Exists}]}}\n---\n"
      "{apiVersion: v1, kind: Pod, metadata: {name: b, namespace: ns, uid: u2, labels: {app: web}}, spec: {containers: "
      "[{name: c, image: i, resources: {requests: {cpu: 1}}}], tolerations: [{key: k, operator: Equal}]}}\n",
      "f.yaml", decoding.problems);
  const ObjectDecoder decoder(decoding.symbols, {});
  std::vector<model::PodPtr> pods;
  for (const auto& document : documents)
    pods.push_back(std::get<model::PodPtr>(*decoder.decode(document, document.root(), decoding.problems)));
  ASSERT_EQ(pods.size(), 2U);
  EXPECT_EQ(pods[0]->labels.data(), pods[1]->labels.data());
  EXPECT_EQ(pods[0]->requests->resources.data(), pods[1]->requests->resources.data());
  EXPECT_EQ(pods[0]->spec->images.data(), pods[1]->spec->images.data());
  EXPECT_NE(pods[0]->spec->tolerations.data(), pods[1]->spec->tolerations.data());
  EXPECT_EQ(&pods[0]->ns.get(), &pods[1]->ns.get());
  EXPECT_EQ(pods[1]->name, "b");
}

TEST(PodDecoder, OperatorsAndLabelKeysCountAsTheirGatesSay) {
  const std::string_view spec =
      "tolerations: [{key: k, operator: Lt, value: '5'}, {key: k, operator: Gt, value: '5'}], "
      "topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule, matchLabelKeys: "
      "[r]}]";
  Decoding usual, other;
  other.options.gates.toleration_comparison = true;
  other.options.gates.spread_match_label_keys = false;
  const model::PodPtr a = usual.with_spec(spec), b = other.with_spec(spec);
  EXPECT_EQ(a->spec->tolerations[0].op, model::TolerationOperator::other);
  EXPECT_EQ(a->spec->tolerations[1].op, model::TolerationOperator::other);
  EXPECT_EQ(b->spec->tolerations[0].op, model::TolerationOperator::lt);
  EXPECT_EQ(b->spec->tolerations[1].op, model::TolerationOperator::gt);
  EXPECT_EQ(a->spec->spread[0].match_label_keys.size(), 1U);
  EXPECT_EQ(b->spec->spread[0].match_label_keys.size(), 0U);
}

}  // namespace
}  // namespace berth::decode
