// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/guarded.hpp"
#include "framework/open_calls.hpp"

namespace berth::framework {

/// Calls into plugins that last longer than a limit: each is told once, while it still runs, and counted. Calls of one
/// plugin and point that follow each other within a decision cannot be told apart, and count as one.
///
/// Place:   one thread looks again and again at the calls that are open. A call is found at the second look after it has
///          begun, and is told when it has been seen for the limit: after the limit, and at most two looks later.
/// Memory:  bounded by the calls that are open, and by the plugins and their points.
/// Threads: look() belongs to one thread; counts() to any.
class SlowCalls {
 public:
  explicit SlowCalls(std::int64_t limit_ns) : limit_ns_(limit_ns) {}

  struct Slow {
    OpenCall call;                // its age is that of what it is part of: a decision, a binding, a task
    std::int64_t running_ns = 0;  // at least
  };
  /// calls: those that are open. Those of them that have become slow since the last look.
  std::vector<Slow> look(const std::vector<OpenCall>& calls, std::int64_t now_ns);

  /// How many calls have been slow, by plugin and point.
  std::map<std::pair<std::string, std::string>, std::uint64_t> counts() const;

 private:
  /// A call that was open at the last look.
  struct Seen {
    OpenCall call;
    std::int64_t whole_began_ns = 0;  // what it is part of
    std::int64_t since_ns = 0;
    bool is_told = false;
  };

  const std::int64_t limit_ns_;
  std::vector<Seen> seen_;
  mutable Mutex mutex_;
  std::map<std::pair<std::string, std::string>, std::uint64_t> counts_ GUARDED_BY(mutex_);
};

}  // namespace berth::framework
