// SPDX-License-Identifier: Apache-2.0
#include "recording/record_json.hpp"

#include <spdlog/fmt/fmt.h>

#include <ctime>

#include "recording/model_fields.hpp"
#include "text/parse.hpp"

namespace berth::recording {
namespace {

// Names of values, as Kubernetes writes them where it has them. The value 0 is left out like everything that is 0.
std::string_view word_of(model::Operator op) noexcept {
  static constexpr std::string_view k_words[] = {"", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"};
  return k_words[static_cast<std::size_t>(op)];
}
std::string_view word_of(model::Selector::Kind kind) noexcept {
  static constexpr std::string_view k_words[] = {"", "Match", "Invalid"};
  return k_words[static_cast<std::size_t>(kind)];
}
std::string_view word_of(model::SpreadAction action) noexcept {
  static constexpr std::string_view k_words[] = {"", "DoNotSchedule", "ScheduleAnyway"};
  return k_words[static_cast<std::size_t>(action)];
}
std::string_view word_of(model::TaintEffect effect) noexcept {
  static constexpr std::string_view k_words[] = {"", "NoSchedule", "PreferNoSchedule", "NoExecute", "Any"};
  return k_words[static_cast<std::size_t>(effect)];
}
std::string_view word_of(model::TolerationOperator op) noexcept {
  static constexpr std::string_view k_words[] = {"", "Exists", "Lt", "Gt", "Other"};
  return k_words[static_cast<std::size_t>(op)];
}
std::string_view word_of(model::ImageRef::Kind kind) noexcept {
  static constexpr std::string_view k_words[] = {"", "InitContainer", "Container", "Volume"};
  return k_words[static_cast<std::size_t>(kind)];
}
std::string_view word_of(model::PodVolume::Kind kind) noexcept {
  static constexpr std::string_view k_words[] = {"", "Claim", "Ephemeral", "Inline"};
  return k_words[static_cast<std::size_t>(kind)];
}
std::string_view word_of(model::ContainerResources::Kind kind) noexcept {
  static constexpr std::string_view k_words[] = {"", "Init", "App", "Sidecar"};
  return k_words[static_cast<std::size_t>(kind)];
}
std::string_view word_of(model::Qos qos) noexcept {
  static constexpr std::string_view k_words[] = {"", "BestEffort", "Burstable", "Guaranteed"};
  return k_words[static_cast<std::size_t>(qos)];
}
std::string_view word_of(Way way) noexcept {
  static constexpr std::string_view k_words[] = {"", "planned", "unplanned"};
  return k_words[static_cast<std::size_t>(way)];
}

constexpr std::int64_t k_second_ns = 1'000'000'000;

/// An archive that writes members of a JSON object; elements of a list have no name.
class JsonFields {
 public:
  JsonFields(std::string& out, const SymbolTable& symbols) : out_(out), symbols_(symbols) {}

  template <typename T>
  void number(const char* name, T value) {
    if constexpr (std::is_same_v<T, bool>) {
      if (!value) return;
      key(name);
      out_ += "true";
    } else if constexpr (std::is_enum_v<T>) {
      if (value == T{}) return;
      key(name);
      text::append_json_string(out_, word_of(value));
    } else {
      if (value == 0) return;
      key(name);
      out_ += std::to_string(value);
    }
  }
  template <typename T>
  void last_number(const char* name, T value) {
    number(name, value);
  }
  void code(const char* name, std::uint8_t value) {
    static constexpr std::string_view k_words[] = {"Success", "Error", "Unschedulable", "UnschedulableAndUnresolvable",
                                                   "Wait",    "Skip",  "Pending"};
    if (value < std::size(k_words))
      text(name, k_words[value]);
    else
      number(name, value);
  }
  void text(const char* name, std::string_view value) {
    if (value.empty()) return;
    key(name);
    text::append_json_string(out_, value);
  }
  void text(const char* name, const std::string& value) { text(name, std::string_view(value)); }
  void text(const char* name, const model::Uid& uid) { text(name, std::string_view(uid.text())); }
  void text(const char* name, const model::ResourceVersion& version) { text(name, std::string_view(version.text())); }
  void json(const char* name, const std::string& value) {
    text::Diagnostics malformed;
    const auto documents = text::parse_json(value, name, malformed);
    key(name);
    out_ += documents.empty() ? "null" : text::to_json(documents.front().root());
  }
  void word(const char* name, std::string_view value) {
    if (*name != '\0') return text(name, value);
    comma();
    text::append_json_string(out_, value);
  }
  void symbol(const char* name, Symbol value) { word(name, symbols_.text(value)); }
  void symbols(const char* name, const std::vector<Symbol>& values) {
    list(name, values, [](JsonFields& in, Symbol value) { in.symbol("", value); });
  }
  template <typename List, typename Fields>
  void list(const char* name, const List& list, Fields&& fields) {
    if (list.empty()) return;
    if (*name != '\0') key(name);
    out_ += '[';
    for (const auto& each : list) {
      using Element = std::remove_cvref_t<decltype(each)>;
      constexpr bool is_scalar = std::is_same_v<Element, Symbol> || std::is_same_v<Element, std::string>;
      if constexpr (is_scalar)
        fields(*this, each);
      else
        braces([&] { fields(*this, each); });
    }
    out_ += ']';
  }
  /// As a mapping, like everywhere.
  template <typename List>
  void labels(const char* name, const List& labels) {
    if (labels.empty()) return;
    const auto members = [&] {
      for (const model::Label& label : labels) {
        key(symbols_.text(label.key));
        text::append_json_string(out_, symbols_.text(label.value));
      }
    };
    if (*name == '\0') return members();
    key(name);
    braces(members);
  }
  template <typename T, typename Fields>
  void object(const char* name, const T& value, Fields&& fields) {
    const std::size_t before = out_.size();
    key(name);
    const std::size_t start = out_.size();
    braces([&] { fields(*this, value); });
    if (out_.size() == start + 2) out_.resize(before);  // nothing is in it
  }
  template <typename T, typename Fields>
  void shared(const char* name, const model::Shared<T>& value, Fields&& fields) {
    object(name, value.get(), fields);
  }
  template <typename T>
  void part(const char* name, const model::Shared<T>& part) {
    if (!part.is_none()) object(name, part.get(), [](JsonFields& in, const T& value) { part_fields(in, value); });
  }
  template <typename T, typename Fields>
  void pointer(const char* name, const std::shared_ptr<T>& value, Fields&& fields) {
    if (value != nullptr) object(name, *value, fields);
  }
  void member(const char* name, std::string_view value) {
    key(name);
    text::append_json_string(out_, value);
  }

 private:
  void comma() {
    if (out_.back() != '{' && out_.back() != '[') out_ += ',';
  }
  void key(std::string_view name) {
    comma();
    text::append_json_string(out_, name);
    out_ += ':';
  }
  template <typename Members>
  void braces(Members&& members) {
    if (out_.back() != ':') comma();
    out_ += '{';
    members();
    out_ += '}';
  }

  std::string& out_;
  const SymbolTable& symbols_;
};

}  // namespace

std::string_view name_of(Kind kind) noexcept {
  static constexpr std::string_view k_names[] = {"",
                                                 "description",
                                                 "clock",
                                                 "gap",
                                                 "node",
                                                 "node_gone",
                                                 "placed_pod",
                                                 "placed_pod_gone",
                                                 "waiting_pod",
                                                 "waiting_pod_gone",
                                                 "object",
                                                 "object_gone",
                                                 "look",
                                                 "attempt",
                                                 "given_back",
                                                 "nominations",
                                                 "write",
                                                 "state_begins",
                                                 "state_ends",
                                                 "plugin_times"};
  static_assert(std::size(k_names) == k_kinds + 1);
  return k_names[static_cast<std::size_t>(kind)];
}

std::string moment_text(std::int64_t wall_ns) {
  std::int64_t seconds = wall_ns / k_second_ns, rest = wall_ns % k_second_ns;
  if (rest < 0) rest += k_second_ns, --seconds;
  const std::time_t time = seconds;
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  std::string text = fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:09}", parts.tm_year + 1900, parts.tm_mon + 1,
                                 parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, rest);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text + "Z";
}

std::string json_line(const Record& record, const SymbolTable& symbols) {
  std::string out = "{";
  JsonFields writer(out, symbols);
  writer.member("at", moment_text(record.wall_ns));
  writer.member("kind", name_of(record.kind));
  record_fields(writer, record);
  return out + "}";
}

}  // namespace berth::recording
