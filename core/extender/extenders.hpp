// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/guarded.hpp"
#include "cache/snapshot.hpp"
#include "extender/extender.hpp"
#include "framework/plugin_instance.hpp"
#include "framework/verdict.hpp"
#include "preemption/victim_search.hpp"

namespace berth::extender {

/// What pods that extenders rejected wait for is registered under this name, like a plugin's.
inline constexpr std::string_view k_extender_rejector = "Extender";
/// The most that an extender is expected to give a node.
inline constexpr std::int64_t k_extender_score_max = 10;

/// All extenders of a configuration, asked in their order: those that may fail a pod first, the ignorable ones behind.
///
/// The only place where the scheduling thread waits for the network: each wait ends with the answer, with the
/// extender's time limit, or with cancel().
/// Lifetime: outlives framework, cycle and binding.
/// Threads:  filter(), prioritize() and review() by one thread at a time; the rest by any.
/// Source:   kubernetes v1.36 pkg/scheduler/schedule_one.go (findNodesThatPassExtenders, prioritizeNodes),
///           pkg/scheduler/framework/preemption/preemption.go (callExtenders).
class Extenders {
 public:
  using Slots = std::span<const cache::Slot>;
  /// A node that an extender rejected by name.
  struct NodeRejection {
    framework::Code code = framework::Code::unschedulable;
    std::string why;
    const Extender* by = nullptr;
  };
  struct Judged {
    std::vector<cache::Slot> passed;  // an extender that answers with objects may add any of the snapshot
    std::map<std::string, NodeRejection> rejected;
  };
  struct Score {
    const Extender* by = nullptr;
    std::vector<std::int64_t> added;  // by position: to the total
    std::vector<bool> given;          // by position: it said something about the node
  };

  /// score_max: the most that a plugin gives a node; an extender's most counts as much.
  /// `on_wait` hears of the beginning and end of each wait, on the waiting thread. May be empty.
  Extenders(std::vector<std::unique_ptr<Extender>> extenders, std::int64_t score_max,
            std::function<void(bool waits)> on_wait = {});
  ~Extenders();
  Extenders(const Extenders&) = delete;
  Extenders& operator=(const Extenders&) = delete;

  bool any_filters() const noexcept { return filters_; }
  bool any_prioritizes() const noexcept { return prioritizes_; }
  bool any_preempts() const noexcept { return preempts_; }
  /// Some extender has a say about the nodes of this pod, so nothing that was found out for another one holds for it.
  bool judges(const model::Pod& pod) const noexcept;
  const std::vector<std::unique_ptr<Extender>>& all() const noexcept { return extenders_; }

  Result<Judged> filter(const model::Pod& pod, Slots nodes, const framework::Host& host);
  /// One entry per interested extender that answered. Fails when it was cancelled: nothing is placed without points
  /// that every extender gave.
  Result<std::vector<Score>> prioritize(const model::Pod& pod, Slots nodes, const framework::Host& host);
  /// As preemption::CandidateReview.
  Status review(const model::Pod& preemptor, std::vector<preemption::Candidate>& candidates,
                const framework::Host& host);

  /// Ends the wait under way, and every later one at once: the attempt fails. Bindings are not touched.
  void cancel() noexcept;
  /// The same for everything, bindings included. When it returns no extender is called any more.
  void stop() noexcept;
  /// Calls of `prioritize` under way.
  std::uint32_t prioritizing() const noexcept { return prioritizing_.load(std::memory_order_relaxed); }

 private:
  /// Answers that the scheduling thread waits for.
  struct Desk {
    Mutex mutex;
    ConditionVariable changed;
    bool cancelled GUARDED_BY(mutex) = false;
  };
  template <typename T>
  struct Answer;
  template <typename T, typename Call>
  std::shared_ptr<Answer<T>> ask(Call&& call);
  template <typename T>
  Result<T> wait(const Extender& extender, Answer<T>& answer, std::string_view verb);
  bool is_cancelled();
  /// Says once that an extender that may fail does so, and once that it is well again.
  void note(const Extender& extender, const Error* failure);

  // Constant after construction.
  std::vector<std::unique_ptr<Extender>> extenders_;
  const std::int64_t score_scale_;  // a plugin's points for one of an extender
  const std::function<void(bool)> on_wait_;
  bool filters_ = false, prioritizes_ = false, preempts_ = false;

  const std::shared_ptr<Desk> desk_ = std::make_shared<Desk>();
  std::atomic<std::uint32_t> prioritizing_{0};
  std::map<const Extender*, bool> failing_;  // of the scheduling thread
};

}  // namespace berth::extender
