// SPDX-License-Identifier: Apache-2.0
/// spec.minResources of a group against what is free in the whole cluster.
#pragma once
#include <berth/json.hpp>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coscheduling {

/// One resource that a group asks for; cpu in milli, everything else in units.
struct Want {
  std::string name;
  std::int64_t left = 0;  // what the nodes so far could not give
  bool met = false;

  /// Takes one node's free amount off. What is met is met: a later node with less than nothing brings it back no more,
  /// while one that comes earlier raises the want, as upstream.
  void take_off(std::int64_t free) {
    if (!met) met = (left -= free) <= 0;
  }
};

/// A Kubernetes quantity times `scale`, rounded up; empty when it does not parse.
inline std::optional<std::int64_t> parse_quantity(std::string_view text, std::int64_t scale) {
  std::size_t at = 0;
  const bool negative = !text.empty() && text[0] == '-';
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) at = 1;
  long double value = 0, weight = 1;
  bool digits = false, fraction = false;
  for (; at < text.size(); ++at) {
    if (text[at] == '.' && !fraction) {
      fraction = true;
    } else if (text[at] >= '0' && text[at] <= '9') {
      digits = true;
      value = value * 10 + (text[at] - '0');
      if (fraction) weight *= 10;
    } else {
      break;
    }
  }
  if (!digits) return std::nullopt;
  value = value / weight * static_cast<long double>(scale);
  const std::string_view suffix = text.substr(at);
  struct Suffix {
    std::string_view text;
    long double factor;
  };
  static constexpr Suffix k_suffixes[] = {{"", 1},         {"n", 1e-9L},    {"u", 1e-6L},    {"m", 1e-3L},
                                          {"k", 1e3L},     {"M", 1e6L},     {"G", 1e9L},     {"T", 1e12L},
                                          {"P", 1e15L},    {"E", 1e18L},    {"Ki", 0x1p10L}, {"Mi", 0x1p20L},
                                          {"Gi", 0x1p30L}, {"Ti", 0x1p40L}, {"Pi", 0x1p50L}, {"Ei", 0x1p60L}};
  const auto known = std::find_if(std::begin(k_suffixes), std::end(k_suffixes),
                                  [&](const Suffix& each) { return each.text == suffix; });
  if (known != std::end(k_suffixes)) {
    value *= known->factor;
  } else {
    if (suffix.size() < 2 || (suffix[0] != 'e' && suffix[0] != 'E')) return std::nullopt;
    int exponent = 0;
    const char* first = suffix.data() + (suffix[1] == '+' ? 2 : 1);
    const auto [end, error] = std::from_chars(first, suffix.data() + suffix.size(), exponent);
    if (error != std::errc() || end != suffix.data() + suffix.size() || exponent > 18 || exponent < -18)
      return std::nullopt;
    for (; exponent > 0; --exponent) value *= 10;
    for (; exponent < 0; ++exponent) value /= 10;
  }
  // Decimal fractions are not exact here: a hair above a whole number is that number.
  const long double slack = std::max(1e-12L, value * 1e-17L);
  if (value >= static_cast<long double>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
  const auto whole = static_cast<std::int64_t>(value);
  const std::int64_t rounded = value - static_cast<long double>(whole) > slack ? whole + 1 : whole;
  return negative ? -rounded : rounded;
}

inline std::int64_t scale_of(std::string_view resource) { return resource == "cpu" ? 1000 : 1; }

/// What a group asks for, by name: its minResources, with one pod slot per needed member whatever is written there.
/// Throws Failure for an amount that is no quantity.
inline std::vector<Want> wanted_amounts(std::string_view min_resources_json, std::uint32_t min_member) {
  std::map<std::string, std::int64_t> amounts;
  const berth::Json json = berth::Json::parse(min_resources_json);
  for (const auto& [name, value] : json.members()) {
    const std::string text = value.is_string() ? value.string(name) : std::to_string(value.integer(name));
    const auto amount = parse_quantity(text, scale_of(name));
    if (!amount) throw berth::Failure("spec.minResources: " + name + ": \"" + text + "\" is no quantity");
    amounts[name] = *amount;
  }
  amounts["pods"] = min_member;
  std::vector<Want> wanted;
  for (const auto& [name, amount] : amounts) wanted.push_back({name, amount});
  return wanted;
}

inline bool all_met(const std::vector<Want>& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [](const Want& want) { return want.met; });
}

/// "cpu 2, example.com/gpu 1".
inline std::string gap_text(const std::vector<Want>& wanted) {
  std::string text;
  for (const Want& want : wanted) {
    if (want.met) continue;
    text += (text.empty() ? "" : ", ") + want.name + " ";
    const std::int64_t scale = scale_of(want.name);
    text += want.left % scale == 0 ? std::to_string(want.left / scale) : std::to_string(want.left) + "m";
  }
  return text;
}

}  // namespace coscheduling
