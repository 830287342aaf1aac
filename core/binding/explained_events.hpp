// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.hpp"
#include "base/guarded.hpp"
#include "model/pod.hpp"
#include "queue/scheduling_queue.hpp"

namespace berth::binding {

/// Says whether a search may go on: not when its time is up, or the process ends.
using GoesOn = std::function<bool()>;
/// Finds out what would make a pending pod fit: a line, or an empty text where there is nothing to say. Looks at `goes_on`
/// every few milliseconds. May throw.
using FitLine = std::function<std::string(const model::PodPtr& pod, const GoesOn& goes_on)>;

/// What came of searches, since the start.
struct ExplainedCounts {
  std::uint64_t found = 0;
  std::uint64_t nothing = 0;  // nothing to say
  std::uint64_t failed = 0;   // with an exception
  std::uint64_t gone = 0;     // the pod was bound or deleted before its turn, or meanwhile
  std::uint64_t dropped = 0;  // too many pods wait for one
  double seconds = 0;         // of all searches
  std::size_t pods = 0;       // that are known now
};

/// The second line of FailedScheduling events: what would make a pod fit that has been pending for long.
///
/// An event waits for no search, and there is none for the sake of the line: a failed attempt asks for a search, which is due when the
/// pod will have waited for `explain_after_ns`, and the next event that the pod has anyhow carries what was found.
///
/// Place:   FailureHandler asks note() for what an event says; one thread, which makes nothing but searches, is in run().
/// Budget:  one search at a time, of k_search_ns at most, and after each a rest of nine times as long; k_pods_max pods are
///          known, with a line of k_line_bytes_max each. Of more, the line that was found first goes, and where all wait for a
///          search the pod is left out until its next event, and those that are bound or gone are forgotten.
/// Threads: note() and counts() any; run() and search_next() one. No lock is held while a search runs.
/// Failure: a search that throws is counted and logged; its pod has no line.
class ExplainedEvents {
 public:
  static constexpr std::size_t k_pods_max = 1024;
  static constexpr std::size_t k_line_bytes_max = 512;
  static constexpr std::int64_t k_search_ns = 2'000'000'000;
  static constexpr std::int64_t k_rest_factor = 9, k_rest_ns_max = 60'000'000'000;
  static constexpr std::int64_t k_sweep_period_ns = 1'000'000'000;
  /// A line is looked for again when it is older than this with an event, and is not said when it is older than that.
  static constexpr std::int64_t k_fresh_ns = 60'000'000'000, k_stale_ns = 15 * k_fresh_ns;

  /// `lookup`: the pod as the cluster has it now. All that is given outlives it. Requires: explain_after_ns > 0.
  ExplainedEvents(std::int64_t explain_after_ns, FitLine fit_line, queue::PodLookup lookup, const Clock& clock);

  struct Note {
    std::string text;           // of an event: 1024 bytes at most
    bool is_explained = false;  // it has a second line
  };
  /// The note of an event of a pod that has been pending since `waited_ns` ago; it begins with `message`, of an event's size. Asks
  /// for the line of its next event.
  Note note(const model::PodPtr& pod, std::string message, std::int64_t waited_ns);

  /// Makes the search that is due, if there is one and the rest is over; false when not.
  bool search_next();
  /// Makes searches as they become due, until stop().
  void run();
  /// run() returns, and a search under way is told to end.
  void stop() noexcept;

  ExplainedCounts counts() const;

 private:
  struct Known {
    model::PodPtr pod;                     // while a search is wanted
    std::optional<std::int64_t> due_ns;    // when it is due; absent: none is wanted
    std::optional<std::int64_t> found_ns;  // when the line was found
    std::string line;
  };
  using Pods = std::map<std::string, Known, std::less<>>;

  void want(const model::PodPtr& pod, std::int64_t due_ns) REQUIRES(mutex_);
  bool make_room() REQUIRES(mutex_);
  void erase(Pods::iterator pod) REQUIRES(mutex_);
  /// When the next search may be made; nothing: none is wanted.
  std::optional<std::int64_t> next_ns() const REQUIRES(mutex_);
  model::PodPtr take_due();
  /// The pod as it is now; null: it does not wait any more.
  model::PodPtr pending(const model::Pod& pod) const;
  void keep(const model::Pod& pod, std::string line);
  /// Forgets pods that do not wait any more, once there was no room for another one. False: nothing was to be done.
  bool sweep();

  const std::int64_t explain_after_ns_;
  const FitLine fit_line_;
  const queue::PodLookup lookup_;
  const Clock& clock_;

  mutable Mutex mutex_;  // a leaf
  ConditionVariable changed_;
  Pods pods_ GUARDED_BY(mutex_);                                             // by uid
  std::set<std::pair<std::int64_t, std::string>> due_ GUARDED_BY(mutex_);    // when, and uid
  std::set<std::pair<std::int64_t, std::string>> found_ GUARDED_BY(mutex_);  // lines of pods that want no search
  std::int64_t rests_until_ns_ GUARDED_BY(mutex_) = 0;
  std::optional<std::int64_t> sweep_ns_ GUARDED_BY(mutex_);  // when to sweep; absent: there was room
  std::int64_t swept_ns_ GUARDED_BY(mutex_) = 0;
  std::atomic<bool> stopped_{false};
  ExplainedCounts counts_ GUARDED_BY(mutex_);
};

}  // namespace berth::binding
