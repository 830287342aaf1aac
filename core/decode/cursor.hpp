// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "text/diagnostics.hpp"
#include "text/last_of_name.hpp"
#include "text/value.hpp"

namespace berth::decode {

/// A value with the way that leads to it, so that a problem can say where it is. Internal to core/decode.
///
/// Absent and null read the same: no text, no members, no elements, no problem. A wrong kind is a problem, and then
/// absent. Lifetime: a cursor refers to its parent, so children are only made from named cursors.
class Cursor {
 public:
  Cursor(const text::Document& document, const text::Value& root, text::Diagnostics& diagnostics)
      : document_(&document), diagnostics_(&diagnostics), value_(root.is_null() ? nullptr : &root) {}

  bool present() const noexcept { return value_ != nullptr; }
  /// Requires: present().
  const text::Value& value() const noexcept { return *value_; }

  Cursor child(std::string_view key) const&;
  Cursor child(std::string_view key) && = delete;
  /// Like child(); a problem when it is there and of another kind.
  Cursor mapping(std::string_view key) const&;
  Cursor mapping(std::string_view key) && = delete;
  Cursor sequence(std::string_view key) const&;
  Cursor sequence(std::string_view key) && = delete;

  std::optional<std::string_view> string() const;
  std::string_view string_or(std::string_view fallback) const { return string().value_or(fallback); }
  std::optional<bool> boolean() const;
  std::optional<std::int64_t> integer(std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                                      std::int64_t most = std::numeric_limits<std::int64_t>::max()) const;
  std::optional<std::int32_t> integer32() const;

  /// Calls body(const Cursor&) per element of a sequence; null elements are problems.
  template <typename Body>
  void each(Body&& body) const {
    if (value_ == nullptr) return;
    std::size_t index = 0;
    for (const text::Value& element : value_->elements()) {
      const Cursor cursor(*this, {}, index++, &element);
      if (element.is_null()) {
        cursor.add_error("must not be null");
      } else {
        body(cursor);
      }
    }
  }
  /// Calls body(key, const Cursor&) per member of a mapping that is not overridden by a later one; null values
  /// included.
  template <typename Body>
  void each_member(Body&& body) const {
    if (value_ == nullptr) return;
    const text::LastOfName last(*value_);
    for (const text::Member& member : value_->members())
      if (last.is(member))
        body(member.key, Cursor(*this, member.key, k_no_index, member.value.is_null() ? nullptr : &member.value));
  }

  /// At this value, or where it should be. An object of which k_errors_max things are wrong is wrong; more are not
  /// told.
  static constexpr std::size_t k_errors_max = 1000;
  void add_error(std::string message, std::string advice = {}) const;
  std::string path() const;

 private:
  static constexpr std::size_t k_no_index = std::numeric_limits<std::size_t>::max();
  Cursor(const Cursor& parent, std::string_view key, std::size_t index, const text::Value* value)
      : document_(parent.document_),
        diagnostics_(parent.diagnostics_),
        parent_(&parent),
        value_(value),
        key_(key),
        index_(index) {}
  void wrong_kind(std::string_view expected) const;

  const text::Document* document_;
  text::Diagnostics* diagnostics_;
  const Cursor* parent_ = nullptr;
  const text::Value* value_;
  std::string_view key_;
  std::size_t index_ = k_no_index;
};

}  // namespace berth::decode
