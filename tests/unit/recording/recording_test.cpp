// SPDX-License-Identifier: Apache-2.0
// What is written is read again, all of it and nothing else; of damaged files, all that is whole.
#include "recording_fixture.hpp"

#include "recording/decoder.hpp"
#include "recording/encoder.hpp"
#include "recording/state.hpp"

namespace berth::recording {
namespace {

/// In other words than the recording's own: what policies see of a pod.
std::string described(const model::Pod& pod, const SymbolTable& symbols) {
  std::string out =
      pod.key() + " " + pod.uid.text() + " " + pod.resource_version.text() + " " + pod.scheduler_name.get();
  std::vector<std::string> labels;
  for (const model::Label& label : pod.labels)
    labels.push_back(std::string(symbols.text(label.key)) + "=" + std::string(symbols.text(label.value)));
  std::sort(labels.begin(), labels.end());
  for (const std::string& label : labels) out += " " + label;
  for (const model::PodResource& resource : pod.requests->resources)
    out += fmt::format(" {}:{}:{}:{}", symbols.text(resource.name), resource.request, resource.effective,
                       resource.scoring);
  for (const model::Toleration& toleration : pod.spec->tolerations)
    out += fmt::format(" tolerates {} {} {}", symbols.text(toleration.key), static_cast<int>(toleration.effect),
                       toleration.seconds);
  for (const model::NodeTerm& term : pod.node_selection->required)
    for (const model::Requirement& requirement : term.expressions)
      out += fmt::format(" {} in {}", symbols.text(requirement.key), requirement.values.size());
  for (const model::AffinityTerm& term : pod.spec->affinity.anti_required)
    out += fmt::format(" apart by {} in {} namespaces of {}", symbols.text(term.topology_key), term.namespaces.size(),
                       symbols.text(term.selector.requirements.at(0).key));
  for (const model::SpreadConstraint& spread : pod.spec->spread)
    out += fmt::format(" spread {} {}", spread.max_skew, symbols.text(spread.topology_key));
  for (const model::HostPort& port : pod.spec->host_ports) out += fmt::format(" port {}", port.port);
  for (const model::ImageRef& image : pod.spec->images) out += fmt::format(" image {}", symbols.text(image.name));
  for (const model::NodeVolume& volume : pod.node_volumes)
    out += fmt::format(" volume {}", symbols.text(volume.source));
  for (const model::PodCondition& condition : pod.conditions) out += " " + condition.type + condition.message;
  return out + fmt::format(" {} {} {} {} deleted {} qos {}", pod.priority, pod.controller->name.get(),
                           pod.spec->preempts, pod.phase.get(), pod.deletion_s, static_cast<int>(pod.requests->qos));
}

using Recording = RecordingFixture;

TEST_F(Recording, APodIsReadAsItWas) {
  const model::PodPtr written = pod("web-1");
  start()->add(of(Kind::waiting_pod, written));
  const std::vector<Record> read_pods = read(Kind::waiting_pod);
  ASSERT_EQ(read_pods.size(), 1u);
  EXPECT_EQ(described(*read_pods[0].pod, read_symbols), described(*written, symbols));
  EXPECT_EQ(problems.size(), 0u);
}

TEST_F(Recording, ANodeIsReadAsItWas) {
  Record record = of(Kind::node);
  record.node = object<model::NodePtr>(k_node);
  start()->add(record);
  const std::vector<Record> nodes = read(Kind::node);
  ASSERT_EQ(nodes.size(), 1u);
  const model::Node& node = *nodes[0].node;
  EXPECT_EQ(node.name, "node-1");
  EXPECT_EQ(read_symbols.text(node.name_symbol), "node-1");
  EXPECT_TRUE(node.unschedulable);
  ASSERT_EQ(node.taints.size(), 1u);
  EXPECT_EQ(read_symbols.text(node.taints[0].key), "gpu");
  EXPECT_EQ(node.taints[0].effect, model::TaintEffect::no_schedule);
  EXPECT_EQ(node.allowed_pods, 110);
  EXPECT_EQ(node.allocatable.size(), record.node->allocatable.size());
  EXPECT_TRUE(node.lists_pods);
  ASSERT_EQ(node.capacity.size(), 3u);
  EXPECT_EQ(read_symbols.text(node.capacity[0].name), "cpu");
  EXPECT_EQ(node.capacity[0].amount, 9000);
  EXPECT_EQ(node.images.at(0).size_bytes, 12345);
}

TEST_F(Recording, EnvironmentAndCommandsAreNeverInIt) {
  // As where extenders are configured, or a plugin reads whole objects: the pod has all of it with it.
  decode::DecodeOptions whole;
  whole.keeps_pod_body = [](const model::Pod&) { return true; };
  const auto with_body = object<model::PodPtr>(k_pod, whole);
  ASSERT_NE(with_body->body.text().find("hunter2"), std::string::npos);
  start()->add(of(Kind::waiting_pod, with_body));
  for (const auto& path : segments()) {
    const std::string bytes = bytes_of(path);
    for (const char* secret : {"hunter2", "PASSWORD", "secret-command", "last-applied"})
      EXPECT_EQ(bytes.find(secret), std::string::npos) << secret;
    EXPECT_NE(bytes.find("registry.example.com/web"), std::string::npos);
  }
}

TEST_F(Recording, PodsOfOneWorkloadAreSmall) {
  {
    auto recorder = start();
    const model::PodPtr first = pod("web-1");
    for (int i = 0; i < 100; ++i) {
      auto copy = std::make_shared<model::Pod>(*first);  // shares its parts, as decoded pods of a workload do
      copy->name = "web-" + std::to_string(i);
      recorder->add(of(Kind::waiting_pod, copy));
    }
  }
  EXPECT_EQ(read(Kind::waiting_pod).size(), 100u);
  EXPECT_LT(bytes_of(segments().at(0)).size(), 100u * 200);
}

TEST_F(Recording, LargePartsThatAreRememberedHaveABudget) {
  // Each has a part of its own of 64 KiB.
  const std::string value(std::size_t{64} << 10, 'x');
  std::vector<model::PodPtr> pods;
  for (int i = 0; i < 64; ++i) {
    auto large = std::make_shared<model::Pod>(*pod("web-1"));
    large->spec.edit().affinity.required.emplace_back().selector.error = std::to_string(i) + value;
    pods.push_back(std::move(large));
  }
  Encoder encoder(symbols);
  Decoder decoder(read_symbols);
  std::size_t remembered = 0;
  for (int round = 0; round < 2; ++round)
    for (const model::PodPtr& each : pods) {
      const std::string payload = encoder.encode(of(Kind::waiting_pod, each), 0);
      const Result<Record> again = decoder.decode(payload, 0);
      ASSERT_TRUE(again.ok()) << again.error().message;
      EXPECT_EQ(again->pod->spec->affinity.required.front().selector.error,
                each->spec->affinity.required.front().selector.error);
      if (round == 1 && payload.size() < value.size()) ++remembered;
    }
  EXPECT_GT(remembered, 0u);
  EXPECT_LE(remembered * value.size(), Encoder::k_part_bytes_max);
}

TEST_F(Recording, ADecisionIsReadAsItWas) {
  auto rejected = std::make_shared<Rejected>();
  *rejected = {2, "0/5 nodes are available: 5 Insufficient cpu.", {"NodeResourcesFit"}, true, "node-1", {"u-9"}};
  Record placed = of(Kind::attempt, pod("web-1")), refused = of(Kind::attempt, pod("web-2"));
  placed.text = "node-1";
  placed.attempt = {3, 100, 40, 2, 1, Way::planned, 77, 1500, 243};
  refused.rejected = rejected;
  auto recorder = start();
  recorder->add(placed);
  clock.advance(std::chrono::seconds(2));
  recorder->add(refused);
  recorder.reset();
  const std::vector<Record> attempts = read(Kind::attempt);
  ASSERT_EQ(attempts.size(), 2u);
  EXPECT_EQ(attempts[0].text, "node-1");
  EXPECT_EQ(attempts[0].attempt.number, 3u);
  EXPECT_EQ(attempts[0].attempt.rotation, 77u);
  EXPECT_EQ(attempts[0].attempt.way, Way::planned);
  EXPECT_EQ(attempts[0].attempt.total, 243);
  EXPECT_EQ(attempts[0].rejected, nullptr);
  ASSERT_NE(attempts[1].rejected, nullptr);
  EXPECT_EQ(*attempts[1].rejected, *rejected);
  EXPECT_EQ(attempts[1].wall_ns - attempts[0].wall_ns, 2'000'000'000);
  EXPECT_EQ(json_of(attempts[0]).find(R"({"at":"2023-11-14T22:13:20Z","kind":"attempt","attempt":3,"evaluated":100)"),
            0u)
      << json_of(attempts[0]);
}

TEST_F(Recording, WhatIsOneOfAFewIsNamedInJson) {
  auto rejected = std::make_shared<Rejected>();
  rejected->code = 3;
  Record record = of(Kind::attempt, pod("web-1"));
  record.rejected = rejected;
  record.attempt.way = Way::planned;
  record.attempt.needed = 2;
  start()->add(record);
  const std::string line = json_of(read(Kind::attempt).at(0));
  for (const char* part :
       {R"("way":"planned")", R"("code":"UnschedulableAndUnresolvable")",
        R"("operator":"Exists","effect":"NoSchedule")", R"({"key":"zone","operator":"In","values":["a","b"]})",
        R"("action":"DoNotSchedule")", R"("selector":{"kind":"Match")", R"("kind":"Claim")", R"("kind":"App")",
        R"("kind":"Container")"})
    EXPECT_NE(line.find(part), std::string::npos) << part << " in " << line;
}

TEST_F(Recording, AClockThatWasSetIsFollowed) {
  class SetClock final : public Clock {
   public:
    std::int64_t monotonic_ns() const noexcept override { return now_ns; }
    std::int64_t wall_ns() const noexcept override { return now_ns + offset_ns; }
    std::atomic<std::int64_t> now_ns{5'000'000'000}, offset_ns{1'700'000'000'000'000'000};
  } set;
  auto recorder = Recorder::start({.directory = folder, .run = 1}, symbols, set);
  ASSERT_TRUE(recorder.ok());
  (*recorder)->add(of(Kind::look));
  (*recorder)->flush();
  set.offset_ns -= 3'600'000'000'000;  // an hour back
  set.now_ns += 1'000'000'000;
  (*recorder)->add(of(Kind::look));
  (*recorder).reset();
  const std::vector<Record> looks = read(Kind::look);
  ASSERT_EQ(looks.size(), 2u);
  EXPECT_EQ(looks[1].at_ns - looks[0].at_ns, 1'000'000'000);
  EXPECT_EQ(looks[1].wall_ns - looks[0].wall_ns, -3'599'000'000'000);
}

TEST_F(Recording, OfATornFileEveryWholeRecordIsRead) {
  {
    auto recorder = start();
    for (int i = 0; i < 10; ++i) recorder->add(of(Kind::waiting_pod, pod("web-" + std::to_string(i))));
  }
  const auto path = segments().at(0);
  const std::string whole = bytes_of(path);
  std::size_t last = 0;
  for (std::size_t size = k_header_bytes; size <= whole.size(); size += 7) {
    Reader reader = Reader::of_bytes(whole.substr(0, size), "torn", read_symbols);
    std::size_t count = 0;
    for (Record record; reader.next(record);) count += record.kind == Kind::waiting_pod ? 1 : 0;
    EXPECT_GE(count, last);
    last = count;
  }
  EXPECT_EQ(last, 10u - (whole.size() % 7 == k_header_bytes % 7 ? 0 : 1));
}

TEST_F(Recording, ADamagedByteCostsWhatFollowsInItsSegmentAlone) {
  {
    auto recorder = start({.total_bytes = k_total_bytes_min});
    const model::PodPtr first = pod("web-1");
    for (int i = 0; i < 2000; ++i) {
      auto copy = std::make_shared<model::Pod>(*first);
      copy->name = "a-name-of-its-own-" + std::to_string(i);
      recorder->add(of(Kind::waiting_pod, copy));
      if (i % 500 == 0) recorder->flush();
    }
  }
  ASSERT_GE(segments().size(), 3u);
  const std::size_t all = read(Kind::waiting_pod).size();
  const auto path = segments().at(1);
  std::string bytes = bytes_of(path);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 0x20);
  std::ofstream(path, std::ios::binary) << bytes;
  const std::vector<Record> left = read();
  const auto pods =
      std::count_if(left.begin(), left.end(), [](const Record& r) { return r.kind == Kind::waiting_pod; });
  EXPECT_LT(static_cast<std::size_t>(pods), all);
  EXPECT_GT(static_cast<std::size_t>(pods), all / 4);
  EXPECT_EQ(std::count_if(left.begin(), left.end(), [](const Record& r) { return r.kind == Kind::gap; }), 1);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_NE(problems[0].find("a record is damaged at byte"), std::string::npos) << problems[0];
}

TEST_F(Recording, AStateIsWhatTheRecordsMadeOfTheCluster) {
  State state;
  state.begin_run();
  Record node = of(Kind::node), placed = of(Kind::attempt, pod("web-1"));
  node.node = object<model::NodePtr>(k_node);
  placed.text = "node-1";
  for (const Record& record : {node, of(Kind::waiting_pod, pod("web-1")), of(Kind::waiting_pod, pod("web-2")), placed})
    state.apply(record);
  EXPECT_EQ(state.placed_pods(), 1u);
  EXPECT_EQ(state.waiting_pods(), 1u) << "the other has a node";
  State again;
  for (const Record& record : state.records(5)) again.apply(record);
  EXPECT_TRUE(again.is_complete());
  EXPECT_EQ(again.nodes(), 1u);
  EXPECT_EQ(again.placed_pods(), 1u);
  EXPECT_EQ(again.waiting_pods(), 1u);
  again.apply(of(Kind::given_back, pod("web-1")->uid.text()));
  again.apply(of(Kind::node_gone, "node-1"));
  EXPECT_EQ(again.placed_pods() + again.nodes(), 0u);
  again.apply(of(Kind::gap));
  EXPECT_FALSE(again.is_complete());
}

TEST_F(Recording, AStateWithAGapWithinIsNotComplete) {
  State state;
  for (const Kind kind : {Kind::state_begins, Kind::gap, Kind::state_ends}) state.apply(of(kind));
  EXPECT_FALSE(state.is_complete());
  state.apply(of(Kind::state_ends));
  EXPECT_FALSE(state.is_complete());
  for (const Kind kind : {Kind::state_begins, Kind::state_ends}) state.apply(of(kind));
  EXPECT_TRUE(state.is_complete());
}

}  // namespace
}  // namespace berth::recording
