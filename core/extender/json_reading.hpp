// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "text/value.hpp"

/// JSON as Go's encoding/json reads it into a struct: names of members match whatever their case, the last of several
/// wins, null leaves a value as it was, unknown members are passed over, and what follows the value is not looked at.
/// Internal to core/extender. Failure: an Error that names the member.
namespace berth::extender {

/// The first JSON value of a text.
Result<text::Document> parse_first(std::string_view text);

/// A member of a mapping; null when it is absent or null. Requires: a mapping or null.
const text::Value* member(const text::Value& mapping, std::string_view name);

// Each reads a value of that kind into `out`. `where` is for the Error.
Status read(const text::Value* value, std::string_view where, std::string& out);
Status read(const text::Value* value, std::string_view where, std::int64_t& out);
Status read_list(const text::Value* value, std::string_view where,
                 const std::function<Status(const text::Value& element)>& element);
Status read_mapping(const text::Value* value, std::string_view where,
                    const std::function<Status(std::string_view key, const text::Value& value)>& entry);

}  // namespace berth::extender
