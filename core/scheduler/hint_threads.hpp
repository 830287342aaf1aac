// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "framework/open_calls.hpp"
#include "framework/points/requeue.hpp"
#include "queue/hint_table.hpp"

namespace berth::scheduler {

struct HintThreadsOptions {
  /// How long the queue waits for one answer. Absent: hints run on the thread that asks, and are waited for without
  /// limit (a simulation, whose user ends it).
  std::optional<std::int64_t> patience_ns = {};
  /// How long the destructor waits for hints that do not return.
  std::chrono::milliseconds end_limit{10'000};
  framework::OpenCalls* watch = nullptr;  // sees hints that do not return, with plugin and pod; outlives this
};

/// Asks queueing hints such that one that does not return stops neither decisions nor what is heard of the cluster.
///
/// The queue asks under its lock, for which decisions, bindings and changes of the cluster wait. So a hint runs on a
/// thread of its own, and the queue waits for its answer no longer than the patience. A hint that is late counts as one
/// that fails: its pods are worth another attempt. Until that call returns the plugin is not asked again, and all that
/// it would be asked about is worth another attempt at once; the hints of other plugins get another thread. A plugin
/// that was late is waited for a quarter as long the next time, 10 ms at least, and twice as long again each time that
/// it answers in time: one that is slow each time takes little of the queue's time.
///
/// Nothing else moves to another thread: events are handled one after another and under the queue's lock, so none is
/// lost, those of one pod keep their order, and what hints answer in time decides what it would decide without this.
///
/// Place:    between the queue's HintTable and framework::HintCalls.
/// Lifetime: the clock, plugins and all they use outlive this. The destructor waits for hints; when one has not returned
///           by the limit, it ends the process with status 1, since what the hint uses cannot be taken from it.
/// Threads:  ask() is called under the queue's lock: one caller at a time. One thread of its own, and one more for each
///           plugin whose hint has not returned. To hand a question over costs some microseconds.
/// Failure:  where no thread can be made, the answer is that of a hint that is late.
/// Source:   kubernetes v1.36 pkg/scheduler/backend/queue/scheduling_queue.go (isPodWorthRequeuing: an error is Queue).
///           Departs: upstream waits for hints without limit, with its locks held.
class HintThreads {
 public:
  /// What a thread asks a plugin: all of it is its own.
  struct Question {
    model::ClusterEvent event;
    model::EventObjects objects;
    std::vector<const model::Pod*> pods;
  };
  /// As framework::HintCalls::ask(): sets bits of `queue`, all of them when the plugin fails; false then.
  using CallPlugin =
      std::function<bool(framework::HintCalls& calls, const Question& question, std::span<std::uint64_t> queue)>;
  enum class Answer : std::uint8_t {
    given,
    failed,    // all bits are set, as in the following
    late,      // it may still be running
    not_asked  // the plugin has not returned from an earlier question
  };

  HintThreads(const Clock& clock, HintThreadsOptions options);
  ~HintThreads();
  HintThreads(const HintThreads&) = delete;
  HintThreads& operator=(const HintThreads&) = delete;

  /// Of one plugin instance: whether it has returned, and how long it is waited for.
  struct Line;
  /// `plugin`: how the log names it.
  std::shared_ptr<Line> make_line(std::string_view plugin) const;

  /// Sets the bits of the pods that are worth another attempt. Requires: `queue` has a word for each 64 pods, all 0.
  Answer ask(const std::shared_ptr<Line>& line, const std::shared_ptr<const CallPlugin>& ask,
             const queue::HintCall& call, std::span<std::uint64_t> queue);

  /// Threads that hints run on, with those whose hint has not returned.
  std::size_t threads() const;

 private:
  struct Job;
  class Worker;
  struct Threads;
  /// Null when there is none and none can be made.
  Worker* worker();
  void was_late(Line& line, const queue::HintCall& call);

  const Clock& clock_;
  const HintThreadsOptions options_;
  const std::shared_ptr<Threads> threads_;
  std::shared_ptr<Worker> worker_;                    // null: none yet, or it was left to a hint that is late
  std::unique_ptr<framework::HintCalls> calls_here_;  // without a limit
};

}  // namespace berth::scheduler
