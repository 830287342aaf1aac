// SPDX-License-Identifier: Apache-2.0
#include "app/recording/recorder_directory.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/read_file.hpp"
#include "observe/log.hpp"

namespace berth::app {
namespace {

constexpr const char* k_usual_state = "/var/lib/berth";

/// systemd's StateDirectory=; several are separated by colons.
std::string state_directory() {
  const char* const given = std::getenv("STATE_DIRECTORY");
  if (given == nullptr || *given == '\0') return k_usual_state;
  const std::string all = given;
  return all.substr(0, all.find(':'));
}

/// Fails when others could put a recording there, or change one: it would be read as this scheduler's. As plugin directories are
/// judged: a sticky directory is no exception, and those above it are the affair of the operator who chose it.
Status is_safe(const std::string& directory) {
  const int opened = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  struct stat info {};
  const bool is_seen = opened >= 0 && ::fstat(opened, &info) == 0;
  const int error = errno;
  if (opened >= 0) ::close(opened);
  if (!is_seen) return Error{std::strerror(error)};
  const Status safe = only_owner_writes(info);
  if (safe.ok()) return safe;
  return Error{safe.error().message + ": chown or chmod go-w it, or name a directory below it, which is made"};
}

}  // namespace

std::string recorder_directory(const std::optional<std::string>& flag) {
  if (flag && flag->empty()) return {};
  const std::string state = state_directory();
  std::error_code error;
  if (!flag && !std::filesystem::is_directory(state, error)) {
    observe::info("Decisions are not recorded: there is no directory for it; --recorder-dir names one",
                  {{"directory", state}});
    return {};
  }
  const std::string directory = flag ? *flag : state + "/recorder";
  const bool is_there = ::mkdir(directory.c_str(), 0700) == 0 || errno == EEXIST;
  const Status safe = is_there ? is_safe(directory) : Error{std::strerror(errno)};
  if (safe.ok()) return directory;
  observe::warning("Decisions are not recorded", {{"directory", directory}, {"err", safe.error().message}});
  return {};
}

}  // namespace berth::app
