// SPDX-License-Identifier: Apache-2.0
#include "observe/log.hpp"

#include <fnmatch.h>
#include <spdlog/details/os.h>

#include <algorithm>
#include <chrono>

#include "observe/log_writer.hpp"

namespace berth::observe {
namespace {

std::atomic<int> wanted{0};
std::atomic<LogFormat> format{&log_as_text};

// Threads that are not joined log until the very end, so this is never destroyed.

std::vector<LogModule>& modules() {
  static auto& list = *new std::vector<LogModule>;
  return list;
}

std::string_view after_last_slash(std::string_view path) noexcept {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

}  // namespace

std::atomic<int> V::loudest_{0};

std::string_view LogSite::file_name() const noexcept { return after_last_slash(file); }

std::string_view LogSite::file_in_folder() const noexcept {
  const std::string_view path = file, name = file_name();
  if (name.size() == path.size()) return path;
  const std::string_view folder = after_last_slash(path.substr(0, path.size() - name.size() - 1));
  return path.substr(path.size() - name.size() - 1 - folder.size());
}

bool V::is_wanted(int level, const char* file) noexcept {
  if (level <= wanted.load(std::memory_order_relaxed)) return true;
  std::string_view name = LogSite{file, 0}.file_name();
  name = name.substr(0, name.find('.'));
  char stem[256]{};
  name.copy(stem, sizeof stem - 1);
  for (const LogModule& module : modules())
    if (::fnmatch(module.pattern.c_str(), stem, FNM_PATHNAME) == 0) return level <= module.verbosity;
  return false;
}

void V::listen() noexcept {
  int most = wanted;
  for (const LogModule& module : modules()) most = std::max(most, module.verbosity);
  loudest_ = most;
}

void log_as(LogFormat how) noexcept { format = how; }

void log_up_to(int verbosity) noexcept {
  wanted = verbosity;
  V::listen();
}

int verbosity() noexcept { return wanted; }

void log_modules(std::vector<LogModule> louder) {
  modules() = std::move(louder);
  V::listen();
}

void write_log_line(Severity severity, int verbosity, LogSite site, std::string_view message,
                    std::span<const LogField> fields, bool is_plain) {
  std::string out;
  append_log_line(severity, verbosity, site, message, fields, is_plain, out);
  log_writer().write(out);
}

void append_log_line(Severity severity, int verbosity, LogSite site, std::string_view message,
                     std::span<const LogField> fields, bool is_plain, std::string& out) {
  LogLine line{severity, verbosity, site, 0, message, fields, is_plain};
  line.wall_us =
      std::chrono::duration_cast<std::chrono::microseconds>(spdlog::details::os::now().time_since_epoch()).count();
  format.load()(line, out);
}

}  // namespace berth::observe
