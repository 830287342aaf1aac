// SPDX-License-Identifier: Apache-2.0
#include "cluster/kube/read/kube_reader.hpp"

#include <set>

#include "unit/kube/live.hpp"
#include "unit/kube/mirror.hpp"

namespace berth::tests {
namespace {

using namespace cluster::kube;

struct ReaderCase {
  std::string name;
  bool streaming_client = true, streaming_server = true;
  std::size_t page_max = 0;
  bool protobuf = false, gzip = false;
};

KubeReaderOptions reader_options(const ReaderCase& way) {
  KubeReaderOptions options;
  options.resources = {"core/v1/services", "example.com/v1/nowhere", "example.com/v1/widgets"};
  options.client.qps = -1;
  options.reflector.streaming_lists = way.streaming_client;
  options.client.accept_gzip = way.gzip;
  options.reflector.page_items = 7;
  if (way.protobuf) options.reflector.accept = "application/vnd.kubernetes.protobuf,application/json";
  options.reflector.backoff_initial_s = 0.01;
  options.reflector.backoff_max_s = 0.05;
  return options;
}

ApiServerOptions server_options(const ReaderCase& way) {
  ApiServerOptions options;
  options.streaming_lists = way.streaming_server;
  options.page_max = way.page_max;
  options.bookmark_period = std::chrono::milliseconds(20);
  return options;
}

class KubeReaderTest : public testing::TestWithParam<ReaderCase> {
 protected:
  ~KubeReaderTest() override { reader.stop(); }

  std::string put_pod(const std::string& name, const std::string& more = "") {
    return server.create(pod_json(name, more))->uid;
  }
  void bind(const std::string& name, const std::string& node) {
    json::object target, binding;
    target["name"] = node;
    binding["target"] = target;
    ASSERT_TRUE(server.store().bind("default", name, binding).ok());
  }
  void remove(const std::string& name) {
    json::object options;
    options["gracePeriodSeconds"] = 0;
    ASSERT_TRUE(server.store().remove(*server.store().find("", "v1", "pods"), "default", name, options).ok());
  }
  std::uint64_t pod_snapshots() const {
    for (const KubeReader::Progress& progress : reader.progress())
      if (progress.resource == "core/v1/pods") return progress.counts.snapshots;
    return 0;
  }
  /// True once the mirror shows what the server has.
  bool agrees() {
    return sink.signal.wait([&] {
      const auto page = server.store().list(*server.store().find("", "v1", "pods"), "", "", 0);
      std::set<std::string> there;
      for (const StoredPtr& pod : page.objects)
        if (pod->phase != "Succeeded" && pod->phase != "Failed")
          there.insert(pod->ns + "/" + pod->name + "@" + std::to_string(pod->version));
      std::set<std::string> seen;
      for (const auto& [key, pod] : sink.pods) seen.insert(key + "@" + pod->resource_version.text());
      return there == seen;
    });
  }

  SystemClock clock;
  SymbolTable symbols;
  ApiServer server{server_options(GetParam())};
  const bool has_widgets = [this] {
    server.store().add_resource({"example.com", "v1", "widgets", "Widget", false});
    return true;
  }();
  net::IoThreads threads{3};
  Mirror sink{symbols};
  KubeReader reader{threads, endpoint_of(server, clock), symbols, reader_options(GetParam())};
};

TEST_P(KubeReaderTest, WhatExistsIsDeliveredBeforeItIsInSync) {
  for (int i = 0; i < 40; ++i) put_pod("p" + std::to_string(i));
  for (int i = 0; i < 5; ++i) server.create(node_json("n" + std::to_string(i)));
  server.create(R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"s","namespace":"default"},"spec":{}})");
  server.create(R"({"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"size":3}})");
  reader.start(sink);
  ASSERT_TRUE(sink.signal.wait([&] { return sink.synced_count == 1; }));
  EXPECT_EQ(sink.pods.size(), 40U);
  EXPECT_EQ(sink.nodes.size(), 5U);
  EXPECT_EQ(sink.objects.count("core/v1/services s"), 1U);
  // No server has custom resources in protobuf.
  EXPECT_EQ(sink.objects.count("example.com/v1/widgets w"), 1U);
  EXPECT_EQ(sink.wrong, std::vector<std::string>());
  EXPECT_NE(reader.find_pod("default", "p3"), nullptr);
}

TEST_P(KubeReaderTest, ChangesFollow) {
  put_pod("a");
  reader.start(sink);
  ASSERT_TRUE(sink.signal.wait([&] { return sink.synced_count == 1; }));
  put_pod("b");
  bind("a", "n1");
  put_pod("c");
  remove("c");
  EXPECT_TRUE(agrees());
  EXPECT_TRUE(sink.signal.wait([&] { return sink.node_of("default/a") == "n1"; }));
  EXPECT_EQ(sink.wrong, std::vector<std::string>());
}

TEST_P(KubeReaderTest, APodThatFinishesIsDeleted) {
  put_pod("a");
  reader.start(sink);
  ASSERT_TRUE(sink.signal.wait([&] { return sink.synced_count == 1 && sink.pods.size() == 1; }));
  json::object phase, patch;
  phase["phase"] = "Succeeded";
  patch["status"] = phase;
  ASSERT_TRUE(server.store().patch(*server.store().find("", "v1", "pods"), "default", "a", patch, false, true).ok());
  EXPECT_TRUE(sink.signal.wait([&] { return sink.pods.empty(); }));
}

TEST_P(KubeReaderTest, WhatWasMissedDuringARestartIsMadeUpFor) {
  for (int i = 0; i < 20; ++i) put_pod("p" + std::to_string(i));
  reader.start(sink);
  ASSERT_TRUE(sink.signal.wait([&] { return sink.synced_count == 1; }));
  for (int round = 0; round < 5; ++round) {
    server.restart();
    remove("p" + std::to_string(round));
    put_pod("p" + std::to_string(round));  // the same name, another pod
    remove("p" + std::to_string(10 + round));
    put_pod("q" + std::to_string(round));
    EXPECT_TRUE(agrees()) << "round " << round;
  }
  EXPECT_EQ(sink.wrong, std::vector<std::string>());
  EXPECT_EQ(sink.synced_count, 1);
}

TEST_P(KubeReaderTest, CatchingUpShowsWhatTheWatchHasNotToldYet) {
  put_pod("a");
  put_pod("b");
  reader.start(sink);
  ASSERT_TRUE(sink.signal.wait([&] { return sink.synced_count == 1; }));
  server.hold_watches(true);
  bind("a", "n1");
  remove("b");
  bool caught_up = false;
  reader.catch_up([&] {
    // Not a moment before the sink knows.
    sink.signal.change([&] { caught_up = sink.node_of("default/a") == "n1" && sink.pods.size() == 1; });
  });
  EXPECT_TRUE(sink.signal.wait([&] { return caught_up; }));
  server.hold_watches(false);
  put_pod("c");
  EXPECT_TRUE(agrees());
  EXPECT_EQ(sink.wrong, std::vector<std::string>());
}

TEST_P(KubeReaderTest, CatchingUpAsksForWaitingPodsOnly) {
  for (int i = 0; i < 20; ++i) put_pod("p" + std::to_string(i));
  for (int i = 0; i < 18; ++i) bind("p" + std::to_string(i), "n1");
  reader.start(sink);
  ASSERT_TRUE(sink.signal.wait([&] { return sink.synced_count == 1; }));
  server.hold_watches(true);
  bind("p18", "n1");
  bool caught_up = false;
  reader.catch_up([&] { sink.signal.change([&] { caught_up = sink.node_of("default/p18") == "n1"; }); });
  ASSERT_TRUE(sink.signal.wait([&] { return caught_up; }));
  server.hold_watches(false);
  put_pod("new");  // told by the watch: whatever snapshots there were have been counted
  EXPECT_TRUE(agrees());
  EXPECT_EQ(pod_snapshots(), 1u);
}

TEST_P(KubeReaderTest, CatchingUpTakesASnapshotWhenMuchHasHappened) {
  for (int i = 0; i < 150; ++i) put_pod("p" + std::to_string(i));
  reader.start(sink);
  ASSERT_TRUE(sink.signal.wait([&] { return sink.synced_count == 1; }));
  server.hold_watches(true);
  for (int i = 0; i < 150; ++i) bind("p" + std::to_string(i), "n1");
  bool caught_up = false;
  reader.catch_up([&] { sink.signal.change([&] { caught_up = sink.node_of("default/p149") == "n1"; }); });
  EXPECT_TRUE(sink.signal.wait([&] { return caught_up; }));
  server.hold_watches(false);
  EXPECT_TRUE(agrees());
  EXPECT_EQ(sink.wrong, std::vector<std::string>());
}

TEST_P(KubeReaderTest, APodThatCatchingUpFoundDeletedIsNotAddedByLateWatchEvents) {
  put_pod("a");
  reader.start(sink);
  ASSERT_TRUE(sink.signal.wait([&] { return sink.synced_count == 1; }));
  server.hold_watches(true);
  bind("a", "n1");
  remove("a");
  bool caught_up = false;
  reader.catch_up([&] { sink.signal.change([&] { caught_up = sink.pods.empty(); }); });
  ASSERT_TRUE(sink.signal.wait([&] { return caught_up; }));
  server.hold_watches(false);
  put_pod("b");  // told after the old news of a
  EXPECT_TRUE(agrees());
  EXPECT_EQ(sink.times_added["default/a"], 1);
  EXPECT_EQ(sink.wrong, std::vector<std::string>());
}

TEST_P(KubeReaderTest, CatchingUpWhereNothingHappensEnds) {
  put_pod("a");
  reader.start(sink);
  ASSERT_TRUE(sink.signal.wait([&] { return sink.synced_count == 1; }));
  int ended = 0;
  for (int i = 0; i < 2; ++i) reader.catch_up([&] { sink.signal.change([&] { ++ended; }); });
  EXPECT_TRUE(sink.signal.wait([&] { return ended == 2; }));
}

TEST_P(KubeReaderTest, FaultsDelayButNeverFalsify) {
  Faults faults;
  faults.dropped_watch = 0.05;
  faults.gone = 0.2;
  faults.too_many = 0.1;
  faults.internal_error = 0.1;
  faults.truncated = 0.1;
  faults.slow = 0.2;
  faults.slow_max = std::chrono::milliseconds(20);
  faults.repeated_event = 0.2;
  faults.reordered_events = 0.2;
  faults.seed = 20261120;
  RecordProperty("seed", static_cast<int>(faults.seed));
  server.inject(faults);
  reader.start(sink);
  ASSERT_TRUE(sink.signal.wait([&] { return sink.synced_count == 1; }));
  for (int i = 0; i < 300; ++i) {
    put_pod("p" + std::to_string(i));
    if (i % 3 == 0) bind("p" + std::to_string(i), "n" + std::to_string(i % 7));
    if (i % 5 == 0) remove("p" + std::to_string(i));
    if (i % 100 == 50) server.restart();
  }
  EXPECT_TRUE(agrees());
  EXPECT_EQ(sink.wrong, std::vector<std::string>());
}

TEST(SilentWatch, IsEndedAndGoesOnFromWhereItWas) {
  SystemClock clock;
  SymbolTable symbols;
  ApiServerOptions quiet;
  quiet.bookmark_period = std::chrono::hours(1);
  ApiServer server{quiet};
  server.create(pod_json("first"));
  net::IoThreads threads{2};
  Mirror sink{symbols};
  KubeReaderOptions options = reader_options({"silent"});
  options.resources.clear();
  options.reflector.watch_silence_max = std::chrono::milliseconds(30);
  KubeReader reader{threads, endpoint_of(server, clock), symbols, options};
  reader.start(sink);
  ASSERT_TRUE(sink.signal.wait([&] { return sink.synced_count == 1; }));
  const auto counts = [&] {
    for (const KubeReader::Progress& progress : reader.progress())
      if (progress.resource == "core/v1/pods") return progress.counts;
    return Reflector::Counts();
  };
  const auto end = std::chrono::steady_clock::now() + k_patience;
  while (counts().watches < 3 && std::chrono::steady_clock::now() < end)
    server.await_change(server.await_change(0, std::chrono::milliseconds(0)), std::chrono::milliseconds(10));
  server.create(pod_json("second"));
  EXPECT_TRUE(sink.signal.wait([&] { return sink.pods.count("default/second") == 1; }));
  EXPECT_GE(counts().watches, 3U) << "a watch that tells nothing is opened again";
  EXPECT_EQ(counts().snapshots, 1U) << "nothing is listed again";
  EXPECT_EQ(sink.wrong, std::vector<std::string>());
  reader.stop();
}

INSTANTIATE_TEST_SUITE_P(Ways, KubeReaderTest,
                         testing::Values(ReaderCase{"streaming"}, ReaderCase{"lists", false},
                                         ReaderCase{"pages", false, true, 5}, ReaderCase{"falls_back", true, false},
                                         ReaderCase{"protobuf_streaming", true, true, 0, true},
                                         ReaderCase{"protobuf_pages", false, true, 5, true},
                                         ReaderCase{"gzip_pages", false, true, 5, false, true},
                                         ReaderCase{"gzip_protobuf", false, true, 0, true, true}),
                         [](const auto& way) { return way.param.name; });

}  // namespace
}  // namespace berth::tests
