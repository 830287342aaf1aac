// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Names that people mistype, and text for messages about them.
namespace berth::config {

/// The known names that `wrong` may have been meant as, nearest first, at most `limit`. Letter case, one or two slips
/// and a missing or additional ending are forgiven; names that merely share letters are not offered.
std::vector<std::string> nearest_names(std::string_view wrong, const std::vector<std::string>& known,
                                       std::size_t limit = 3);

/// `did you mean "a" or "b"?`; empty when nothing is near.
std::string did_you_mean(std::string_view wrong, const std::vector<std::string>& known);

/// `"a", "b"`.
std::string quoted_list(const std::vector<std::string>& names);
std::string quoted(std::string_view text);

/// A Go duration ("1m30s", "300ms", "-2h", "0") as nanoseconds; nothing when malformed or out of range.
std::optional<std::int64_t> parse_duration_ns(std::string_view text);
/// As Go prints it: "1m30s", "300ms", "0s".
std::string format_duration(std::int64_t duration_ns);

}  // namespace berth::config
