// SPDX-License-Identifier: Apache-2.0
// Random operations against a model of what must hold whatever happens: every pod that was added and neither removed
// nor done is in exactly one place, pods in flight are those whose tickets are held, and pops follow the order of the
// active queue.
#include <random>

#include "unit/queue/queue_fixture.hpp"

namespace berth::queue::testing {
namespace {

class RandomRun {
 public:
  explicit RandomRun(std::uint32_t seed) : random_(seed), f_(1000.0, {}, seed % 4 != 3) {}

  void step() {
    switch (pick(12)) {
      case 0:
      case 1:
      case 2:
        add();
        break;
      case 3:
      case 4:
      case 5:
        pop();
        break;
      case 6:
      case 7:
        finish();
        break;
      case 8:
        event();
        break;
      case 9:
        remove();
        break;
      case 10:
        update();
        break;
      default:
        f_.clock.advance(std::chrono::milliseconds(pick(4) == 0 ? 400'000 : pick(3000)));
        f_.queue->flush();
    }
  }

  void check() const {
    std::map<std::string, Place> seen;
    for (const PendingPod& pod : f_.queue->pending_pods()) {
      ASSERT_TRUE(seen.emplace(pod.pod->uid, pod.place).second) << pod.pod->uid.text() << " twice";
      ASSERT_EQ(pod.place == Place::in_flight, in_flight_.count(pod.pod->uid) == 1) << pod.pod->uid.text();
      ASSERT_TRUE(pod.gated() ? pod.place == Place::unschedulable : true) << pod.pod->uid.text();
    }
    for (const auto& [uid, pod] : alive_) ASSERT_EQ(seen.count(uid), 1U) << uid << " lost";
    for (const auto& [uid, place] : seen)
      ASSERT_TRUE(alive_.count(uid) == 1 || in_flight_.count(uid) == 1) << uid << " from nowhere";
    const QueueSizes sizes = f_.queue->sizes();
    ASSERT_EQ(sizes.active + sizes.backoff + sizes.unschedulable + sizes.gated + in_flight_.size(), seen.size());
    ASSERT_EQ(sizes.in_flight, in_flight_.size() - closed_.size());
    if (sizes.in_flight == 0) {
      ASSERT_EQ(sizes.logged_events, 0U);
    }
  }

  void drain() {
    for (auto& [uid, ticket] : in_flight_) f_.queue->done(std::move(ticket));
    for (const auto& [uid, ticket] : in_flight_) alive_.erase(uid);
    in_flight_.clear();
    closed_.clear();
    check();
  }

 private:
  std::size_t pick(std::size_t below) { return std::uniform_int_distribution<std::size_t>(0, below - 1)(random_); }
  template <typename Map>
  typename Map::iterator any(Map& map) {
    return std::next(map.begin(), static_cast<std::ptrdiff_t>(pick(map.size())));
  }
  std::shared_ptr<model::Pod> version(const std::string& name) {
    auto pod = make_pod(name, static_cast<std::int32_t>(pick(4)));
    if (pick(6) == 0) pod->spec.edit().gates = {"g"};
    if (pick(5) == 0) pod->nominated_node = static_cast<Symbol>(20 + pick(3));
    return pod;
  }

  void add() {
    const std::string name = "p" + std::to_string(next_++);
    const PodPtr pod = version(name);
    f_.add(pod);
    alive_[pod->uid] = pod;
  }
  void pop() {
    std::int32_t best = -1;
    for (const PendingPod& pod : f_.queue->pending_pods())
      if (pod.place == Place::active) best = std::max(best, pod.pod->priority);
    std::optional<Ticket> ticket = f_.queue->pop();
    if (best >= 0) {
      ASSERT_TRUE(ticket.has_value());
      ASSERT_EQ(ticket->pod()->priority, best);
    }
    if (!ticket) return;
    const std::string uid = ticket->pod()->uid;
    ASSERT_TRUE(in_flight_.emplace(uid, std::move(*ticket)).second) << uid << " handed out twice";
  }
  void finish() {
    if (in_flight_.empty()) return;
    const auto it = any(in_flight_);
    const std::string uid = it->first;
    Ticket ticket = std::move(it->second);
    const bool was_removed = alive_.count(uid) == 0;
    if (pick(4) == 0 && closed_.count(uid) == 0) {
      f_.queue->close_log(ticket);
      closed_.insert(uid);
      it->second = std::move(ticket);
      return;
    }
    in_flight_.erase(it);
    closed_.erase(uid);
    if (pick(4) == 0 || (was_removed && pick(2) == 0)) {
      f_.queue->done(std::move(ticket));
      alive_.erase(uid);
    } else if (was_removed || pick(5) == 0) {
      ticket = Ticket();  // dropped without a decision
    } else {
      Rejectors rejectors;
      for (const PluginIndex plugin : {k_fit, k_affinity, k_taints, k_deaf})
        if (pick(3) == 0) rejectors.unschedulable.insert(plugin);
      if (pick(4) == 0) rejectors.pending.insert(k_affinity);
      ASSERT_TRUE(f_.queue->requeue(std::move(ticket), rejectors, nullptr).ok());
    }
  }
  void event() {
    const ClusterEvent events[] = {k_node_add, k_node_label, k_node_taint, k_assigned_pod_delete, k_claim_add};
    f_.fits = pick(2) == 0;
    f_.queue->move_all(events[pick(5)], {});
  }
  void remove() {
    if (alive_.empty()) return;
    const auto it = any(alive_);
    f_.cluster.erase(it->second->name);
    f_.queue->remove(*it->second);
    alive_.erase(it);
  }
  void update() {
    if (alive_.empty()) return;
    const auto it = any(alive_);
    if (closed_.count(it->first) != 0) return;  // past the point where updates reach the queue
    const PodPtr changed = version(it->second->name);
    const ClusterEvent events[] = {changed->spec->gates.empty() && !it->second->spec->gates.empty() ? k_gates_gone
                                                                                                    : k_pod_update};
    f_.queue->update(it->second, changed, events);
    it->second = changed;
    f_.cluster[changed->name] = changed;
    if (pick(3) == 0) f_.queue->activate(std::vector<PodPtr>{changed});
  }

  std::mt19937 random_;
  QueueFixture f_;
  int next_ = 0;
  std::map<std::string, PodPtr> alive_;
  std::map<std::string, Ticket> in_flight_;
  std::set<std::string> closed_;  // in flight, log closed
};

TEST(RandomOperations, LoseNoPodAndHandOutNoneTwice) {
  for (std::uint32_t seed = 1; seed <= 24; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomRun run(seed);
    for (int i = 0; i < 400; ++i) {
      run.step();
      ASSERT_NO_FATAL_FAILURE(run.check()) << "step " << i;
      if (::testing::Test::HasFailure()) return;
    }
    run.drain();
  }
}

}  // namespace
}  // namespace berth::queue::testing
