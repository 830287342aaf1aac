// SPDX-License-Identifier: Apache-2.0
#include "app/recording/decision_replay.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "binding/executor.hpp"
#include "binding/timers.hpp"
#include "cluster/accepting_writer.hpp"
#include "recording/state.hpp"
#include "scheduler/scheduler.hpp"

namespace berth::app {
namespace {

using recording::Kind;
using recording::Record;

/// Time as it was recorded.
class RecordedClock final : public Clock {
 public:
  std::int64_t monotonic_ns() const noexcept override { return monotonic_ns_; }
  std::int64_t wall_ns() const noexcept override { return wall_ns_; }
  void set(std::int64_t monotonic_ns, std::int64_t wall_ns) noexcept {
    monotonic_ns_ = std::max(monotonic_ns_, monotonic_ns);
    wall_ns_ = wall_ns;
  }

 private:
  std::int64_t monotonic_ns_ = 0, wall_ns_ = 0;
};

std::string words_of_rejection(const std::string& message) { return "no node: " + message; }
/// The node alone where `feasible` is absent. A total of 0 is not said: nodes were not compared, or it was not recorded.
std::string words_of_placement(const std::string& node, std::optional<std::uint32_t> feasible, std::int64_t total) {
  if (!feasible) return "node " + node;
  return fmt::format("node {} of {} that fit{}", node, *feasible, total == 0 ? "" : fmt::format(", total {}", total));
}

}  // namespace

/// The cluster as it was recorded up to some moment, and a scheduler for it.
class DecisionReplay::World {
 public:
  static Result<std::unique_ptr<World>> make(SymbolTable& symbols, const config::Configuration& configuration,
                                             const PluginLibrary& plugins, Same same) {
    auto past = std::make_unique<Past>();
    // Nothing is bound or evicted here, so only pods that wait are looked up.
    const auto lookup = [&waiting = past->waiting](const model::Pod& pod) {
      const auto found = waiting.find(pod.uid);
      return found == waiting.end() ? nullptr : found->second;
    };
    scheduler::SchedulerParts parts{symbols,        configuration, plugins.sources(), past->writer,    lookup,
                                    past->executor, past->timers,  past->clock,       &past->nominated};
    parts.opens_gates = true;
    auto scheduler = scheduler::ManualScheduler::make(std::move(parts));
    if (!scheduler.ok()) return Error{in_one_line(scheduler.error())};
    return std::unique_ptr<World>(new World(symbols, std::move(past), std::move(*scheduler), same));
  }

  /// False: the cache refused it.
  bool apply(const Record& record) {
    past_->clock.set(record.at_ns, record.wall_ns);
    switch (record.kind) {
      case Kind::node:
        cache().add_node(record.node);
        return true;
      case Kind::node_gone: {
        const model::NodePtr node = cache().find_node(symbols_.find(record.text));
        return node != nullptr && cache().remove_node(*node).ok();
      }
      case Kind::placed_pod:
        return place(record.pod, record.text);
      case Kind::placed_pod_gone:
      case Kind::given_back:
        return displace(record.text, record.kind == Kind::given_back);
      case Kind::waiting_pod:
        past_->waiting[record.pod->uid] = record.pod;
        intake_.groups.put(record.pod, intake_.group_of(*record.pod));
        return true;
      case Kind::waiting_pod_gone:
        if (const auto pod = past_->waiting.find(record.text); pod != past_->waiting.end()) {
          intake_.groups.remove(*pod->second);
          past_->waiting.erase(pod);
        }
        return true;
      case Kind::object:
        intake_.objects.store(*record.object);
        return true;
      case Kind::object_gone:
        intake_.objects.remove(*record.object);
        return true;
      case Kind::nominations:
        nominate(*record.nominations);
        return true;
      case Kind::description:
      case Kind::clock:
      case Kind::gap:
      case Kind::look:
      case Kind::attempt:
      case Kind::write:
      case Kind::state_begins:
      case Kind::state_ends:
      case Kind::plugin_times:
        return true;
    }
    return true;
  }

  /// Decides about the pods of one plan, or about one pod; then the cluster is as it was recorded. Returns what came of
  /// each.
  std::vector<std::string> decide(const std::vector<Record>& attempts) {
    const Record& first = attempts.front();
    past_->clock.set(first.at_ns - first.attempt.took_ns, first.wall_ns - first.attempt.took_ns);
    cycle::SchedulingCycle& cycle = scheduler_->decision_parts().cycle;
    cycle.begin_at(first.attempt.rotation);
    std::vector<std::string> came_out;
    if (first.attempt.way == recording::Way::alone) {
      came_out.push_back(settle(first, cycle.run(first.pod, 0)));
      return came_out;
    }
    cycle::GroupRequest request;
    request.needed = first.attempt.needed;
    request.key = group_key_of(*first.pod);
    for (const Record& attempt : attempts) request.members.push_back({attempt.pod, 0});
    request.of_group = [this, key = request.key](const model::Pod& pod) {
      return !key.empty() && group_key_of(pod) == key;
    };
    cycle::GroupOutcome plan = scheduler_->plan(request);
    for (std::size_t i = 0; i < attempts.size(); ++i)
      came_out.push_back(settle(attempts[i], std::move(plan.members[i])));
    return came_out;
  }

  /// Instead of decide(): what was decided is so.
  void carry_out(const std::vector<Record>& attempts) {
    for (const Record& attempt : attempts)
      if (!attempt.text.empty()) assume(attempt.pod, attempt.text);
  }

  std::string recorded(const Record& attempt) const {
    if (!attempt.text.empty())
      return words_of_placement(attempt.text, counted(attempt.attempt.feasible), attempt.attempt.total);
    return words_of_rejection(
        attempt.rejected ? with_plans(attempt.rejected->message, attempt.rejected->nominated, attempt.rejected->victims)
                         : std::string());
  }

 private:
  /// What is there before the scheduler.
  struct Past {
    RecordedClock clock;
    binding::Timers timers{clock};
    cluster::AcceptingWriter writer;  // what comes of a write stands in the recording
    binding::InlineExecutor executor;
    std::unordered_map<model::Uid, model::PodPtr> waiting;
    queue::FixedNominations nominated;
  };
  World(SymbolTable& symbols, std::unique_ptr<Past> past, std::unique_ptr<scheduler::ManualScheduler> scheduler,
        Same same)
      : symbols_(symbols),
        past_(std::move(past)),
        scheduler_(std::move(scheduler)),
        intake_(scheduler_->intake()),
        same_(same) {}
  static std::string in_one_line(const text::Diagnostics& diagnostics) {
    std::string line;
    for (const text::Diagnostic& each : diagnostics.all()) line += (line.empty() ? "" : "; ") + each.message;
    return line;
  }
  cache::ClusterCache& cache() { return intake_.cache; }

  model::PodPtr find_pod(const model::Uid& uid) {
    if (const auto waiting = past_->waiting.find(uid); waiting != past_->waiting.end()) return waiting->second;
    const auto cached = cache().find_pod(uid);
    return cached ? cached->pod : nullptr;
  }
  bool place(const model::PodPtr& pod, const std::string& assumed_on) {
    past_->waiting.erase(pod->uid);
    intake_.groups.put(pod, intake_.group_of(*pod));
    if (!assumed_on.empty()) return assume(pod, assumed_on);
    if (const auto held = placements_.find(pod->uid); held != placements_.end()) {
      held->second.confirm();
      placements_.erase(held);
    }
    const auto cached = cache().find_pod(pod->uid);
    return (cached && !cached->assumed ? cache().update_pod(pod) : cache().add_pod(pod)).ok();
  }
  bool assume(const model::PodPtr& pod, const std::string& node) {
    Result<cache::Assumption> assumed = cache().assume(pod, symbols_.intern(node));
    if (assumed.ok()) assumed->confirm();
    return assumed.ok();
  }
  bool displace(const std::string& uid, bool is_given_back) {
    const auto cached = cache().find_pod(uid);
    if (const auto held = placements_.find(uid); held != placements_.end()) {
      placements_.erase(held);  // the plugins hear of it
    } else if (cached && (cached->assumed || !is_given_back)) {
      return cache().remove_pod(*cached->pod).ok();
    }
    if (cached && !is_given_back) intake_.groups.remove(*cached->pod);
    return true;
  }
  void nominate(const std::vector<recording::Nominated>& nominated) {
    past_->nominated.list.clear();
    for (const recording::Nominated& each : nominated) {
      const model::PodPtr known = each.is_stub ? nullptr : find_pod(each.uid);
      auto stub = std::make_shared<model::Pod>();
      stub->uid = each.uid;
      past_->nominated.list.push_back({symbols_.find(each.node), known != nullptr ? known : std::move(stub)});
    }
  }
  std::string group_key_of(const model::Pod& pod) {
    const std::string name = intake_.group_of(pod);
    return name.empty() ? std::string() : cache::group_key(pod, name);
  }
  std::optional<std::uint32_t> counted(std::uint32_t feasible) const {
    if (same_ == Same::node) return {};
    return feasible;
  }
  static std::string with_plans(std::string message, const std::string& nominated, std::vector<std::string> victims) {
    std::sort(victims.begin(), victims.end());
    if (!nominated.empty()) message += "; nominated " + nominated;
    if (!victims.empty()) message += fmt::format("; evicts {}", fmt::join(victims, ", "));
    return message;
  }
  /// What came out; the recorded placement is made in its place where it is another.
  std::string settle(const Record& attempt, cycle::Outcome outcome) {
    std::string came_out;
    if (auto* const placement = std::get_if<cycle::Placement>(&outcome)) {
      const bool is_known = attempt.attempt.total != 0;
      came_out = words_of_placement(placement->node->name, counted(placement->feasible_nodes),
                                    is_known ? placement->total : 0);
      if (placement->node->name == attempt.text) {
        placements_.erase(attempt.pod->uid);
        placements_.emplace(attempt.pod->uid, std::move(*placement));
        return came_out;
      }
    } else {
      const auto& rejection = std::get<cycle::Rejection>(outcome);
      const model::NodePtr node =
          rejection.nomination.node == k_no_symbol ? nullptr : cache().find_node(rejection.nomination.node);
      const std::string nominated = node == nullptr ? std::string() : std::string(node->name);
      came_out = words_of_rejection(with_plans(rejection.full_message(), nominated, rejection.victims));
    }
    outcome = cycle::Rejection();
    if (!attempt.text.empty()) assume(attempt.pod, attempt.text);
    return came_out;
  }

  SymbolTable& symbols_;
  const std::unique_ptr<Past> past_;
  const std::unique_ptr<scheduler::ManualScheduler> scheduler_;
  const ingest::IngestParts intake_;
  const Same same_;
  std::unordered_map<model::Uid, cycle::Placement> placements_;  // that came out as recorded, and are not bound yet
};

namespace {

/// A plan of more attempts, as they are in memory, is not made again.
constexpr std::size_t k_plan_bytes_max = std::size_t{256} << 20;

Error too_large() {
  return Error{
      fmt::format("the cluster takes more than {} of memory: no berth records that", recording::HeldBytes::limit())};
}

}  // namespace

DecisionReplay::DecisionReplay(SymbolTable& symbols, const config::Configuration& configuration,
                               const PluginLibrary& plugins, Same same)
    : symbols_(symbols), configuration_(configuration), plugins_(plugins), same_(same) {}
DecisionReplay::~DecisionReplay() = default;

Status DecisionReplay::begin() {
  forget();
  Result<std::unique_ptr<World>> made = World::make(symbols_, configuration_, plugins_, same_);
  if (!made.ok()) return made.error();
  world_ = std::move(*made);
  return Unit{};
}

/// What the cluster is like is not known any more.
void DecisionReplay::forget() {
  give_up_plan();
  held_.clear();
  held_bytes_ = 0;
  cluster_bytes_.clear();
  is_deciding_ = has_changes_ = false;
  world_.reset();
}

/// The rest of the plan's attempts does not follow.
void DecisionReplay::give_up_plan() {
  counts_.not_decidable += plan_.size();
  if (world_ != nullptr) world_->carry_out(plan_);
  plan_.clear();
  plan_bytes_ = 0;
}

/// What a decision did not see is there for the next one.
void DecisionReplay::settle_held() {
  is_deciding_ = false;
  for (const Record& record : held_)
    if (!world_->apply(record)) ++counts_.refused_changes;
  held_.clear();
  held_bytes_ = 0;
}

Status DecisionReplay::take(const Record& record, bool begins_run) {
  if (begins_run) {
    skips_state_ = false;
    if (Status begun = begin(); !begun.ok()) return begun;
  }
  switch (record.kind) {
    case Kind::gap:
      forget();
      return Unit{};
    case Kind::state_begins:
      skips_state_ = world_ != nullptr && has_changes_;  // it is known
      return skips_state_ ? Status(Unit{}) : begin();
    case Kind::state_ends:
      skips_state_ = false;
      return Unit{};
    case Kind::look:
      if (world_ != nullptr) {
        settle_held();
        is_deciding_ = true;
      }
      return Unit{};
    case Kind::attempt:
      break;
    default:
      if (world_ == nullptr || skips_state_) return Unit{};
      if (!cluster_bytes_.take(record)) return too_large();
      has_changes_ = has_changes_ || (record.kind != Kind::description && record.kind != Kind::clock);
      // What a decision saw of nominations stands after its look.
      if (is_deciding_ && record.kind != Kind::nominations) {
        held_bytes_ += record.bytes;
        held_.push_back(record);
      } else if (!world_->apply(record)) {
        ++counts_.refused_changes;
      }
      if (held_.size() == recording::k_held_max || held_bytes_ > recording::k_held_bytes_max) settle_held();
      return Unit{};
  }
  ++counts_.decisions;
  const bool goes_on = !plan_.empty() && record.attempt.way == recording::Way::planned &&
                       record.attempt.members_left == plan_.back().attempt.members_left - 1;
  if (!goes_on) give_up_plan();
  if (world_ == nullptr) {
    ++counts_.not_decidable;
    return Unit{};
  }
  if (record.attempt.way == recording::Way::unplanned) {
    ++counts_.without_nodes;
    if (record.attempt.members_left == 0) settle_held();
    return Unit{};
  }
  if (!cluster_bytes_.take(record)) return too_large();
  plan_.push_back(record);
  plan_bytes_ += record.bytes;
  if (record.attempt.way == recording::Way::planned && record.attempt.members_left != 0) {
    if (plan_bytes_ > k_plan_bytes_max) give_up_plan();
    return Unit{};
  }
  const std::vector<std::string> came_out = world_->decide(plan_);
  for (std::size_t i = 0; i < plan_.size(); ++i) {
    const std::string recorded = world_->recorded(plan_[i]);
    if (came_out[i] == recorded) {
      ++counts_.same;
      continue;
    }
    ++counts_.different;
    if (differences_.size() < k_differences_max)
      differences_.push_back({plan_[i].wall_ns, plan_[i].pod->key(), plan_[i].attempt.number, recorded, came_out[i]});
  }
  plan_.clear();
  plan_bytes_ = 0;
  settle_held();
  return Unit{};
}

void DecisionReplay::end() {
  give_up_plan();
  if (world_ != nullptr) settle_held();
}

}  // namespace berth::app
