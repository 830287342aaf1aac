// SPDX-License-Identifier: Apache-2.0
#include "app/recording/recorded_moment.hpp"

#include <spdlog/fmt/fmt.h>

#include "app/recording/description.hpp"
#include "decode/selectors/labels.hpp"
#include "recording/reader.hpp"
#include "recording/state.hpp"

namespace berth::app {

using recording::Kind;
using recording::Record;

namespace {

struct Found {
  recording::State state;
  std::int64_t wall_ns = 0;
};

/// Follows a recording up to a moment, with the cluster as a decision saw it: what came between its look and its
/// attempt comes after it.
class MomentSearch {
 public:
  explicit MomentSearch(const MomentWanted& wanted) : wanted_(wanted) {}

  void take(Record record, bool begins_run) {
    if (begins_run) {
      held_.clear();
      held_bytes_ = 0;
      is_deciding_ = false;
      state_.begin_run();
    }
    last_ns_ = record.wall_ns;
    if (record.kind == Kind::description) description_ = record.text;
    if (record.kind == Kind::attempt && record.pod->key() == wanted_.pod) {
      attempts_.push_back(record.attempt.number);
      if (record.attempt.number == wanted_.attempt) keep(record);
    }
    if (record.kind == Kind::look || record.kind == Kind::attempt) {
      settle();
      is_deciding_ = record.kind == Kind::look;
    }
    if (is_deciding_) {
      held_bytes_ += record.bytes;
      held_.push_back(std::move(record));
    } else {
      state_.apply(record);
    }
    if (held_.size() == recording::k_held_max || held_bytes_ > recording::k_held_bytes_max) settle();
  }
  /// After the last record.
  Result<Found> found() {
    if (wanted_.attempt && !found_)
      return Error{attempts_.empty() ? fmt::format("no attempt of {} is recorded there", wanted_.pod)
                                     : fmt::format("no attempt {} of {} is recorded there: the first is {}, "
                                                   "the last {}",
                                                   *wanted_.attempt, wanted_.pod, attempts_.front(), attempts_.back())};
    if (!found_) {
      settle();
      found_ = Found{std::move(state_), last_ns_};
    }
    if (found_->state.is_too_large())
      return Error{fmt::format("the cluster takes more than {} of memory then: no berth records that",
                               recording::HeldBytes::limit())};
    if (!found_->state.is_complete())
      return Error{
          "the cluster is not known as a whole then, as a part of the recording is missing: ask about a later "
          "moment"};
    return std::move(*found_);
  }
  const std::string& description() const noexcept { return description_; }

 private:
  void settle() {
    for (const Record& each : held_) state_.apply(each);
    held_.clear();
    held_bytes_ = 0;
    is_deciding_ = false;
  }
  void keep(const Record& attempt) {
    found_.emplace();
    found_->state = state_;
    found_->wall_ns = attempt.wall_ns;
    Record waits;
    waits.kind = Kind::waiting_pod;
    waits.pod = attempt.pod;
    found_->state.apply(waits);
  }

  const MomentWanted& wanted_;
  recording::State state_;
  std::vector<Record> held_;  // since a look
  std::size_t held_bytes_ = 0;
  bool is_deciding_ = false;
  std::optional<Found> found_;
  std::int64_t last_ns_ = 0;
  std::vector<std::uint32_t> attempts_;
  std::string description_;
};

std::vector<decode::Decoded> objects_of(const recording::State& state, SymbolTable& symbols) {
  std::vector<decode::Decoded> out;
  for (const Record& record : state.records(0)) {
    if (record.node != nullptr) out.emplace_back(record.node);
    if (record.object != nullptr) out.emplace_back(record.object);
    if (record.pod == nullptr) continue;
    if (record.kind == Kind::placed_pod && !record.text.empty()) {
      auto placed = std::make_shared<model::Pod>(*record.pod);
      placed->node_name = symbols.intern(record.text);
      out.emplace_back(model::PodPtr(std::move(placed)));
    } else {
      out.emplace_back(record.pod);
    }
  }
  return out;
}

/// What the segments of the reader say of the moment.
Result<RecordedMoment> moment_of(recording::Reader& reader, const std::string& path, const MomentWanted& wanted,
                                 std::optional<std::int64_t> until_ns, SymbolTable& symbols) {
  MomentSearch search(wanted);
  bool is_any = false;
  for (Record record; reader.next(record);) {
    if (until_ns && record.wall_ns > *until_ns) break;
    is_any = true;
    search.take(std::move(record), reader.begins_run());
  }
  if (!is_any) return Error{fmt::format("{}: nothing was recorded up to then", path)};
  Result<Found> found = search.found();
  if (!found.ok()) return Error{fmt::format("{}: {}", path, found.error().message)};
  return RecordedMoment{objects_of(found->state, symbols), until_ns && !wanted.attempt ? *until_ns : found->wall_ns,
                        search.description(), recorded_configuration(search.description()), reader.problems()};
}

}  // namespace

Result<RecordedMoment> read_moment(const std::string& path, const MomentWanted& wanted, SymbolTable& symbols) {
  std::optional<std::int64_t> until_ns;
  if (!wanted.at.empty()) {
    until_ns = decode::parse_time_ns(wanted.at);
    if (!until_ns) return Error{fmt::format("{} is no moment: write 2026-01-31T08:30:00Z", wanted.at)};
  }
  // An attempt may be anywhere. For a moment the last segment is enough, but for what is torn or was still being written.
  for (std::size_t earlier = wanted.attempt ? SIZE_MAX : 0;; earlier = 2 * earlier + 1) {
    Result<recording::Reader> reader =
        recording::Reader::open_near(path, until_ns.value_or(INT64_MAX), earlier, symbols);
    if (!reader.ok()) return reader.error();
    Result<RecordedMoment> moment = moment_of(*reader, path, wanted, until_ns, symbols);
    if (moment.ok() || reader->segments_left_out() == 0) return moment;
  }
}

}  // namespace berth::app
