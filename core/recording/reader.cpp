// SPDX-License-Identifier: Apache-2.0
#include "recording/reader.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/read_file.hpp"
#include "recording/decoder.hpp"
#include "recording/segment_files.hpp"

namespace berth::recording {
namespace {

constexpr std::size_t k_problems_max = 100;

/// When the segment was begun; nothing: that cannot be read.
std::optional<std::int64_t> begun_ns(const std::string& path) {
  std::string bytes(k_header_bytes, '\0');
  if (!std::ifstream(path, std::ios::binary).read(bytes.data(), static_cast<std::streamsize>(bytes.size()))) return {};
  const Result<SegmentHeader> header = read_header(bytes);
  if (!header.ok()) return {};
  return header->wall_ns;
}

}  // namespace

struct Reader::State {
  explicit State(SymbolTable& table) : symbols(table) {}

  SymbolTable& symbols;
  std::vector<std::string> paths;
  std::size_t next_path = 0;
  std::optional<std::string> given;  // instead of a file
  std::string bytes, name;           // of the segment at hand
  SegmentHeader header;
  std::optional<Frames> frames;
  std::optional<Decoder> decoder;
  std::int64_t wall_minus_monotonic_ns = 0;
  std::optional<std::uint64_t> run, number;  // of the last segment
  bool begins_run = false, lost = false;
  std::vector<std::string> problems;
  std::size_t segments = 0, segments_left_out = 0, bytes_read = 0;

  void note(std::string problem) {
    lost = true;
    if (problems.size() < k_problems_max) problems.push_back(std::move(problem));
  }
  /// False when there is no other segment.
  bool begin_segment() {
    while (given || next_path < paths.size()) {
      frames.reset();
      if (given) {
        bytes = std::move(*given);
        given.reset();
      } else {
        name = paths[next_path++];
        Result<std::string> read = read_file_bytes(name, {k_segment_bytes_max, true});
        if (!read.ok()) {
          note(fmt::format("{}: {}", name, read.error().message));
          continue;
        }
        bytes = std::move(*read);
      }
      bytes_read += bytes.size();
      const Result<SegmentHeader> found = read_header(bytes);
      if (!found.ok()) {
        note(fmt::format("{}: {}", name, found.error().message));
        continue;
      }
      if (!is_near(found->wall_ns) || !is_near(found->monotonic_ns)) {
        note(fmt::format("{}: its moment is out of range", name));
        continue;
      }
      header = *found;
      wall_minus_monotonic_ns = header.wall_ns - header.monotonic_ns;
      begins_run = !run || *run != header.run;
      if (!begins_run && number && *number + 1 != header.number) lost = true;  // one between them is gone
      // What the process before lost is nothing to this one; its own first segments may have been removed.
      if (begins_run) lost = !header.begins_run;
      run = header.run;
      number = header.number;
      frames.emplace(bytes);
      decoder.emplace(symbols);
      return true;
    }
    return false;
  }
  void end_segment(const std::string& why) {
    note(fmt::format("{}: {} at byte {}", name, why, frames->position()));
    frames.reset();
  }
};

Reader::Reader(std::unique_ptr<State> state) : state_(std::move(state)) {}
Reader::Reader(Reader&&) noexcept = default;
Reader::~Reader() = default;

Result<Reader> Reader::open(const std::string& path, SymbolTable& symbols) {
  auto state = std::make_unique<State>(symbols);
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    const Result<std::vector<std::string>> names = segment_names(path);
    if (!names.ok()) return names.error();
    for (const std::string& segment : *names) state->paths.push_back(path + "/" + segment);
    state->segments = state->paths.size();
    if (state->paths.empty()) return Error{fmt::format("{}: no recording is there", path)};
    return Reader(std::move(state));
  }
  Result<std::string> bytes = read_file_bytes(path, {k_segment_bytes_max, true});
  if (!bytes.ok()) return Error{fmt::format("{}: {}", path, bytes.error().message)};
  const Result<SegmentHeader> header = read_header(*bytes);
  if (!header.ok()) return Error{fmt::format("{}: {}", path, header.error().message)};
  return of_bytes(std::move(*bytes), path, symbols);
}

Result<Reader> Reader::open_near(const std::string& path, std::int64_t wall_ns, std::size_t earlier_segments,
                                 SymbolTable& symbols) {
  Result<Reader> reader = open(path, symbols);
  if (!reader.ok()) return reader;
  std::vector<std::string>& paths = reader->state_->paths;
  std::size_t last = 0;
  for (std::size_t i = 1; i < paths.size(); ++i) {
    const std::optional<std::int64_t> begun = begun_ns(paths[i]);
    if (begun && *begun > wall_ns) break;  // the clock may go back later: that is not followed
    if (begun) last = i;
  }
  const std::size_t left_out = last - std::min(last, earlier_segments);
  paths.erase(paths.begin(), paths.begin() + static_cast<std::ptrdiff_t>(left_out));
  reader->state_->segments -= left_out;
  reader->state_->segments_left_out = left_out;
  return reader;
}

Reader Reader::of_bytes(std::string bytes, std::string name, SymbolTable& symbols) {
  auto state = std::make_unique<State>(symbols);
  state->given = std::move(bytes);
  state->segments = 1;
  state->name = std::move(name);
  return Reader(std::move(state));
}

bool Reader::next(Record& record) {
  State& s = *state_;
  s.begins_run = false;
  for (;;) {
    if (!s.frames && !s.begin_segment()) return false;
    const bool is_first = s.begins_run;
    if (s.lost && !is_first) {
      // What is missing is not counted by anyone: 0.
      s.lost = false;
      record = {};
      record.kind = Kind::gap;
      record.at_ns = s.header.monotonic_ns;
      record.wall_ns = s.header.wall_ns;
      return true;
    }
    const std::optional<std::string_view> payload = s.frames->next();
    if (!payload) {
      if (!s.frames->torn().empty())
        s.end_segment(s.frames->torn());
      else
        s.frames.reset();
      continue;
    }
    Result<Record> read = s.decoder->decode(*payload, s.header.monotonic_ns);
    if (!read.ok()) {
      s.end_segment(read.error().message);
      continue;
    }
    record = std::move(*read);
    if (record.kind == Kind::clock) {
      s.wall_minus_monotonic_ns = record.wall_ns - record.at_ns;
    } else if (__builtin_add_overflow(record.at_ns, s.wall_minus_monotonic_ns, &record.wall_ns) ||
               !is_near(record.wall_ns)) {
      record.wall_ns = s.header.wall_ns;
    }
    return true;
  }
}

bool Reader::begins_run() const noexcept { return state_->begins_run; }
const std::vector<std::string>& Reader::problems() const noexcept { return state_->problems; }
std::size_t Reader::segments() const noexcept { return state_->segments; }
std::size_t Reader::segments_left_out() const noexcept { return state_->segments_left_out; }
std::size_t Reader::bytes() const noexcept { return state_->bytes_read; }

}  // namespace berth::recording
