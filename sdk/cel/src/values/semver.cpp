// SPDX-License-Identifier: Apache-2.0
#include "values/semver.hpp"

#include <charconv>
#include <string>

namespace berth::cel {
namespace {

constexpr std::size_t k_text_bytes_max = 64 * 1024;

bool all_digits(std::string_view text) { return text.find_first_not_of("0123456789") == std::string_view::npos; }

bool all_version_characters(std::string_view text) {
  for (const char c : text)
    if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-')) return false;
  return true;
}

std::string quoted(std::string_view before, std::string_view text) {
  return std::string(before) + " \"" + std::string(text) + '"';
}

/// Empty: good.
std::string parse_number(std::string_view part, std::string_view which, std::string_view lower, std::uint64_t& number) {
  if (!all_digits(part)) return quoted("Invalid character(s) found in " + std::string(lower) + " number", part);
  if (part.size() > 1 && part[0] == '0')
    return quoted(std::string(which) + " number must not contain leading zeroes", part);
  const auto [end, code] = std::from_chars(part.data(), part.data() + part.size(), number);
  if (part.empty()) return "strconv.ParseUint: parsing \"\": invalid syntax";
  if (code != std::errc()) return "strconv.ParseUint: parsing \"" + std::string(part) + "\": value out of range";
  return {};
}

/// Calls `use` for each dot-separated part until it answers a text.
template <class Use>
std::string for_each_part(std::string_view text, Use use) {
  for (;;) {
    const std::size_t dot = text.find('.');
    std::string wrong = use(text.substr(0, dot));
    if (!wrong.empty() || dot == std::string_view::npos) return wrong;
    text.remove_prefix(dot + 1);
  }
}

std::string check_prerelease(std::string_view text) {
  return for_each_part(text, [](std::string_view part) -> std::string {
    if (part.empty()) return "Prerelease is empty";
    if (all_digits(part)) {
      if (part.size() > 1 && part[0] == '0')
        return quoted("Numeric PreRelease version must not contain leading zeroes", part);
      std::uint64_t number = 0;
      if (std::from_chars(part.data(), part.data() + part.size(), number).ec != std::errc())
        return "strconv.ParseUint: parsing \"" + std::string(part) + "\": value out of range";
      return {};
    }
    return all_version_characters(part) ? std::string() : quoted("Invalid character(s) found in prerelease", part);
  });
}

std::string check_build(std::string_view text) {
  return for_each_part(text, [](std::string_view part) -> std::string {
    if (part.empty()) return "Build meta data is empty";
    return all_version_characters(part) ? std::string() : quoted("Invalid character(s) found in build meta data", part);
  });
}

std::string parse_strict(std::string_view text, Semver& value) {
  if (text.empty()) return "Version string empty";
  const std::size_t first = text.find('.');
  const std::size_t second = first == std::string_view::npos ? first : text.find('.', first + 1);
  if (second == std::string_view::npos) return "No Major.Minor.Patch elements found";
  std::string wrong = parse_number(text.substr(0, first), "Major", "major", value.major);
  if (wrong.empty()) wrong = parse_number(text.substr(first + 1, second - first - 1), "Minor", "minor", value.minor);
  if (!wrong.empty()) return wrong;
  std::string_view patch = text.substr(second + 1);
  std::string_view build;
  const std::size_t plus = patch.find('+');
  if (plus != std::string_view::npos) {
    build = patch.substr(plus + 1);
    patch = patch.substr(0, plus);
  }
  const std::size_t minus = patch.find('-');
  const bool has_prerelease = minus != std::string_view::npos;
  if (has_prerelease) {
    value.prerelease = patch.substr(minus + 1);
    patch = patch.substr(0, minus);
  }
  wrong = parse_number(patch, "Patch", "patch", value.patch);
  if (wrong.empty() && has_prerelease) wrong = check_prerelease(value.prerelease);
  if (wrong.empty() && plus != std::string_view::npos) wrong = check_build(build);
  return wrong;
}

std::string normalized(std::string_view text, std::string& wrong) {
  if (!text.empty() && text[0] == 'v') text.remove_prefix(1);
  std::string_view parts[3];
  int count = 0;
  while (count < 2 && text.find('.') != std::string_view::npos) {
    parts[count++] = text.substr(0, text.find('.'));
    text.remove_prefix(parts[count - 1].size() + 1);
  }
  parts[count++] = text;
  for (int i = 0; i < count; ++i) {
    if (parts[i].size() < 2) continue;
    const std::size_t digit = parts[i].find_first_not_of('0');
    std::string_view rest = digit == std::string_view::npos ? std::string_view() : parts[i].substr(digit);
    // A zero stays before what is no digit, and where nothing else would.
    if (rest.empty() || rest[0] < '0' || rest[0] > '9')
      rest = parts[i][0] == '0' ? parts[i].substr(parts[i].size() - rest.size() - 1) : parts[i];
    parts[i] = rest;
  }
  if (count < 3 && parts[count - 1].find_first_of("+-") != std::string_view::npos)
    wrong = "short version cannot contain PreRelease/Build meta data";
  while (count < 3) parts[count++] = "0";
  return std::string(parts[0]) + '.' + std::string(parts[1]) + '.' + std::string(parts[2]);
}

int compare_numbers(std::uint64_t left, std::uint64_t right) { return left < right ? -1 : left > right ? 1 : 0; }

int compare_parts(std::string_view left, std::string_view right) {
  const bool left_number = all_digits(left), right_number = all_digits(right);
  if (left_number != right_number) return left_number ? -1 : 1;
  if (left_number && left.size() != right.size()) return left.size() < right.size() ? -1 : 1;
  const int compared = left.compare(right);
  return compared < 0 ? -1 : compared > 0 ? 1 : 0;
}

}  // namespace

SemverParsed parse_semver(std::string_view text, bool normalize, Arena& arena) {
  if (text.size() > k_text_bytes_max) return {{}, "version is longer than 64 KiB"};
  std::string wrong;
  std::string_view kept = text;
  if (normalize) {
    const std::string normal = normalized(text, wrong);
    kept = arena.copy(normal);
  }
  SemverParsed parsed;
  if (wrong.empty()) wrong = parse_strict(kept, parsed.value);
  if (!wrong.empty()) {
    parsed.error = arena.copy(wrong);
    if (parsed.error.empty()) parsed.error = "version cannot be read";
  }
  return parsed;
}

int compare(const Semver& left, const Semver& right) {
  if (const int numbers = compare_numbers(left.major, right.major)) return numbers;
  if (const int numbers = compare_numbers(left.minor, right.minor)) return numbers;
  if (const int numbers = compare_numbers(left.patch, right.patch)) return numbers;
  std::string_view a = left.prerelease, b = right.prerelease;
  if (a.empty() || b.empty()) return a.empty() == b.empty() ? 0 : a.empty() ? 1 : -1;
  for (;;) {
    const std::size_t a_dot = a.find('.'), b_dot = b.find('.');
    if (const int parts = compare_parts(a.substr(0, a_dot), b.substr(0, b_dot))) return parts;
    const bool a_ends = a_dot == std::string_view::npos, b_ends = b_dot == std::string_view::npos;
    if (a_ends || b_ends) return a_ends == b_ends ? 0 : a_ends ? -1 : 1;
    a.remove_prefix(a_dot + 1);
    b.remove_prefix(b_dot + 1);
  }
}

}  // namespace berth::cel
