// SPDX-License-Identifier: Apache-2.0
#include "scheduler/hint_threads.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "base/bitmap.hpp"
#include "base/guarded.hpp"
#include "base/process/explained_end.hpp"
#include "base/process/thread_name.hpp"
#include "observe/fatal_signal.hpp"
#include "observe/log.hpp"

namespace berth::scheduler {
namespace {

constexpr std::int64_t k_least_patience_ns = 10'000'000;
constexpr std::int64_t k_said_every_ns = 30'000'000'000;
// How often the clock is looked at, which may be another than the one that sleeps.
constexpr std::chrono::milliseconds k_look_period{10};
// How often a thread looks before it sleeps: some ten microseconds, in which most hints answer.
constexpr int k_looks_most = 2000;

void look_again() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

void queue_all(std::span<std::uint64_t> queue, std::size_t pods) noexcept {
  for (std::size_t i = 0; i < pods; ++i) bitmap::set(queue.data(), i);
}

}  // namespace

struct HintThreads::Line {
  std::atomic<bool> is_held{false};  // by a hint that was late and has not returned
  const std::string plugin;
  // Of the caller's thread.
  std::int64_t patience_ns = 0;
  std::int64_t say_from_ns = 0;  // when the log may speak of it again

  Line(std::string_view name, std::int64_t patience) : plugin(name), patience_ns(patience) {}
};

/// One question on its way. Its maker reads the answer once it is there; a late one is read by none.
struct HintThreads::Job {
  Question question;
  std::shared_ptr<const CallPlugin> ask;
  std::vector<std::uint64_t> queue;
  bool is_good = false;
  // Once the maker has left.
  std::vector<model::PodPtr> kept;  // of the question
  std::shared_ptr<Line> line;
};

/// How many there are: for the destructor, which waits, and for threads that come to their end after it.
struct HintThreads::Threads {
  Mutex mutex;
  ConditionVariable ended;
  std::size_t count GUARDED_BY(mutex) = 0;
};

/// A thread, and the question that it has.
class HintThreads::Worker : public std::enable_shared_from_this<HintThreads::Worker> {
 public:
  Worker(std::shared_ptr<Threads> threads, framework::OpenCalls* watch) : threads_(std::move(threads)), watch_(watch) {}

  /// Throws std::system_error.
  void start() {
    {
      const Lock lock(threads_->mutex);
      ++threads_->count;
    }
    try {
      std::thread([self = shared_from_this()] {
        name_this_thread("hints");
        self->work();
      }).detach();
    } catch (...) {
      ended();
      throw;
    }
  }
  void ask(std::unique_ptr<Job> job) {
    {
      const Lock lock(mutex_);
      job_ = std::move(job);
      state_.store(State::asked, std::memory_order_release);
    }
    changed_.notify_all();
  }
  /// The answer, or null when it is late: the thread has the question from then on, and ends when it has returned.
  std::unique_ptr<Job> answer(const Clock& clock, std::int64_t end_ns, const queue::HintCall& call,
                              const std::shared_ptr<Line>& line) {
    look_for([](State state) { return state == State::answered; });
    UniqueLock lock(mutex_);
    while (state_.load(std::memory_order_relaxed) != State::answered) {
      const std::int64_t left_ns = end_ns - clock.monotonic_ns();
      if (left_ns <= 0) {
        job_->kept.reserve(call.pods.size());
        for (const model::PodPtr* const pod : call.pods) job_->kept.push_back(*pod);
        line->is_held.store(true, std::memory_order_relaxed);
        job_->line = line;
        state_.store(State::left, std::memory_order_relaxed);
        return nullptr;
      }
      changed_.wait_for(lock, std::min(std::chrono::nanoseconds(left_ns), std::chrono::nanoseconds(k_look_period)));
    }
    state_.store(State::idle, std::memory_order_relaxed);
    return std::move(job_);
  }
  void end() {
    {
      const Lock lock(mutex_);
      if (state_.load(std::memory_order_relaxed) != State::left) state_.store(State::ending, std::memory_order_release);
    }
    changed_.notify_all();
  }

 private:
  enum class State : std::uint8_t { idle, asked, answered, left, ending };

  /// A short while, without the lock.
  template <typename Wanted>
  void look_for(Wanted&& wanted) const noexcept {
    static const int looks = std::thread::hardware_concurrency() > 1 ? k_looks_most : 0;
    for (int i = 0; i < looks && !wanted(state_.load(std::memory_order_acquire)); ++i) look_again();
  }
  void ended() const noexcept {
    const Lock lock(threads_->mutex);
    --threads_->count;
    threads_->ended.notify_all();
  }

  void work() noexcept {
    // Plugins run here: a stack that one of them uses up is to be reported as well.
    const observe::SignalStack signal_stack;
    const auto has_work = [](State state) { return state == State::asked || state == State::ending; };
    for (;;) {
      look_for(has_work);
      UniqueLock lock(mutex_);
      changed_.wait(lock, [&] { return has_work(state_.load(std::memory_order_relaxed)); });
      if (state_.load(std::memory_order_relaxed) == State::ending) break;
      Job& job = *job_;  // of this thread while the state is asked or left
      lock.unlock();
      run(job);
      lock.lock();
      if (state_.load(std::memory_order_relaxed) == State::left) {
        const std::unique_ptr<Job> late = std::move(job_);
        lock.unlock();
        late->line->is_held.store(false, std::memory_order_relaxed);
        break;
      }
      state_.store(State::answered, std::memory_order_release);
      lock.unlock();
      changed_.notify_all();
    }
    ended();
  }
  void run(Job& job) noexcept {
    try {
      const framework::OpenCalls::Scope scope(watch_, framework::OpenCalls::Scope::PodAt{calls_.at()}, "hint");
      job.is_good = (*job.ask)(calls_, job.question, job.queue);
    } catch (const std::exception& e) {
      observe::error("A queueing hint ended with an exception", {{"err", e.what()}});
    } catch (...) {
      observe::error("A queueing hint ended with an unknown exception");
    }
    if (!job.is_good) queue_all(job.queue, job.question.pods.size());
  }

  const std::shared_ptr<Threads> threads_;
  framework::OpenCalls* const watch_;
  framework::HintCalls calls_;             // of the thread
  std::atomic<State> state_{State::idle};  // changes under mutex_
  Mutex mutex_;
  ConditionVariable changed_;
  std::unique_ptr<Job> job_ GUARDED_BY(mutex_);
};

HintThreads::HintThreads(const Clock& clock, HintThreadsOptions options)
    : clock_(clock), options_(std::move(options)), threads_(std::make_shared<Threads>()) {
  if (!options_.patience_ns) calls_here_ = std::make_unique<framework::HintCalls>();
}

HintThreads::~HintThreads() {
  if (worker_) worker_->end();
  worker_ = nullptr;
  UniqueLock lock(threads_->mutex);
  if (threads_->ended.wait_for(lock, options_.end_limit,
                               [this]() REQUIRES(threads_->mutex) { return threads_->count == 0; }))
    return;
  observe::error("Queueing hints do not return: the process ends without them",
                 {{"hints", threads_->count}, {"limitMs", options_.end_limit.count()}});
  end_is_explained();
  std::_Exit(1);
}

std::shared_ptr<HintThreads::Line> HintThreads::make_line(std::string_view plugin) const {
  return std::make_shared<Line>(plugin, options_.patience_ns.value_or(0));
}

std::size_t HintThreads::threads() const {
  const Lock lock(threads_->mutex);
  return threads_->count;
}

HintThreads::Worker* HintThreads::worker() {
  if (worker_) return worker_.get();
  auto made = std::make_shared<Worker>(threads_, options_.watch);
  try {
    made->start();
  } catch (const std::system_error& e) {
    observe::error("No thread can be made for a queueing hint", {{"err", e.what()}});
    return nullptr;
  }
  worker_ = std::move(made);
  return worker_.get();
}

void HintThreads::was_late(Line& line, const queue::HintCall& call) {
  const std::int64_t now_ns = clock_.monotonic_ns();
  if (now_ns >= line.say_from_ns) {
    line.say_from_ns = now_ns + k_said_every_ns;
    observe::error("A queueing hint does not answer: what it is asked about is tried again without it",
                   {{"plugin", line.plugin},
                    {"event", call.event.name()},
                    {"pods", call.pods.size()},
                    {"waitedMs", line.patience_ns / 1'000'000}});
  }
  line.patience_ns = std::max(line.patience_ns / 4, std::min(k_least_patience_ns, *options_.patience_ns));
}

HintThreads::Answer HintThreads::ask(const std::shared_ptr<Line>& line, const std::shared_ptr<const CallPlugin>& ask,
                                     const queue::HintCall& call, std::span<std::uint64_t> queue) {
  if (line->is_held.load(std::memory_order_relaxed)) {
    queue_all(queue, call.pods.size());
    return Answer::not_asked;
  }
  auto job = std::make_unique<Job>();
  job->question = {call.event, call.objects, {}};
  job->question.pods.reserve(call.pods.size());
  for (const model::PodPtr* const pod : call.pods) job->question.pods.push_back(pod->get());
  job->ask = ask;
  if (calls_here_) {
    const bool is_good = (*ask)(*calls_here_, job->question, queue);
    return is_good ? Answer::given : Answer::failed;
  }
  job->queue.resize(queue.size());
  Worker* const at_work = worker();
  if (at_work != nullptr) {
    const std::int64_t end_ns = clock_.monotonic_ns() + line->patience_ns;
    at_work->ask(std::move(job));
    job = at_work->answer(clock_, end_ns, call, line);
  } else {
    job = nullptr;
  }
  if (job == nullptr) {
    worker_ = nullptr;
    was_late(*line, call);
    queue_all(queue, call.pods.size());
    return Answer::late;
  }
  line->patience_ns = std::min(line->patience_ns * 2, *options_.patience_ns);
  std::copy(job->queue.begin(), job->queue.end(), queue.begin());
  return job->is_good ? Answer::given : Answer::failed;
}

}  // namespace berth::scheduler
