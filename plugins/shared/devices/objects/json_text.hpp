// SPDX-License-Identifier: Apache-2.0
/// Parts of a JSON text as they are written: members and items are found by quotes and brackets alone, so nothing in them is
/// converted, and nesting that berth::Json refuses (configuration of drivers) is no obstacle.
///
/// For texts that an API server has stored. What is nested deeper than k_text_depth_max, ends early, or is no JSON is not gone
/// through to its end; nothing outside of the text is read, and nothing recurses. Names of members are compared as they are
/// written: one with an escape in it equals no name without. Views are into the text that was given. Values; any thread.
#pragma once
#include <functional>
#include <string>
#include <string_view>

namespace devices {

/// What an API server itself can read: the limit of Go's encoding/json.
inline constexpr std::size_t k_text_depth_max = 10'000;

struct TextPart {
  bool is_known = false;  ///< the text could be gone through
  std::string_view text;  ///< empty: no such member
};
/// Of a name that occurs twice the last, as berth::Json.
TextPart member_of(std::string_view object, std::string_view name);

/// `use(name, value)` for each member of an object, `use("", value)` for each item of a list. False: the text could not be gone
/// through to its end; what came before was used.
bool each_part(std::string_view text, const std::function<void(std::string_view, std::string_view)>& use);

/// The object with that member replaced, or added, at the end; all others as they are written. An empty text is an object without
/// members. Throws berth::JsonError for a text that cannot be gone through: what would be left out of it would be lost.
std::string with_member_text(std::string_view object, std::string_view name, std::string_view value);

}  // namespace devices
