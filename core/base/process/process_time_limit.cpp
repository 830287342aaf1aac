// SPDX-License-Identifier: Apache-2.0
#include "base/process/process_time_limit.hpp"

#include <unistd.h>

#include <utility>

#include "base/guarded.hpp"
#include "base/process/explained_end.hpp"
#include "base/process/thread_name.hpp"

namespace berth {

ProcessTimeLimit::ProcessTimeLimit(std::chrono::milliseconds limit, std::string last_words)
    : last_words_(std::move(last_words)), thread_([this, limit] { watch(limit); }) {}

ProcessTimeLimit::~ProcessTimeLimit() {
  {
    const Lock lock(mutex_);
    over_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void ProcessTimeLimit::watch(std::chrono::milliseconds limit) {
  name_this_thread("time-limit");
  UniqueLock lock(mutex_);
  if (changed_.wait_for(lock, limit, [this]() REQUIRES(mutex_) { return over_; })) return;
  for (std::size_t done = 0; done < last_words_.size();) {
    const ssize_t written = ::write(STDERR_FILENO, last_words_.data() + done, last_words_.size() - done);
    if (written <= 0) break;
    done += static_cast<std::size_t>(written);
  }
  end_is_explained();
  ::_exit(1);
}

}  // namespace berth
