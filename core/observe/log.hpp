// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

/// The log: messages that are the same whenever a place is passed, and fields that are not.
///
///   observe::V(2).info("Successfully bound pod to node", {{"pod", *pod}, {"node", node_name}});
///
/// Levels are upstream's: 0 what happens, 2 what is decided, 3 and 4 the steps, 5 and 6 every event, 10 every score.
/// What is not logged costs a comparison, as long as the fields are views and numbers; texts that have to be put
/// together first belong under `if (const observe::V v(5); v) v.info(…)`.
/// Threads: any, lines do not mix. log_as() and log_modules() come before other threads log.
/// Source:  k8s.io/klog/v2 (severity, verbosity, structured lines).
namespace berth::observe {

/// An object by namespace and name; without the former where it has none.
struct ObjectName {
  std::string_view ns, name;
};

/// Anything that says by `ns` and `name` which object it is.
template <typename T>
concept Named = std::convertible_to<decltype((std::declval<const T&>().ns)), const std::string&> &&
    std::convertible_to<decltype((std::declval<const T&>().name)), const std::string&>;

/// A key and a view of its value, for one call.
struct LogField {
  using Value = std::variant<std::string_view, std::int64_t, double, bool, ObjectName>;

  LogField(std::string_view key_, std::string_view text) : key(key_), value(text) {}
  LogField(std::string_view key_, ObjectName object) : key(key_), value(object) {}
  LogField(std::string_view key_, double number) : key(key_), value(number) {}
  template <std::same_as<bool> T>
  LogField(std::string_view key_, T yes) : key(key_), value(yes) {}
  template <std::integral T>
  requires(!std::same_as<T, bool>) LogField(std::string_view key_, T number)
      : key(key_), value(static_cast<std::int64_t>(number)) {}
  template <Named T>
  LogField(std::string_view key_, const T& object)
      : LogField(key_,
                 ObjectName{static_cast<const std::string&>(object.ns), static_cast<const std::string&>(object.name)}) {
  }

  std::string_view key;
  Value value;
};
using LogFields = std::initializer_list<LogField>;

/// A place in the sources.
struct LogSite {
  const char* file = "";
  int line = 0;
  /// As zap has it: the file with the folder it is in, "binding/binder.cpp".
  std::string_view file_in_folder() const noexcept;
  /// "binder.cpp".
  std::string_view file_name() const noexcept;
};

enum class Severity : std::uint8_t { info, warning, error };

struct LogLine {
  Severity severity = Severity::info;
  int verbosity = 0;
  LogSite site;
  std::int64_t wall_us = 0;
  std::string_view message;
  std::span<const LogField> fields;
  bool is_plain = false;  // the message is all there is, and shown as it stands
};

/// Appends a line, without the line feed at its end.
using LogFormat = void (*)(const LogLine& line, std::string& out);

/// klog's: I1120 15:04:05.123456    1234 binder.cpp:51] "Message" key="value" number=3
/// A value of several lines stands between "key=<" and " >", indented by a tab.
void log_as_text(const LogLine& line, std::string& out);

/// Text until told otherwise.
void log_as(LogFormat format) noexcept;
void log_up_to(int verbosity) noexcept;
int verbosity() noexcept;

/// Files that say more than others. `pattern` is of file names without folder and suffix, as in --vmodule.
struct LogModule {
  std::string pattern;
  int verbosity = 0;
};
void log_modules(std::vector<LogModule> modules);

void write_log_line(Severity severity, int verbosity, LogSite site, std::string_view message,
                    std::span<const LogField> fields, bool is_plain = false);

/// What is said from a verbosity on.
class V {
 public:
  explicit V(int level, const char* file = __builtin_FILE(), int line = __builtin_LINE()) noexcept
      : level_(level),
        is_on_(level <= loudest_.load(std::memory_order_relaxed) && is_wanted(level, file)),
        site_{file, line} {}
  explicit operator bool() const noexcept { return is_on_; }

  void info(std::string_view message, LogFields fields = {}) const {
    if (is_on_) write_log_line(Severity::info, level_, site_, message, {fields.begin(), fields.size()});
  }
  /// A line that stands for itself.
  void plain(std::string_view line) const {
    if (is_on_) write_log_line(Severity::info, level_, site_, line, {}, true);
  }

 private:
  friend void log_up_to(int) noexcept;
  friend void log_modules(std::vector<LogModule>);
  static bool is_wanted(int level, const char* file) noexcept;
  static void listen() noexcept;
  static std::atomic<int> loudest_;  // of all files

  int level_;
  bool is_on_;
  LogSite site_;
};

inline void info(std::string_view message, LogFields fields = {}, const char* file = __builtin_FILE(),
                 int line = __builtin_LINE()) {
  V(0, file, line).info(message, fields);
}
inline void warning(std::string_view message, LogFields fields = {}, const char* file = __builtin_FILE(),
                    int line = __builtin_LINE()) {
  write_log_line(Severity::warning, 0, {file, line}, message, {fields.begin(), fields.size()});
}
/// What went wrong is the field "err", and comes first.
inline void error(std::string_view message, LogFields fields = {}, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE()) {
  write_log_line(Severity::error, 0, {file, line}, message, {fields.begin(), fields.size()});
}

}  // namespace berth::observe
