// SPDX-License-Identifier: Apache-2.0
// One object never stops a stream, whatever is in it, however it comes and whenever; and what is on a node counts there,
// or the node is closed.
#include <algorithm>
#include <boost/json.hpp>

#include "cluster/kube/read/backoff.hpp"
#include "cluster/kube/read/kube_reader.hpp"
#include "unit/kube/mirror.hpp"

namespace berth::tests {
namespace {

using namespace cluster::kube;

/// Eight bytes of text, and eight that are no UTF-8 in any place.
constexpr std::string_view k_good_bytes = "BADBYTES", k_bad_bytes = "\xff\xfe\x80\xc0\xf5\xed\xa0\xc1";
const std::string k_replaced = [] {
  std::string out;
  for (int i = 0; i < 8; ++i) out += "\xEF\xBF\xBD";
  return out;
}();

void replace_all(std::string& text, std::string_view what, std::string_view with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
    text.replace(at, what.size(), with);
}

enum class Outcome {
  whole,     // as any other pod
  charged,   // on its node, with what could be read; the node takes more
  closed,    // its node takes no more
  unplaced,  // it is not known where it is: not ready
  skipped    // not there, and nothing follows
};

struct PoisonCase {
  std::string name;
  Outcome outcome = Outcome::whole;
  std::string text = {};  // JSON to be merged into the pod; "NODE" stands for its node
  Poison poison = {};
  bool bound = true;
  bool in_json = true, in_protobuf = true;
  bool has_name = true;
};

Poison bad_bytes() {
  return {{}, [](std::string& bytes, bool) { replace_all(bytes, k_good_bytes, k_bad_bytes); }};
}
/// Changes what goes out, not what the server keeps.
Poison merged(std::string_view patch) {
  const json::value change = json::parse({patch.data(), patch.size()});
  return {[change](json::object& object, bool) {
            json::value whole = object;
            merge_patch(whole, change);
            object = whole.as_object();
          },
          {}};
}
Poison damaged(std::function<void(std::string& bytes)> damage) {
  return {{}, [damage](std::string& bytes, bool) { damage(bytes); }};
}

std::vector<PoisonCase> poison_cases() {
  std::vector<PoisonCase> out;
  const auto text_case = [&](std::string name, std::string text) {
    out.push_back({std::move(name), Outcome::whole, std::move(text), bad_bytes()});
  };
  text_case("label-key", R"({"metadata":{"labels":{"BADBYTES":"v"}}})");
  text_case("label-value", R"({"metadata":{"labels":{"k":"aBADBYTESb"}}})");
  text_case("annotation", R"({"metadata":{"annotations":{"a":"BADBYTES"}}})");
  text_case("scheduler-name", R"({"spec":{"schedulerName":"BADBYTES"}})");
  text_case("node-selector", R"({"spec":{"nodeSelector":{"BADBYTES":"BADBYTES"}}})");
  text_case("toleration", R"({"spec":{"tolerations":[{"key":"BADBYTES","operator":"BADBYTES"}]}})");
  text_case("volume", R"({"spec":{"volumes":[{"name":"BADBYTES","emptyDir":{}}]}})");
  text_case("condition", R"({"status":{"conditions":[{"type":"BADBYTES","status":"True","message":"BADBYTES"}]}})");
  text_case("priority-class", R"({"spec":{"priorityClassName":"BADBYTES"}})");
  text_case("owner",
            R"({"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"X","name":"BADBYTES","uid":"BADBYTES"}]}})");
  text_case("container",
            R"({"spec":{"containers":[{"name":"BADBYTES","image":"BADBYTES","resources":{"requests":{"cpu":"1"}}}]}})");
  text_case("resource", R"({"spec":{"overhead":{"example.com/BADBYTES":"1"}}})");

  const auto json_only = [](PoisonCase c) {
    c.in_protobuf = false;
    return c;
  };
  const auto protobuf_only = [](PoisonCase c) {
    c.in_json = false;
    return c;
  };
  out.push_back(json_only({"half-a-pair", Outcome::whole, R"({"metadata":{"labels":{"k":"BADBYTES"}}})",
                           damaged([](std::string& bytes) { replace_all(bytes, k_good_bytes, "\\ud800zz"); })}));
  out.push_back(json_only(
      {"key-twice", Outcome::whole, R"({"metadata":{"labels":{"k1":"BADBYTES"}}})", damaged([](std::string& bytes) {
         replace_all(bytes, R"("k1":"BADBYTES")", R"("k1":5,"k1":"a","k1":"BADBYTES")");
       })}));
  for (const char* const when : {"9223372036854775807", "-9223372036854775808", "253402300800", "-62167219201"})
    out.push_back(protobuf_only({std::string("time") + when, Outcome::whole, "{}",
                                 merged(std::string(R"({"metadata":{"creationTimestamp":)") + when +
                                        R"(},"status":{"startTime":)" + when + "}}")}));
  for (const char* const when : {"99999-01-01T00:00:00Z", "0000-01-01T00:00:00Z", "-0005-01-01T00:00:00Z"})
    out.push_back(json_only({std::string("written-time") + when[0] + when[3], Outcome::whole, "{}",
                             merged(std::string(R"({"metadata":{"creationTimestamp":")") + when + R"("}})")}));
  for (const char* const huge : {"1e400000000", "999999999999999999999999999999999999", "9223372036854775807Ei"})
    out.push_back({std::string("huge-quantity-") + std::to_string(std::string_view(huge).size()), Outcome::whole, "{}",
                   merged(std::string(R"({"spec":{"overhead":{"memory":")") + huge + R"("}}})")});

  out.push_back({"no-uid", Outcome::charged, "{}", merged(R"({"metadata":{"uid":null}})")});
  out.push_back({"huge-number", Outcome::charged, "{}", merged(R"({"spec":{"priority":99999999999}})")});
  out.push_back(json_only({"wrong-priority", Outcome::charged, "{}", merged(R"({"spec":{"priority":"high"}})")}));
  out.push_back(json_only({"wrong-labels", Outcome::charged, "{}", merged(R"({"metadata":{"labels":[1]}})")}));
  out.push_back(json_only({"wrong-time", Outcome::charged, "{}", merged(R"({"status":{"startTime":"soon"}})")}));
  out.push_back(json_only({"null-toleration", Outcome::charged, "{}", merged(R"({"spec":{"tolerations":[null]}})")}));

  const std::string amount = R"({"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"AMOUNT"}}}]}})";
  for (const char* const bad : {"much", "-5", "", "1.5.5"}) {
    std::string patch = amount;
    replace_all(patch, "AMOUNT", bad);
    out.push_back({"amount-" + std::to_string(out.size()), Outcome::closed, "{}", merged(patch)});
  }
  out.push_back({"no-containers", Outcome::closed, "{}", merged(R"({"spec":{"containers":null}})")});
  out.push_back(json_only({"containers-are-a-number", Outcome::closed, "{}", merged(R"({"spec":{"containers":5}})")}));
  out.push_back(json_only({"requests-are-a-list", Outcome::closed, "{}",
                           merged(R"({"spec":{"containers":[{"resources":{"requests":[1]}}]}})")}));
  out.push_back(json_only(
      {"deep", Outcome::closed, R"({"metadata":{"labels":{"k":"BADBYTES"}}})", damaged([](std::string& bytes) {
         const std::string deep = std::string(5000, '[') + std::string(5000, ']');
         replace_all(bytes, "\"BADBYTES\"", deep);
       })}));
  out.push_back(protobuf_only(
      {"truncated", Outcome::closed, "{}", damaged([](std::string& bytes) { bytes.resize(bytes.size() - 3); })}));
  out.push_back(protobuf_only(
      {"unknown-wire-type", Outcome::closed, "{}", damaged([](std::string& bytes) { bytes += "\x0b\x0f\x0c"; })}));
  out.push_back(protobuf_only(
      {"field-of-another-kind", Outcome::closed, "{}", damaged([](std::string& bytes) { bytes += "\x10\x01"; })}));

  out.push_back({"no-spec", Outcome::unplaced, "{}", merged(R"({"spec":null})")});
  out.push_back(json_only({"spec-is-a-number", Outcome::unplaced, "{}", merged(R"({"spec":5})")}));
  out.push_back(json_only({"node-is-a-number", Outcome::unplaced, "{}", merged(R"({"spec":{"nodeName":5}})")}));

  out.push_back({"waits", Outcome::skipped, "{}",
                 merged(R"({"spec":{"containers":[{"resources":{"requests":{"cpu":"much"}}}]}})"), false});
  out.push_back({"waits-without-uid", Outcome::skipped, "{}", merged(R"({"metadata":{"uid":null}})"), false});

  // Last: the watch is given up for them.
  PoisonCase nameless{"no-name", Outcome::closed, "{}", merged(R"({"metadata":{"name":null}})")};
  nameless.has_name = false;
  out.push_back(nameless);
  PoisonCase bare{"no-metadata", Outcome::closed, "{}", merged(R"({"metadata":null})")};
  bare.has_name = false;
  out.push_back(bare);
  return out;
}

struct PoisonWay {
  std::string name;
  bool streams = false;
  std::size_t page_max = 0;
  bool protobuf = false;
  bool after_start = false;
};

class PoisonedObjectsTest : public testing::TestWithParam<PoisonWay> {
 protected:
  PoisonedObjectsTest() {
    for (PoisonCase& c : poison_cases())
      if (GetParam().protobuf ? c.in_protobuf : c.in_json) cases.push_back(std::move(c));
  }
  ~PoisonedObjectsTest() override { reader.stop(); }

  static ApiServerOptions server_options() {
    ApiServerOptions out;
    out.tls = false;
    out.accept_anonymous = true;  // tokens are for TLS alone
    out.streaming_lists = GetParam().streams;
    out.page_max = GetParam().page_max;
    out.bookmark_period = std::chrono::milliseconds(20);
    return out;
  }
  static KubeReaderOptions reader_options() {
    KubeReaderOptions out;
    out.resources = {"core/v1/services", "core/v1/persistentvolumeclaims"};
    out.client.qps = -1;
    out.reflector.streaming_lists = GetParam().streams;
    out.reflector.page_items = GetParam().page_max == 0 ? 500 : GetParam().page_max;
    if (GetParam().protobuf) out.reflector.accept = "application/vnd.kubernetes.protobuf,application/json";
    out.reflector.backoff_initial_s = 0.01;
    out.reflector.backoff_max_s = 0.05;
    return out;
  }
  static std::string node_of(const PoisonCase& c) { return "node-of-" + c.name; }
  static std::string key_of(const PoisonCase& c) { return "default/" + c.name; }

  void create_pod(const PoisonCase& c) {
    server.poison(c.name, c.poison);
    json::value pod = json::parse(pod_json(c.name));
    if (c.bound) pod.as_object()["spec"].as_object()["nodeName"] = node_of(c);
    merge_patch(pod, json::parse(c.text));
    server.create(json::serialize(pod));
  }
  void remove(const char* plural, const std::string& name) {
    json::object options;
    options["gracePeriodSeconds"] = 0;
    ASSERT_TRUE(server.store().remove(*server.store().find("", "v1", plural), "default", name, options).ok()) << name;
  }
  bool is_open(const std::string& node) const {
    const auto found = sink.nodes.find(node);
    return found != sink.nodes.end() && found->second->allowed_pods == 110;
  }
  bool is_closed(const std::string& node) const {
    const auto found = sink.nodes.find(node);
    return found != sink.nodes.end() && found->second->allowed_pods == 0;
  }
  KubeReader::Progress progress_of(std::string_view resource) const {
    for (KubeReader::Progress& progress : reader.progress())
      if (progress.resource == resource) return progress;
    return {};
  }
  bool shows(const PoisonCase& c) {
    const bool is_there = sink.pods.count(key_of(c)) == 1;
    const bool is_placed = sink.node_of(key_of(c)) == node_of(c);
    switch (c.outcome) {
      case Outcome::whole:
      case Outcome::charged:
        return is_there && is_placed && is_open(node_of(c));
      case Outcome::closed:
        return is_closed(node_of(c)) && (is_placed || !c.has_name);
      case Outcome::unplaced:
      case Outcome::skipped:
        return !is_there && is_open(node_of(c));
    }
    return false;
  }
  std::size_t unplaced() const {
    return static_cast<std::size_t>(
        std::count_if(cases.begin(), cases.end(), [](const auto& c) { return c.outcome == Outcome::unplaced; }));
  }

  std::vector<PoisonCase> cases;
  SystemClock clock;
  SymbolTable symbols;
  ApiServer server{server_options()};
  net::IoThreads threads{2};
  Mirror sink{symbols};
  KubeReader reader{threads, endpoint_of(server, clock), symbols, reader_options()};
};

TEST_P(PoisonedObjectsTest, NoneStopsAStreamAndNoneIsForgotten) {
  for (const PoisonCase& c : cases) server.create(node_json(node_of(c)));
  server.create(pod_json("first"));
  const auto start = [&] {
    reader.start(sink);
    ASSERT_TRUE(sink.signal.wait([&] { return sink.synced_count == 1; }));
  };
  if (GetParam().after_start) start();
  for (const PoisonCase& c : cases)
    if (c.has_name) create_pod(c);
  if (!GetParam().after_start) start();
  server.create(pod_json("between"));
  ASSERT_TRUE(sink.signal.wait([&] { return sink.pods.count("default/between") == 1; }));
  EXPECT_EQ(progress_of("core/v1/pods").counts.snapshots, 1u);
  for (const PoisonCase& c : cases)
    if (!c.has_name) create_pod(c);
  server.create(pod_json("last"));
  ASSERT_TRUE(sink.signal.wait([&] { return sink.pods.count("default/last") == 1; }));
  EXPECT_EQ(sink.pods.count("default/first"), 1u);
  for (const PoisonCase& c : cases) EXPECT_TRUE(sink.signal.wait([&] { return shows(c); })) << c.name;
  EXPECT_EQ(reader.unplaced_pods(), unplaced());
  EXPECT_GT(reader.closed_nodes(), 0u);

  // Who goes takes its charge along.
  for (const PoisonCase& c : cases) remove("pods", c.name);
  for (const PoisonCase& c : cases)
    EXPECT_TRUE(sink.signal.wait([&] { return sink.pods.count(key_of(c)) == 0 && is_open(node_of(c)); })) << c.name;
  EXPECT_TRUE(sink.signal.wait([&] { return sink.pods.size() == 3; }));
  EXPECT_EQ(reader.closed_nodes(), 0u);
  EXPECT_EQ(reader.unplaced_pods(), 0u);
  EXPECT_EQ(sink.wrong, std::vector<std::string>());
}

TEST_P(PoisonedObjectsTest, TextIsWhatGoMakesOfIt) {
  server.create(node_json("n"));
  create_pod({"p", Outcome::whole, R"({"metadata":{"labels":{"k":"aBADBYTESb"}}})", bad_bytes(), false});
  reader.start(sink);
  ASSERT_TRUE(sink.signal.wait([&] { return sink.synced_count == 1; }));
  const model::Labels labels = sink.pods.at("default/p")->labels.get();
  ASSERT_EQ(labels.size(), 1u);
  EXPECT_EQ(symbols.text(labels.front().value), "a" + k_replaced + "b");
}

TEST_P(PoisonedObjectsTest, ANodeThatCannotBeReadTakesNoPods) {
  server.create(node_json("good"));
  server.create(node_json("known"));
  server.create(node_json("unknown"));
  const Poison no_amount = merged(R"({"status":{"allocatable":{"cpu":"much"}}})");
  server.poison("unknown", no_amount);
  reader.start(sink);
  ASSERT_TRUE(sink.signal.wait([&] { return sink.synced_count == 1; }));
  EXPECT_TRUE(is_open("good") && is_open("known"));
  EXPECT_EQ(sink.nodes.count("unknown"), 0u);
  const auto touch = [&](const std::string& value) {
    json::object labels, metadata, patch;
    labels["touched"] = value;
    metadata["labels"] = labels;
    patch["metadata"] = metadata;
    ASSERT_TRUE(server.store().patch(*server.store().find("", "v1", "nodes"), "", "known", patch, false, false).ok());
  };
  server.poison("known", no_amount);
  touch("1");
  EXPECT_TRUE(sink.signal.wait([&] { return is_closed("known"); }));
  server.poison("known", {});
  touch("2");
  EXPECT_TRUE(sink.signal.wait([&] { return is_open("known"); }));
  EXPECT_TRUE(is_open("good"));
}

TEST_P(PoisonedObjectsTest, WhatAVolumeClaimWasStaysWhenItCannotBeReadAnyMore) {
  server.create(
      R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"c","namespace":"default"},"spec":{}})");
  reader.start(sink);
  const std::string key = "core/v1/persistentvolumeclaims c";
  ASSERT_TRUE(sink.signal.wait([&] { return sink.synced_count == 1 && sink.objects.count(key) == 1; }));
  server.poison("c", GetParam().protobuf ? damaged([](std::string& bytes) { bytes += "\x10\x01"; })
                                         : merged(R"({"metadata":{"uid":[5]}})"));
  for (int round = 0; round < 2; ++round) server.restart();  // lists again
  server.create(
      R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"d","namespace":"default"},"spec":{}})");
  EXPECT_TRUE(sink.signal.wait([&] { return sink.objects.count("core/v1/persistentvolumeclaims d") == 1; }));
  EXPECT_EQ(sink.objects.count(key), 1u);
  EXPECT_GT(progress_of("core/v1/persistentvolumeclaims").counts.undecodable.at(0) +
                progress_of("core/v1/persistentvolumeclaims").counts.undecodable.at(1),
            0u);
}

TEST_P(PoisonedObjectsTest, AfterManyThatCannotBeReadAListIsTaken) {
  server.create(node_json("n"));
  reader.start(sink);
  ASSERT_TRUE(sink.signal.wait([&] { return sink.synced_count == 1; }));
  const Poison no_uid = merged(R"({"metadata":{"uid":null}})");
  for (int i = 0; i < 100; ++i) create_pod({"p" + std::to_string(i), Outcome::skipped, "{}", no_uid, false});
  for (int i = 0; progress_of("core/v1/pods").counts.snapshots < 2; ++i) {
    ASSERT_LT(i, 1000);
    const std::string name = "good" + std::to_string(i);
    server.create(pod_json(name));
    ASSERT_TRUE(sink.signal.wait([&] { return sink.pods.count("default/" + name) == 1; }));
  }
  EXPECT_GE(progress_of("core/v1/pods").counts.undecodable.at(1), 100u);
}

INSTANTIATE_TEST_SUITE_P(
    Ways, PoisonedObjectsTest,
    testing::Values(PoisonWay{"json_list"}, PoisonWay{"json_pages", false, 3}, PoisonWay{"json_streamed", true},
                    PoisonWay{"json_watch", true, 0, false, true}, PoisonWay{"protobuf_list", false, 0, true},
                    PoisonWay{"protobuf_pages", false, 3, true}, PoisonWay{"protobuf_streamed", true, 0, true},
                    PoisonWay{"protobuf_watch", true, 0, true, true}),
    [](const auto& way) { return way.param.name; });

// The server says with each watch that the version is too old, as a server in trouble does.
TEST(ReflectorBackOff, AListFollowsAWatchThatWasRefusedOnlyAfterAWait) {
  ApiServerOptions options;
  options.tls = false;
  options.accept_anonymous = true;
  ApiServer server(options);
  server.refuse_watches(true);
  SystemClock clock;
  SymbolTable symbols;
  net::IoThreads threads(2);
  Mirror sink(symbols);
  KubeReaderOptions reading;
  reading.client.qps = -1;
  reading.reflector.backoff_initial_s = 0.001;
  reading.reflector.backoff_max_s = 0.002;
  KubeReader reader(threads, endpoint_of(server, clock), symbols, reading);
  reader.start(sink);
  const auto counts = [&] {
    for (const KubeReader::Progress& progress : reader.progress())
      if (progress.resource == "core/v1/nodes") return progress.counts;
    return Reflector::Counts{};
  };
  // Each list is told to the sink as new nodes are.
  for (int i = 0; counts().snapshots < 6; ++i) {
    const std::string name = "n" + std::to_string(i);
    server.create(node_json(name));
    ASSERT_TRUE(sink.signal.wait([&] { return sink.nodes.count(name) == 1; }));
  }
  reader.stop();
  const Reflector::Counts now = counts();
  EXPECT_GE(now.back_offs + 1, now.snapshots);
}

/// A reader of a server, or of a port where none is, whose waits soon become longer than a test may take.
class ImpatientReader {
 public:
  /// good_watch: zero for every watch that was opened.
  explicit ImpatientReader(const std::function<std::shared_ptr<net::Endpoint>(const Clock&)>& endpoint,
                           std::chrono::milliseconds good_watch = {})
      : reader_(threads_, endpoint(clock_), symbols_, options(good_watch)) {
    reader_.start(sink);
  }
  ~ImpatientReader() { reader_.stop(); }
  Reflector::Counts nodes() const {
    for (const KubeReader::Progress& progress : reader_.progress())
      if (progress.resource == "core/v1/nodes") return progress.counts;
    return {};
  }

 private:
  static KubeReaderOptions options(std::chrono::milliseconds good_watch) {
    KubeReaderOptions out;
    out.client.qps = -1;
    out.reflector.backoff_initial_s = 0.02;
    out.reflector.away_max_s = 0.02;
    out.reflector.good_watch = good_watch;
    return out;
  }
  SystemClock clock_;
  SymbolTable symbols_;
  net::IoThreads threads_{2};

 public:
  Mirror sink{symbols_};

 private:
  KubeReader reader_;
};

TEST(ReflectorBackOff, RestartsOfTheServerThatAreFarApartDoNotAddUp) {
  ApiServerOptions options;
  options.tls = false;
  options.accept_anonymous = true;
  ApiServer server(options);
  ImpatientReader reader([&](const Clock& clock) { return endpoint_of(server, clock); });
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 12; ++i) {
    const std::string name = "n" + std::to_string(i);
    server.create(node_json(name));
    ASSERT_TRUE(reader.sink.signal.wait([&] { return reader.sink.nodes.count(name) == 1; })) << i;
    server.restart();
  }
  EXPECT_GE(reader.nodes().back_offs, 11u);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(15));
}

TEST(ReflectorBackOff, WatchesThatBreakOffAgainAndAgainAreOpenedAtShortIntervals) {
  ApiServerOptions options;
  options.tls = false;
  options.accept_anonymous = true;
  ApiServer server(options);
  ImpatientReader reader([&](const Clock& clock) { return endpoint_of(server, clock); }, std::chrono::hours(1));
  server.create(node_json("first"));
  ASSERT_TRUE(reader.sink.signal.wait([&] { return reader.sink.nodes.count("first") == 1; }));
  Faults faults;
  faults.dropped_watch = 0.7;
  server.inject(faults);
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 12; ++i) {
    const std::string name = "n" + std::to_string(i);
    server.create(node_json(name));
    ASSERT_TRUE(reader.sink.signal.wait([&] { return reader.sink.nodes.count(name) == 1; })) << i;
  }
  EXPECT_GE(reader.nodes().back_offs, 8u);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(15));
}

TEST(ReflectorBackOff, AServerThatIsAwayIsLookedForAtShortIntervals) {
  const std::uint16_t nothing_there = ApiServer().port();
  ImpatientReader reader([&](const Clock& clock) { return plain_endpoint(nothing_there, clock); });
  std::promise<void> over;
  EXPECT_EQ(over.get_future().wait_for(std::chrono::seconds(3)), std::future_status::timeout);
  EXPECT_GE(reader.nodes().failures, 12u) << "of fifty or more, where the waits do not grow";
}

TEST(Backoff, DoublesUpToItsLimitAndStartsOverAfterACalm) {
  using namespace std::chrono_literals;
  ManualClock clock;
  Backoff backoff(0.8, 30);
  std::vector<double> waits_s;
  const auto next_s = [&](double random) {
    return static_cast<double>(backoff.next(clock.monotonic_ns(), random).count()) / 1e9;
  };
  for (int i = 0; i < 8; ++i) {
    waits_s.push_back(next_s(0));
    clock.advance(std::chrono::seconds(60));
  }
  EXPECT_EQ(waits_s, (std::vector<double>{0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30}));
  EXPECT_EQ(next_s(0.5), 45);  // with jitter
  clock.advance(120s);
  EXPECT_EQ(next_s(0), 30);  // not calm for long enough
  clock.advance(121s);
  EXPECT_EQ(next_s(0), 0.8);
  EXPECT_EQ(next_s(0), 1.6);
  backoff.start_over();
  EXPECT_EQ(next_s(0), 0.8);
}

}  // namespace
}  // namespace berth::tests
