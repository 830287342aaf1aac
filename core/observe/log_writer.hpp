// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/guarded.hpp"
#include "observe/log.hpp"

namespace berth::observe {

/// Writes whole lines to a file descriptor that its reader may not read, and does not wait for that reader without end.
///
/// Bound:   a line that cannot be written waits in memory, behind the others; there is room for Limits::waiting_bytes of
///          them. Who logs waits until they are read, Limits::patience at most; after that no line is waited for until
///          the reader goes on. What finds no room is left out, and counted; the log says so when it is read again.
/// Ownership: the descriptor stays the caller's. Where it is a pipe or a terminal another one is opened for the same file,
///          so that writing to it can fail instead of blocking; those who share the descriptor notice nothing.
/// Threads: any; lines do not mix.
class LogWriter {
 public:
  struct Limits {
    std::size_t waiting_bytes = std::size_t{4} << 20;
    std::chrono::milliseconds patience{500};
  };
  explicit LogWriter(int descriptor);
  LogWriter(int descriptor, Limits limits);
  ~LogWriter();
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  /// `line` without its line feed.
  void write(std::string_view line);
  /// Writes what waits, as far as that is possible in this time. True when nothing waits any more.
  bool flush(std::chrono::milliseconds limit);
  /// From here on no line is waited for. For a process that ends.
  void wait_no_more() noexcept { patient_ = false; }
  /// Lines that were left out.
  std::uint64_t dropped() const noexcept { return dropped_.load(std::memory_order_relaxed); }

 private:
  enum class Written : std::uint8_t { all, some, failed };
  void open() REQUIRES(mutex_);
  /// Writes from the front of `text`, which it shortens, what is taken at once.
  Written write_now(std::string_view& text) REQUIRES(mutex_);
  /// The same of what waits. True when nothing waits any more.
  bool drain() REQUIRES(mutex_);
  bool drain_until(std::chrono::steady_clock::time_point end) REQUIRES(mutex_);
  void wait_for_reader() REQUIRES(mutex_);
  void leave_out(std::uint64_t lines) noexcept REQUIRES(mutex_);

  const int descriptor_;
  const Limits limits_;
  std::atomic<bool> patient_{true};
  std::atomic<std::uint64_t> dropped_{0};
  Mutex mutex_;
  int own_ GUARDED_BY(mutex_) = -1;  // opened for the file that `device_` and `inode_` name; -1: there is none
  bool is_socket_ GUARDED_BY(mutex_) = false, may_block_ GUARDED_BY(mutex_) = false;
  std::uint64_t device_ GUARDED_BY(mutex_) = 0, inode_ GUARDED_BY(mutex_) = 0;
  std::string waiting_ GUARDED_BY(mutex_);       // whole lines, the first perhaps without its beginning
  std::size_t begun_ GUARDED_BY(mutex_) = 0;     // of waiting_, what is written already
  bool is_stuck_ GUARDED_BY(mutex_) = false;     // it was waited for in vain
  std::uint64_t unsaid_ GUARDED_BY(mutex_) = 0;  // of dropped_, what the log has not said
};

/// That of standard error, never destroyed.
LogWriter& log_writer();

/// Appends a line in the log's format, without its line feed.
void append_log_line(Severity severity, int verbosity, LogSite site, std::string_view message,
                     std::span<const LogField> fields, bool is_plain, std::string& out);

}  // namespace berth::observe
