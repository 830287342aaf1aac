// SPDX-License-Identifier: Apache-2.0
#include "app/recording/recorder_directory.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

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
  if (::mkdir(directory.c_str(), 0700) == 0 || errno == EEXIST) return directory;
  observe::warning("Decisions are not recorded", {{"directory", directory}, {"err", std::strerror(errno)}});
  return {};
}

}  // namespace berth::app
