// SPDX-License-Identifier: Apache-2.0
#include "values/times.hpp"

#include <charconv>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "syntax/characters.hpp"

namespace berth::cel {
namespace {

constexpr std::int64_t k_first_second = -62135596800;  ///< 0001-01-01T00:00:00Z
constexpr std::int64_t k_last_second = 253402300799;   ///< 9999-12-31T23:59:59Z

/// Reads exactly `count` digits and takes them off.
bool take_digits(std::string_view& text, std::size_t count, int& value) {
  if (text.size() < count) return false;
  value = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_digit(text[i])) return false;
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(count);
  return true;
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text[0] != c) return false;
  text.remove_prefix(1);
  return true;
}

bool is_leap(std::int64_t year) { return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0; }

std::int64_t unit_nanos(std::string_view unit) {
  if (unit == "ns") return 1;
  if (unit == "us" || unit == "\xC2\xB5s" || unit == "\xCE\xBCs") return 1000;
  if (unit == "ms") return 1'000'000;
  if (unit == "s") return k_nanos_per_second;
  if (unit == "m") return 60 * k_nanos_per_second;
  if (unit == "h") return 3600 * k_nanos_per_second;
  return 0;
}

/// Offsets of a file of the time zone database (RFC 8536).
class ZoneFile {
 public:
  explicit ZoneFile(std::string_view bytes) : bytes_(bytes) {}

  bool offset_at(std::int64_t seconds, std::int64_t& offset) {
    if (bytes_.size() < 44 || bytes_.compare(0, 4, "TZif") != 0) return false;
    std::size_t header = 0;
    std::size_t width = 4;
    if (bytes_[4] >= '2') {
      header = 44 + data_size(0, 4);
      width = 8;
      if (bytes_.size() < header + 44) return false;
    }
    const std::size_t times = count(header, 3), types = count(header, 4);
    const std::size_t first = header + 44;
    if (types == 0 || bytes_.size() < first + data_size(header, width)) return false;
    std::size_t type = 0;
    for (std::size_t i = 0; i < times && number(first + i * width, width) <= seconds; ++i)
      type = static_cast<unsigned char>(bytes_[first + times * width + i]);
    if (type >= types) return false;
    offset = number(first + times * (width + 1) + type * 6, 4);
    return true;
  }

 private:
  std::size_t count(std::size_t header, std::size_t which) const {
    return static_cast<std::size_t>(number(header + 20 + which * 4, 4) & 0xFFFF);
  }
  std::size_t data_size(std::size_t header, std::size_t width) const {
    return count(header, 3) * (width + 1) + count(header, 4) * 6 + count(header, 5) + count(header, 2) * (width + 4) +
           count(header, 1) + count(header, 0);
  }
  std::int64_t number(std::size_t at, std::size_t width) const {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < width; ++i) value = value << 8 | static_cast<unsigned char>(bytes_[at + i]);
    return width == 4 ? static_cast<std::int32_t>(value) : static_cast<std::int64_t>(value);
  }

  std::string_view bytes_;
};

bool is_zone_name(std::string_view name) {
  if (name.empty() || name.size() > 64 || name[0] == '/' || name.find("..") != std::string_view::npos) return false;
  for (const char c : name)
    if (!is_digit(c) && !is_letter(c) && c != '_' && c != '+' && c != '-' && c != '/') return false;
  return true;
}

}  // namespace

int days_in_month(std::int64_t year, int month) {
  if (month == 2) return is_leap(year) ? 29 : 28;
  return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

std::int64_t days_from_date(std::int64_t year, int month, int day) {
  // Years begin in March here, so that the leap day is a year's last.
  year -= month <= 2;
  const std::int64_t era = (year >= 0 ? year : year - 399) / 400;
  const std::int64_t year_of_era = year - era * 400;
  const std::int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

Date date_from_days(std::int64_t days) {
  days += 719468;
  const std::int64_t era = (days >= 0 ? days : days - 146096) / 146097;
  const std::int64_t day_of_era = days - era * 146097;
  const std::int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const std::int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t month = (5 * day_of_year + 2) / 153;
  const auto day = static_cast<int>(day_of_year - (153 * month + 2) / 5 + 1);
  const auto number = static_cast<int>(month < 10 ? month + 3 : month - 9);
  return {year_of_era + era * 400 + (number <= 2), number, day};
}

bool is_timestamp_second(std::int64_t seconds) { return seconds >= k_first_second && seconds <= k_last_second; }

bool parse_duration(std::string_view text, std::int64_t& nanos) {
  const bool minus = !text.empty() && text[0] == '-';
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  if (text.empty()) return false;
  if (text == "0") return nanos = 0, true;
  __extension__ __int128 total = 0;
  while (!text.empty()) {
    __extension__ __int128 whole = 0;
    long double fraction = 0, place = 1;
    bool any = false;
    for (; !text.empty() && is_digit(text[0]); text.remove_prefix(1), any = true) {
      whole = whole * 10 + (text[0] - '0');
      if (whole > INT64_MAX) return false;
    }
    if (take(text, '.'))
      for (; !text.empty() && is_digit(text[0]); text.remove_prefix(1), any = true) {
        place /= 10;
        fraction += place * (text[0] - '0');
      }
    std::size_t unit_size = 0;
    while (unit_size < text.size() && text[unit_size] != '.' && !is_digit(text[unit_size])) ++unit_size;
    const std::int64_t unit = unit_nanos(text.substr(0, unit_size));
    if (!any || unit == 0) return false;
    total += whole * unit + static_cast<std::int64_t>(fraction * static_cast<long double>(unit) + 1e-7L);
    if (total > INT64_MAX) return false;
    text.remove_prefix(unit_size);
  }
  nanos = static_cast<std::int64_t>(minus ? -total : total);
  return true;
}

bool parse_timestamp(std::string_view text, std::int64_t& seconds, std::uint32_t& nanos) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  if (!take_digits(text, 4, year) || !take(text, '-') || !take_digits(text, 2, month) || !take(text, '-') ||
      !take_digits(text, 2, day) || !take(text, 'T') || !take_digits(text, 2, hour) || !take(text, ':') ||
      !take_digits(text, 2, minute) || !take(text, ':') || !take_digits(text, 2, second))
    return false;
  if (month < 1 || month > 12 || day < 1 || day > days_in_month(year, month) || hour > 23 || minute > 59 || second > 59)
    return false;
  nanos = 0;
  if (take(text, '.')) {
    if (text.empty() || !is_digit(text[0])) return false;
    std::uint32_t place = 100'000'000;
    for (; !text.empty() && is_digit(text[0]); text.remove_prefix(1), place /= 10)
      nanos += place * static_cast<std::uint32_t>(text[0] - '0');
  }
  std::int64_t offset = 0;
  if (!take(text, 'Z')) {
    int hours = 0, minutes = 0;
    const bool minus = !text.empty() && text[0] == '-';
    if (!take(text, minus ? '-' : '+') || !take_digits(text, 2, hours) || !take(text, ':') ||
        !take_digits(text, 2, minutes) || hours > 23 || minutes > 59)
      return false;
    offset = (hours * 60 + minutes) * 60 * (minus ? -1 : 1);
  }
  seconds = days_from_date(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - offset;
  return text.empty() && is_timestamp_second(seconds);
}

std::string duration_text(std::int64_t nanos) {
  const double seconds = static_cast<double>(nanos / k_nanos_per_second) +
                         static_cast<double>(nanos % k_nanos_per_second) / static_cast<double>(k_nanos_per_second);
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, seconds, std::chars_format::fixed);
  return std::string(text, end.ptr) + 's';
}

std::string timestamp_text(std::int64_t seconds, std::uint32_t nanos) {
  std::int64_t days = seconds / 86400;
  std::int64_t rest = seconds % 86400;
  if (rest < 0) rest += 86400, --days;
  const Date date = date_from_days(days);
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d", static_cast<int>(date.year), date.month, date.day,
                static_cast<int>(rest / 3600), static_cast<int>(rest / 60 % 60), static_cast<int>(rest % 60));
  std::string result = text;
  if (nanos != 0) {
    std::snprintf(text, sizeof text, ".%09u", nanos);
    result += text;
    result.resize(result.find_last_not_of('0') + 1);
  }
  return result + 'Z';
}

bool zone_offset(std::string_view zone, std::int64_t seconds, std::int64_t& offset_seconds) {
  offset_seconds = 0;
  if (zone.empty() || zone == "UTC") return true;
  if (zone.find(':') != std::string_view::npos) {
    std::string_view rest = zone;
    const bool minus = rest[0] == '-';
    if (minus || rest[0] == '+') rest.remove_prefix(1);
    int hours = 0, minutes = 0;
    const std::size_t hour_digits = rest.find(':');
    if (hour_digits == 0 || hour_digits > 2 || !take_digits(rest, hour_digits, hours) || !take(rest, ':') ||
        !take_digits(rest, 2, minutes) || !rest.empty())
      return false;
    offset_seconds = (hours * 60 + minutes) * 60 * (minus ? -1 : 1);
    return true;
  }
  if (!is_zone_name(zone)) return false;
  std::ifstream file("/usr/share/zoneinfo/" + std::string(zone), std::ios::binary);
  if (!file) return false;
  std::string bytes(64 * 1024, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return ZoneFile(bytes).offset_at(seconds, offset_seconds);
}

}  // namespace berth::cel
