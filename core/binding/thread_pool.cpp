// SPDX-License-Identifier: Apache-2.0
#include "binding/thread_pool.hpp"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <exception>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "base/guarded.hpp"
#include "base/process/explained_end.hpp"
#include "base/process/thread_name.hpp"
#include "framework/open_calls.hpp"
#include "observe/fatal_signal.hpp"
#include "observe/log.hpp"

namespace berth::binding {

using Time = std::chrono::steady_clock;

struct ThreadPool::Pool {
  explicit Pool(const ThreadPoolOptions& given) : options(given) {}

  void work() noexcept;
  void run(const std::function<void()>& task) noexcept;
  /// Brings another thread whenever a task has waited for too long.
  void watch() noexcept;
  void add_thread() noexcept REQUIRES(mutex);

  struct Waiting {
    Time::time_point since;
    std::function<void()> task;
  };
  const ThreadPoolOptions options;
  mutable Mutex mutex;
  ConditionVariable posted, late, ended;  // for workers, for the watch, for the destructor
  std::deque<Waiting> waiting GUARDED_BY(mutex);
  std::size_t threads GUARDED_BY(mutex) = 0;
  bool stopping GUARDED_BY(mutex) = false;
  std::thread watcher;
};

void ThreadPool::Pool::run(const std::function<void()>& task) noexcept {
  try {
    const framework::OpenCalls::Scope scope(options.calls);
    task();
  } catch (const std::exception& e) {
    observe::error("A binding step ended with an exception", {{"err", e.what()}});
  } catch (...) {
    observe::error("A binding step ended with an unknown exception");
  }
}

void ThreadPool::Pool::work() noexcept {
  name_this_thread("binding");
  // Plugins run here: a stack that one of them uses up is to be reported as well.
  const observe::SignalStack signal_stack;
  UniqueLock lock(mutex);
  for (;;) {
    if (waiting.empty()) {
      if (stopping || threads > options.usual) break;
      posted.wait(lock, [this]() REQUIRES(mutex) { return !waiting.empty() || stopping; });
      continue;
    }
    std::optional<Waiting> next(std::move(waiting.front()));
    waiting.pop_front();
    lock.unlock();
    run(next->task);
    next.reset();  // what the task keeps alive goes without the lock
    lock.lock();
  }
  --threads;
  ended.notify_all();
}

void ThreadPool::Pool::add_thread() noexcept {
  try {
    std::thread([this] { work(); }).detach();
    ++threads;
  } catch (const std::system_error&) {
    // The other threads go on; the watcher tries again.
  }
}

void ThreadPool::Pool::watch() noexcept {
  name_this_thread("binding-watch");
  UniqueLock lock(mutex);
  while (!stopping) {
    if (waiting.empty() || threads >= options.most) {
      // Nothing waits, or no thread may be added: the watcher looks again later.
      late.wait_for(lock, std::max(options.patience, std::chrono::milliseconds(waiting.empty() ? 60'000 : 100)));
      continue;
    }
    const Time::time_point due = waiting.front().since + options.patience;
    if (Time::now() < due) {
      late.wait_until(lock, due);
      continue;
    }
    add_thread();
    late.wait_for(lock, options.patience);
  }
}

ThreadPool::ThreadPool(ThreadPoolOptions options) : pool_(std::make_unique<Pool>(options)) {
  const Lock lock(pool_->mutex);
  for (std::size_t i = 0; i < options.usual; ++i) pool_->add_thread();
  if (options.most > options.usual) pool_->watcher = std::thread([pool = pool_.get()] { pool->watch(); });
}

ThreadPool::~ThreadPool() {
  {
    UniqueLock lock(pool_->mutex);
    pool_->stopping = true;
    pool_->posted.notify_all();
    pool_->late.notify_all();
  }
  if (pool_->watcher.joinable()) pool_->watcher.join();
  UniqueLock lock(pool_->mutex);
  if (pool_->threads == 0 && !pool_->waiting.empty()) pool_->add_thread();
  const std::chrono::milliseconds limit = pool_->options.end_limit;
  if (pool_->ended.wait_for(lock, limit, [this]() REQUIRES(pool_->mutex) { return pool_->threads == 0; })) return;
  observe::error("Tasks of plugins do not return: the process ends without them",
                 {{"threads", pool_->threads}, {"waiting", pool_->waiting.size()}, {"limitMs", limit.count()}});
  end_is_explained();
  std::_Exit(1);
}

void ThreadPool::post(std::function<void()> task) {
  bool is_first = false;
  {
    const Lock lock(pool_->mutex);
    is_first = pool_->waiting.empty();
    pool_->waiting.push_back({Time::now(), std::move(task)});
  }
  pool_->posted.notify_one();
  if (is_first) pool_->late.notify_one();
}

ThreadPool::Counts ThreadPool::counts() const {
  const Lock lock(pool_->mutex);
  Counts out{pool_->threads, pool_->waiting.size(), std::chrono::nanoseconds(0)};
  if (!pool_->waiting.empty()) out.waited = Time::now() - pool_->waiting.front().since;
  return out;
}

}  // namespace berth::binding
