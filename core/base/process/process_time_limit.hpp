// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <string>
#include <thread>

#include "base/guarded.hpp"

namespace berth {

/// Ends the process with status 1 when its scope lasts too long, with a text on standard error that was made
/// beforehand: the thread that hangs may hold any lock, so nothing is allocated or formatted then.
class ProcessTimeLimit {
 public:
  ProcessTimeLimit(std::chrono::milliseconds limit, std::string last_words);
  ProcessTimeLimit(const ProcessTimeLimit&) = delete;
  ProcessTimeLimit& operator=(const ProcessTimeLimit&) = delete;
  ~ProcessTimeLimit();

 private:
  void watch(std::chrono::milliseconds limit);

  const std::string last_words_;
  Mutex mutex_;
  ConditionVariable changed_;
  bool over_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace berth
