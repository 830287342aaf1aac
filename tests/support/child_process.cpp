// SPDX-License-Identifier: Apache-2.0
#include "support/child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/check.hpp"

extern char** environ;

namespace berth::tests {
namespace {

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& command, std::string log_path,
                           const std::map<std::string, std::string>& environment)
    : log_path_(std::move(log_path)) {
  std::vector<std::string> arguments = command, variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text(*entry);
    if (environment.count(text.substr(0, text.find('='))) == 0) variables.push_back(text);
  }
  for (const auto& [name, value] : environment) variables.push_back(name + "=" + value);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log_path_.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  const int refused = posix_spawnp(&pid_, arguments.front().c_str(), &actions, nullptr, pointers(arguments).data(),
                                   pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  BERTH_CHECK(refused == 0, "{} cannot be started: {}", command.front(), std::strerror(refused));
}

ChildProcess::~ChildProcess() {
  if (ended_) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void ChildProcess::signal(int number) const { ::kill(pid_, number); }

std::optional<int> ChildProcess::wait(std::chrono::milliseconds limit) {
  if (ended_) return ended_;
  const int fd = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  pollfd waiting{fd, POLLIN, 0};
  const bool over = fd < 0 || ::poll(&waiting, 1, static_cast<int>(limit.count())) > 0;
  if (fd >= 0) ::close(fd);
  int status = 0;
  if (!over || ::waitpid(pid_, &status, 0) != pid_) return std::nullopt;
  ended_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ended_;
}

std::string ChildProcess::log() const {
  std::ifstream in(log_path_, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TemporaryDirectory::TemporaryDirectory() {
  std::string name = (std::filesystem::temp_directory_path() / "berth_test_XXXXXX").string();
  BERTH_CHECK(::mkdtemp(name.data()) != nullptr, "no temporary directory");
  path_ = name;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TemporaryDirectory::write(const std::string& name, const std::string& text) const {
  const std::string path = path_ + "/" + name;
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

}  // namespace berth::tests
