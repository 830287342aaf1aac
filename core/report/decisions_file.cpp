// SPDX-License-Identifier: Apache-2.0
#include "report/decisions_file.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spdlog/fmt/fmt.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "report/text_table.hpp"

namespace berth::report {
namespace {

constexpr std::size_t k_buffer_bytes = std::size_t{1} << 20;  // more is written at once

/// Writing to a pipe without a reader is an error here, not the end of the process.
class NoPipeSignal {
 public:
  NoPipeSignal() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    was_pending_ = sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoPipeSignal() {
    const int error_number = errno;
    const timespec at_once{};
    if (!was_pending_)
      while (sigtimedwait(&pipe_, nullptr, &at_once) == -1 && errno == EINTR) {
      }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error_number;
  }

 private:
  sigset_t pipe_, before_;
  bool was_pending_ = false;
};

/// False: errno says why.
bool write_all(int file, std::string_view bytes) {
  const NoPipeSignal guard;
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

DecisionsFile::~DecisionsFile() {
  for (const int file : {file_, waiting_})
    if (file >= 0) close(file);
}

void DecisionsFile::fail(std::string_view path, int error_number) {
  status_ = Error{fmt::format("cannot write {}: {}", terminal_text(path), std::strerror(error_number))};
  buffer_.clear();
}

Status DecisionsFile::open() {
  file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file_ < 0) fail(path_, errno);
  buffer_ = decisions_head();
  return status_;
}

void DecisionsFile::write(const Decision& decision, bool claims_come_later) {
  if (!status_.ok()) return;
  if (claims_come_later && waiting_ < 0 && !begin_waiting()) return;
  const std::size_t claims_at = append_decision(buffer_, decision, is_first_);
  if (claims_come_later) later_.push_back({waiting_bytes_ + claims_at, decision.pod});
  is_first_ = false;
  if (buffer_.size() >= k_buffer_bytes) flush();
}

void DecisionsFile::flush() {
  if (!status_.ok()) return;
  const bool waits = waiting_ >= 0;
  if (!write_all(waits ? waiting_ : file_, buffer_)) return fail(waits ? waiting_path_ : path_, errno);
  if (waits) waiting_bytes_ += buffer_.size();
  buffer_.clear();
}

bool DecisionsFile::begin_waiting() {
  flush();
  const char* const configured = getenv("TMPDIR");
  waiting_path_ = configured != nullptr && *configured != '\0' ? configured : "/tmp";
  waiting_path_ += "/berth-XXXXXX";
  waiting_ = mkostemp(waiting_path_.data(), O_CLOEXEC);
  if (waiting_ < 0)
    fail(waiting_path_, errno);
  else
    unlink(waiting_path_.c_str());
  return status_.ok();
}

void DecisionsFile::copy_waiting(std::uint64_t end) {
  while (status_.ok() && copied_bytes_ < end) {
    buffer_.resize(std::min<std::uint64_t>(end - copied_bytes_, k_buffer_bytes));
    const ssize_t read = pread(waiting_, buffer_.data(), buffer_.size(), static_cast<off_t>(copied_bytes_));
    if (read < 0 && errno == EINTR) continue;
    if (read <= 0) return fail(waiting_path_, read < 0 ? errno : EIO);
    if (!write_all(file_, std::string_view(buffer_).substr(0, static_cast<std::size_t>(read))))
      return fail(path_, errno);
    copied_bytes_ += static_cast<std::uint64_t>(read);
  }
}

Status DecisionsFile::finish(const std::function<std::string(const model::Pod& pod)>& claims_of) {
  if (waiting_ >= 0) {
    flush();
    for (const LaterClaims& later : later_) {
      copy_waiting(later.at);
      if (!status_.ok()) return status_;
      if (const std::string claims = claims_of(*later.pod); !claims.empty())
        if (!write_all(file_, claims_member(claims))) fail(path_, errno);
    }
    copy_waiting(waiting_bytes_);
    close(waiting_);
    waiting_ = -1;
    buffer_.clear();
  }
  buffer_ += k_decisions_end;
  flush();
  const int closed = file_ >= 0 ? close(file_) : 0;  // may say what a write kept back
  file_ = -1;
  if (status_.ok() && closed != 0) fail(path_, errno);
  return status_;
}

}  // namespace berth::report
