// SPDX-License-Identifier: Apache-2.0
#include "app/recording/recording_times.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_map>

#include "recording/reader.hpp"
#include "recording/segment_files.hpp"
#include "recording/state.hpp"

namespace berth::app {

using recording::Kind;
using recording::Record;

namespace {

constexpr std::size_t k_slices_max = 240, k_plugins_max = 256;
constexpr std::int64_t k_ms_ns = 1'000'000;

/// Pods that wait; -1: it is not known.
std::int64_t pending_in(const recording::State& cluster) {
  return cluster.is_complete() ? static_cast<std::int64_t>(cluster.waiting_pods()) : -1;
}

/// A recording may say any number.
void add(std::int64_t& sum, std::int64_t more) {
  if (__builtin_add_overflow(sum, more, &sum)) sum = std::numeric_limits<std::int64_t>::max();
}

/// Slices that become twice as long whenever there would be too many.
class Slices {
 public:
  explicit Slices(std::int64_t first_ns) { times_.from_ms = times_.to_ms = up(first_ns); }

  /// A clock that was set back stays in the slice that it was in. `cluster`: up to this moment.
  RecordingTimes::Slice& at(std::int64_t wall_ns, const recording::State& cluster) {
    times_.to_ms = std::max(times_.to_ms, up(wall_ns));
    std::int64_t place = (times_.to_ms - times_.from_ms) / times_.slice_ms;
    while (place >= static_cast<std::int64_t>(k_slices_max)) {
      halve();
      place = (times_.to_ms - times_.from_ms) / times_.slice_ms;
    }
    if (static_cast<std::int64_t>(times_.slices.size()) <= place) {
      const std::int64_t pending = pending_in(cluster);
      if (!times_.slices.empty()) times_.slices.back().pending = pending;
      times_.slices.resize(static_cast<std::size_t>(place) + 1, {.pending = pending});
    }
    return times_.slices.back();
  }
  /// The number of a plugin; nothing: there are too many.
  std::optional<std::size_t> number_of(const std::string& plugin) {
    if (const auto known = numbers_.find(plugin); known != numbers_.end()) return known->second;
    if (numbers_.size() == k_plugins_max) return std::nullopt;
    times_.plugins.push_back(plugin);
    return numbers_.emplace(plugin, numbers_.size()).first->second;
  }
  static RecordingTimes::Work& work(RecordingTimes::Slice& slice, std::size_t plugin) {
    if (slice.plugins.size() <= plugin) slice.plugins.resize(plugin + 1);
    return slice.plugins[plugin];
  }
  /// What calls into plugins took, evenly over the time that it is of.
  void spread(const Record& record) {
    const std::int64_t last = static_cast<std::int64_t>(times_.slices.size()) - 1;
    const auto in_ns = static_cast<std::int64_t>(std::min<std::uint64_t>(record.count, recording::k_far_ns));
    const std::int64_t first =
        std::clamp((up(record.wall_ns - in_ns) - times_.from_ms) / times_.slice_ms, std::int64_t{0}, last);
    for (const recording::PluginTime& time : *record.plugin_times) {
      const std::optional<std::size_t> plugin = number_of(time.plugin);
      if (!plugin) continue;
      auto took_ns = static_cast<std::int64_t>(std::min<std::uint64_t>(time.took_ns, recording::k_far_ns));
      for (std::int64_t i = first; i <= last; ++i) {
        const std::int64_t part = took_ns / (last - i + 1);
        add(work(times_.slices[static_cast<std::size_t>(i)], *plugin).took_ns, part);
        took_ns -= part;
      }
    }
  }
  /// `cluster`: at the end.
  RecordingTimes take(const recording::State& cluster) {
    times_.slices.back().pending = pending_in(cluster);
    return std::move(times_);
  }

 private:
  static std::int64_t up(std::int64_t ns) { return ns / k_ms_ns + (ns % k_ms_ns > 0 ? 1 : 0); }
  void halve() {
    std::vector<RecordingTimes::Slice> longer;
    for (std::size_t i = 0; i < times_.slices.size(); ++i) {
      if (i % 2 == 0) longer.emplace_back();
      longer.back().decisions += times_.slices[i].decisions;
      longer.back().without_node += times_.slices[i].without_node;
      longer.back().pending = times_.slices[i].pending;
      add(longer.back().took_ns, times_.slices[i].took_ns);
      longer.back().longest_ns = std::max(longer.back().longest_ns, times_.slices[i].longest_ns);
      for (std::size_t plugin = 0; plugin < times_.slices[i].plugins.size(); ++plugin) {
        const RecordingTimes::Work& part = times_.slices[i].plugins[plugin];
        RecordingTimes::Work& sum = work(longer.back(), plugin);
        sum.rejections += part.rejections;
        add(sum.took_ns, part.took_ns);
      }
    }
    times_.slices = std::move(longer);
    times_.slice_ms *= 2;
  }

  RecordingTimes times_;
  std::unordered_map<std::string, std::size_t> numbers_;  // by name of the plugin
};

void count(const Record& attempt, RecordingTimes::Slice& slice, Slices& slices) {
  ++slice.decisions;
  add(slice.took_ns, attempt.attempt.took_ns);
  slice.longest_ns = std::max(slice.longest_ns, attempt.attempt.took_ns);
  if (!attempt.text.empty()) return;
  ++slice.without_node;
  if (attempt.rejected == nullptr) return;
  for (const std::string& plugin : attempt.rejected->rejectors)
    if (const std::optional<std::size_t> number = slices.number_of(plugin)) ++Slices::work(slice, *number).rejections;
}

}  // namespace

Result<RecordingTimes> read_times(const std::string& path) {
  SymbolTable symbols;
  Result<recording::Reader> reader = recording::Reader::open(path, symbols);
  if (!reader.ok()) return reader.error();
  std::optional<Slices> slices;
  recording::State cluster;
  for (Record record; reader->next(record);) {
    if (!slices) slices.emplace(record.wall_ns);
    RecordingTimes::Slice& slice = slices->at(record.wall_ns, cluster);
    if (reader->begins_run()) cluster.begin_run();
    cluster.apply(record);
    if (record.kind == Kind::plugin_times) slices->spread(record);
    if (record.kind == Kind::attempt) count(record, slice, *slices);
  }
  if (!slices) return Error{fmt::format("{}: nothing is recorded there", path)};
  return slices->take(cluster);
}

std::vector<RememberedTimes::File> RememberedTimes::files() const {
  std::error_code error;
  std::vector<std::string> paths{path_};
  if (std::filesystem::is_directory(path_, error)) {
    const Result<std::vector<std::string>> names = recording::segment_names(path_);
    if (!names.ok()) return {};
    paths.clear();
    for (const std::string& name : *names) paths.push_back(path_ + "/" + name);
  }
  std::vector<File> out;
  for (std::string& path : paths) {
    File file;
    file.bytes = std::filesystem::file_size(path, error);
    if (error) return {};
    file.written_at = std::filesystem::last_write_time(path, error);
    if (error) return {};
    file.name = std::move(path);
    out.push_back(std::move(file));
  }
  return out;
}

Result<const RecordingTimes*> RememberedTimes::read() {
  std::vector<File> now = files();
  if (!now.empty() && now == read_files_) return &times_;
  read_files_.clear();
  Result<RecordingTimes> found = read_times(path_);
  if (!found.ok()) return found.error();
  times_ = std::move(*found);
  read_files_ = std::move(now);
  return &times_;
}

}  // namespace berth::app
