// SPDX-License-Identifier: Apache-2.0
#include "extender/extenders.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/guarded.hpp"
#include "observe/log.hpp"
#include "preemption/victim_search.hpp"

namespace berth::extender {
namespace {

// The extender's own clock is the first to ring.
constexpr std::chrono::milliseconds k_grace{50};
constexpr std::uint32_t k_nowhere = UINT32_MAX;
constexpr std::string_view k_shutting_down = "berth is shutting down";

bool any_of(const std::vector<std::unique_ptr<Extender>>& extenders, bool (Extender::*does)() const noexcept) {
  return std::any_of(extenders.begin(), extenders.end(), [&](const auto& extender) { return ((*extender).*does)(); });
}

std::vector<model::NodePtr> nodes_at(Extenders::Slots slots, const framework::Host& host) {
  std::vector<model::NodePtr> out;
  out.reserve(slots.size());
  for (const cache::Slot slot : slots) out.push_back(host.snapshot.row(slot).node);
  return out;
}

}  // namespace

template <typename T>
struct Extenders::Answer {
  std::shared_ptr<Desk> desk;
  std::optional<Result<T>> value;  // guarded by the desk's mutex
};

Extenders::Extenders(std::vector<std::unique_ptr<Extender>> extenders, std::int64_t score_max,
                     std::function<void(bool waits)> on_wait)
    : extenders_(std::move(extenders)), score_scale_(score_max / k_extender_score_max), on_wait_(std::move(on_wait)) {
  std::stable_partition(extenders_.begin(), extenders_.end(),
                        [](const auto& extender) { return !extender->ignorable(); });
  filters_ = any_of(extenders_, &Extender::filters);
  prioritizes_ = any_of(extenders_, &Extender::prioritizes);
  preempts_ = any_of(extenders_, &Extender::preempts);
}

Extenders::~Extenders() {
  extenders_.clear();  // what is open is answered now, while the rest is still there
}

bool Extenders::judges(const model::Pod& pod) const noexcept {
  return std::any_of(extenders_.begin(), extenders_.end(), [&](const auto& extender) {
    return (extender->filters() || extender->prioritizes()) && extender->is_interested(pod);
  });
}

// Asking and waiting.

template <typename T, typename Call>
std::shared_ptr<Extenders::Answer<T>> Extenders::ask(Call&& call) {
  auto answer = std::make_shared<Answer<T>>();
  answer->desk = desk_;
  call([answer](Result<T> value) {
    const Lock lock(answer->desk->mutex);
    answer->value.emplace(std::move(value));
    answer->desk->changed.notify_all();
  });
  return answer;
}

template <typename T>
Result<T> Extenders::wait(const Extender& extender, Answer<T>& answer, std::string_view verb) {
  if (on_wait_) on_wait_(true);
  UniqueLock lock(desk_->mutex);
  (void)desk_->changed.wait_for(lock, extender.limit() + k_grace,
                                [&]() REQUIRES(desk_->mutex) { return answer.value.has_value() || desk_->cancelled; });
  Result<T> out = desk_->cancelled ? Error{std::string(k_shutting_down)}
                  : answer.value
                      ? std::move(*answer.value)
                      : Result<T>(Error{fmt::format(
                            "{} with extender {}: no answer within {} ms", verb, extender.name(),
                            std::chrono::duration_cast<std::chrono::milliseconds>(extender.limit()).count())});
  lock.unlock();
  if (on_wait_) on_wait_(false);
  return out;
}

bool Extenders::is_cancelled() {
  const Lock lock(desk_->mutex);
  return desk_->cancelled;
}

void Extenders::cancel() noexcept {
  const Lock lock(desk_->mutex);
  desk_->cancelled = true;
  desk_->changed.notify_all();
}

void Extenders::stop() noexcept {
  cancel();
  for (const auto& extender : extenders_) extender->stop();
}

void Extenders::note(const Extender& extender, const Error* failure) {
  bool& failing = failing_[&extender];
  if (failing == (failure != nullptr)) return;
  failing = failure != nullptr;
  if (failing)
    observe::warning("Skipping extender as it returned error and has ignorable flag set",
                     {{"err", failure->message}, {"extender", extender.name()}});
  else
    observe::info("Extender answers again", {{"extender", extender.name()}});
}

// Filter.

namespace {

enum class Standing : std::uint8_t { not_asked, asked, passed };

/// What an extender let through, in its order. Names have to be of those asked about; objects may be any node of the
/// snapshot. `standing`: by slot.
/// Source: kubernetes v1.36 pkg/scheduler/extender.go (Filter).
Result<std::vector<cache::Slot>> passed_of(const Extender& extender, const Extender::Filtered& filtered,
                                           std::vector<Standing>& standing, const framework::Host& host) {
  std::vector<cache::Slot> passed;
  for (const std::string& name : filtered.passed) {
    const cache::Slot slot = host.slot_of(name);
    if (slot == cache::k_no_slot || (standing[slot] == Standing::not_asked && !filtered.as_objects))
      return Error{
          fmt::format("extender \"{}\" claims a filtered node \"{}\" which is not found in the input node list",
                      extender.name(), name)};
    if (std::exchange(standing[slot], Standing::passed) != Standing::passed) passed.push_back(slot);
  }
  return passed;
}

}  // namespace

Result<Extenders::Judged> Extenders::filter(const model::Pod& pod, Slots nodes, const framework::Host& host) {
  Judged out;
  out.passed.assign(nodes.begin(), nodes.end());
  std::vector<Standing> standing;
  for (const auto& extender : extenders_) {
    if (out.passed.empty()) break;
    if (!extender->filters() || !extender->is_interested(pod)) continue;
    const auto answer =
        ask<Extender::Filtered>([&](auto done) { extender->filter(pod, nodes_at(out.passed, host), std::move(done)); });
    standing.assign(host.snapshot.slot_count(), Standing::not_asked);  // while the extender works
    for (const cache::Slot slot : out.passed) standing[slot] = Standing::asked;
    Result<Extender::Filtered> filtered = wait(*extender, *answer, "filter");
    Result<std::vector<cache::Slot>> passed = filtered.ok() ? passed_of(*extender, *filtered, standing, host)
                                                            : Result<std::vector<cache::Slot>>(filtered.error());
    if (!passed.ok() && (!extender->ignorable() || is_cancelled())) return passed.error();
    if (extender->ignorable()) note(*extender, passed.ok() ? nullptr : &passed.error());
    if (!passed.ok()) continue;
    for (const auto& [name, why] : filtered->failed)
      if (!filtered->unresolvable.contains(name))
        out.rejected[name] = {framework::Code::unschedulable, why, extender.get()};
    for (const auto& [name, why] : filtered->unresolvable)
      out.rejected[name] = {framework::Code::unresolvable, why, extender.get()};
    out.passed = std::move(*passed);
  }
  return out;
}

// Prioritize.

Result<std::vector<Extenders::Score>> Extenders::prioritize(const model::Pod& pod, Slots nodes,
                                                            const framework::Host& host) {
  using Scores = std::vector<Extender::HostScore>;
  std::vector<std::pair<const Extender*, std::shared_ptr<Answer<Scores>>>> asked;
  std::vector<Score> out;
  const std::vector<model::NodePtr> objects = nodes_at(nodes, host);
  for (const auto& extender : extenders_) {
    if (!extender->is_interested(pod)) continue;
    if (extender->prioritizes()) {
      prioritizing_.fetch_add(1, std::memory_order_relaxed);
      asked.emplace_back(extender.get(), ask<Scores>([&](auto done) {
                           extender->prioritize(pod, objects, [this, done = std::move(done)](Result<Scores> scores) {
                             prioritizing_.fetch_sub(1, std::memory_order_relaxed);
                             done(std::move(scores));
                           });
                         }));
    } else {
      // Upstream's counts as having said something, namely nothing.
      out.push_back({extender.get(), std::vector<std::int64_t>(nodes.size()), std::vector<bool>(nodes.size(), true)});
    }
  }
  if (asked.empty()) return out;
  std::vector<std::uint32_t> position_of(host.snapshot.slot_count(), k_nowhere);
  for (std::uint32_t i = 0; i < nodes.size(); ++i) position_of[nodes[i]] = i;
  for (const auto& [extender, answer] : asked) {
    Result<Scores> scores = wait(*extender, *answer, "prioritize");
    if (!scores.ok() && is_cancelled()) return scores.error();
    note(*extender, scores.ok() ? nullptr : &scores.error());
    if (!scores.ok()) continue;
    Score score{extender, std::vector<std::int64_t>(nodes.size()), std::vector<bool>(nodes.size())};
    for (const Extender::HostScore& one : *scores) {
      const cache::Slot slot = host.slot_of(one.host);
      const std::uint32_t position = slot == cache::k_no_slot ? k_nowhere : position_of[slot];
      if (position == k_nowhere) continue;
      // Not clamped; a product that is too large wraps around, as upstream's does.
      const std::uint64_t added = static_cast<std::uint64_t>(one.score) *
                                  static_cast<std::uint64_t>(extender->weight()) *
                                  static_cast<std::uint64_t>(score_scale_);
      score.added[position] = static_cast<std::int64_t>(static_cast<std::uint64_t>(score.added[position]) + added);
      score.given[position] = true;
    }
    out.push_back(std::move(score));
  }
  return out;
}

// Preempt.

namespace {

/// A node's victims as the snapshot knows them.
struct Chosen {
  cache::Slot slot = cache::k_no_slot;
  std::vector<cache::PodHandle> victims;
  std::int64_t violations = 0;
};

Extender::ByNode<Extender::Victims> shown(const std::vector<Chosen>& chosen, const framework::Host& host) {
  Extender::ByNode<Extender::Victims> out;
  for (const Chosen& one : chosen) {
    Extender::Victims victims;
    victims.violations = one.violations;
    for (const cache::PodHandle handle : one.victims)
      if (model::PodPtr pod = host.pod_of(handle)) victims.pods.push_back(std::move(pod));
    out.emplace_back(host.snapshot.row(one.slot).node->name, std::move(victims));
  }
  return out;
}

/// What an extender's answer means here; fails on nodes and pods that are not there.
Result<std::vector<Chosen>> resolve(const Extender& extender, const Extender::ByNode<Extender::MetaVictims>& answer,
                                    const framework::Host& host) {
  std::vector<Chosen> out;
  for (const auto& [name, victims] : answer) {
    Chosen chosen{host.slot_of(name), {}, victims.violations};
    if (chosen.slot == cache::k_no_slot) return Error{fmt::format("nodeinfo not found for node name \"{}\"", name)};
    for (const std::string& uid : victims.uids) {
      const auto& pods = host.snapshot.row(chosen.slot).pods;
      const auto found = std::find_if(pods.begin(), pods.end(), [&](cache::PodHandle handle) {
        const model::PodPtr pod = host.pod_of(handle);
        return pod != nullptr && pod->uid == uid;
      });
      if (found == pods.end())
        return Error{fmt::format(
            "extender: {} claims to preempt pod (UID: {}) on node: {}, but the pod is not found on that node",
            extender.name(), uid, name)};
      chosen.victims.push_back(*found);
    }
    if (chosen.victims.empty() && !extender.ignorable())
      return Error{fmt::format("expected at least one victim pod on node \"{}\"", name)};
    if (!chosen.victims.empty()) out.push_back(std::move(chosen));
  }
  return out;
}

}  // namespace

Status Extenders::review(const model::Pod& preemptor, std::vector<preemption::Candidate>& candidates,
                         const framework::Host& host) {
  std::vector<Chosen> chosen;
  for (const preemption::Candidate& candidate : candidates)
    chosen.push_back({candidate.slot, candidate.victims, candidate.violations});
  bool changed = false;
  for (const auto& extender : extenders_) {
    if (chosen.empty()) break;
    if (!extender->preempts() || !extender->is_interested(preemptor)) continue;
    using Answered = Extender::ByNode<Extender::MetaVictims>;
    const auto answer =
        ask<Answered>([&](auto done) { extender->preempt(preemptor, shown(chosen, host), std::move(done)); });
    Result<Answered> answered = wait(*extender, *answer, "preempt");
    Result<std::vector<Chosen>> resolved =
        answered.ok() ? resolve(*extender, *answered, host) : Result<std::vector<Chosen>>(answered.error());
    if (!resolved.ok() && (!extender->ignorable() || is_cancelled())) return resolved.error();
    if (extender->ignorable()) note(*extender, resolved.ok() ? nullptr : &resolved.error());
    if (!resolved.ok()) continue;
    chosen = std::move(*resolved);
    changed = true;
  }
  if (!changed) return Unit{};
  candidates.clear();
  const auto index = host.snapshot.order_index();
  std::sort(chosen.begin(), chosen.end(),
            [&](const Chosen& a, const Chosen& b) { return index[a.slot] < index[b.slot]; });
  for (Chosen& one : chosen) {
    preemption::Candidate& candidate = candidates.emplace_back();
    candidate.slot = one.slot;
    candidate.victims = std::move(one.victims);
    candidate.violations = static_cast<std::uint32_t>(std::clamp<std::int64_t>(one.violations, 0, UINT32_MAX));
  }
  return Unit{};
}

}  // namespace berth::extender
