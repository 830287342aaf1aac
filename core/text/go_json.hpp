// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "text/diagnostics.hpp"
#include "text/value.hpp"

namespace berth::text {

/// Parses one JSON value that a server sent, as Go's decoder takes it: bytes that are no UTF-8, and halves of surrogate
/// pairs, read as U+FFFD. What is nested deeper than k_max_depth reads as null and is a problem: the rest is returned.
/// Anything else that is malformed is a problem, and nothing is returned.
std::vector<Document> parse_go_json(std::string_view text, std::string file, Diagnostics& diagnostics);

}  // namespace berth::text
