// SPDX-License-Identifier: Apache-2.0
/// Durations as Go writes them, timestamps as RFC 3339 does.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace berth::cel {

inline constexpr std::int64_t k_nanos_per_second = 1'000'000'000;

/// `1h30m`, `-1.5s`, `0`; false if it cannot be read or is beyond 64 bits of nanoseconds.
bool parse_duration(std::string_view text, std::int64_t& nanos);
bool parse_timestamp(std::string_view text, std::int64_t& seconds, std::uint32_t& nanos);
std::string duration_text(std::int64_t nanos);
std::string timestamp_text(std::int64_t seconds, std::uint32_t nanos);
bool is_timestamp_second(std::int64_t seconds);

/// Days since 1970-01-01 of a date of the Gregorian calendar, and back.
std::int64_t days_from_date(std::int64_t year, int month, int day);
struct Date {
  std::int64_t year;
  int month;  ///< 1 … 12
  int day;
};
Date date_from_days(std::int64_t days);
int days_in_month(std::int64_t year, int month);

/// Seconds east of UTC that `zone` (`+01:30`, `UTC`, `Europe/Berlin`) has at a time; false if there is no such zone. Names
/// are looked up in the machine's time zone database.
bool zone_offset(std::string_view zone, std::int64_t seconds, std::int64_t& offset_seconds);

}  // namespace berth::cel
