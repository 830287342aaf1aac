// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "config/read/fields.hpp"
#include "text/value.hpp"

namespace berth::config {

/// The schema that a "$ref" means, or null.
const text::Value* resolve_reference(const text::Value& root, std::string_view reference) noexcept;

/// One walk over args and schema side by side: the work behind ArgsSchema::complete(). Not for other folders.
/// Requires: the schema passed ArgsSchema::parse().
class ArgsChecker {
 public:
  ArgsChecker(const text::Value& schema, const Source& source) : root_(schema), source_(source) {}

  /// Checks the outermost object and returns it completed.
  std::string complete(const text::Value& args, const Place& place);

 private:
  /// Reports what is wrong with `value` and appends it, completed, to `out`.
  void check(const text::Value& schema, const text::Value& value, const Place& place, std::string& out);
  void check_scalar(const text::Value& schema, const text::Value& value, const Place& place);
  void check_range(const text::Value& schema, const text::Value& value, const Place& place);
  void check_string(const text::Value& schema, const text::Value& value, const Place& place);
  void check_format(const text::Value& schema, const text::Value& value, const Place& place);
  void check_sequence(const text::Value& schema, const text::Value& value, const Place& place, std::string& out);
  void check_repetition(const text::Value& schema, const text::Value& value, const Place& place);
  void check_mapping(const text::Value& schema, const text::Value& value, const Place& place, std::string& out);
  void check_alternatives(const text::Value& schema, const text::Value& value, const Place& place);
  void check_unknown(const text::Value& schema, const text::Member& member, const Place& place, std::string& out);
  /// Whether `value` would pass, without a word about it.
  bool passes(const text::Value& schema, const text::Value& value);
  /// "Invalid value: <value>: <sentence or errorMessage>".
  void invalid(const text::Value& schema, const text::Value& value, const Place& place, std::string_view sentence,
               std::string advice = {});
  bool counts_as_absent(const text::Value& schema, const text::Value& value) const;
  const text::Value& follow(const text::Value& schema) const;

  const text::Value& root_;
  const Source& source_;
  bool outermost_ = true;
  std::size_t depth_ = 0;
};

}  // namespace berth::config
