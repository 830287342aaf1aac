// SPDX-License-Identifier: Apache-2.0
#include "config/read/names.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/utf8.hpp"

namespace berth::config {
namespace {

// A name longer than this is not compared: it is no mistyped name of ours, and the cost is quadratic.
constexpr std::size_t k_compared_name_length = 64;

/// Levenshtein distance in which swapping two neighbours counts once.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), row(b.size() + 1), next(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      next[j] = std::min({row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        next[j] = std::min(next[j], before[j - 2] + 1);
    }
    before = std::exchange(row, std::exchange(next, before));
  }
  return row[b.size()];
}

struct Unit {
  std::string_view name;
  std::int64_t ns;
};
constexpr std::array<Unit, 8> k_units = {{{"ns", 1},
                                          {"us", 1'000},
                                          {"\u00b5s", 1'000},
                                          {"\u03bcs", 1'000},
                                          {"ms", 1'000'000},
                                          {"s", 1'000'000'000},
                                          {"m", 60'000'000'000},
                                          {"h", 3'600'000'000'000}}};

const Unit* take_unit(std::string_view& text) {
  std::size_t length = 0;
  while (length < text.size() && text[length] != '.' && std::isdigit(static_cast<unsigned char>(text[length])) == 0)
    ++length;
  const std::string_view name = text.substr(0, length);
  text.remove_prefix(length);
  for (const Unit& unit : k_units)
    if (unit.name == name) return &unit;
  return nullptr;
}

}  // namespace

std::vector<std::string> nearest_names(std::string_view wrong, const std::vector<std::string>& known,
                                       std::size_t limit) {
  if (wrong.empty() || wrong.size() > k_compared_name_length) return {};
  const std::string needle = lower_case(wrong);
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (const std::string& name : known) {
    if (name.size() > k_compared_name_length) continue;
    const std::string candidate = lower_case(name);
    std::size_t distance = edit_distance(needle, candidate);
    const std::size_t shorter = std::min(needle.size(), candidate.size());
    const bool extends = shorter >= 4 && needle.compare(0, shorter, candidate, 0, shorter) == 0;
    if (extends) distance = std::min<std::size_t>(distance, 2);
    if (distance <= std::max<std::size_t>(1, std::max(needle.size(), candidate.size()) / 4))
      ranked.emplace_back(distance, name);
  }
  std::sort(ranked.begin(), ranked.end());
  ranked.erase(std::unique(ranked.begin(), ranked.end()), ranked.end());
  std::vector<std::string> out;
  for (std::size_t i = 0; i < ranked.size() && i < limit; ++i) out.push_back(std::move(ranked[i].second));
  return out;
}

std::string did_you_mean(std::string_view wrong, const std::vector<std::string>& known) {
  const std::vector<std::string> near = nearest_names(wrong, known);
  if (near.empty()) return {};
  std::string out = "did you mean ";
  for (std::size_t i = 0; i < near.size(); ++i) {
    if (i > 0) out += i + 1 == near.size() ? " or " : ", ";
    out += quoted(near[i]);
  }
  return out + "?";
}

std::string quoted(std::string_view text) { return fmt::format("\"{}\"", text); }

std::string quoted_list(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) {
    if (!out.empty()) out += ", ";
    out += quoted(name);
  }
  return out;
}

std::optional<std::int64_t> parse_duration_ns(std::string_view text) {
  const bool negative = !text.empty() && text.front() == '-';
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
  if (text == "0") return 0;
  if (text.empty()) return std::nullopt;
  // Sums are kept in a long double of whole nanoseconds: 64 bits of mantissa on x86-64, and bounded below anyway.
  constexpr long double k_limit = 9.2e18L;
  long double total = 0;
  while (!text.empty()) {
    long double number = 0, scale = 1;
    bool digits = false, fraction = false;
    while (!text.empty() && (text.front() == '.' || std::isdigit(static_cast<unsigned char>(text.front())) != 0)) {
      if (text.front() == '.') {
        if (fraction) return std::nullopt;
        fraction = true;
      } else {
        digits = true;
        number = number * 10 + (text.front() - '0');
        if (fraction) scale *= 10;
        if (number > k_limit) return std::nullopt;
      }
      text.remove_prefix(1);
    }
    const Unit* unit = take_unit(text);
    if (!digits || unit == nullptr) return std::nullopt;
    total += number / scale * static_cast<long double>(unit->ns);
    if (total > k_limit) return std::nullopt;
  }
  const auto ns = static_cast<std::int64_t>(total);
  return negative ? -ns : ns;
}

std::string format_duration(std::int64_t duration_ns) {
  if (duration_ns == 0) return "0s";
  const bool negative = duration_ns < 0;
  const std::uint64_t ns =
      negative ? ~static_cast<std::uint64_t>(duration_ns) + 1 : static_cast<std::uint64_t>(duration_ns);
  const auto decimal = [](std::uint64_t whole, std::uint64_t rest, int width, std::string_view unit) {
    if (rest == 0) return fmt::format("{}{}", whole, unit);
    std::string digits = fmt::format("{:0{}}", rest, width);
    digits.erase(digits.find_last_not_of('0') + 1);
    return fmt::format("{}.{}{}", whole, digits, unit);
  };
  std::string out = negative ? "-" : "";
  if (ns < 1'000) return out + decimal(ns, 0, 0, "ns");
  if (ns < 1'000'000) return out + decimal(ns / 1'000, ns % 1'000, 3, "\u00b5s");
  if (ns < 1'000'000'000) return out + decimal(ns / 1'000'000, ns % 1'000'000, 6, "ms");
  const std::uint64_t seconds = ns / 1'000'000'000;
  if (seconds >= 3'600) out += fmt::format("{}h", seconds / 3'600);
  if (seconds >= 60) out += fmt::format("{}m", seconds / 60 % 60);
  return out + decimal(seconds % 60, ns % 1'000'000'000, 9, "s");
}

}  // namespace berth::config
