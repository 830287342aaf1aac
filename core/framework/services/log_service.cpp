// SPDX-License-Identifier: Apache-2.0
#include "framework/services/log_service.hpp"

#include <boost/unordered/unordered_flat_map.hpp>

#include "base/guarded.hpp"
#include "framework/plugin_call.hpp"
#include "framework/plugin_instance.hpp"
#include "observe/log.hpp"

namespace berth::framework {
namespace {

constexpr std::int64_t k_window_ns = 1'000'000'000;
constexpr std::uint32_t k_lines_per_window = 20;  // per instance and message
constexpr std::size_t k_max_messages = 4096;      // distinct messages remembered

/// Lets a message through a few times a second and counts the rest.
class RateLimit {
 public:
  /// Lines suppressed since the last one that passed, or nothing when this one is to be dropped.
  std::optional<std::uint32_t> pass(const void* who, std::string_view message, std::int64_t now_ns) {
    const Lock lock(mutex_);
    if (windows_.size() > k_max_messages) windows_.clear();
    const std::size_t key = std::hash<std::string_view>{}(message) ^ (reinterpret_cast<std::size_t>(who) >> 4);
    Window& window = windows_[key];
    std::uint32_t suppressed = 0;
    if (now_ns - window.start_ns >= k_window_ns || now_ns < window.start_ns) {
      if (window.lines > k_lines_per_window) suppressed = window.lines - k_lines_per_window;
      window = {now_ns, 0};
    }
    if (++window.lines > k_lines_per_window) return std::nullopt;
    return suppressed;
  }

 private:
  struct Window {
    std::int64_t start_ns = 0;
    std::uint32_t lines = 0;
  };
  Mutex mutex_;
  boost::unordered_flat_map<std::size_t, Window> windows_ GUARDED_BY(mutex_);
};

RateLimit& rate_limit() {
  static RateLimit limit;
  return limit;
}

/// The verbosity from which on a line of a plugin is logged.
int verbosity_of(std::uint32_t severity) noexcept {
  return severity == BERTH_LOG_TRACE ? 4 : severity == BERTH_LOG_DEBUG ? 2 : 0;
}

observe::Severity severity_of(std::uint32_t severity) noexcept {
  switch (severity) {
    case BERTH_LOG_ERROR:
      return observe::Severity::error;
    case BERTH_LOG_INFO:
    case BERTH_LOG_DEBUG:
    case BERTH_LOG_TRACE:
      return observe::Severity::info;
    default:
      return observe::Severity::warning;  // "host misbehaves" and whatever comes later
  }
}

void write(const PluginInstance& plugin, std::uint32_t severity, std::string_view message, const berth_kv_v1* fields,
           std::uint32_t count) {
  if (!observe::V(verbosity_of(severity))) return;
  const auto passed = rate_limit().pass(&plugin, message, plugin.host().ports.clock.monotonic_ns());
  if (!passed) return;
  std::vector<std::string> texts;
  texts.reserve(2 * count);
  std::vector<observe::LogField> about{{"plugin", plugin.name()}};
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::string& key = texts.emplace_back(clean_text(from_abi(fields[i].key)));
    about.emplace_back(key, texts.emplace_back(clean_text(from_abi(fields[i].value))));
  }
  if (*passed > 0) about.emplace_back("linesLeftOut", *passed);
  const std::string said = (severity == BERTH_LOG_HOST_MISBEHAVES ? "The host misbehaves: " : "") + clean_text(message);
  observe::write_log_line(severity_of(severity), verbosity_of(severity), {__builtin_FILE(), __builtin_LINE()}, said,
                          about);
}

constexpr berth_log_v1 k_log{
    sizeof(berth_log_v1), 0,
    [](void*, std::uint32_t severity) -> std::uint32_t { return observe::V(verbosity_of(severity)) ? 1 : 0; },
    [](void* ctx, std::uint32_t severity, berth_str message, const berth_kv_v1* fields, std::uint32_t count) {
      write(*static_cast<PluginInstance*>(ctx), severity, from_abi(message), fields, count);
    }};

}  // namespace

const void* log_service() noexcept { return &k_log; }

void write_log(const PluginInstance& plugin, std::uint32_t severity, std::string_view message) {
  write(plugin, severity, message, nullptr, 0);
}

void log_misuse(const PluginInstance& plugin, Misuse kind, std::string_view message) {
  write_log(plugin, BERTH_LOG_ERROR, message);
  if (plugin.host().traps_unasked_fields) plugin.host().misuse.add(kind, fmt::format("{}: {}", plugin.name(), message));
}

}  // namespace berth::framework
