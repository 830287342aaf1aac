// SPDX-License-Identifier: Apache-2.0
// Coscheduling: the pods of a PodGroup run together or not at all.
// Source: kubernetes-sigs/scheduler-plugins v0.35 pkg/coscheduling.
#include <berth/groups.hpp>
#include <berth/plugin.hpp>

#include <array>
#include <memory>

#include "../shared/guarded.hpp"
#include "group_records.hpp"
#include "pod_group.hpp"
#include "resource_gap.hpp"

namespace coscheduling {
namespace {

constexpr std::int64_t k_second_ns = 1'000'000'000;
constexpr std::int64_t k_default_wait_s = 60;
constexpr std::int64_t k_default_percentage = 10;

class Coscheduling {
 public:
  static constexpr berth::Identity identity{
      .name = "Coscheduling", .version = "1.0.0", .summary = "Runs the pods of a PodGroup together or not at all."};
  static constexpr const char args_schema[] = R"json({
    "type": "object",
    "additionalProperties": false,
    "properties": {
      "permitWaitingTimeSeconds": {
        "type": "integer", "default": 60, "minimum": 0, "errorMessage": "must be greater than 0",
        "description": "Longest wait of a member for the rest, unless its PodGroup says."
      },
      "podGroupBackoffSeconds": {
        "type": "integer", "default": 0, "minimum": 0, "errorMessage": "must be greater than 0",
        "description": "How long a group that was rejected is left alone."
      },
      "podGroupRejectPercentage": {
        "type": "integer", "default": 10, "minimum": 0, "maximum": 100, "errorMessage": "must be between 0 and 100",
        "description": "Has no effect: a group that is not complete holds nothing. Checked as upstream does."
      },
      "deniedPGExpirationTimeSeconds": {"not": {}, "errorMessage": "was replaced by podGroupBackoffSeconds"},
      "kubeMaster": {"not": {}, "errorMessage": "was replaced by clientConnection of the configuration"},
      "kubeConfigPath": {"not": {}, "errorMessage": "was replaced by clientConnection of the configuration"}
    }
  })json";
  static constexpr berth::ReasonText reasons[] = {{"PodGroup not found", "PodGroupNotFound"}};
  static constexpr const char* services[] = {berth::Groups::id,  berth::Objects::id,     berth::Intern::id,
                                             berth::Clock::id,   berth::NodeColumns::id, berth::QueueControl::id,
                                             berth::Executor::id};
  static constexpr const char* watches[] = {k_pod_groups};
  static constexpr berth::Interest interests[] = {
      berth::hinted(BERTH_KIND_POD, BERTH_ACTION_ADD | BERTH_ACTION_DELETE),
      berth::hinted(BERTH_KIND_OWN_WATCH, BERTH_ACTION_ADD | BERTH_ACTION_UPDATE),
      berth::hinted(BERTH_KIND_NODE, BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_NODE_ALLOCATABLE)};

  explicit Coscheduling(berth::Setup& setup)
      : groups_(setup.service<berth::Groups>()),
        objects_(setup.service<berth::Objects>()),
        intern_(setup.service<berth::Intern>()),
        clock_(setup.service<berth::Clock>()),
        columns_(setup.service<berth::NodeColumns>()),
        queue_(setup.service<berth::QueueControl>()),
        executor_(setup.service<berth::Executor>()),
        log_(setup.find_service<berth::Log>()),
        names_(setup.name()),
        pods_(setup.pods()),
        allowed_pods_(setup.allocatable("pods")),
        watch_(objects_.watch(k_pod_groups, k_fields)),
        label_(intern_(k_label)) {
    setup.pod_label(k_label);
    for (std::size_t i = 0; i < k_old_labels.size(); ++i) {
      setup.pod_label(k_old_labels[i]);
      old_labels_[i] = intern_(k_old_labels[i]);
    }
    setup.pod_fields(BERTH_POD_NAMESPACE | BERTH_POD_IDENTITY | BERTH_POD_PRIORITY | BERTH_POD_REQUESTS);
    const berth::Json args = setup.args();
    if (args.is_null()) return;
    wait_s_ = args["permitWaitingTimeSeconds"].integer("permitWaitingTimeSeconds");
    backoff_s_ = args["podGroupBackoffSeconds"].integer("podGroupBackoffSeconds");
    if (args["podGroupRejectPercentage"].integer("podGroupRejectPercentage") != k_default_percentage)
      if (log_)
        log_->write(BERTH_LOG_INFO,
                    "podGroupRejectPercentage has no effect: a group that is not complete holds nothing");
  }

  // Order: priority, then the time that counts for the pod, then its name. The name's beginning is in the key; less()
  // is for names that are equal so far.

  std::array<std::uint64_t, 4> key(const berth::QueuedPod& queued) const {
    constexpr std::uint64_t k_sign = std::uint64_t{1} << 63;
    const auto ordered = [](std::int64_t value) { return static_cast<std::uint64_t>(value) ^ k_sign; };
    const std::string path = path_of(queued.pod());
    const auto bytes = [&](std::size_t first) {
      std::uint64_t word = 0;
      for (std::size_t i = first; i < first + 8; ++i)
        word = word << 8 | (i < path.size() ? static_cast<unsigned char>(path[i]) : 0u);
      return word;
    };
    return {~ordered(queued.pod().priority()), ordered(time_of(queued)), bytes(0), bytes(8)};
  }
  bool less(const berth::QueuedPod& a, const berth::QueuedPod& b) const { return path_of(a.pod()) < path_of(b.pod()); }

  std::string_view group_of(berth::Pod pod) const {
    for (const berth::Label& label : pod.labels())
      if (label.key == label_) return intern_.text(label.value);
    return {};
  }
  berth::Verdict quorum(berth::Pod pod, berth::Quorum& out) {
    const std::string_view name = group_of(pod);
    const std::optional<PodGroup> group = find(pod, name);
    if (!group) return berth::Verdict::unschedulable(berth::Reason{1});
    const berth::GroupCount count = groups_.count(pod.ns(), name);
    if (count.assigned >= group->min_member) return berth::Verdict::ok();
    const std::string key = key_of(pod, name);
    if (const std::int64_t left_ns = records_.backoff_left_ns(key, clock_.wall_ns()); left_ns > 0) {
      wake_later(pod.ns(), name, left_ns);
      return berth::Verdict::unresolvable("podGroup " + key + " failed recently");
    }
    const std::uint32_t known = count.assigned + count.ready + count.gated;
    if (known < group->min_member) return berth::Verdict::unresolvable(too_few_text(pod, known, *group));
    if (known - count.gated < group->min_member)
      return berth::Verdict::unresolvable("pre-filter pod " + std::string(pod.name()) +
                                          " cannot proceed due to gated pods in the same PodGroup");
    out.needed(group->min_member - count.assigned);
    out.hold_ms(std::max(wait_ms(*group), 1u));
    return berth::Verdict::ok();
  }

  // Counts were looked at by quorum(); what needs the nodes is left.
  berth::Verdict pre_filter(const berth::Cycle& cycle, berth::PreFilter<>&) {
    const std::string_view name = group_of(cycle.pod());
    if (name.empty()) warn_about_old_labels(cycle.pod());
    const std::optional<PodGroup> group = find(cycle.pod(), name);
    return group ? check_resources(cycle, *group, name) : berth::Verdict::ok();
  }

  // The last word about a member that has no node. Says nothing about plain pods, and about members beyond the quorum.
  berth::Verdict post_filter(const berth::Cycle& cycle, berth::PostFilter&) {
    const berth::Pod pod = cycle.pod();
    const std::string_view name = group_of(pod);
    const std::optional<PodGroup> group = find(pod, name);
    if (!group) return berth::Verdict::unschedulable(std::string());
    const berth::GroupCount count = groups_.count(pod.ns(), name);
    if (count.assigned >= group->min_member) return berth::Verdict::unschedulable(std::string());
    const std::string key = key_of(pod, name);
    const std::int64_t now = clock_.wall_ns();
    if (backoff_s_ > 0 && count.all >= group->min_member) records_.back_off(key, now, backoff_s_ * k_second_ns);
    records_.failed(key, now);
    return berth::Verdict::unschedulable("PodGroup " + key + " gets rejected due to Pod " + std::string(pod.name()) +
                                         " is unschedulable even after PostFilter");
  }

  berth::Verdict reserve(const berth::Cycle&, berth::Slot) { return berth::Verdict::ok(); }
  void unreserve(const berth::Cycle& cycle, berth::Slot) {
    const std::string_view name = group_of(cycle.pod());
    if (find(cycle.pod(), name)) records_.failed(key_of(cycle.pod(), name), clock_.wall_ns());
  }

  // All members of a plan are reserved by now: no pod has to wait. A quorum that was raised meanwhile undoes the plan.
  berth::Verdict permit(const berth::Cycle& cycle, berth::Slot, berth::Permit&) {
    const berth::Pod pod = cycle.pod();
    const std::string_view name = group_of(pod);
    if (name.empty()) return berth::Verdict::ok();
    const std::optional<PodGroup> group = find(pod, name);
    if (!group) return berth::Verdict::unschedulable(berth::Reason{1});
    const berth::GroupCount count = groups_.count(pod.ns(), name);
    if (count.assigned < group->min_member)
      return berth::Verdict::unschedulable(too_few_text(pod, count.assigned, *group));
    records_.reached_quorum(key_of(pod, name));
    return berth::Verdict::ok();
  }

  bool hint(const berth::Event& event, berth::Pod waiting) const {
    const std::string_view name = group_of(waiting);
    if (event.about_node()) return records_.waits_for_resources(key_of(waiting, name));
    if (event.about_pod()) {
      const berth::Pod other = event.new_pod() ? *event.new_pod() : *event.old_pod();
      if (other.ns() == waiting.ns() && !name.empty() && group_of(other) == name) return true;
      return event.actions() == BERTH_ACTION_DELETE && records_.waits_for_resources(key_of(waiting, name));
    }
    const berth_object_v1* const object = event.new_object();
    if (object == nullptr || berth::view(object->name) != name || berth::view(object->ns) != intern_.text(waiting.ns()))
      return false;
    return event.old_object() == nullptr || !same_spec(*event.old_object(), *object);
  }

 private:
  std::string key_of(berth::Pod pod, std::string_view group) const {
    return std::string(intern_.text(pod.ns())).append("/").append(group);
  }
  std::string path_of(berth::Pod pod) const { return key_of(pod, pod.name()); }

  std::optional<PodGroup> find(berth::Pod pod, std::string_view name) const {
    if (name.empty()) return std::nullopt;
    std::optional<PodGroup> found;
    objects_.get(watch_, intern_.text(pod.ns()), name,
                 [&](const berth_object_v1& object) { found = read_pod_group(object); });
    return found;
  }

  std::int64_t time_of(const berth::QueuedPod& queued) const {
    const berth::Pod pod = queued.pod();
    const std::string_view name = group_of(pod);
    if (name.empty()) return queued.first_attempt_ns();
    if (const auto failed = records_.failed_at(key_of(pod, name))) return *failed;
    const std::optional<PodGroup> group = find(pod, name);
    return group ? group->created_ns : queued.first_attempt_ns();
  }

  static std::string too_few_text(berth::Pod pod, std::uint32_t known, const PodGroup& group) {
    return "pre-filter pod " + std::string(pod.name()) +
           " cannot find enough sibling pods, current pods number: " + std::to_string(known) +
           ", minMember of group: " + std::to_string(group.min_member);
  }
  void warn_about_old_labels(berth::Pod pod) const {
    if (!log_) return;
    for (const berth::Label& label : pod.labels())
      if (std::find(old_labels_.begin(), old_labels_.end(), label.key) != old_labels_.end())
        log_->write(BERTH_LOG_WARN, "pod " + path_of(pod) + ": label " + std::string(intern_.text(label.key)) +
                                        " is not read, use " + std::string(k_label));
  }

  /// minResources against the free sum of all nodes, the group's own pods taken out. Departs from upstream in the order
  /// of the nodes, which matters only where some have less than nothing free: theirs is that of the slots.
  berth::Verdict check_resources(const berth::Cycle& cycle, const PodGroup& group, std::string_view name) {
    const std::string key = key_of(cycle.pod(), name);
    const std::int64_t now = clock_.wall_ns();
    if (!group.min_resources || records_.resources_suffice(key, now)) return berth::Verdict::ok();
    std::vector<Want> wanted = wanted_amounts(*group.min_resources, group.min_member);
    take_free(cycle, name, wanted);
    if (all_met(wanted)) {
      records_.resources_sufficed(key, now, (wait_s_ > 0 ? wait_s_ : 3) * k_second_ns);
      return berth::Verdict::ok();
    }
    records_.lacks_resources(key);
    return berth::Verdict::unresolvable("resource gap: " + gap_text(wanted));
  }

  /// Takes off what is free on each node, and what the group's pods use there.
  void take_free(const berth::Cycle& cycle, std::string_view name, std::vector<Want>& wanted) const {
    struct Column {
      const std::int64_t* free;
      const std::int64_t* used;  // of "pods", which has no column of its own for what is free
      berth::Id resource;
    };
    std::vector<Column> columns;
    for (const Want& want : wanted) {
      const berth::Id resource = intern_.for_cycle(want.name);
      if (want.name == "pods")
        columns.push_back({columns_.column(cycle, allowed_pods_), columns_.column(cycle, pods_), 0});
      else
        columns.push_back({columns_.resource(cycle, BERTH_COL_FREE, resource), nullptr, resource});
    }
    const OwnUse own = own_use(cycle.pod().ns(), name, columns);
    const berth::Id* const names = columns_.column(cycle, names_);
    const auto nodes = cycle.nodes();
    for (std::size_t w = 0; w < nodes.size() && !all_met(wanted); ++w)
      berth::each_bit(nodes[w], [&](std::uint32_t bit) {
        const std::size_t slot = w * 64 + bit;
        const std::int64_t* const here = own.on(names[slot]);
        for (std::size_t i = 0; i < wanted.size(); ++i)
          wanted[i].take_off(columns[i].free[slot] - (columns[i].used != nullptr ? columns[i].used[slot] : 0) +
                             (here != nullptr ? here[i] : 0));
      });
  }

  /// What the group's pods take up, by node; parallel to the columns.
  class OwnUse {
   public:
    explicit OwnUse(std::size_t width) : width_(width) {}
    /// Null where the group has no pod.
    const std::int64_t* on(berth::Id node) const {
      const auto at = std::lower_bound(nodes_.begin(), nodes_.end(), node);
      return at == nodes_.end() || *at != node ? nullptr : amounts_.data() + (at - nodes_.begin()) * width_;
    }
    std::int64_t* add(berth::Id node) {
      const auto at = std::lower_bound(nodes_.begin(), nodes_.end(), node);
      const auto index = at - nodes_.begin();
      if (at == nodes_.end() || *at != node) {
        nodes_.insert(at, node);
        amounts_.insert(amounts_.begin() + index * width_, width_, 0);
      }
      return amounts_.data() + index * width_;
    }

   private:
    std::size_t width_;
    std::vector<berth::Id> nodes_;  // sorted
    std::vector<std::int64_t> amounts_;
  };
  template <class Columns>
  OwnUse own_use(berth::Id ns, std::string_view name, const Columns& columns) const {
    OwnUse own(columns.size());
    groups_.members(ns, name, [&](berth::Pod member) {
      if (member.node_name() == 0) return;
      std::int64_t* const amounts = own.add(member.node_name());
      for (std::size_t i = 0; i < columns.size(); ++i) {
        if (columns[i].resource == 0) ++amounts[i];
        for (const berth_resource_v1& resource : member.resources())
          if (resource.name == columns[i].resource) amounts[i] += resource.effective;
      }
    });
    return own;
  }

  /// An event that came while the group backs off counts when that is over.
  void wake_later(berth::Id ns, std::string_view name, std::int64_t delay_ns) {
    Wake* asked = nullptr;
    {
      const guarded::Lock lock(wakes_mutex_);
      for (const auto& wake : wakes_)
        if (wake->ns == ns && wake->name == name) return;
      asked = wakes_.emplace_back(std::make_unique<Wake>(Wake{this, ns, std::string(name)})).get();
    }
    // Not under the lock: the host is never called with one. No other thread erases what it has not taken.
    if (executor_.after(static_cast<std::uint32_t>(delay_ns / 1'000'000 + 1), &Coscheduling::wake, asked) == BERTH_OK)
      return;
    const guarded::Lock lock(wakes_mutex_);
    std::erase_if(wakes_, [&](const auto& wake) { return wake.get() == asked; });
  }
  static void wake(void* arg) {
    Wake due = *static_cast<const Wake*>(arg);
    {
      const guarded::Lock lock(due.policy->wakes_mutex_);
      std::erase_if(due.policy->wakes_, [&](const auto& wake) { return wake.get() == arg; });
    }
    due.policy->groups_.members(due.ns, due.name, [&](berth::Pod member) {
      if (member.node_name() == 0) due.policy->queue_.activate(member.uid());
    });
  }

  std::uint32_t wait_ms(const PodGroup& group) const {
    std::int64_t seconds = group.timeout_s ? *group.timeout_s : wait_s_ > 0 ? wait_s_ : k_default_wait_s;
    if (seconds == 0) seconds = wait_s_;
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(seconds, 0, 15 * 60) * 1000);
  }

  berth::Groups groups_;
  berth::Objects objects_;
  berth::Intern intern_;
  berth::Clock clock_;
  berth::NodeColumns columns_;
  berth::QueueControl queue_;
  berth::Executor executor_;
  std::optional<berth::Log> log_;
  berth::IdColumn names_;
  berth::IntColumn pods_, allowed_pods_;
  std::uint32_t watch_;
  berth::Id label_;
  std::array<berth::Id, k_old_labels.size()> old_labels_{};
  std::int64_t wait_s_ = k_default_wait_s, backoff_s_ = 0;
  GroupRecords records_;

  struct Wake {
    Coscheduling* policy;
    berth::Id ns;
    std::string name;
  };
  guarded::Mutex wakes_mutex_;
  std::vector<std::unique_ptr<Wake>> wakes_ GUARDED_BY(wakes_mutex_);  // that the host has not called yet
};

}  // namespace
}  // namespace coscheduling

BERTH_PLUGIN(coscheduling::Coscheduling)
