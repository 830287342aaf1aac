// SPDX-License-Identifier: Apache-2.0
#include "recording/recorder.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/process/thread_name.hpp"
#include "observe/log.hpp"
#include "recording/encoder.hpp"
#include "recording/object_fields.hpp"

namespace berth::recording {
namespace {

constexpr std::size_t k_buffer_bytes = std::size_t{256} << 10;
// So many records wake the writer, which takes the thread that adds them as long as hundreds of records. After a batch of
// k_fast_batch the writer looks again after k_fast_period by itself: then fewer records wait than would wake it, and the memory
// that they take stays in the processor's cache.
constexpr std::size_t k_batch = 4'096, k_fast_batch = 128;
// How often the thread of attempts looks whether they are so many: counting them takes a cache line of the writer's.
constexpr std::size_t k_looks_for_batch = 512;
// So many attempts are given back to be overwritten at once.
constexpr std::size_t k_given_back = 64;
constexpr std::chrono::milliseconds k_fast_period{4};
// The wall clock was set, and did not merely drift.
constexpr std::int64_t k_clock_jump_ns = 50'000'000;
// How much of the recording may be written before the whole cluster is written again: so that more than half of what is
// kept always follows a whole state.
constexpr std::size_t k_segments_between_states = k_segments * 3 / 8;

void say(std::string_view failed, std::string_view why) noexcept try {
  observe::error(failed, {{"err", why}});
} catch (...) {
  // Not even enough memory to say so; what is lost is counted.
}

/// Whether the work came to its end. An exception ends it, is logged, and goes no further.
template <typename Work>
bool done(std::string_view failed, Work&& work) noexcept {
  try {
    work();
    return true;
  } catch (const std::exception& error) {
    say(failed, error.what());
  } catch (...) {
    say(failed, "it is no std::exception");
  }
  return false;
}

}  // namespace

std::size_t text_bytes_of(const Record& record) noexcept {
  std::size_t bytes = record.text.size();
  if (record.written) bytes += sizeof(Written) + record.written->error.size();
  if (record.object) bytes += record.object->json.size();
  if (record.rejected) bytes += record.rejected->message.size() + record.rejected->victims.size() * 64;
  if (record.nominations) bytes += record.nominations->size() * 96;
  return bytes;
}

/// All that the thread has of its own.
class Recorder::Writer {
 public:
  Writer(RecorderOptions options, SegmentFiles files, const SymbolTable& symbols, const Clock& clock)
      : options_(std::move(options)), files_(std::move(files)), symbols_(symbols), clock_(clock), encoder_(symbols) {}

  /// `times`: absent where attempts have nanoseconds.
  void write(Waiting& batch, AttemptRing& attempts, const TickTimes* times, RecorderCounts& counts) {
    std::uint64_t next = attempts.begin();
    bool is_look_put = false;  // of the next attempt
    // Numbers of which the low bits are known: those of records that are written already count as the first of these.
    const auto place = [&](std::uint32_t records) {
      const auto after = static_cast<std::int32_t>(records - static_cast<std::uint32_t>(batch.records_before));
      return static_cast<std::size_t>(std::max(after, 0));
    };
    const auto put_attempts = [&](std::size_t records) {
      for (; next != batch.attempts_end; ++next, is_look_put = false) {
        PlacedAttempt& placed = attempts[next];
        if (placed.since_look != 0 && !is_look_put) {
          const std::uint32_t look = placed.records_before - (placed.since_look - 1);
          if (place(look) > records) return;
          waits_look_ = waits_look_ || look_at(look, next) != batch.look_before;
          is_look_put = true;
        }
        if (place(placed.records_before) > records) return;
        put_placed(placed, times, counts);
        if ((next + 1) % k_given_back == 0) attempts.give_back(next + 1);
      }
    };
    batch.records.for_each(
        put_attempts, [&] { waits_look_ = true; },
        [&](Record& record, std::size_t i) {
          if (!batch.state || i != batch.state_at || record.kind != Kind::state_begins) return put(record, counts);
          put_state(*batch.state, record.at_ns, counts);
          ++counts.states;
          segments_since_state_ = 0;
        });
    attempts.give_back(batch.attempts_end);
    missing_ += std::exchange(batch.dropped, 0);
    flush(counts);
  }
  /// What came since the last time; nothing, where nothing was decided.
  void write_plugin_times(RecorderCounts& counts) {
    if (!options_.plugin_times || !has_decided_) return;
    std::vector<PluginTime> totals = options_.plugin_times(), since;
    for (const PluginTime& total : totals) {
      const auto before = std::find_if(plugin_totals_.begin(), plugin_totals_.end(), [&](const PluginTime& each) {
        return each.plugin == total.plugin && each.point == total.point;
      });
      PluginTime more = total;
      if (before != plugin_totals_.end()) {
        more.calls -= before->calls;
        more.took_ns -= std::min(before->took_ns, total.took_ns);
      }
      if (more.calls != 0) since.push_back(std::move(more));
    }
    plugin_totals_ = std::move(totals);
    Record record;
    record.kind = Kind::plugin_times;
    record.plugin_times = std::make_shared<const std::vector<PluginTime>>(std::move(since));
    record.at_ns = clock_.monotonic_ns();
    record.count = static_cast<std::uint64_t>(std::max<std::int64_t>(record.at_ns - plugin_times_ns_, 0));
    plugin_times_ns_ = record.at_ns;
    has_decided_ = false;
    put(record, counts);
    flush(counts);
  }
  bool wants_plugin_times() const {
    return clock_.monotonic_ns() - plugin_times_ns_ >= std::chrono::nanoseconds(k_plugin_times_period).count();
  }
  /// True when the whole cluster is to be added: once, and again after k_retry while it does not come.
  bool wants_state() {
    const std::int64_t now_ns = clock_.monotonic_ns();
    const bool is_due = segments_since_state_ > k_segments_between_states ||
                        (is_incomplete_ && now_ns - state_asked_ns_ >= std::chrono::nanoseconds(k_retry).count());
    if (!options_.add_state || !is_due) return false;
    segments_since_state_ = 0;
    is_incomplete_ = true;  // until it is written
    state_asked_ns_ = now_ns;
    return true;
  }
  void add_state() { options_.add_state(); }
  /// After an exception within write(). The encoder may remember what is in no file: the next record begins a segment.
  void give_up(Waiting& batch, AttemptRing& attempts, RecorderCounts& counts) {
    buffer_.clear();
    buffered_ = 0;
    files_.close();
    drop(batch.records.size() + (batch.attempts_end - attempts.begin()),
         counts);  // at most: some may have been written
    for (std::uint64_t i = attempts.begin(); i != batch.attempts_end; ++i) attempts[i].pod.reset();
    attempts.give_back(batch.attempts_end);
    missing_ += std::exchange(batch.dropped, 0);
  }

 private:
  void put_placed(PlacedAttempt& placed, const TickTimes* times, RecorderCounts& counts) {
    Record record;
    record.kind = Kind::attempt;
    record.at_ns = times == nullptr ? placed.at : times->ns_of(static_cast<std::uint64_t>(placed.at));
    record.pod = std::move(placed.pod);
    record.text = symbols_.text(placed.node);
    record.attempt = placed.attempt();
    if (placed.began_ns != k_no_beginning)
      record.attempt.took_ns = std::max<std::int64_t>(record.at_ns - placed.began_ns, 0);
    put(record, counts);
  }
  void put(Record& record, RecorderCounts& counts) {
    if (std::exchange(waits_look_, false)) {
      Record look;
      look.kind = Kind::look;
      look.at_ns = record.at_ns;
      put(look, counts);
    }
    has_decided_ = has_decided_ || record.kind == Kind::attempt;
    if (!files_.is_open() && !begin_segment(record.at_ns, counts)) return drop(1, counts);
    note_clock(record.at_ns, counts);
    if (missing_ != 0) {
      Record gap;
      gap.kind = Kind::gap;
      gap.at_ns = record.at_ns;
      gap.count = missing_;
      missing_ = 0;
      is_incomplete_ = true;
      encode(gap, counts);
    }
    encode(record, counts);
  }
  /// All of it with the moment at which it was looked at.
  void put_state(WholeCluster& state, std::int64_t at_ns, RecorderCounts& counts) {
    const auto put_one = [&](Kind kind, auto&& fill) {
      Record record;
      record.kind = kind;
      record.at_ns = at_ns;
      fill(record);
      put(record, counts);
    };
    put_one(Kind::state_begins, [](Record&) {});
    is_incomplete_ = false;  // what is missing before it does not matter any more
    for (model::NodePtr& node : state.nodes)
      put_one(Kind::node, [&](Record& record) { record.node = std::move(node); });
    for (model::ObjectPtr& object : state.objects)
      put_one(Kind::object, [&](Record& record) { record.object = std::move(object); });
    for (model::PodPtr& pod : state.placed)
      put_one(Kind::placed_pod, [&](Record& record) { record.pod = std::move(pod); });
    for (auto& [pod, node] : state.assumed)
      put_one(Kind::placed_pod, [&, &pod = pod, &node = node](Record& record) {
        record.pod = std::move(pod);
        record.text = std::move(node);
      });
    for (model::PodPtr& pod : state.waiting)
      put_one(Kind::waiting_pod, [&](Record& record) { record.pod = std::move(pod); });
    if (state.nominations)
      put_one(Kind::nominations, [&](Record& record) { record.nominations = std::move(state.nominations); });
    put_one(Kind::state_ends, [](Record&) {});
  }
  void encode(Record& record, RecorderCounts& counts) {
    if (record.object != nullptr) {
      model::ObjectPtr cut = cut_object(*record.object);
      if (cut == nullptr) return;
      record.object = std::move(cut);
    }
    const std::string* payload = &encoder_.encode(record, began_ns_);
    const auto fits = [&](std::size_t room) { return !payload->empty() && payload->size() + k_frame_bytes <= room; };
    // What fits in no segment, behind its header and description, must not begin another one for itself.
    if (fits(files_.segment_bytes() - k_header_bytes - options_.description_json.size() - 64) &&
        !fits(files_.room() - buffer_.size())) {
      flush(counts);
      if (!begin_segment(record.at_ns, counts)) return drop(1, counts);
      payload = &encoder_.encode(record, began_ns_);
    }
    if (!fits(files_.room() - buffer_.size())) {
      encoder_.begin_segment();  // it remembers words of a record that is in no file
      drop(1, counts);
      (void)begin_segment(record.at_ns, counts);
      return;
    }
    append_frame(buffer_, *payload);
    ++buffered_;
    if (buffer_.size() >= k_buffer_bytes) flush(counts);
  }
  model::ObjectPtr cut_object(const model::Object& object) const {
    if (!is_recordable(object.resource)) return nullptr;
    const std::vector<std::string> fields =
        options_.object_fields ? options_.object_fields(object.resource) : std::vector<std::string>();
    auto cut = std::make_shared<model::Object>();
    cut->resource = object.resource;
    cut->ns = object.ns;
    cut->name = object.name;
    cut->uid = object.uid;
    cut->resource_version = object.resource_version;
    cut->waits_for_first_consumer = object.waits_for_first_consumer;
    cut->json = fields_of(object.json, fields);
    return cut;
  }
  bool begin_segment(std::int64_t at_ns, RecorderCounts& counts) {
    flush(counts);
    if (clock_.monotonic_ns() < retry_ns_) return false;
    began_ns_ = at_ns;
    clock_offset_ns_ = clock_.wall_ns() - clock_.monotonic_ns();
    encoder_.begin_segment();
    const Status began = files_.begin_segment({options_.run, 0, at_ns + clock_offset_ns_, at_ns, !has_begun_});
    if (!began.ok()) {
      fail(began.error(), counts);
      return false;
    }
    has_begun_ = true;
    ++segments_since_state_;
    counts.removed_segments = files_.removed();
    Record description;
    description.kind = Kind::description;
    description.at_ns = at_ns;
    description.text = options_.description_json;
    encode(description, counts);
    return files_.is_open();
  }
  void note_clock(std::int64_t at_ns, RecorderCounts& counts) {
    const std::int64_t offset_ns = clock_.wall_ns() - clock_.monotonic_ns();
    if (std::abs(offset_ns - clock_offset_ns_) < k_clock_jump_ns) return;
    clock_offset_ns_ = offset_ns;
    Record clock;
    clock.kind = Kind::clock;
    clock.at_ns = at_ns;
    clock.wall_ns = at_ns + offset_ns;
    encode(clock, counts);
  }
  void flush(RecorderCounts& counts) {
    if (buffer_.empty()) return;
    const Status wrote = files_.is_open() ? files_.append(buffer_) : Status(Error{"no segment is open"});
    if (wrote.ok()) {
      counts.records += buffered_;
      counts.bytes += buffer_.size();
      counts.removed_segments = files_.removed();
      if (has_failed_) observe::info("Decisions are recorded again", {{"directory", options_.directory}});
      has_failed_ = false;
    } else {
      drop(buffered_, counts);
      fail(wrote.error(), counts);
    }
    buffer_.clear();
    buffered_ = 0;
  }
  void drop(std::uint64_t count, RecorderCounts& counts) {
    missing_ += count;
    counts.dropped += count;
  }
  void fail(const Error& error, RecorderCounts& counts) {
    ++counts.write_failures;
    retry_ns_ = clock_.monotonic_ns() + std::chrono::nanoseconds(k_retry).count();
    if (has_failed_) return;
    has_failed_ = true;
    observe::warning("Decisions are not recorded for now", {{"err", error.message}});
  }

  const RecorderOptions options_;
  SegmentFiles files_;
  const SymbolTable& symbols_;
  const Clock& clock_;
  Encoder encoder_;
  std::string buffer_;
  std::uint64_t buffered_ = 0;  // records
  std::uint64_t missing_ = 0;   // since the last record that was written
  std::int64_t began_ns_ = 0, clock_offset_ns_ = 0, retry_ns_ = INT64_MIN;
  std::size_t segments_since_state_ = 0;
  std::int64_t state_asked_ns_ = 0;
  std::int64_t plugin_times_ns_ = clock_.monotonic_ns();  // the last time
  std::vector<PluginTime> plugin_totals_;                 // then
  bool has_decided_ = false;                              // since plugin_times_ns_
  bool waits_look_ = false;                               // it has the moment of the record that comes next
  bool has_begun_ = false, is_incomplete_ = false, has_failed_ = false;
};

Recorder::Recorder(RecorderOptions options, SegmentFiles files, const SymbolTable& symbols, const Clock& clock)
    : clock_(clock),
      period_(options.period),
      waits_for_room_(options.waits_for_room),
      is_simulated_(options.is_simulated),
      follows_ticks_(options.follows_ticks),
      symbols_(symbols),
      writer_(std::make_unique<Writer>(std::move(options), std::move(files), symbols, clock)) {}

Result<std::unique_ptr<Recorder>> Recorder::start(RecorderOptions options, const SymbolTable& symbols,
                                                  const Clock& clock) {
  Result<SegmentFiles> files = SegmentFiles::open(options.directory, options.total_bytes);
  if (!files.ok()) return files.error();
  // Each segment begins with it.
  if (options.description_json.size() > std::min(files->segment_bytes(), k_payload_bytes_max) / 2)
    return Error{"a description of " + std::to_string(options.description_json.size()) + " bytes is too large for " +
                 options.directory};
  std::unique_ptr<Recorder> made(new Recorder(std::move(options), std::move(*files), symbols, clock));
  Recorder* const self = made.get();
  self->thread_ = std::thread([self] {
    name_this_thread("recorder");
    (void)done("The recorder has ended: decisions are not recorded any more", [self] { self->run(*self->writer_); });
    self->end();
  });
  return made;
}

Recorder::~Recorder() { stop(); }

void Recorder::end() noexcept {
  {
    const Lock lock(mutex_);
    over_ = true;
    has_ended_ = true;
    is_gap_.store(true, std::memory_order_release);
  }
  written_.notify_all();
}

void Recorder::stop() {
  {
    const Lock lock(mutex_);
    over_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

bool Recorder::has_room(std::size_t text_bytes) const {
  return !over_ && waiting_.records.size() < k_waiting_max &&
         waiting_.text_bytes + text_bytes <= k_waiting_text_bytes_max &&
         waiting_.dropped == 0;  // those after a gap wait for the next batch: order
}

void Recorder::drop_one() {
  ++waiting_.dropped;
  is_gap_.store(true, std::memory_order_release);
}

/// A look that was noted, among the records that it comes after. Some of them may be written already: they came while
/// it was noted, so that it is not said which of them it has.
void Recorder::put_look(std::uint64_t look) {
  if (look == taken_look_) return;  // it is in a batch before
  const auto after = static_cast<std::int32_t>(static_cast<std::uint32_t>(look) - static_cast<std::uint32_t>(taken_));
  waiting_.records.add_look(static_cast<std::size_t>(std::max(after, 0)));
}

template <typename Put>
void Recorder::enqueue(std::size_t text_bytes, Kind kind, Put&& put) {
  bool is_batch = false;
  {
    UniqueLock lock(mutex_);
    if (waits_for_room_ && !has_room(text_bytes)) {
      wants_flush_ = true;
      changed_.notify_one();
      written_.wait(lock, [&]() REQUIRES(mutex_) { return over_ || has_room(text_bytes) || waiting_.records.empty(); });
    }
    if (!has_room(text_bytes)) return drop_one();
    if (kind == Kind::attempt) {
      const std::uint64_t look = look_.load(std::memory_order_relaxed);
      if (has_no_attempt(look, attempts_.added())) put_look(look);
      look_.store(0, std::memory_order_release);
    }
    put(waiting_.records);
    waiting_.text_bytes += text_bytes;
    added_.store(taken_ + waiting_.records.size(), std::memory_order_release);
    is_batch = waiting_.records.size() == k_batch;
  }
  if (is_batch) changed_.notify_one();
}

void Recorder::add(Record&& record) noexcept try {
  record.at_ns = clock_.monotonic_ns();
  enqueue(text_bytes_of(record), record.kind, [&](WaitingRecords& records) { records.add(std::move(record)); });
} catch (...) {
  const Lock lock(mutex_);
  drop_one();
}

void Recorder::add_attempt(model::PodPtr pod, Symbol node, std::shared_ptr<const Rejected> rejected,
                           const Attempt& attempt, std::optional<std::int64_t> began_ns) noexcept try {
  const std::int64_t began = is_simulated_ ? k_no_beginning : began_ns.value_or(k_no_beginning);
  if (rejected == nullptr && PlacedAttempt::holds(attempt) && !is_gap_.load(std::memory_order_acquire) &&
      attempts_.has_room())
    return add_placed(std::move(pod), node, attempt, began);
  Record record;
  record.kind = Kind::attempt;
  record.at_ns = clock_.monotonic_ns();
  record.pod = std::move(pod);
  if (node != k_no_symbol) record.text = symbols_.text(node);
  record.attempt = attempt;
  if (began != k_no_beginning) record.attempt.took_ns = std::max<std::int64_t>(record.at_ns - began, 0);
  record.rejected = std::move(rejected);
  enqueue(text_bytes_of(record), Kind::attempt, [&](WaitingRecords& records) { records.add(std::move(record)); });
} catch (...) {
  const Lock lock(mutex_);
  drop_one();
}

void Recorder::add_placed(model::PodPtr&& pod, Symbol node, const Attempt& attempt, std::int64_t began_ns) {
  PlacedAttempt& placed = attempts_.next();
  placed.pod = std::move(pod);
  placed.at = follows_ticks_ ? static_cast<std::int64_t>(observe::ticks()) : clock_.monotonic_ns();
  placed.began_ns = began_ns;
  placed.total = static_cast<std::int32_t>(attempt.total);
  placed.node = node;
  placed.number = attempt.number;
  placed.evaluated = attempt.evaluated;
  placed.feasible = attempt.feasible;
  placed.rotation = static_cast<std::uint32_t>(attempt.rotation);
  placed.records_before = static_cast<std::uint32_t>(added_.load(std::memory_order_acquire));
  const std::uint64_t look = look_.load(std::memory_order_relaxed);
  placed.since_look =
      has_no_attempt(look, attempts_.added()) ? placed.records_before - static_cast<std::uint32_t>(look) + 1 : 0;
  attempts_.add_next();
  if (attempts_.added() % k_looks_for_batch != 0 || attempts_.size() < k_batch) return;
  {
    const Lock lock(
        mutex_);  // or the writer, between its look at how many there are and its wait, would not hear of it
  }
  changed_.notify_one();
}

void Recorder::hold(model::NodePtr node) noexcept try {
  const Lock lock(mutex_);
  if (waiting_.removed_nodes.size() < k_waiting_max) waiting_.removed_nodes.push_back(std::move(node));
} catch (...) {
  const Lock lock(mutex_);
  drop_one();
}

void Recorder::add_state(WholeCluster state) noexcept try {
  Record mark;
  mark.kind = Kind::state_begins;
  mark.at_ns = clock_.monotonic_ns();
  const Lock lock(mutex_);
  if (!has_room(0) || waiting_.state) return drop_one();
  waiting_.state_at = waiting_.records.size();
  waiting_.state.emplace(std::move(state));
  waiting_.records.add(std::move(mark));
  added_.store(taken_ + waiting_.records.size(), std::memory_order_release);
} catch (...) {
  const Lock lock(mutex_);
  drop_one();
}

RecorderCounts Recorder::counts() const {
  const Lock lock(mutex_);
  RecorderCounts counts = counts_;
  counts.dropped += waiting_.dropped;
  if (has_ended_) counts.dropped += attempts_.size();  // no one takes them
  counts.waiting_bytes = waiting_.records.bytes() + waiting_.text_bytes + AttemptRing::bytes();
  return counts;
}

void Recorder::flush() {
  UniqueLock lock(mutex_);
  const std::uint64_t wanted = added_batches_ + 1;
  wants_flush_ = true;
  changed_.notify_one();
  written_.wait(lock, [&]() REQUIRES(mutex_) { return written_batches_ >= wanted || over_; });
}

bool Recorder::is_full() const { return waiting_.records.size() >= k_batch || attempts_.size() >= k_batch; }

void Recorder::take(Waiting& batch) {
  batch.look_before = taken_look_;
  // The look is read before the attempts: where its own is among them it says so, and else none of them is later.
  const std::uint64_t look = look_.load(std::memory_order_acquire);
  batch.attempts_end = attempts_.end();
  if (has_no_attempt(look, batch.attempts_end) && !waiting_.records.empty()) {
    put_look(look);
    taken_look_ = look;
  }
  batch.records_before = taken_;
  taken_ += waiting_.records.size();
  std::swap(batch.records, waiting_.records);
  std::swap(batch.state, waiting_.state);
  batch.state_at = waiting_.state_at;
  std::swap(batch.removed_nodes, waiting_.removed_nodes);
  batch.dropped = std::exchange(waiting_.dropped, 0);
  waiting_.text_bytes = 0;
  counts_.dropped += batch.dropped;
  is_gap_.store(over_, std::memory_order_release);
}

void Recorder::run(Writer& writer) {
  Waiting batch;
  TickTimes times(TickTimes::read(clock_));
  bool ends = false, is_fast = false;
  while (!ends) {
    RecorderCounts counts;
    {
      UniqueLock lock(mutex_);
      (void)changed_.wait_for(lock, is_fast ? std::min(period_, k_fast_period) : period_,
                              [this]() REQUIRES(mutex_) { return over_ || wants_flush_ || is_full(); });
      ends = over_;
      wants_flush_ = false;
      take(batch);
      ++added_batches_;
      counts = counts_;
    }
    is_fast = batch.records.size() + (batch.attempts_end - attempts_.begin()) >= k_fast_batch;
    if (follows_ticks_) times.note(TickTimes::read(clock_));  // later than that of each attempt that was taken
    bool wants_state = false;
    const bool is_written = done("Decisions could not be recorded", [&] {
      writer.write(batch, attempts_, follows_ticks_ ? &times : nullptr, counts);
      wants_state = writer.wants_state();
    });
    if (!is_written) writer.give_up(batch, attempts_, counts);
    if (ends || writer.wants_plugin_times())
      (void)done("What plugins took could not be recorded", [&] { writer.write_plugin_times(counts); });
    // Its memory is used again; what it holds goes here, not on the threads that decide.
    batch.records.clear();
    batch.state.reset();
    batch.removed_nodes.clear();
    {
      const Lock lock(mutex_);
      counts_ = counts;
      ++written_batches_;
    }
    written_.notify_all();
    if (wants_state && !ends) (void)done("The cluster could not be recorded", [&] { writer.add_state(); });
  }
}

}  // namespace berth::recording
