// SPDX-License-Identifier: Apache-2.0
#include "decode/pod/defaulting.hpp"

#include <spdlog/fmt/fmt.h>

#include "decode/cursor.hpp"

namespace berth::decode {
namespace {

/// FNV-1a, twice with different starts: made-up uids must differ, not resist an attacker.
std::uint64_t hash(std::uint64_t state, std::string_view text) noexcept {
  for (const char c : text) state = (state ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return (state ^ 0xff) * 0x100000001b3;  // ends the word, so that ("a", "bc") and ("ab", "c") differ
}

}  // namespace

// pkg/apis/scheduling/v1/helpers.go (SystemPriorityClasses).
Defaulting::Defaulting(std::int64_t now_ns)
    : now_ns_(now_ns),
      classes_{{"system-node-critical", {2000001000, true}}, {"system-cluster-critical", {2000000000, true}}} {}

void Defaulting::add_priority_class(const text::Document& document, const text::Value& object,
                                    text::Diagnostics& diagnostics) {
  const Cursor root(document, object, diagnostics);
  const Cursor kind = root.child("kind");
  if (kind.string_or({}) != "PriorityClass") return;
  const Cursor metadata = root.mapping("metadata");
  const Cursor name = metadata.child("name");
  const Cursor value = root.child("value");
  const Cursor policy = root.child("preemptionPolicy");
  const Cursor is_default = root.child("globalDefault");
  const Priority priority{value.integer32().value_or(0), policy.string_or({}) != "Never"};
  if (name.string_or({}).empty()) {
    name.add_error("a priority class needs a name");
    return;
  }
  classes_[std::string(name.string_or({}))] = priority;
  // Of several defaults upstream takes the one with the lowest value (plugin/pkg/admission/priority,
  // getDefaultPriorityClass).
  if (is_default.boolean().value_or(false) && (!global_default_ || priority.value < global_default_->value))
    global_default_ = priority;
}

std::optional<Defaulting::Priority> Defaulting::priority_of(std::string_view class_name) const {
  if (class_name.empty()) return global_default_.value_or(Priority{});
  const auto found = classes_.find(class_name);
  return found == classes_.end() ? std::nullopt : std::optional(found->second);
}

bool Defaulting::applies(const text::Value& object) noexcept {
  const text::Value* uid = object.find_path("metadata.uid");
  return uid == nullptr || uid->text().empty();
}

std::string Defaulting::make_uid(std::string_view kind, std::string_view ns, std::string_view name) {
  const auto mix = [&](std::uint64_t start) { return hash(hash(hash(start, kind), ns), name); };
  const std::uint64_t high = mix(0xcbf29ce484222325);
  const std::uint64_t low = mix(0x9e3779b97f4a7c15);
  // Version 8 ("vendor-specific") of RFC 9562 says that these bits were not drawn at random.
  return fmt::format("{:08x}-{:04x}-8{:03x}-{:04x}-{:012x}", high >> 32, (high >> 16) & 0xffff, high & 0xfff,
                     0x8000 | ((low >> 48) & 0x3fff), low & 0xffffffffffff);
}

}  // namespace berth::decode
