// SPDX-License-Identifier: Apache-2.0
#include "observe/log_writer.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spdlog/fmt/fmt.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace berth::observe {
namespace {

// A pipe that poll() calls writable takes so much without blocking.
constexpr std::size_t k_piece_bytes = 4096;

bool is_writable(int descriptor, int timeout_ms) noexcept {
  pollfd asked{descriptor, POLLOUT, 0};
  return ::poll(&asked, 1, timeout_ms) > 0;
}

}  // namespace

LogWriter::LogWriter(int descriptor) : LogWriter(descriptor, Limits{}) {}
LogWriter::LogWriter(int descriptor, Limits limits) : descriptor_(descriptor), limits_(limits) {}
LogWriter::~LogWriter() {
  if (own_ >= 0) ::close(own_);
}

/// Looks at what the descriptor is, unless it is what it was.
void LogWriter::open() {
  struct stat about {};
  if (::fstat(descriptor_, &about) != 0) return;
  if (about.st_dev == device_ && about.st_ino == inode_) return;
  device_ = about.st_dev;
  inode_ = about.st_ino;
  if (own_ >= 0) ::close(own_);
  own_ = -1;
  is_socket_ = S_ISSOCK(about.st_mode);
  may_block_ = S_ISFIFO(about.st_mode) || S_ISCHR(about.st_mode);
  if (may_block_)
    own_ = ::open(fmt::format("/proc/self/fd/{}", descriptor_).c_str(),
                  O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

LogWriter::Written LogWriter::write_now(std::string_view& text) {
  while (!text.empty()) {
    ssize_t written;
    if (is_socket_) {
      written = ::send(descriptor_, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    } else if (own_ >= 0) {
      written = ::write(own_, text.data(), text.size());
    } else if (may_block_ && !is_writable(descriptor_, 0)) {
      return Written::some;
    } else {
      written = ::write(descriptor_, text.data(), may_block_ ? std::min(text.size(), k_piece_bytes) : text.size());
    }
    if (written >= 0)
      text.remove_prefix(static_cast<std::size_t>(written));
    else if (errno == EAGAIN || errno == EWOULDBLOCK)
      return Written::some;
    else if (errno != EINTR)
      return Written::failed;
  }
  return Written::all;
}

void LogWriter::leave_out(std::uint64_t lines) noexcept {
  dropped_.fetch_add(lines, std::memory_order_relaxed);
  unsaid_ += lines;
}

bool LogWriter::drain() {
  if (waiting_.empty()) return true;
  std::string_view rest = std::string_view(waiting_).substr(begun_);
  const std::size_t before = rest.size();
  const Written written = write_now(rest);
  if (rest.size() != before) is_stuck_ = false;
  if (written == Written::failed) leave_out(static_cast<std::uint64_t>(std::count(rest.begin(), rest.end(), '\n')));
  begun_ = waiting_.size() - rest.size();
  if (written == Written::some) {
    // What is written goes once it is most of it.
    if (begun_ > waiting_.size() / 2) {
      waiting_.erase(0, begun_);
      begun_ = 0;
    }
    return false;
  }
  waiting_ = {};
  begun_ = 0;
  is_stuck_ = false;
  if (written == Written::all && unsaid_ != 0) {
    const LogField count("lines", std::exchange(unsaid_, 0));
    append_log_line(Severity::warning, 0, {__FILE__, __LINE__}, "Lines of the log were left out: it was not read",
                    {&count, 1}, false, waiting_);
    waiting_ += '\n';
    return drain();
  }
  return true;
}

bool LogWriter::drain_until(std::chrono::steady_clock::time_point end) {
  while (!drain()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    if (left.count() <= 0 || !is_writable(own_ >= 0 ? own_ : descriptor_, static_cast<int>(left.count())))
      return drain();
  }
  return true;
}

void LogWriter::wait_for_reader() {
  if (patient_ && !is_stuck_)
    is_stuck_ = !drain_until(std::chrono::steady_clock::now() + limits_.patience);
  else
    drain();
}

void LogWriter::write(std::string_view line) {
  const Lock lock(mutex_);
  open();
  const auto has_room = [&]()
                            REQUIRES(mutex_) { return waiting_.size() - begun_ + line.size() < limits_.waiting_bytes; };
  if (!has_room()) wait_for_reader();
  if (!has_room()) return leave_out(1);
  (waiting_ += line) += '\n';
  if (!drain()) wait_for_reader();
}

bool LogWriter::flush(std::chrono::milliseconds limit) {
  const Lock lock(mutex_);
  return drain_until(std::chrono::steady_clock::now() + limit);
}

LogWriter& log_writer() {
  static auto& writer = *new LogWriter(STDERR_FILENO);
  return writer;
}

}  // namespace berth::observe
