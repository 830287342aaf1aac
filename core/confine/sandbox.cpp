// SPDX-License-Identifier: Apache-2.0
#include "confine/sandbox.hpp"

#include <spdlog/fmt/fmt.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "confine/landlock.hpp"
#include "confine/system_call_filter.hpp"

namespace berth::confine {
namespace {

/// The value of "NoNewPrivs:\t1" and the like.
int number_in(const std::string& line, std::string_view key) {
  return line.starts_with(key) ? std::atoi(line.c_str() + key.size()) : -1;
}

bool is_filtered(const std::filesystem::path& task) {
  constexpr int k_filter = 2;  // SECCOMP_MODE_FILTER
  std::ifstream status(task / "status");
  bool has_filter = false, has_no_new_privileges = false;
  for (std::string line; std::getline(status, line);) {
    has_filter = has_filter || number_in(line, "Seccomp:") == k_filter;
    has_no_new_privileges = has_no_new_privileges || number_in(line, "NoNewPrivs:") == 1;
  }
  return has_filter && has_no_new_privileges;
}

void set(int option, unsigned long value, const char* name, std::vector<std::string>& missing) {
  if (::prctl(option, value, 0, 0, 0) != 0) missing.push_back(fmt::format("{}: {}", name, std::strerror(errno)));
}

void limit_files_and_ports(const Needs& needs, Confinement& out) {
  const int version = landlock_version();
  if (version == 0) {
    out.missing.emplace_back("files and ports are not limited: this kernel has no Landlock, or it may not be used");
    return;
  }
  const std::size_t others = std::max<std::size_t>(look_at_threads().all, 1) - 1;
  if (const Status done = restrict_files_and_ports(needs); !done.ok()) {
    out.missing.emplace_back("files and ports are not limited: " + done.error().message);
    return;
  }
  out.landlock_version = version;
  out.left_open = left_open_by_landlock(version, needs);
  if (others != 0)
    out.missing.push_back(fmt::format(
        "files and ports are not limited for {} threads that a plugin started while it was loaded", others));
}

}  // namespace

ThreadsSeen look_at_threads() {
  ThreadsSeen out;
  std::error_code failed;
  for (std::filesystem::directory_iterator at("/proc/self/task", failed), end; !failed && at != end;
       at.increment(failed)) {
    ++out.all;
    // One that has ended meanwhile has no status left.
    if (std::error_code gone; !is_filtered(at->path()) && std::filesystem::exists(at->path() / "status", gone))
      ++out.unfiltered;
  }
  return out;
}

Confinement confine(const Needs& needs, Sandbox how) {
  Confinement out;
  if (how == Sandbox::off) return out;
  set(PR_SET_NO_NEW_PRIVS, 1, "no_new_privs", out.missing);
  if (how == Sandbox::enforce) {
    set(PR_SET_DUMPABLE, 0, "not to be dumpable", out.missing);
    limit_files_and_ports(needs, out);
  }
  const Refusal refusal = how == Sandbox::warn ? Refusal::logged : Refusal::eperm;
  if (const Status done = restrict_system_calls(needs, refusal); !done.ok()) {
    out.missing.emplace_back("system calls are not limited: " + done.error().message);
    return out;
  }
  out.filters_calls = true;
  if (const ThreadsSeen seen = look_at_threads(); seen.all == 0 || seen.unfiltered != 0)
    out.missing.push_back(fmt::format("system calls of {} of {} threads are not limited", seen.unfiltered, seen.all));
  return out;
}

}  // namespace berth::confine
