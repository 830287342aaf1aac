// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

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
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace berth
