// SPDX-License-Identifier: Apache-2.0
#include "app/commands/record_command.hpp"

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <ostream>
#include <set>

#include "decode/selectors/labels.hpp"
#include "recording/encoder.hpp"
#include "recording/reader.hpp"
#include "recording/record_json.hpp"
#include "recording/state.hpp"
#include "report/text_table.hpp"
#include "text/json_writer.hpp"
#include "text/parse.hpp"

namespace berth::app {
namespace {

using recording::Kind;
using recording::Record;

/// Puts a new file, which its owner alone may read, in the place of the one of that name: nothing is written through a
/// link, or into a file that others have open.
Status write_for_owner(const std::string& path, std::string_view bytes) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) == 0 && !S_ISREG(found.st_mode)) return Error{"it is there, and no regular file"};
  std::string made = path + ".XXXXXX";
  const int file = ::mkostemp(made.data(), O_CLOEXEC);  // 0600
  if (file < 0) return Error{std::strerror(errno)};
  int error = 0;
  while (!bytes.empty() && error == 0) {
    const ssize_t wrote = ::write(file, bytes.data(), bytes.size());
    if (wrote > 0)
      bytes.remove_prefix(static_cast<std::size_t>(wrote));
    else if (wrote == 0 || errno != EINTR)
      error = wrote == 0 ? ENOSPC : errno;
  }
  if (::close(file) != 0 && error == 0) error = errno;
  if (error == 0 && ::rename(made.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return Unit{};
  ::unlink(made.c_str());
  return Error{std::strerror(error)};
}

/// One command over one recording.
class RecordRun {
 public:
  RecordRun(const RecordOptions& options, std::ostream& out, std::ostream& err)
      : options_(options), out_(out), err_(err) {}

  /// 0, or the exit status of what is wrong.
  int begin() {
    for (const auto& [text, moment] : {std::pair{&options_.from, &from_}, std::pair{&options_.to, &to_}}) {
      if (text->empty()) continue;
      *moment = decode::parse_time_ns(*text);
      if (!*moment) {
        err_ << fmt::format("berth: {} is no moment: write 2026-01-31T08:30:00Z\n", report::terminal_text(*text));
        return 2;
      }
    }
    Result<recording::Reader> reader = recording::Reader::open(options_.path, symbols_);
    if (!reader.ok()) {
      err_ << "berth: " << report::terminal_text(reader.error().message) << '\n';
      return 1;
    }
    reader_.emplace(std::move(*reader));
    return 0;
  }
  int end() {
    for (const std::string& problem : reader_->problems())
      err_ << "berth: warning: " << report::terminal_text(problem) << ": what follows there is left out\n";
    return 0;
  }
  bool is_within(const Record& record) const {
    return (!from_ || record.wall_ns >= *from_) && (!to_ || record.wall_ns <= *to_);
  }

  int info();
  int cut();
  int write_json_lines();

 private:
  const RecordOptions& options_;
  std::ostream& out_;
  std::ostream& err_;
  SymbolTable symbols_;
  std::optional<std::int64_t> from_, to_;
  std::optional<recording::Reader> reader_;
};

int RecordRun::info() {
  if (const int status = begin(); status != 0) return status;
  Record record;
  std::array<std::uint64_t, recording::k_kinds + 1> counts{};
  std::optional<std::int64_t> first_ns, last_ns;
  std::uint64_t all = 0, placed = 0, runs = 0, missing = 0;
  std::string description;
  while (reader_->next(record)) {
    ++all;
    ++counts[static_cast<std::size_t>(record.kind)];
    first_ns = std::min(first_ns.value_or(record.wall_ns), record.wall_ns);
    last_ns = std::max(last_ns.value_or(record.wall_ns), record.wall_ns);
    if (reader_->begins_run()) ++runs;
    if (record.kind == Kind::attempt && !record.text.empty()) ++placed;
    if (record.kind == Kind::gap) missing += record.count;
    if (record.kind == Kind::description) description = record.text;
  }
  const auto count = [&](Kind kind) { return counts[static_cast<std::size_t>(kind)]; };
  const std::string from = first_ns ? recording::moment_text(*first_ns) : "";
  const std::string to = last_ns ? recording::moment_text(*last_ns) : "";
  if (options_.json) {
    text::JsonWriter json;
    json.begin_object();
    json.key("from").text(from).key("to").text(to);
    json.key("bytes").number(reader_->bytes());
    json.key("segments").number(reader_->segments());
    json.key("runs").number(runs);
    json.key("decisions").number(count(Kind::attempt));
    json.key("placed").number(placed);
    json.key("missing").number(missing);
    json.key("records").begin_object();
    for (std::uint8_t kind = 1; kind <= recording::k_kinds; ++kind)
      if (counts[kind] != 0) json.key(recording::name_of(static_cast<Kind>(kind))).number(counts[kind]);
    json.end_object();
    text::Diagnostics malformed;
    const auto writer = text::parse_json(description, "description", malformed);
    json.key("writer").raw(writer.empty() ? "null" : text::to_json(writer.front().root()));
    json.end_object();
    out_ << json.take() << '\n';
    return end();
  }
  const double seconds = first_ns ? static_cast<double>(*last_ns - *first_ns) / 1e9 : 0;
  out_ << fmt::format("{} to {} ({:.3f} s)\n{} records in {} segment(s), {:.1f} MiB, of {} run(s)\n", from, to, seconds,
                      all, reader_->segments(), static_cast<double>(reader_->bytes()) / (1 << 20), runs);
  out_ << fmt::format("{} decisions: {} with a node, {} without; {} writes\n", count(Kind::attempt), placed,
                      count(Kind::attempt) - placed, count(Kind::write));
  out_ << fmt::format(
      "changes: {} of nodes, {} of pods, {} of other objects\n", count(Kind::node) + count(Kind::node_gone),
      count(Kind::placed_pod) + count(Kind::placed_pod_gone) + count(Kind::waiting_pod) + count(Kind::waiting_pod_gone),
      count(Kind::object) + count(Kind::object_gone));
  if (count(Kind::gap) != 0)
    out_ << fmt::format("{} gap(s): {} records are known to be missing\n", count(Kind::gap), missing);
  return end();
}

int RecordRun::write_json_lines() {
  std::set<Kind> wanted;
  for (std::size_t first = 0; !options_.kinds.empty() && first <= options_.kinds.size();) {
    const std::size_t comma = std::min(options_.kinds.find(',', first), options_.kinds.size());
    const std::string name = options_.kinds.substr(first, comma - first);
    bool is_known = false;
    for (std::uint8_t kind = 1; kind <= recording::k_kinds; ++kind)
      if (recording::name_of(static_cast<Kind>(kind)) == name)
        is_known = wanted.insert(static_cast<Kind>(kind)).second || true;
    if (!is_known) {
      err_ << fmt::format("berth: --kinds: {} is no kind of record\n", report::terminal_text(name));
      return 2;
    }
    first = comma + 1;
  }
  if (const int status = begin(); status != 0) return status;
  Record record;
  while (reader_->next(record))
    if (is_within(record) && (wanted.empty() || wanted.contains(record.kind)))
      out_ << recording::json_line(record, symbols_) << '\n';
  out_.flush();
  return end();
}

/// Writes one segment: the cluster as it was at the beginning of the cut, and what followed.
int RecordRun::cut() {
  if (const int status = begin(); status != 0) return status;
  recording::Encoder encoder(symbols_);
  std::string bytes;
  std::optional<std::int64_t> began_ns;
  recording::State state;
  Record record, description;
  std::uint64_t written = 0;
  const auto put = [&](const Record& each) {
    const std::string& payload = encoder.encode(each, *began_ns);
    if (payload.empty()) return false;
    recording::append_frame(bytes, payload);
    ++written;
    return bytes.size() <= recording::k_segment_bytes_max;
  };
  bool fits = true;
  while (fits && reader_->next(record)) {
    if (reader_->begins_run()) {
      if (began_ns && written != 0) {
        err_ << fmt::format("berth: warning: another process recorded from {} on: the cut ends there\n",
                            recording::moment_text(record.wall_ns));
        break;
      }
      state.begin_run();
    }
    if (record.kind == Kind::description) description = record;
    if (to_ && record.wall_ns > *to_) break;
    if (from_ && record.wall_ns < *from_) {
      state.apply(record);
      continue;
    }
    if (!began_ns) {
      began_ns = record.at_ns;
      bytes = recording::header_bytes({1, 1, record.wall_ns, record.at_ns});
      if (description.kind == Kind::description) {
        description.at_ns = record.at_ns;
        fits = put(description);
      }
      if (state.is_complete()) {
        for (const Record& each : state.records(record.at_ns)) fits = fits && put(each);
      } else {
        err_ << "berth: warning: what the cluster was like at the beginning of the cut is not known as a whole\n";
        Record gap;
        gap.kind = Kind::gap;
        gap.at_ns = record.at_ns;
        fits = fits && put(gap);
      }
    }
    if (record.kind != Kind::description) fits = fits && put(record);
  }
  if (!began_ns || written == 0) {
    err_ << "berth: nothing was recorded in that time\n";
    return 1;
  }
  if (!fits) {
    err_ << fmt::format("berth: the cut is larger than {} MiB: cut a shorter time\n",
                        recording::k_segment_bytes_max >> 20);
    return 1;
  }
  if (const Status wrote = write_for_owner(options_.output, bytes); !wrote.ok()) {
    err_ << fmt::format("berth: cannot write {}: {}\n", report::terminal_text(options_.output), wrote.error().message);
    return 1;
  }
  out_ << fmt::format("{} records\n", written);
  return end();
}

}  // namespace

int run_record_info(const RecordOptions& options, std::ostream& out, std::ostream& err) {
  return RecordRun(options, out, err).info();
}
int run_record_cut(const RecordOptions& options, std::ostream& out, std::ostream& err) {
  return RecordRun(options, out, err).cut();
}
int run_record_export(const RecordOptions& options, std::ostream& out, std::ostream& err) {
  return RecordRun(options, out, err).write_json_lines();
}

}  // namespace berth::app
