// SPDX-License-Identifier: Apache-2.0
#include "queue/scheduling_queue.hpp"

#include <algorithm>
#include <chrono>
#include <unordered_set>

#include "base/guarded.hpp"
#include "observe/log.hpp"
#include "queue/queue_core.hpp"
#include "queue/queue_report.hpp"

namespace berth::queue {

namespace {
// What a report waits for the queue.
constexpr int k_read_tries = 500;
constexpr std::chrono::milliseconds k_read_pause{1};
}  // namespace

// Ticket.

Ticket::Ticket(Ticket&& other) noexcept : queue_(other.queue_), record_(other.release()) {}

Ticket& Ticket::operator=(Ticket&& other) noexcept {
  if (this == &other) return *this;
  if (record_ != nullptr) queue_->abandon(*record_);
  queue_ = other.queue_;
  record_ = other.release();
  return *this;
}

Ticket::~Ticket() {
  if (record_ != nullptr) queue_->abandon(*record_);
}

Record* Ticket::release() noexcept { return std::exchange(record_, nullptr); }

const model::PodPtr& Ticket::pod() const noexcept { return record_->pod; }
std::uint32_t Ticket::attempts() const noexcept { return record_->attempts; }
std::uint64_t Ticket::pod_class() const noexcept { return record_->pod_class; }
const std::string& Ticket::group() const noexcept { return record_->group; }
bool Ticket::after_flush() const noexcept { return record_->after_flush; }
std::int64_t Ticket::enqueued_ns() const noexcept { return record_->enqueued_ns; }
std::int64_t Ticket::first_attempt_ns() const noexcept { return record_->first_attempt_ns; }

// SchedulingQueue.

SchedulingQueue::SchedulingQueue(QueueOptions options, HintTable hints, QueuePolicy& policy, PodLookup lookup,
                                 const Clock& clock)
    : clock_(clock),
      wall_offset_ns_(clock.wall_ns() - clock.monotonic_ns()),
      core_(std::make_unique<QueueCore>(options, std::move(hints), policy, std::move(lookup), now_ns())) {}

SchedulingQueue::~SchedulingQueue() = default;

std::int64_t SchedulingQueue::now_ns() const noexcept { return clock_.monotonic_ns() + wall_offset_ns_; }

/// Runs one change under the lock, then wakes the popper when the change made a pod poppable.
template <typename Change>
void SchedulingQueue::change(Change&& body) {
  bool poppable = false;
  {
    const Lock lock(mutex_);
    apply_deferred();
    poppable = body(*core_);
    apply_deferred();  // deferred meanwhile
    nominated_count_.store(core_->nominator().named(), std::memory_order_release);
  }
  freed_.notify_all();
  if (poppable) ready_.notify_one();
}

void SchedulingQueue::add(model::PodPtr pod) {
  change([&](QueueCore& core) { return core.add(std::move(pod), labels::pod_add, now_ns()); });
}

void SchedulingQueue::update(const model::PodPtr& old_pod, const model::PodPtr& new_pod,
                             std::span<const model::ClusterEvent> events) {
  change([&](QueueCore& core) { return core.update(old_pod, new_pod, events, now_ns()); });
}

void SchedulingQueue::remove(const model::Pod& pod) {
  change([&](QueueCore& core) {
    core.remove(pod);
    return false;
  });
}

void SchedulingQueue::move_all(const model::ClusterEvent& event, const model::EventObjects& objects,
                               const PreCheck& pre_check) {
  change([&](QueueCore& core) { return core.move_all(event, objects, pre_check, now_ns()); });
}

bool SchedulingQueue::wants_nameless_changes() const noexcept { return core_->wants_nameless_changes(); }

void SchedulingQueue::activate(std::span<const model::PodPtr> pods) {
  change([&](QueueCore& core) { return core.activate(pods, now_ns()); });
}

void SchedulingQueue::activate_uids(std::span<const std::string> uids) {
  const std::unordered_set<model::Uid> wanted(uids.begin(), uids.end());
  change([&](QueueCore& core) {
    const auto pods = core.known_pods([&](const Record& record) { return wanted.count(record.pod->uid) != 0; });
    return core.activate(pods, now_ns());
  });
}

void SchedulingQueue::activate_class(std::uint64_t pod_class) {
  change([&](QueueCore& core) {
    const auto pods = core.known_pods([&](const Record& record) { return record.pod_class == pod_class; });
    return core.activate(pods, now_ns());
  });
}

std::optional<Ticket> SchedulingQueue::pop() {
  const Lock lock(mutex_);
  apply_deferred();
  Record* record = core_->pop(now_ns());
  if (record == nullptr) return std::nullopt;
  return Ticket(*this, *record);
}

std::optional<Ticket> SchedulingQueue::wait_pop(const std::function<void()>& before_wait) {
  UniqueLock lock(mutex_);
  for (;;) {
    apply_deferred();
    const std::int64_t now = now_ns();
    if (!closed_ && core_->flush_due(now)) core_->flush(now);
    if (Record* record = core_->pop(now)) return Ticket(*this, *record);
    if (before_wait) before_wait();
    if (closed_) return std::nullopt;
    const std::optional<std::int64_t> backoff = core_->next_backoff_ns(), scan = core_->next_scan_ns();
    if (!backoff && !scan) {
      ready_.wait(lock);
      continue;
    }
    const std::int64_t at_ns = std::min(backoff.value_or(INT64_MAX), scan.value_or(INT64_MAX));
    ready_.wait_for(lock, std::chrono::nanoseconds(std::max<std::int64_t>(at_ns - now, 1'000'000)));
  }
}

std::vector<Ticket> SchedulingQueue::pop_group(Ticket first) {
  BERTH_CHECK(first, "pop_group of an empty ticket");
  std::vector<Ticket> tickets;
  const Lock lock(mutex_);
  apply_deferred();
  std::vector<Record*> records = core_->pop_group(*first.record_, now_ns());
  records.push_back(first.release());
  core_->sort(records);
  for (Record* record : records) tickets.push_back(Ticket(*this, *record));
  return tickets;
}

Status SchedulingQueue::requeue(Ticket ticket, const Rejectors& rejectors, model::PodPtr fresh) {
  BERTH_CHECK(ticket, "requeue of an empty ticket");
  Record& record = *ticket.release();
  Place queued = Place::nowhere;
  change([&](QueueCore& core) {
    if (fresh == nullptr) fresh = record.newest != nullptr ? record.newest : record.pod;
    BERTH_CHECK(fresh->uid == record.pod->uid, "pod {} of another uid comes back for {}", fresh->key(),
                record.pod->uid);
    queued = core.queued_place(*fresh);
    if (queued == Place::nowhere) return core.requeue(record, rejectors, fresh, now_ns());
    core.done(record, now_ns());
    return false;
  });
  if (queued == Place::nowhere) return Unit{};
  const char* where = queued == Place::active          ? "in the active queue"
                      : queued == Place::unschedulable ? "in unschedulable queue"
                                                       : "in the backoff queue";
  return Error{fmt::format("Pod {} is already present {}", fresh->key(), where)};
}

void SchedulingQueue::close_log(Ticket& ticket) {
  BERTH_CHECK(ticket, "close_log of an empty ticket");
  defer(*ticket.record_, Deferred::close_log);
}

void SchedulingQueue::done(Ticket ticket) {
  BERTH_CHECK(ticket, "done with an empty ticket");
  defer(*ticket.release(), Deferred::done);
}

void SchedulingQueue::defer(Record& record, Deferred call) {
  {
    const Lock lock(deferred_mutex_);
    deferred_.emplace_back(&record, call);
  }
  // The holder of the lock may have applied deferred calls already; then the next one applies this.
  if (!mutex_.try_lock()) return;
  const Lock lock(mutex_, std::adopt_lock);
  apply_deferred();
}

void SchedulingQueue::apply_deferred() const {
  std::vector<std::pair<Record*, Deferred>> calls;
  {
    const Lock lock(deferred_mutex_);
    calls.swap(deferred_);
  }
  for (const auto& [record, call] : calls) {
    if (call == Deferred::done)
      core_->done(*record, now_ns());
    else
      core_->close_log(*record);
  }
}

void SchedulingQueue::abandon(Record& record) noexcept {
  change([&](QueueCore& core) REQUIRES(mutex_) {
    const model::PodPtr pod = record.newest != nullptr ? record.newest : record.pod;
    if (closed_ || record.removed || core.queued_place(*pod) != Place::nowhere) {
      core.done(record, now_ns());
      return false;
    }
    observe::error("A pod was popped and not decided; it is tried again", {{"pod", *pod}});
    return core.requeue(record, {}, pod, now_ns());
  });
}

Symbol SchedulingQueue::nominate(const model::PodPtr& pod, const model::Nomination& nomination) {
  Symbol before = k_no_symbol;
  change([&](QueueCore& core) {
    before = core.nominator().add(pod, nomination);
    return false;
  });
  return before;
}

void SchedulingQueue::remove_nomination(const model::Pod& pod) {
  change([&](QueueCore& core) {
    core.nominator().remove(pod);
    return false;
  });
}

std::vector<model::NominatedPod> SchedulingQueue::nominations() const {
  const Lock lock(mutex_);
  apply_deferred();
  return core_->nominations();
}

void SchedulingQueue::flush() {
  change([&](QueueCore& core) { return core.flush(now_ns()); });
}

std::optional<std::int64_t> SchedulingQueue::next_backoff_ns() const {
  const Lock lock(mutex_);
  apply_deferred();
  const std::optional<std::int64_t> next = core_->next_backoff_ns();
  return next ? std::optional(*next - wall_offset_ns_) : std::nullopt;
}

std::optional<std::int64_t> SchedulingQueue::next_leftover_ns() const {
  const Lock lock(mutex_);
  apply_deferred();
  const std::optional<std::int64_t> next = core_->next_leftover_ns();
  return next ? std::optional(*next - wall_offset_ns_) : std::nullopt;
}

std::optional<std::int64_t> SchedulingQueue::next_wakeup_ns() const {
  const std::optional<std::int64_t> backoff = next_backoff_ns(), leftover = next_leftover_ns();
  if (!backoff) return leftover;
  return leftover ? std::min(*backoff, *leftover) : *backoff;
}

void SchedulingQueue::close() {
  {
    const Lock lock(mutex_);
    apply_deferred();
    closed_ = true;
    core_->close_logs();
  }
  ready_.notify_all();
}

std::vector<PendingPod> SchedulingQueue::pending_pods() const {
  const Lock lock(mutex_);
  apply_deferred();
  return QueueReport(*core_).pending_pods();
}

template <typename T, typename Read>
T SchedulingQueue::read_in_time(T* last, Read&& read) const {
  for (int tries = 0; tries < k_read_tries; ++tries) {
    if (mutex_.try_lock()) {
      const Lock lock(mutex_, std::adopt_lock);
      apply_deferred();
      T now = read();
      const Lock keeping(last_mutex_);
      return *last = std::move(now);
    }
    UniqueLock waiting(last_mutex_);
    freed_.wait_for(waiting, k_read_pause);
  }
  const Lock keeping(last_mutex_);
  return *last;
}

QueueSizes SchedulingQueue::sizes() const {
  return read_in_time(&last_sizes_, [this]() REQUIRES(mutex_) { return QueueReport(*core_).sizes(); });
}

QueueCounts SchedulingQueue::counts() const {
  return read_in_time(&last_counts_, [this]() REQUIRES(mutex_) { return QueueReport(*core_).counts(); });
}

std::int64_t SchedulingQueue::leftover_limit_ns() const noexcept { return core_->leftover_limit_ns(); }

std::vector<WakingEvent> SchedulingQueue::waking_events(std::string_view scheduler_name,
                                                        const model::PluginSet& rejectors) const {
  return core_->waking_events(scheduler_name, rejectors);
}

}  // namespace berth::queue
