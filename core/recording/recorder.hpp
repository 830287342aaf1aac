// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/guarded.hpp"
#include "base/result.hpp"
#include "base/symbols.hpp"
#include "recording/attempt_ring.hpp"
#include "recording/record.hpp"
#include "recording/segment_files.hpp"
#include "recording/tick_times.hpp"
#include "recording/waiting_records.hpp"

namespace berth::recording {

struct RecorderOptions {
  std::string directory = {};
  std::size_t total_bytes = std::size_t{256} << 20;
  std::string description_json = "{}";  // what Kind::description has
  std::uint64_t run = 0;
  /// Fields of objects of a resource that are recorded, as paths ("spec.drivers"); what it does not know is not
  /// recorded.
  std::function<std::vector<std::string>(std::string_view resource)> object_fields = {};
  /// Called on the writer's thread when the cluster as it is has to be recorded again: calls Recorder::add_state().
  /// Absent: what is left is not complete once the oldest segment was removed.
  std::function<void()> add_state = {};
  /// What calls into plugins took so far, each plugin and point once. Called on the writer's thread: k_plugin_times_period after the last time when
  /// something was decided since, and once before it ends. Absent: it is not recorded.
  std::function<std::vector<PluginTime>()> plugin_times = {};
  std::chrono::milliseconds period{50};  // how often what waits is written; a killed process loses so much
  bool is_simulated = false;             // time does not pass within a decision: what it took is not recorded
  /// The clock goes as observe::ticks() does: the moment of an attempt is read there, which costs less.
  bool follows_ticks = false;
  bool waits_for_room = false;  // add() waits instead of dropping: where nothing is pressed for time
};

struct RecorderCounts {
  std::uint64_t records = 0, bytes = 0;  // written
  std::uint64_t dropped = 0;             // they came faster than they were written, or could not be written
  std::uint64_t write_failures = 0;
  std::uint64_t states = 0;            // how often the whole cluster was written
  std::uint64_t removed_segments = 0;  // of this recorder's own, for later ones
  std::size_t waiting_bytes = 0;
};

/// Takes records from the threads that decide and read, and writes them on a thread of its own.
///
/// Cost:    add() is a lock, a look at the clock and a move; an attempt that placed a pod takes no lock. Memory: k_waiting_max
///          records and k_waiting_text_bytes_max of texts twice, AttemptRing, what the encoder remembers, and a buffer: less
///          than 16 MiB, and objects that are replaced while their records wait.
/// Order:   that of the calls of add().
/// Failure: never waits, unless it is told to, and never throws: what finds no room is counted, and a record of kind
///          gap stands for it. When files cannot be written, that is logged once, everything is dropped, and it is
///          tried again after k_retry.
/// Threads: add() and counts() from any; the destructor writes what waits. Clock and symbols outlive it.
class Recorder {
 public:
  static constexpr std::size_t k_waiting_max = 8'192, k_waiting_text_bytes_max = std::size_t{2} << 20;
  static constexpr std::chrono::seconds k_retry{10}, k_plugin_times_period{10};

  /// Fails where the directory cannot be written, or the description is too large for a segment.
  static Result<std::unique_ptr<Recorder>> start(RecorderOptions options, const SymbolTable& symbols,
                                                 const Clock& clock);
  ~Recorder();

  /// Its moment is set here.
  void add(Record&& record) noexcept;
  void add(const Record& record) { add(Record(record)); }
  /// A decision begins: what was added before is seen by it, what is added until its attempt is not. Costs no lock and
  /// no look at the clock: it is written where it stands once its attempt is added, or the writer comes by. One that no
  /// attempt follows before the next may be left out. Threads: that of attempts.
  void note_look() noexcept {
    look_.store(look_at(added_.load(std::memory_order_acquire), attempts_.added()), std::memory_order_release);
  }
  /// An attempt, with the name of the pod's node or why it got none. Where it is said when the attempt began, by the recorder's
  /// clock, and that clock is a real one, the time that it took is set here. Threads: one at a time.
  void add_attempt(model::PodPtr pod, Symbol node, std::shared_ptr<const Rejected> rejected, const Attempt& attempt,
                   std::optional<std::int64_t> began_ns) noexcept;
  /// Keeps a node that is removed until the attempts that were added before it are written: they name it by its symbol, which
  /// the node holds.
  void hold(model::NodePtr node) noexcept;
  /// The whole cluster, never in part: all of it counts as one record that waits.
  void add_state(WholeCluster state) noexcept;
  RecorderCounts counts() const;
  /// Returns when everything that was added before is written, or was dropped; at once after stop().
  void flush();
  /// Writes what waits, and ends the thread: what is added later is dropped. Call it before what the options' functions
  /// use is destroyed.
  void stop();

 private:
  Recorder(RecorderOptions options, SegmentFiles files, const SymbolTable& symbols, const Clock& clock);
  class Writer;

  struct Waiting {
    WaitingRecords records;
    std::optional<WholeCluster> state;
    std::size_t state_at = 0;  // the record that stands for it
    std::size_t text_bytes = 0;
    std::uint64_t dropped = 0;  // after the records
    std::vector<model::NodePtr> removed_nodes;
    // Once it is taken:
    std::uint64_t records_before = 0;  // of all that were added
    std::uint64_t attempts_end = 0;    // those below it belong to it
    std::uint64_t look_before = 0;     // the last look_ that is in a batch before
  };
  /// A look, by what it comes after: so many records, of which the low 32 bits, and attempts, of which 31. It is never 0.
  static constexpr std::uint64_t look_at(std::uint64_t records, std::uint64_t attempts) noexcept {
    return std::uint64_t{1} << 63 | (attempts & 0x7fff'ffff) << 32 | (records & 0xffff'ffff);
  }
  /// It was noted after so many attempts, and none of them that go without a lock has come since.
  static constexpr bool has_no_attempt(std::uint64_t look, std::uint64_t attempts) noexcept {
    return look == look_at(look, attempts);
  }
  bool has_room(std::size_t text_bytes) const REQUIRES(mutex_);
  void drop_one() REQUIRES(mutex_);
  template <typename Put>
  void enqueue(std::size_t text_bytes, Kind kind, Put&& put);
  void add_placed(model::PodPtr&& pod, Symbol node, const Attempt& attempt, std::int64_t began_ns);
  void put_look(std::uint64_t look) REQUIRES(mutex_);
  bool is_full() const REQUIRES(mutex_);
  void take(Waiting& batch) REQUIRES(mutex_);
  void run(Writer& writer);
  void end() noexcept;

  const Clock& clock_;
  const std::chrono::milliseconds period_;
  const bool waits_for_room_, is_simulated_, follows_ticks_;
  mutable Mutex mutex_;
  ConditionVariable changed_, written_;
  Waiting waiting_ GUARDED_BY(mutex_);
  std::uint64_t taken_ GUARDED_BY(mutex_) = 0;       // records before the first that waits
  std::uint64_t taken_look_ GUARDED_BY(mutex_) = 0;  // the last look_ that take() put among the records
  AttemptRing attempts_;
  // Written with the mutex held, read by the thread of attempts.
  alignas(k_cache_line_bytes) std::atomic<std::uint64_t> added_{0};  // records, without attempts_
  std::atomic<bool> is_gap_{false};  // something was dropped, and no batch was taken since; or the end has come
  // Written by the thread of attempts.
  alignas(k_cache_line_bytes) std::atomic<std::uint64_t> look_{0};  // look_at() of the last; 0: it has its attempt
  alignas(k_cache_line_bytes) std::uint64_t added_batches_ GUARDED_BY(mutex_) = 0;
  std::uint64_t written_batches_ GUARDED_BY(mutex_) = 0;
  bool wants_flush_ GUARDED_BY(mutex_) = false, over_ GUARDED_BY(mutex_) = false, has_ended_ GUARDED_BY(mutex_) = false;
  RecorderCounts counts_ GUARDED_BY(mutex_);
  const SymbolTable& symbols_;
  std::unique_ptr<Writer> writer_;
  std::thread thread_;
};

}  // namespace berth::recording
