// SPDX-License-Identifier: Apache-2.0
#include "app/log_format.hpp"

#include <spdlog/formatter.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <ctime>

#include "framework/plugin_call.hpp"
#include "text/parse.hpp"

namespace berth::app {
namespace {

std::atomic<int> current_verbosity{0};

char letter_of(spdlog::level::level_enum level) {
  switch (level) {
    case spdlog::level::warn:
      return 'W';
    case spdlog::level::err:
      return 'E';
    case spdlog::level::critical:
      return 'F';
    default:
      return 'I';
  }
}

/// klog counts verbosity; its errors and warnings are 0.
int verbosity_of(spdlog::level::level_enum level) {
  return level == spdlog::level::trace ? 4 : level == spdlog::level::debug ? 2 : 0;
}

std::string_view payload_of(const spdlog::details::log_msg& message) {
  return {message.payload.data(), message.payload.size()};
}

std::int64_t micros_of(const spdlog::details::log_msg& message) {
  return std::chrono::duration_cast<std::chrono::microseconds>(message.time.time_since_epoch()).count();
}

class TextFormat final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    const std::int64_t micros = micros_of(message);
    const auto seconds = static_cast<std::time_t>(micros / 1'000'000);
    std::tm local{};
    ::localtime_r(&seconds, &local);
    fmt::format_to(std::back_inserter(out), "{}{:02}{:02} {:02}:{:02}:{:02}.{:06} {:7} berth] {}\n",
                   letter_of(message.level), local.tm_mon + 1, local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec,
                   micros % 1'000'000, ::getpid(), payload_of(message));
  }
  std::unique_ptr<spdlog::formatter> clone() const override { return std::make_unique<TextFormat>(); }
};

class JsonFormat final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    const std::int64_t micros = micros_of(message);
    std::string text;
    text::append_json_string(text, framework::valid_utf8(payload_of(message)));
    const auto level = spdlog::level::to_string_view(message.level);
    fmt::format_to(std::back_inserter(out), R"({{"ts":{}.{:03},"level":"{}","msg":{},"v":{}}})", micros / 1000,
                   micros % 1000, std::string_view(level.data(), level.size()), text, verbosity_of(message.level));
    out.push_back('\n');
  }
  std::unique_ptr<spdlog::formatter> clone() const override { return std::make_unique<JsonFormat>(); }
};

}  // namespace

std::unique_ptr<spdlog::formatter> make_text_format() { return std::make_unique<TextFormat>(); }
std::unique_ptr<spdlog::formatter> make_json_format() { return std::make_unique<JsonFormat>(); }

void log_up_to(int verbosity) {
  current_verbosity = verbosity;
  spdlog::set_level(verbosity >= 4   ? spdlog::level::trace
                    : verbosity >= 2 ? spdlog::level::debug
                                     : spdlog::level::info);
}

int verbosity() noexcept { return current_verbosity; }

}  // namespace berth::app
