// SPDX-License-Identifier: Apache-2.0
#include "ingest/ingest.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/clock.hpp"

namespace berth::ingest {
namespace {

using model::EventResource;
using model::NodePtr;
using model::PodPtr;
using queue::Place;
namespace actions = model::actions;
using Lines = std::vector<std::string>;

constexpr model::PluginIndex k_spy = 1, k_gang = 2;
constexpr std::uint32_t k_services_watch = 4;

class FifoPolicy final : public queue::QueuePolicy {
 public:
  bool ordered_by_key() const override { return true; }
  queue::OrderKey key(const model::QueuedPod&) override { return {}; }
  bool before(const model::QueuedPod&, const model::QueuedPod&) override { return false; }
  std::optional<queue::Gate> pre_enqueue(const model::QueuedPod&, model::PluginIndex) override { return std::nullopt; }
  std::uint64_t classify(const model::Pod&) override { return 0; }
};

class MemoryFeed final : public ObjectFeed {
 public:
  void store(const model::Object& object) override { names.insert(object.name); }
  void remove(const model::Object& object) override { names.erase(object.name); }
  std::vector<std::uint32_t> watches(std::string_view resource) const override {
    if (resource == "core/v1/services") return {k_services_watch};
    return {};
  }
  std::set<std::string> names;
};

/// Cache and queue with a pod "spy" that waits for everything: each event that reaches the queue leaves a line, with
/// what the cache knew of the node or pod at that moment.
class IngestTest : public ::testing::Test {
 protected:
  IngestTest() {
    start({EventResource::pod, EventResource::node, EventResource::persistent_volume_claim,
           static_cast<EventResource>(static_cast<std::uint32_t>(EventResource::first_watch) + k_services_watch)});
  }
  /// Once more, with a spy that waits for everything that happens to these.
  void start(std::initializer_list<EventResource> resources, const queue::QueueOptions& options = {}) {
    queue::ProfileHints hints;
    hints.scheduler_name = "default-scheduler";
    for (const EventResource resource : resources) {
      queue::Registration registration;
      registration.registered = {resource, actions::all, {}};
      registration.plugin = k_spy;
      registration.hint = [this](const queue::HintCall& call, std::uint64_t*) { record(call); };
      hints.registrations.push_back(registration);
    }
    queue.emplace(
        options, queue::HintTable({hints}), policy,
        [this](const model::Pod& pod) { return known.count(pod.name) != 0 ? known.at(pod.name) : nullptr; }, clock);
    ingest.emplace(IngestParts{cache, groups, *queue, waiting, feed, clock,
                               [this](std::string_view name) {
                                 clock.advance(std::chrono::milliseconds(3));  // as if it took long
                                 return name == "default-scheduler";
                               },
                               [](const model::Pod& pod) { return pod.spec->group; }, [this] { ++synced; },
                               [this](const model::ClusterEvent& event, double seconds) {
                                 handled.push_back(event.name());
                                 handled_seconds.push_back(seconds);
                               }});
    queue->add(make_pod("spy"));
    queue::Rejectors by_spy;
    by_spy.unschedulable.insert(k_spy);
    EXPECT_TRUE(queue->requeue(std::move(*queue->pop()), by_spy, nullptr).ok());
  }

  void record(const queue::HintCall& call) {
    std::string line = call.event.name();
    const model::EventObjects& o = call.objects;
    if (const NodePtr node = o.new_node != nullptr ? o.new_node : o.old_node; node != nullptr)
      line += cache.find_node(node->name_symbol) != nullptr ? " cached" : " uncached";
    if (const PodPtr pod = o.new_pod != nullptr ? o.new_pod : o.old_pod; pod != nullptr)
      line += " " + pod->name + (cache.find_pod(pod->uid) ? " cached" : " uncached");
    if (const auto object = o.new_object != nullptr ? o.new_object : o.old_object; object != nullptr)
      line += " " + object->name + (feed.names.count(object->name) != 0 ? " stored" : " unstored");
    lines.push_back(line);
  }
  Lines take() { return std::exchange(lines, {}); }
  Lines take_handled() { return std::exchange(handled, {}); }

  std::shared_ptr<model::Pod> make_pod(const std::string& name, const std::string& node = "") {
    auto pod = std::make_shared<model::Pod>();
    pod->ns = "default";
    pod->name = name;
    pod->uid = "uid-" + name;
    pod->scheduler_name = "default-scheduler";
    pod->resource_version = std::to_string(++version);
    if (!node.empty()) pod->node_name = symbols.intern(node);
    known[name] = pod;
    return pod;
  }
  /// The same pod, changed.
  std::shared_ptr<model::Pod> next(const PodPtr& pod) {
    auto copy = std::make_shared<model::Pod>(*pod);
    copy->resource_version = std::to_string(++version);
    return copy;
  }
  std::shared_ptr<model::Node> make_node(const std::string& name) {
    auto node = std::make_shared<model::Node>();
    node->name = name;
    node->name_symbol = symbols.intern(name);
    return node;
  }
  Place place(const std::string& name) const {
    for (const queue::PendingPod& pod : queue->pending_pods())
      if (pod.pod->name == name) return pod.place;
    return Place::nowhere;
  }
  /// Pops `pod` and assumes it on n1.
  cache::Assumption assume(const PodPtr& pod) {
    ticket = std::move(*queue->pop());
    EXPECT_EQ(ticket.pod()->name, pod->name);
    return cache.assume(pod, symbols.intern("n1")).value();
  }

  SymbolTable symbols;
  ManualClock clock{1'000'000'000'000};
  cache::ClusterCache cache{symbols};
  cache::PodGroups groups;
  FifoPolicy policy;
  MemoryFeed feed;
  binding::Timers timers{clock};
  binding::WaitingPods waiting{timers};
  std::map<std::string, PodPtr> known;
  Lines lines, handled;
  std::vector<double> handled_seconds;
  int version = 0, synced = 0;
  std::optional<queue::SchedulingQueue> queue;
  std::optional<Ingest> ingest;
  queue::Ticket ticket;
};

using IngestNodes = IngestTest;
using IngestPods = IngestTest;
using IngestObjects = IngestTest;

TEST_F(IngestNodes, AreCachedBeforeTheirEventAndUncachedAfterIt) {
  const NodePtr node = make_node("n1");
  ingest->node_added(node);
  EXPECT_EQ(take(), Lines{"NodeAdd cached"});
  ingest->node_deleted(node);
  EXPECT_EQ(take(), Lines{"NodeDelete cached"});
  EXPECT_EQ(cache.find_node(node->name_symbol), nullptr);
}

TEST_F(IngestNodes, UpdatesAreOneEventPerChange) {
  const auto node = make_node("n1");
  ingest->node_added(node);
  take();
  auto changed = make_node("n1");
  changed->labels = {{symbols.intern("a"), symbols.intern("b")}};
  changed->taints = {{symbols.intern("t"), symbols.intern("v"), model::TaintEffect::no_schedule}};
  ingest->node_updated(node, changed);
  EXPECT_EQ(take(), (Lines{"NodeUpdateNodeLabel cached", "NodeUpdateNodeTaint cached"}));
  ingest->node_updated(changed, std::make_shared<model::Node>(*changed));
  EXPECT_EQ(take(), Lines{}) << "a heartbeat is no event";
  EXPECT_EQ(cache.find_node(node->name_symbol)->labels, changed->labels);
}

TEST_F(IngestNodes, ThatChangeNothingWakeNoPodWhateverPodsWaitFor) {
  start({EventResource::any});
  const NodePtr node = make_node("n1");
  ingest->node_added(node);
  EXPECT_EQ(take(), Lines{"NodeAdd cached"});
  ingest->node_updated(node, std::make_shared<model::Node>(*node));
  EXPECT_EQ(take(), Lines{});
}

TEST_F(IngestNodes, ThatChangeNothingAreToldToTheQueueOfV116WhileNoPodWaits) {
  queue::QueueOptions options;
  options.as_v1_16 = true;
  options.pops_from_backoff = false;
  queue::Rejectors by_spy;
  by_spy.unschedulable.insert(k_spy);
  const NodePtr node = make_node("n1");
  for (const bool has_heartbeat : {false, true}) {
    start({EventResource::node}, options);
    ingest->pod_deleted(known.at("spy"));
    ingest->pod_added(make_pod("p"));
    queue::Ticket attempt = std::move(*queue->pop());
    if (has_heartbeat) ingest->node_updated(node, std::make_shared<model::Node>(*node));
    ASSERT_TRUE(queue->requeue(std::move(attempt), by_spy, nullptr).ok());
    EXPECT_EQ(place("p"), has_heartbeat ? Place::backoff : Place::unschedulable);
  }
}

TEST_F(IngestNodes, AnUpdateIsHandledForWhatItChanges) {
  const auto node = make_node("n1");
  auto changed = make_node("n1");
  changed->labels = {{symbols.intern("a"), symbols.intern("b")}};
  changed->allowed_pods = 5;
  ingest->node_added(node);
  ingest->node_updated(node, changed);
  ingest->node_updated(changed, changed);  // a heartbeat
  ingest->node_deleted(changed);
  EXPECT_EQ(take_handled(), (Lines{"NodeAdd", "NodeUpdateNodeAllocatable", "NodeUpdateNodeLabel", "NodeDelete"}));
}

TEST_F(IngestPods, AreHandledAsTwoKindsAndBecomeTheOther) {
  const PodPtr pod = make_pod("p");
  auto labelled = next(pod);
  labelled->labels = {{symbols.intern("a"), symbols.intern("b")}};
  auto bound = next(labelled);
  bound->node_name = symbols.intern("n1");
  auto unlabelled = next(bound);
  unlabelled->labels = {};
  ingest->pod_added(pod);
  ingest->pod_updated(pod, labelled);
  ingest->pod_updated(labelled, bound);
  ingest->pod_updated(bound, unlabelled);
  ingest->pod_deleted(unlabelled);
  EXPECT_EQ(take_handled(), (Lines{"UnschedulablePodAdd", "UnschedulablePodUpdate", "AssignedPodAdd",
                                   "AssignedPodUpdatePodLabel", "AssignedPodDelete"}));
  EXPECT_DOUBLE_EQ(handled_seconds.at(0), 0.003);
  ingest->pod_added(pod);
  auto again = next(pod);
  again->uid = "uid-p-again";
  ingest->pod_updated(pod, again);
  EXPECT_EQ(take_handled(), (Lines{"UnschedulablePodAdd", "UnschedulablePodDelete", "UnschedulablePodAdd"}));
}

TEST_F(IngestPods, AssignedOnesAreCachedForAnyScheduler) {
  auto foreign = make_pod("foreign", "n1");
  foreign->scheduler_name = "another-scheduler";
  ingest->pod_added(foreign);
  EXPECT_EQ(take(), Lines{"AssignedPodAdd foreign cached"});
  ingest->pod_updated(foreign, next(foreign));
  EXPECT_EQ(take(), Lines{"AssignedPodUpdate foreign cached"}) << "an update without a visible change is one too";
  ingest->pod_deleted(foreign);
  EXPECT_EQ(take(), Lines{"AssignedPodDelete foreign uncached"});
}

TEST_F(IngestPods, PendingOnesAreQueuedWhenTheirSchedulerIsOurs) {
  auto foreign = make_pod("foreign");
  foreign->scheduler_name = "another-scheduler";
  ingest->pod_added(foreign);
  ingest->pod_updated(foreign, next(foreign));
  EXPECT_EQ(place("foreign"), Place::nowhere);
  const PodPtr ours = make_pod("ours");
  ingest->pod_added(ours);
  EXPECT_EQ(place("ours"), Place::active);
  ingest->pod_deleted(ours);
  EXPECT_EQ(place("ours"), Place::nowhere);
  EXPECT_EQ(take(), Lines{});
}

TEST_F(IngestPods, ABoundPodLeavesTheQueueForTheCache) {
  auto pod = make_pod("p");
  pod->nominated_node = symbols.intern("n1");
  ingest->pod_added(pod);
  ASSERT_TRUE(queue->has_nominations());
  auto bound = next(pod);
  bound->node_name = symbols.intern("n1");
  ingest->pod_updated(pod, bound);
  EXPECT_EQ(take(), Lines{"AssignedPodAdd p cached"});
  EXPECT_EQ(place("p"), Place::nowhere);
  EXPECT_FALSE(queue->has_nominations());
}

TEST_F(IngestPods, TheBoundPodReplacesTheAssumedPod) {
  const PodPtr pod = make_pod("p");
  ingest->pod_added(pod);
  cache::Assumption assumption = assume(pod);
  auto bound = next(pod);
  bound->node_name = symbols.intern("n1");
  ingest->pod_updated(pod, bound);
  EXPECT_FALSE(cache.is_assumed("uid-p"));
  EXPECT_TRUE(cache.find_pod("uid-p").has_value());
  assumption.forget();
  EXPECT_TRUE(cache.find_pod("uid-p").has_value());
  queue->done(std::move(ticket));
}

TEST_F(IngestPods, AnUpdateWithoutANewVersionIsIgnored) {
  const PodPtr pod = make_pod("p");
  ingest->pod_added(pod);
  auto same_version = std::make_shared<model::Pod>(*pod);
  same_version->priority = 5;
  ingest->pod_updated(pod, same_version);
  EXPECT_EQ(queue->pending_pods().back().pod, pod);
}

TEST_F(IngestPods, UpdatesOfAssumedPodsNeverReachTheQueue) {
  const PodPtr pod = make_pod("p");
  ingest->pod_added(pod);
  const cache::Assumption assumption = assume(pod);
  queue->close_log(ticket);
  ingest->pod_updated(pod, next(pod));
  EXPECT_EQ(place("p"), Place::in_flight);
  EXPECT_EQ(queue->sizes().active, 0U);
  EXPECT_EQ(take(), Lines{});
  queue->done(std::move(ticket));
}

TEST_F(IngestPods, AnAssumedPodThatIsBeingDeletedFreesItsNodeAtOnce) {
  for (const bool by_update : {true, false}) {
    const PodPtr pod = make_pod("p");
    ingest->pod_added(pod);
    const cache::Assumption assumption = assume(pod);
    auto deleting = next(pod);
    deleting->deleting = true;
    by_update ? ingest->pod_updated(pod, deleting) : ingest->pod_deleted(pod);
    EXPECT_FALSE(cache.find_pod("uid-p").has_value());
    EXPECT_EQ(take(), Lines{"AssignedPodDelete p uncached"});
    queue->done(std::move(ticket));
  }
}

TEST_F(IngestPods, AWaitingPodThatIsDeletedIsRejectedAndKeepsItsNodeUntilItsBindingEnds) {
  const PodPtr pod = make_pod("p");
  ingest->pod_added(pod);
  const cache::Assumption assumption = assume(pod);
  waiting.park(pod, symbols.intern("n1"), {{k_gang, "Gang", 1'000'000'000}});
  std::string message;
  waiting.when_decided("uid-p", [&](const binding::PermitDecision& decision) { message = decision.message; });
  ingest->pod_deleted(pod);
  EXPECT_EQ(message, "removed");
  EXPECT_TRUE(cache.is_assumed("uid-p"));
  EXPECT_EQ(take(), Lines{"AssignedPodDelete p cached"});
  queue->done(std::move(ticket));
}

TEST_F(IngestPods, ALostNominationIsRoomForPodsThatAreNotMoreImportant) {
  for (const std::int32_t priority : {0, -1}) {  // the spy has 0
    auto pod = make_pod("p" + std::to_string(priority));
    pod->priority = priority;
    pod->nominated_node = symbols.intern("n1");
    ingest->pod_added(pod);
    auto elsewhere = next(pod);
    elsewhere->nominated_node = symbols.intern("n2");
    ingest->pod_updated(pod, elsewhere);
    const Lines updated = take();
    EXPECT_EQ(std::count(updated.begin(), updated.end(), "AssignedPodDelete " + pod->name + " uncached"),
              priority == 0);
    ingest->pod_deleted(elsewhere);
    EXPECT_EQ(take().size(), priority == 0 ? 1U : 0U);
  }
}

TEST_F(IngestPods, APodReplacedUnderItsNameIsADeletionAndAnAddition) {
  const PodPtr pod = make_pod("p", "n1");
  ingest->pod_added(pod);
  take();
  auto replaced = next(pod);
  replaced->uid = "uid-p-again";
  replaced->node_name = k_no_symbol;
  ingest->pod_updated(pod, replaced);
  EXPECT_EQ(take(), Lines{"AssignedPodDelete p uncached"});
  EXPECT_FALSE(cache.find_pod("uid-p").has_value());
  EXPECT_EQ(place("p"), Place::active);
}

TEST_F(IngestPods, WhatTheCacheRefusesIsStillAnEvent) {
  ingest->pod_deleted(make_pod("unheard-of", "n1"));
  EXPECT_EQ(take(), Lines{"AssignedPodDelete unheard-of uncached"});
}

TEST_F(IngestObjects, AreStoredBeforeTheirEvent) {
  const auto claim = std::make_shared<model::Object>();
  claim->resource = "core/v1/persistentvolumeclaims";
  claim->name = "data";
  ingest->object_added(claim);
  ingest->object_updated(claim, claim);
  ingest->object_deleted(claim);
  EXPECT_EQ(take(), (Lines{"PersistentVolumeClaimAdd data stored", "PersistentVolumeClaimUpdate data stored",
                           "PersistentVolumeClaimDelete data unstored"}));
}

TEST_F(IngestObjects, OfAWatchAreEventsOfThatWatch) {
  const auto service = std::make_shared<model::Object>();
  service->resource = "core/v1/services";
  service->name = "web";
  ingest->object_added(service);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(take()[0], "services.v1.Add web stored");
  const auto other = std::make_shared<model::Object>();
  other->resource = "apps/v1/replicasets";
  ingest->object_added(other);
  EXPECT_EQ(take(), Lines{}) << "no store watches it";
}

TEST_F(IngestObjects, AreHandledByTheNameOfTheirResource) {
  const auto object = [](const char* resource) {
    const auto out = std::make_shared<model::Object>();
    out->resource = resource;
    return out;
  };
  ingest->object_added(object("storage.k8s.io/v1/csinodes"));
  ingest->object_updated(object("example.com/v1/widgets"), object("example.com/v1/widgets"));
  ingest->object_deleted(object("core/v1/services"));
  EXPECT_EQ(take_handled(), (Lines{"storage.k8s.io/CSINodeAdd", "widgets.v1.example.comUpdate", "services.v1.Delete"}))
      << "once, however many watch it";
}

TEST_F(IngestObjects, HaveTheirEventResourceInEveryVersion) {
  EXPECT_EQ(event_resource("resource.k8s.io/v1beta2/resourceclaims"), EventResource::resource_claim);
  EXPECT_EQ(event_resource("storage.k8s.io/v1/storageclasses"), EventResource::storage_class);
  EXPECT_EQ(event_resource("core/v1/services"), EventResource::any);
  EXPECT_EQ(event_resource("nonsense"), EventResource::any);
}

TEST_F(IngestObjects, TheEndOfTheInitialListIsPassedOn) {
  ingest->synced();
  EXPECT_EQ(synced, 1);
}

}  // namespace
}  // namespace berth::ingest
