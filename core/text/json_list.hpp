// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "text/value.hpp"

namespace berth::text {

/// Levels between the root of a list and one of its items.
inline constexpr int k_depth_of_items = 2;

/// Up to this much is held of a list while it is taken apart.
struct JsonListLimits {
  std::size_t item_bytes = std::size_t{64} << 20;
  std::size_t rest_bytes = std::size_t{1} << 20;
};

/// Puts the next bytes of a text to `out`, `room` at most, and returns how many; 0: the end, or a failure.
using TextReader = std::function<std::size_t(char* out, std::size_t room)>;

/// Takes a list in JSON apart, `{"kind": "PodList", "items": [{…}, {…}], …}`, without holding it: each item's text goes to
/// `item`, in order, and the rest, with an empty list in place of the items, is returned. If the rest is JSON, and so is
/// every item at k_depth_of_items levels (read_json_item), then the text is, and says the same; brackets and quotes decide
/// where an item ends, and nothing else is judged here.
///
/// Memory:  one item and the rest, each within its limit, and a chunk of the text.
/// Failure: nothing, as soon as the text turns out to be something else: no object, two members "items" or none, an item
///          that is no object, more than the limits, the end of the text too early or too late, or item() returned false.
///          The caller then reads the text as a whole, and hears what is wrong with it.
std::optional<std::string> split_json_list(const TextReader& read, const std::function<bool(std::string_view)>& item,
                                           const JsonListLimits& limits = {});

/// An item as it is read in its list, but for positions, which count from its own beginning. Nothing: it is malformed.
std::optional<Document> read_json_item(std::string_view item, std::string file);

}  // namespace berth::text
