// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace berth::tests {

/// A program that runs while a test does; killed when it goes out of scope.
class ChildProcess {
 public:
  /// Standard output and error go to `log_path`. `environment` is added to ours.
  ChildProcess(const std::vector<std::string>& command, std::string log_path,
               const std::map<std::string, std::string>& environment = {});
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t id() const noexcept { return pid_; }
  void signal(int number) const;
  /// Its exit code, or 128 plus the signal that ended it; nothing when it still runs after `limit`.
  std::optional<int> wait(std::chrono::milliseconds limit);
  std::string log() const;

 private:
  const std::string log_path_;
  pid_t pid_ = -1;
  std::optional<int> ended_;
};

/// A directory for one test, removed at its end.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::string& path() const noexcept { return path_; }
  /// The file's path.
  std::string write(const std::string& name, const std::string& text) const;

 private:
  std::string path_;
};

}  // namespace berth::tests
