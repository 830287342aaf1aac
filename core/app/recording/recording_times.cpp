// SPDX-License-Identifier: Apache-2.0
#include "app/recording/recording_times.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <unordered_map>

#include "recording/reader.hpp"

namespace berth::app {

using recording::Kind;
using recording::Record;

namespace {

constexpr std::size_t k_slices_max = 240;
constexpr std::size_t k_pods_max = 1'000'000;
constexpr std::int64_t k_ms_ns = 1'000'000;

/// Counts the pods that wait, as recording::State holds them.
class WaitingPods {
 public:
  void take(const Record& record, bool begins_run) {
    if (begins_run) begin(true);
    switch (record.kind) {
      case Kind::gap:
        is_known_ = is_being_read_ = false;
        break;
      case Kind::state_begins:
        begin(false);
        is_being_read_ = true;
        break;
      case Kind::state_ends:
        is_known_ = is_known_ || is_being_read_;
        is_being_read_ = false;
        break;
      case Kind::waiting_pod:
        set(record.pod->uid, &Pod::waits, true);
        break;
      case Kind::waiting_pod_gone:
        set(record.text, &Pod::waits, false);
        break;
      case Kind::placed_pod:
        set(record.pod->uid, &Pod::waits, false);
        set(record.pod->uid, &Pod::is_placed, true);
        break;
      case Kind::attempt:
        if (!record.text.empty()) set(record.pod->uid, &Pod::is_placed, true);
        break;
      case Kind::placed_pod_gone:
      case Kind::given_back:
        set(record.text, &Pod::is_placed, false);
        break;
      default:
        break;
    }
  }
  std::int64_t count() const noexcept { return is_known_ ? count_ : -1; }

 private:
  struct Pod {
    bool waits = false, is_placed = false;
    bool counts() const noexcept { return waits && !is_placed; }
  };
  void begin(bool is_known) {
    pods_.clear();
    count_ = 0;
    is_known_ = is_known;
    is_being_read_ = false;
  }
  void set(const std::string& uid, bool Pod::*part, bool value) {
    if (!value && !pods_.contains(uid)) return;
    Pod& pod = pods_[uid];
    count_ -= pod.counts() ? 1 : 0;
    pod.*part = value;
    count_ += pod.counts() ? 1 : 0;
    if (!pod.waits && !pod.is_placed) pods_.erase(uid);
    if (pods_.size() > k_pods_max) begin(false);
  }

  std::unordered_map<std::string, Pod> pods_;  // by uid
  std::int64_t count_ = 0;
  bool is_known_ = false, is_being_read_ = false;
};

/// Slices that become twice as long whenever there would be too many.
class Slices {
 public:
  explicit Slices(std::int64_t first_ns) { times_.from_ms = times_.to_ms = up(first_ns); }

  /// A clock that was set back stays in the slice that it was in. `pending`: up to this moment.
  RecordingTimes::Slice& at(std::int64_t wall_ns, std::int64_t pending) {
    times_.to_ms = std::max(times_.to_ms, up(wall_ns));
    std::int64_t place = (times_.to_ms - times_.from_ms) / times_.slice_ms;
    while (place >= static_cast<std::int64_t>(k_slices_max)) {
      halve();
      place = (times_.to_ms - times_.from_ms) / times_.slice_ms;
    }
    while (static_cast<std::int64_t>(times_.slices.size()) <= place) {
      if (!times_.slices.empty()) times_.slices.back().pending = pending;
      times_.slices.emplace_back().pending = pending;
    }
    return times_.slices.back();
  }
  RecordingTimes take() { return std::move(times_); }

 private:
  static std::int64_t up(std::int64_t ns) { return ns / k_ms_ns + (ns % k_ms_ns > 0 ? 1 : 0); }
  void halve() {
    std::vector<RecordingTimes::Slice> longer;
    for (std::size_t i = 0; i < times_.slices.size(); ++i) {
      if (i % 2 == 0) longer.emplace_back();
      longer.back().decisions += times_.slices[i].decisions;
      longer.back().without_node += times_.slices[i].without_node;
      longer.back().pending = times_.slices[i].pending;
    }
    times_.slices = std::move(longer);
    times_.slice_ms *= 2;
  }

  RecordingTimes times_;
};

}  // namespace

Result<RecordingTimes> read_times(const std::string& path) {
  SymbolTable symbols;
  Result<recording::Reader> reader = recording::Reader::open(path, symbols);
  if (!reader.ok()) return reader.error();
  std::optional<Slices> slices;
  WaitingPods waiting;
  for (Record record; reader->next(record);) {
    if (!slices) slices.emplace(record.wall_ns);
    RecordingTimes::Slice& slice = slices->at(record.wall_ns, waiting.count());
    waiting.take(record, reader->begins_run());
    slice.pending = waiting.count();
    if (record.kind != Kind::attempt) continue;
    ++slice.decisions;
    if (record.text.empty()) ++slice.without_node;
  }
  if (!slices) return Error{fmt::format("{}: nothing is recorded there", path)};
  return slices->take();
}

}  // namespace berth::app
