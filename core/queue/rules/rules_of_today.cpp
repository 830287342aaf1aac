// SPDX-License-Identifier: Apache-2.0
#include "queue/rules/backoff.hpp"
#include "queue/rules/requeue_rules.hpp"

namespace berth::queue {
namespace {

class RulesOfToday final : public RequeueRules {
 public:
  RulesOfToday(const QueueOptions& options, const HintTable& hints) : options_(options), hints_(hints), judge_(hints) {}

  void popped() override {}
  void forgotten(const model::Pod&) override {}

  void failed(Record& record) override {
    const std::uint32_t count = record.error_count > 0 ? record.error_count : record.unschedulable_count;
    const std::int64_t wait_ns = backoff::duration_ns(count, options_.backoff_initial_ns, options_.backoff_max_ns);
    record.backoff_until_ns =
        wait_ns == 0 ? 0 : backoff::align_ns(record.enqueued_ns + wait_ns, options_.pops_from_backoff);
  }
  bool backing_off(const Record& record, std::int64_t now_ns) const noexcept override {
    return backoff::backing_off(record.backoff_until_ns, now_ns, options_.pops_from_backoff);
  }
  std::int64_t leaves_backoff_ns(const Record& record) const noexcept override {
    return backoff::leaves_at_ns(record.backoff_until_ns, options_.pops_from_backoff);
  }

  bool hear(const model::ClusterEvent& event, const model::EventObjects&, const PreCheck& pre_check,
            const WaitingPool& pool, std::vector<Record*>& out) override {
    const model::PluginSet askers = hints_.askers(event);
    if (!event.wildcard() && askers.empty()) return false;
    if (event.wildcard() || pool.concerns_any(askers))
      for (Record* record : pool.records())
        if ((event.wildcard() || WaitingPool::concerns(*record, askers)) &&
            (pre_check == nullptr || pre_check(*record->pod)))
          out.push_back(record);
    return true;
  }
  void judge(const model::ClusterEvent& event, const model::EventObjects& objects, std::span<Record* const> records,
             std::vector<Requeue>& requeues) override {
    judge_.judge(event, objects, records, requeues);
  }
  Requeue judge_one(const model::ClusterEvent& event, const model::EventObjects& objects, Record& record) override {
    return judge_.judge_one(event, objects, record);
  }
  bool change_ends_backoff() const noexcept override { return false; }
  std::optional<Requeue> after_attempt(const Record&) const override { return std::nullopt; }
  bool wants_nameless_changes() const noexcept override { return false; }
  std::vector<WakingEvent> waking_events(std::uint16_t profile, const model::PluginSet& rejectors) const override {
    std::vector<WakingEvent> out;
    if (profile == HintTable::k_no_profile) return out;
    for (const Registration& registration : hints_.profile(profile).registrations)
      if (rejectors.contains(registration.plugin)) out.push_back({registration.registered});
    return out;
  }

 private:
  const QueueOptions& options_;
  const HintTable& hints_;
  Judge judge_;
};

}  // namespace

std::unique_ptr<RequeueRules> make_rules_of_today(const QueueOptions& options, const HintTable& hints) {
  return std::make_unique<RulesOfToday>(options, hints);
}

}  // namespace berth::queue
