// SPDX-License-Identifier: Apache-2.0
// Random clusters with gangs, plain pods, slow volumes, device claims of one member or of several, and failing writes. Whatever happens: no node is over-committed,
// no member goes to binding before as many as are needed are reserved, reservations of a gang that lost a member end
// together, evictions make room for all or do not happen, and nothing is held in the end. The seed is in each failure;
// BERTH_SEED=n runs that one only, BERTH_LONG=1 ten times as many.
#include <gtest/gtest.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "app/simulate/simulation.hpp"
#include "cases/case_objects.hpp"
#include "cases/put_json.hpp"
#include "config/resolve.hpp"
#include "support/planned_failures.hpp"
#include "support/seeds.hpp"
#include "text/parse.hpp"

namespace berth::cases {
namespace {

constexpr std::string_view k_label = "scheduling.x-k8s.io/pod-group";
constexpr const char* k_claims = "resource.k8s.io/v1/resourceclaims";
constexpr std::int64_t k_hold_s = 20;
constexpr int k_events = 40;
constexpr std::size_t k_decisions_max = 20'000;

/// A configuration with the gang plugin, and all plugins of the build.
struct Setting {
  Setting() : plugins(app::load_plugins(raw(), BERTH_BINARY_DIR "/plugins")) {
    EXPECT_TRUE(plugins.ok()) << plugins.report.render();
    text::Diagnostics problems;
    configuration = config::resolve(raw(), plugins.catalog(), config::AbsentPlugins::embedded(), problems);
    EXPECT_TRUE(problems.empty()) << problems.render();
  }
  static config::RawConfiguration raw() {
    text::Diagnostics problems;
    config::RawConfiguration read = config::load(
        R"({"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration","profiles":[{
          "schedulerName":"default-scheduler","plugins":{
            "multiPoint":{"enabled":[{"name":"Coscheduling"}]},
            "queueSort":{"enabled":[{"name":"Coscheduling"}],"disabled":[{"name":"*"}]}}}]})",
        "gangs", problems);
    EXPECT_TRUE(problems.empty()) << problems.render();
    return read;
  }
  app::PluginLibrary plugins;
  config::Configuration configuration;
};
const Setting& setting() {
  static const Setting made;
  return made;
}

/// A simulation with objects written as JSON, and what is true of gangs in it.
class Gangs {
  SymbolTable symbols_;  // outlives the simulation

 public:
  Gangs() {
    app::Simulation::Options options;
    options.start_wall_ns = 1'000'000'000'000;
    options.refuse = failures.refuse();
    simulation = app::Simulation::make(symbols_, setting().configuration, setting().plugins, options).value();
    put(R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"wait"},
            "provisioner":"csi.example.com","volumeBindingMode":"WaitForFirstConsumer"})");
    put(R"({"apiVersion":"resource.k8s.io/v1","kind":"DeviceClass","metadata":{"name":"gpu"},"spec":{}})");
  }

  void node(const std::string& name, int cpu_milli, const std::string& more = "") {
    put_short(
        false,
        fmt::format(R"({{"name":"{}","labels":{{"kubernetes.io/hostname":"{}"}},"cpu_milli":{},"memory_mib":65536{}}})",
                    name, name, cpu_milli, more));
    put(fmt::format(R"({{"apiVersion":"storage.k8s.io/v1","kind":"CSINode","metadata":{{"name":"{}"}},
      "spec":{{"drivers":[{{"name":"csi.example.com","nodeID":"{}","topologyKeys":["kubernetes.io/hostname"]}}]}}}})",
                    name, name));
    put(fmt::format(
        R"({{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{{"name":"{}"}},"spec":{{"driver":"d",
      "pool":{{"name":"{}","generation":1,"resourceSliceCount":1}},"nodeName":"{}","devices":[{{"name":"g0"}},{{"name":"g1"}}]}}}})",
        name, name, name));
  }
  void claim(const std::string& name) {
    put(fmt::format(
        R"({{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{{"name":"{}","namespace":"default"}},
      "spec":{{"devices":{{"requests":[{{"name":"r","exactly":{{"deviceClassName":"gpu","allocationMode":"ExactCount","count":1}}}}]}}}}}})",
        name));
  }
  void pod_with_claim(const std::string& name, const std::string& group, int cpu_milli, const std::string& claim) {
    put(fmt::format(
        R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","namespace":"default","uid":"uid-{}","labels":{{"{}":"{}"}}}},
      "spec":{{"schedulerName":"default-scheduler","resourceClaims":[{{"name":"k","resourceClaimName":"{}"}}],
      "containers":[{{"name":"c","image":"i","resources":{{"requests":{{"cpu":"{}m"}}}}}}]}}}})",
        name, name, k_label, group, claim, cpu_milli));
  }
  /// How many members of gangs are bound and use a claim that another one uses as well. Every consumer of a claim is bound.
  std::size_t count_sharers() {
    std::set<std::string> bound;
    for (const model::PodPtr& pod : simulation->cluster().pods())
      if (pod->node_name != k_no_symbol) bound.insert(std::string(pod->uid.text()));
    std::size_t sharers = 0;
    each_claim([&](const model::Object& claim, const text::Value& root) {
      const text::Value* const consumers = root.find_path("status.reservedFor");
      if (consumers == nullptr) return;
      for (const text::Value& consumer : consumers->elements())
        EXPECT_TRUE(bound.contains(std::string(consumer.find("uid")->text()))) << claim.name << ' ' << claim.json;
      if (consumers->elements().size() > 1) sharers += consumers->elements().size();
    });
    return sharers;
  }
  /// created: the second of its creation; 0: another one for each.
  void group(const std::string& name, int min, int created = 0) {
    min_[name] = min;
    if (created == 0) created = static_cast<int>(min_.size());
    put(fmt::format(R"({{"apiVersion":"scheduling.x-k8s.io/v1alpha1","kind":"PodGroup","metadata":{{"name":"{}",
      "namespace":"default","creationTimestamp":"1970-01-01T00:00:{:02}Z"}},"spec":{{"minMember":{},"scheduleTimeoutSeconds":{}}}}})",
                    name, created % 60, min, k_hold_s));
  }
  void pod(const std::string& name, const std::string& group, int cpu_milli, const std::string& more = "") {
    const std::string labels = group.empty() ? "" : fmt::format(R"("{}":"{}")", k_label, group);
    put_short(true, fmt::format(R"({{"name":"{}","labels":{{{}}},"cpu_milli":{}{}}})", name, labels, cpu_milli, more));
  }
  /// The pod's volume is made when the pod has a node, and the pod bound a second later.
  void pod_with_volume(const std::string& name, const std::string& group, int cpu_milli) {
    put(fmt::format(
        R"({{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{{"name":"{}","namespace":"default"}},
      "spec":{{"accessModes":["ReadWriteOnce"],"storageClassName":"wait","resources":{{"requests":{{"storage":"1Gi"}}}}}}}})",
        name));
    pod(name, group, cpu_milli,
        fmt::format(R"(,"volumes":[{{"name":"v","persistentVolumeClaim":{{"claimName":"{}"}}}}])", name));
  }

  /// Decides what can be decided, with all properties checked.
  void settle() {
    simulation->run_until_idle(watcher());
    check();
  }
  void advance(std::int64_t ms, std::int64_t look_every_ms = 500) {
    for (std::int64_t passed = 0; passed < ms; passed += look_every_ms) {
      simulation->advance(std::chrono::milliseconds(look_every_ms), watcher());
      check();
      if (testing::Test::HasFatalFailure()) return;
    }
  }

  struct Count {
    int bound = 0;
    std::set<std::string> reserved;  // uids: a node, and not bound yet
  };
  std::map<std::string, Count> counts() {
    std::map<std::string, Count> found;
    for (const model::PodPtr& pod : simulation->cluster().pods()) {
      const std::string group = group_of(*pod);
      if (group.empty() || pod->deleting) continue;
      Count& count = found[group];
      if (pod->node_name != k_no_symbol)
        ++count.bound;
      else if (simulation->scheduler().views().cache.is_assumed(pod->uid))
        count.reserved.insert(pod->uid);
    }
    return found;
  }
  std::size_t decisions() const { return decisions_; }
  std::size_t placements() const { return placements_; }
  std::size_t evictions() const { return evictions_; }
  int bound_of(const std::string& group) { return counts()[group].bound; }
  bool was_held() const { return was_held_; }

  tests::PlannedFailures failures;  // outlives the simulation
  std::unique_ptr<app::Simulation> simulation;

 private:
  app::Simulation::Watcher watcher() {
    return [this](const report::Decision& decision) {
      ++decisions_;
      // A pod that is tried again and again while the clock stands still would hang the test.
      BERTH_CHECK(decisions_ < k_decisions_max, "no end: {} {}{} at {}", decision.pod->key(), decision.node,
                  decision.message, simulation->clock().wall_ns());
      placements_ += decision.node.empty() ? 0 : 1;
    };
  }
  std::string group_of(const model::Pod& pod) const {
    const Symbol key = symbols_.find(k_label);
    for (const model::Label& label : pod.labels)
      if (label.key == key) return std::string(symbols_.text(label.value));
    return {};
  }

  void put(const std::string& json) { put_json(*simulation, symbols_, watched_by(*simulation), json); }
  void put_short(bool pod, const std::string& json) {
    text::Diagnostics problems;
    const auto documents = text::parse_json(json, "generated", problems);
    const text::Value& root = documents.at(0).root();
    put(pod ? pod_manifest(root, "generated", problems) : node_manifest(root, "generated", problems));
    ASSERT_TRUE(problems.empty()) << problems.render();
  }

  void check() {
    ASSERT_NO_FATAL_FAILURE(expect_no_node_over_committed());
    ASSERT_NO_FATAL_FAILURE(expect_binding_began_together());
    ASSERT_NO_FATAL_FAILURE(expect_reservations_end_together());
    ASSERT_NO_FATAL_FAILURE(expect_evictions_make_room_for_all());
    ASSERT_NO_FATAL_FAILURE(expect_no_device_is_given_twice());
  }
  template <class Use>
  void each_claim(Use&& use) {
    for (const model::ObjectPtr& claim : simulation->cluster().objects_of(k_claims)) {
      text::Diagnostics problems;
      const auto documents = text::parse_json(claim->json, claim->name, problems);
      ASSERT_TRUE(problems.empty()) << problems.render();
      use(*claim, documents.at(0).root());
    }
  }
  void expect_no_device_is_given_twice() {
    std::set<std::string> given;
    each_claim([&](const model::Object& claim, const text::Value& root) {
      const text::Value* const results = root.find_path("status.allocation.devices.results");
      if (results == nullptr) return;
      for (const text::Value& result : results->elements())
        ASSERT_TRUE(
            given.insert(fmt::format("{}/{}", result.find("pool")->text(), result.find("device")->text())).second)
            << claim.name << " has a device of another claim: " << claim.json;
    });
  }
  void expect_no_node_over_committed() {
    std::map<Symbol, std::int64_t> cpu;
    const Symbol name = symbols_.find("cpu");
    for (const model::PodPtr& pod : simulation->cluster().pods()) {
      Symbol node = pod->node_name;
      if (node == k_no_symbol)
        if (const auto cached = simulation->scheduler().views().cache.find_pod(pod->uid)) node = cached->node;
      for (const model::PodResource& resource : pod->requests->resources)
        if (node != k_no_symbol && resource.name == name) cpu[node] += resource.effective;
    }
    for (const model::NodePtr& node : simulation->cluster().nodes())
      for (const model::ResourceAmount& amount : node->allocatable)
        if (amount.name == name) {
          ASSERT_LE(cpu[node->name_symbol], amount.amount) << node->name;
        }
  }
  /// Since the last look: a gang that was short of its quorum sent as many members to binding as it lacked, or none. A
  /// gang that lost a member is left out for as long as members of its last plan may be on their way.
  void expect_binding_began_together() {
    const std::int64_t now_ns = simulation->clock().monotonic_ns();
    std::map<std::string, std::string> present;  // uid -> group
    for (const model::PodPtr& pod : simulation->cluster().pods())
      if (const std::string group = group_of(*pod); !group.empty() && !pod->deleting) present[pod->uid] = group;
    for (const auto& [uid, group] : members_)
      if (present.count(uid) == 0) lost_ns_[group] = now_ns;
    members_ = std::move(present);
    std::map<std::string, int> tried;
    const auto writes = simulation->cluster().writes();
    for (; seen_writes_ < writes.size(); ++seen_writes_) {
      if (writes[seen_writes_].kind != cluster::RecordedWrite::Kind::bind) continue;
      const auto pod = simulation->cluster().find_pod(writes[seen_writes_].pod.ns, writes[seen_writes_].pod.name);
      const std::string group = pod != nullptr ? group_of(*pod) : std::string();
      if (!group.empty()) ++tried[group];
    }
    for (const auto& [group, count] : tried)
      if (lost_ns_.count(group) == 0 || now_ns - lost_ns_[group] > k_hold_s * 1'000'000'000) {
        ASSERT_GE(bound_before_[group] + count, min_[group]) << "gang " << group << " began to bind " << count;
      }
    bound_before_.clear();
    for (const auto& [group, count] : counts()) bound_before_[group] = count.bound;
  }
  /// A gang holds nodes without its quorum only after it lost a member on the way to binding, no longer than it may;
  /// those that are ready to be bound give theirs back at once, but for one that a pod of higher priority evicts.
  void expect_reservations_end_together() {
    const std::int64_t now_ns = simulation->clock().monotonic_ns();
    const auto now = counts();
    for (const auto& [group, count] : now) {
      const bool without_quorum =
          !count.reserved.empty() && count.bound + static_cast<int>(count.reserved.size()) < min_[group];
      auto& held = held_[group];
      if (!held.uids.empty() && without_quorum) {
        for (const std::string& uid : held.uids)
          ASSERT_TRUE(count.reserved.count(uid) != 0 || gone(uid) || evicted(uid))
              << "gang " << group << " gave up " << uid << " alone";
        ASSERT_LE(now_ns - held.since_ns, (k_hold_s + 1) * 1'000'000'000) << "gang " << group << " holds for too long";
      }
      if (!without_quorum) {
        held = {};
      } else {
        if (held.since_ns == 0) held.since_ns = now_ns;
        held.uids.clear();
        for (const std::string& uid : count.reserved)
          if (simulation->scheduler().views().waiting.waiting(uid)) held.uids.insert(uid);
        was_held_ = was_held_ || !held.uids.empty();
      }
    }
  }
  /// Since the last look: where a member had pods evicted, as many members as are needed have a node or were nominated
  /// one, then or before. (A more important pod may have taken a nomination since.)
  void expect_evictions_make_room_for_all() {
    std::map<std::string, std::set<std::string>> counted;  // uids by group
    const auto add = [&](const std::string& uid) {
      if (const auto member = members_.find(uid); member != members_.end()) counted[member->second].insert(uid);
    };
    for (const std::string& uid : nominated_before_) add(uid);
    nominated_before_.clear();
    for (const model::NominatedPod& nominated : simulation->scheduler().views().queue.nominations()) {
      add(nominated.pod->uid);
      nominated_before_.insert(nominated.pod->uid);
    }
    const auto writes = simulation->cluster().writes();
    for (std::size_t i = seen_events_; i < writes.size(); ++i)
      if ((writes[i].kind == cluster::RecordedWrite::Kind::bind && !writes[i].outcome.ok()) ||  // it had a node
          (writes[i].status.nominated_node && !writes[i].status.nominated_node->empty()))
        add(writes[i].pod.uid);
    const auto now = counts();
    for (; seen_events_ < writes.size(); ++seen_events_) {
      const cluster::EventRecord& event = writes[seen_events_].event;
      const auto member = members_.find(event.regarding.uid);
      if (event.reason != "Preempting" || member == members_.end()) continue;
      const Count& count = now.at(member->second);
      for (const std::string& uid : count.reserved) counted[member->second].insert(uid);
      ASSERT_GE(count.bound + static_cast<int>(counted[member->second].size()), min_[member->second])
          << event.regarding.name << ": " << event.note;
      evictions_ += 1;
    }
  }
  bool evicted(const std::string& uid) const {
    for (const cluster::RecordedWrite& write : simulation->cluster().writes())
      if (write.kind == cluster::RecordedWrite::Kind::event && write.event.regarding.uid == uid &&
          write.event.note.find("preempted") != std::string::npos)
        return true;
    return false;
  }
  bool gone(const std::string& uid) const {
    for (const model::PodPtr& pod : simulation->cluster().pods())
      if (pod->uid == uid && !pod->deleting) return false;
    return true;
  }

  struct Held {
    std::set<std::string> uids;
    std::int64_t since_ns = 0;
  };
  std::map<std::string, int> min_, bound_before_;
  std::map<std::string, Held> held_;
  std::map<std::string, std::string> members_;  // uid -> group, at the last look
  std::map<std::string, std::int64_t> lost_ns_;
  std::set<std::string> nominated_before_;  // uids with a nomination, at the last look
  std::size_t decisions_ = 0, placements_ = 0, seen_writes_ = 0, seen_events_ = 0, evictions_ = 0;
  bool was_held_ = false;
};

class Random {
 public:
  explicit Random(std::uint32_t seed) : random_(seed) {}
  int below(int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(random_); }
  bool chance(int percent) { return below(100) < percent; }

 private:
  std::mt19937 random_;
};

/// One random life of a cluster.
class Life {
 public:
  explicit Life(std::uint32_t seed) : random_(seed) {}

  void run() {
    for (int i = 0; i < 4; ++i) gangs.node(fmt::format("n{}", i), 1000 * (2 + random_.below(4)));
    for (int i = 0; i < k_events; ++i) {
      event();
      ASSERT_NO_FATAL_FAILURE(gangs.settle());
    }
    ASSERT_NO_FATAL_FAILURE(gangs.advance(400'000, 5000));
    for (const auto& [group, count] : gangs.counts()) EXPECT_TRUE(count.reserved.empty()) << "gang " << group;
    EXPECT_EQ(gangs.simulation->scheduler().views().queue.sizes().in_flight, 0u);
    EXPECT_EQ(gangs.simulation->scheduler().views().waiting.size(), 0u);
  }

  Gangs gangs;

 private:
  void event() {
    const int what = random_.below(100);
    if (what < 35)
      add_gang();
    else if (what < 50)
      add_plain();
    else if (what < 65)
      remove_pod();
    else if (what < 70)
      gangs.node(fmt::format("n{}", 4 + nodes_++), 1000 * (1 + random_.below(4)));
    else if (what < 76)
      gangs.failures.next(cluster::RecordedWrite::Kind::bind, refused());
    else if (what < 82)
      gangs.failures.next(cluster::RecordedWrite::Kind::patch_object, refused());
    else
      gangs.advance(500 * (1 + random_.below(20)));
  }
  static Error refused() { return {"refused", ErrorCode::internal_error}; }

  void add_gang() {
    const std::string group = fmt::format("g{}", groups_++);
    const int min = 1 + random_.below(4), members = min + random_.below(3) - random_.below(2);
    const int cpu = 500 * (1 + random_.below(4));
    const bool alike = random_.chance(60), volumes = random_.chance(25);
    const bool claims = !volumes && random_.chance(40), is_shared = random_.chance(50);
    if (random_.chance(90)) gangs.group(group, min);
    for (int i = 0; i < members; ++i) {
      const std::string name = fmt::format("{}-{}", group, i);
      const int own = alike ? cpu : 500 * (1 + random_.below(4));
      pods_.push_back(name);
      const std::string claim = is_shared ? group : name;
      if (claims && (i == 0 || !is_shared)) gangs.claim(claim);
      if (claims)
        gangs.pod_with_claim(name, group, own, claim);
      else if (volumes && random_.chance(50))
        gangs.pod_with_volume(name, group, own);
      else
        gangs.pod(name, group, own, random_.chance(30) ? fmt::format(R"(,"priority":{})", random_.below(3)) : "");
      if (random_.chance(10)) gangs.settle();
    }
  }
  void add_plain() {
    const std::string name = fmt::format("p{}", plain_++);
    pods_.push_back(name);
    gangs.pod(name, "", 500 * (1 + random_.below(4)), fmt::format(R"(,"priority":{})", random_.below(4)));
  }
  void remove_pod() {
    if (pods_.empty()) return;
    const auto index = static_cast<std::size_t>(random_.below(static_cast<int>(pods_.size())));
    gangs.simulation->cluster().remove_pod("default", pods_[index]);
    pods_.erase(pods_.begin() + static_cast<std::ptrdiff_t>(index));
  }

  Random random_;
  std::vector<std::string> pods_;
  int groups_ = 0, plain_ = 0, nodes_ = 0;
};

TEST(RandomGangs, KeepEveryInvariant) {
  std::size_t placements = 0, held = 0, evictions = 0, sharers = 0;
  for (const std::uint32_t seed : tests::seeds()) {
    SCOPED_TRACE(fmt::format("BERTH_SEED={}", seed));
    Life life(seed);
    life.run();
    if (HasFailure()) return;
    placements += life.gangs.placements();
    held += life.gangs.was_held() ? 1 : 0;
    evictions += life.gangs.evictions();
    sharers += life.gangs.count_sharers();
  }
  if (!tests::are_few_seeds()) {
    EXPECT_GT(placements, 0u);
    EXPECT_GT(sharers, 0u) << "no members ever shared a claim";
    EXPECT_GT(evictions, 0u) << "no member ever had a pod evicted";
    EXPECT_GT(held, 0u) << "no gang ever lost a member on the way to binding, so nothing was seen of that";
  }
}

TEST(Gangs, AMemberBeyondTheNeededOnesIsNotBoundBeforeThem) {
  Gangs gangs;
  gangs.node("n", 8000);
  gangs.group("g", 2);
  for (const char* name : {"g-0", "g-1"}) gangs.pod_with_volume(name, "g", 500);
  gangs.settle();
  gangs.pod("g-2", "g", 500);
  ASSERT_NO_FATAL_FAILURE(gangs.settle());
  EXPECT_EQ(gangs.bound_of("g"), 0) << "the volumes are not there yet";
  EXPECT_EQ(gangs.counts()["g"].reserved.size(), 3u);
  ASSERT_NO_FATAL_FAILURE(gangs.advance(2000));
  EXPECT_EQ(gangs.bound_of("g"), 3);
}

/// Members that are alike, on nodes with room for `slots` of them.
TEST(RandomGangs, ThatFitAreBoundInOneCycleEach) {
  for (const std::uint32_t seed : tests::seeds()) {
    SCOPED_TRACE(fmt::format("BERTH_SEED={}", seed));
    Random random(seed);
    Gangs gangs;
    const int cpu = 100 * (1 + random.below(20));
    int slots = 0;
    for (int i = 0; i < 1 + random.below(6); ++i) {
      const int room = random.below(4);
      slots += room;
      gangs.node(fmt::format("n{}", i), room * cpu + random.below(cpu));
    }
    const int min = 1 + random.below(8), members = min + random.below(3);
    gangs.group("g", min);
    for (int i = 0; i < members; ++i) gangs.pod(fmt::format("g-{}", i), "g", cpu);
    ASSERT_NO_FATAL_FAILURE(gangs.settle());
    EXPECT_EQ(gangs.bound_of("g"), slots >= min ? std::min(slots, members) : 0) << slots << " for " << min;
    // One decision about each member: a single plan. A gang that does not fit is not tried again by itself.
    EXPECT_EQ(gangs.decisions(), static_cast<std::size_t>(members));
    if (HasFailure()) return;
  }
}

/// Either fits alone, both do not: the first of the queue has it all, and the second follows when it is gone.
TEST(RandomGangs, ThatCompeteNeverBlockEachOther) {
  for (const std::uint32_t seed : tests::seeds()) {
    SCOPED_TRACE(fmt::format("BERTH_SEED={}", seed));
    Random random(seed);
    Gangs gangs;
    const int x = 2 + random.below(6), y = 2 + random.below(6);
    const int slots = std::max(x, y) + random.below(std::min(x, y));  // less than both
    for (int left = slots, i = 0; left > 0; ++i) {
      const int room = std::min(left, 1 + random.below(4));
      gangs.node(fmt::format("n{}", i), room * 1000);
      left -= room;
    }
    const bool same_second = random.chance(50);
    gangs.group("x", x);
    gangs.group("y", y, same_second ? 1 : 2);
    std::vector<std::pair<std::string, std::string>> pods;
    for (int i = 0; i < x; ++i) pods.emplace_back(fmt::format("m{:02}{}", random.below(90), i), "x");
    for (int i = 0; i < y; ++i) pods.emplace_back(fmt::format("m{:02}{}y", random.below(90), i), "y");
    for (std::size_t i = pods.size(); i > 1; --i)
      std::swap(pods[i - 1], pods[static_cast<std::size_t>(random.below(static_cast<int>(i)))]);
    for (const auto& [name, group] : pods) gangs.pod(name, group, 1000);
    ASSERT_NO_FATAL_FAILURE(gangs.settle());
    std::sort(pods.begin(), pods.end());
    const std::string first = same_second ? pods.front().second : "x", second = first == "x" ? "y" : "x";
    EXPECT_EQ(gangs.bound_of(first), first == "x" ? x : y);
    EXPECT_EQ(gangs.bound_of(second), 0);
    for (const auto& [name, group] : pods)
      if (group == first) gangs.simulation->cluster().remove_pod("default", name);
    ASSERT_NO_FATAL_FAILURE(gangs.advance(15'000));
    EXPECT_EQ(gangs.bound_of(second), second == "x" ? x : y);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace berth::cases
