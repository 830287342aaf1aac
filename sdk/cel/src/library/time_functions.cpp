// SPDX-License-Identifier: Apache-2.0
/// duration(), timestamp() and what they are asked for.
#include <cstdint>

#include "library/functions.hpp"
#include "values/times.hpp"

namespace berth::cel {
namespace {

Value make_duration(const Call& call) {
  std::int64_t nanos = 0;
  if (!parse_duration(call.args[0].text(), nanos))
    return of_error("type conversion error from 'string' to 'google.protobuf.Duration'");
  return of_int(nanos, Kind::duration);
}
Value make_timestamp(const Call& call) {
  std::int64_t seconds = 0;
  std::uint32_t nanos = 0;
  if (!parse_timestamp(call.args[0].text(), seconds, nanos))
    return of_error("type conversion error from 'string' to 'google.protobuf.Timestamp'");
  return of_timestamp(seconds, nanos);
}
Value timestamp_from_int(const Call& call) {
  return is_timestamp_second(call.args[0].integer) ? of_timestamp(call.args[0].integer, 0)
                                                   : of_error("timestamp overflow");
}
Value duration_from_int(const Call& call) { return of_int(call.args[0].integer, Kind::duration); }

enum class Part { year, month, date, day_of_month, day_of_week, day_of_year, hours, minutes, seconds, milliseconds };

std::int64_t part_of(Part part, std::int64_t seconds, std::uint32_t nanos) {
  std::int64_t days = seconds / 86400;
  std::int64_t rest = seconds % 86400;
  if (rest < 0) rest += 86400, --days;
  const Date date = date_from_days(days);
  switch (part) {
    case Part::year:
      return date.year;
    case Part::month:
      return date.month - 1;
    case Part::date:
      return date.day;
    case Part::day_of_month:
      return date.day - 1;
    case Part::day_of_week:
      return ((days + 4) % 7 + 7) % 7;
    case Part::day_of_year:
      return days - days_from_date(date.year, 1, 1);
    case Part::hours:
      return rest / 3600;
    case Part::minutes:
      return rest / 60 % 60;
    case Part::seconds:
      return rest % 60;
    case Part::milliseconds:
      return nanos / 1'000'000;
  }
  return 0;
}

template <Part part>
Value of_timestamp_part(const Call& call) {
  std::int64_t offset = 0;
  if (call.count == 2) {
    // A zone is read from a file: that costs more than CEL counts.
    call.work.take(100'000);
    if (!zone_offset(call.args[1].text(), call.args[0].integer, offset))
      return call.error("unknown time zone " + std::string(call.args[1].text().substr(0, 64)));
  }
  return of_int(part_of(part, call.args[0].integer + offset, call.args[0].size));
}

template <std::int64_t unit, std::int64_t modulus>
Value of_duration_part(const Call& call) {
  const std::int64_t whole = call.args[0].integer / unit;
  return of_int(modulus == 0 ? whole : whole % modulus);
}

constexpr std::int64_t k_second = k_nanos_per_second;

#define BERTH_CEL_PART(name, part)                                                    \
  {name, "google.protobuf.Timestamp.() -> int", k_one, of_timestamp_part<part>}, {    \
    name, "google.protobuf.Timestamp.(string) -> int", k_one, of_timestamp_part<part> \
  }

constexpr FunctionRow k_time_rows[] = {
    {"duration", "(google.protobuf.Duration) -> google.protobuf.Duration", k_one, itself},
    {"duration", "(int) -> google.protobuf.Duration", k_one, duration_from_int},
    {"duration", "(string) -> google.protobuf.Duration", k_one, make_duration},
    {"timestamp", "(google.protobuf.Timestamp) -> google.protobuf.Timestamp", k_one, itself},
    {"timestamp", "(int) -> google.protobuf.Timestamp", k_one, timestamp_from_int},
    {"timestamp", "(string) -> google.protobuf.Timestamp", k_one, make_timestamp},
    BERTH_CEL_PART("getFullYear", Part::year),
    BERTH_CEL_PART("getMonth", Part::month),
    BERTH_CEL_PART("getDate", Part::date),
    BERTH_CEL_PART("getDayOfMonth", Part::day_of_month),
    BERTH_CEL_PART("getDayOfWeek", Part::day_of_week),
    BERTH_CEL_PART("getDayOfYear", Part::day_of_year),
    BERTH_CEL_PART("getHours", Part::hours),
    BERTH_CEL_PART("getMinutes", Part::minutes),
    BERTH_CEL_PART("getSeconds", Part::seconds),
    BERTH_CEL_PART("getMilliseconds", Part::milliseconds),
    {"getHours", "google.protobuf.Duration.() -> int", k_one, of_duration_part<3600 * k_second, 0>},
    {"getMinutes", "google.protobuf.Duration.() -> int", k_one, of_duration_part<60 * k_second, 0>},
    {"getSeconds", "google.protobuf.Duration.() -> int", k_one, of_duration_part<k_second, 0>},
    {"getMilliseconds", "google.protobuf.Duration.() -> int", k_one, of_duration_part<1'000'000, 0>},
};

#undef BERTH_CEL_PART

}  // namespace

std::span<const FunctionRow> time_functions() { return k_time_rows; }

}  // namespace berth::cel
