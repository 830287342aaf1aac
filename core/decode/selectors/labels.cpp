// SPDX-License-Identifier: Apache-2.0
#include "decode/selectors/labels.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

namespace berth::decode {
namespace {

/// Days from 1970-01-01 in the proleptic Gregorian calendar (Howard Hinnant's days_from_civil).
std::int64_t days_from_civil(std::int64_t year, unsigned month, unsigned day) noexcept {
  year -= month <= 2;
  const std::int64_t era = (year >= 0 ? year : year - 399) / 400;
  const auto year_of_era = static_cast<unsigned>(year - era * 400);
  const unsigned day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
  const unsigned day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146097 + static_cast<std::int64_t>(day_of_era) - 719468;
}

/// Reads digits from the left of a text; fails for good at the first that is missing.
class Digits {
 public:
  explicit Digits(std::string_view text) : text_(text) {}
  int number(std::size_t count) noexcept {
    int value = 0;
    for (std::size_t i = 0; i < count; ++i) value = value * 10 + digit();
    return value;
  }
  int digit() noexcept {
    if (text_.empty() || text_.front() < '0' || text_.front() > '9') {
      good_ = false;
      return 0;
    }
    const int value = text_.front() - '0';
    text_.remove_prefix(1);
    return value;
  }
  void expect(std::string_view any_of) noexcept {
    if (text_.empty() || any_of.find(text_.front()) == std::string_view::npos) {
      good_ = false;
    } else {
      text_.remove_prefix(1);
    }
  }
  char peek() const noexcept { return text_.empty() ? '\0' : text_.front(); }
  bool good() const noexcept { return good_; }
  bool done() const noexcept { return text_.empty(); }

 private:
  std::string_view text_;
  bool good_ = true;
};

/// The years 1823 to 2116: times beyond are these, so that the difference of any two is a number.
constexpr std::int64_t k_last_time_ns = std::int64_t{1} << 62;

}  // namespace

model::Labels decode_labels(const Cursor& mapping, SymbolTable& symbols) {
  model::Labels labels;
  mapping.each_member([&](std::string_view key, const Cursor& value) {
    labels.push_back({symbols.intern(key), symbols.intern(value.string_or({}))});
  });
  std::sort(labels.begin(), labels.end(), [](const model::Label& a, const model::Label& b) { return a.key < b.key; });
  return labels;
}

model::Quantity decode_quantity(const Cursor& cursor) {
  if (!cursor.present()) return {};
  const text::Value& value = cursor.value();
  if (!value.is_string() && !value.is_number()) {
    cursor.add_error("must be a quantity", "such as \"500m\" or \"1Gi\"");
    return {};
  }
  std::string_view text = value.text();
  constexpr std::string_view k_space = " \t\r\n";
  const std::size_t first = text.find_first_not_of(k_space);
  text = first == std::string_view::npos ? std::string_view{}
                                         : text.substr(first, text.find_last_not_of(k_space) + 1 - first);
  const Result<model::Quantity> quantity = model::Quantity::parse(text);
  if (quantity.ok()) return *quantity;
  cursor.add_error(fmt::format("invalid quantity \"{}\": {}", value.text(), quantity.error().message),
                   "such as \"500m\" or \"1Gi\"");
  return {};
}

std::optional<std::int64_t> parse_time_ns(std::string_view text) noexcept {
  // A year of more than four digits, or before the first.
  if (text.size() > 5 && std::all_of(text.begin(), text.begin() + 5, [](char c) { return c >= '0' && c <= '9'; }))
    return k_last_time_ns;
  if (text.size() > 5 && text.front() == '-' && text[1] >= '0' && text[1] <= '9') return -k_last_time_ns;
  Digits in(text);
  const int year = in.number(4);
  in.expect("-");
  const int month = in.number(2);
  in.expect("-");
  const int day = in.number(2);
  in.expect("Tt ");
  const int hour = in.number(2);
  in.expect(":");
  const int minute = in.number(2);
  in.expect(":");
  const int second = in.number(2);
  std::int64_t fraction_ns = 0;
  if (in.peek() == '.') {
    in.expect(".");
    std::int64_t unit_ns = 100'000'000;
    do {
      fraction_ns += in.digit() * unit_ns;
      unit_ns /= 10;
    } while (in.good() && in.peek() >= '0' && in.peek() <= '9');
  }
  int offset_minutes = 0;
  const char zone = in.peek();
  in.expect("Zz+-");
  if (zone == '+' || zone == '-') {
    offset_minutes = in.number(2) * 60;
    in.expect(":");
    offset_minutes += in.number(2);
    if (zone == '-') offset_minutes = -offset_minutes;
  }
  if (!in.good() || !in.done() || month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 ||
      second > 60)
    return std::nullopt;
  const std::int64_t days = days_from_civil(year, static_cast<unsigned>(month), static_cast<unsigned>(day));
  const std::int64_t seconds = ((days * 24 + hour) * 60 + minute - offset_minutes) * 60 + second;
  std::int64_t ns = 0;
  if (__builtin_mul_overflow(seconds, std::int64_t{1'000'000'000}, &ns) || __builtin_add_overflow(ns, fraction_ns, &ns))
    return seconds < 0 ? -k_last_time_ns : k_last_time_ns;
  return std::clamp(ns, -k_last_time_ns, k_last_time_ns);
}

std::int64_t decode_time_ns(const Cursor& cursor) {
  const auto text = cursor.string();
  if (!text || text->empty()) return 0;
  if (const auto ns = parse_time_ns(*text)) return *ns;
  cursor.add_error(fmt::format("\"{}\" is not a time", *text), "such as \"2026-01-31T12:00:00Z\"");
  return 0;
}

Symbol find_label(const model::Labels& labels, Symbol key) noexcept {
  const auto found = std::lower_bound(labels.begin(), labels.end(), key,
                                      [](const model::Label& label, Symbol k) { return label.key < k; });
  return found != labels.end() && found->key == key ? found->value : k_no_symbol;
}

Symbol intern_or_empty(const Cursor& cursor, SymbolTable& symbols) { return symbols.intern(cursor.string_or({})); }

}  // namespace berth::decode
