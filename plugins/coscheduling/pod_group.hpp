// SPDX-License-Identifier: Apache-2.0
/// PodGroup objects (scheduling.x-k8s.io/v1alpha1) as far as scheduling reads them. Status is never read.
#pragma once
#include <berth/services.hpp>

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace coscheduling {

inline constexpr const char* k_pod_groups = "scheduling.x-k8s.io/v1alpha1/podgroups";
inline constexpr std::string_view k_label = "scheduling.x-k8s.io/pod-group";
/// Of earlier releases.
inline constexpr std::array<std::string_view, 3> k_old_labels = {
    "pod-group.scheduling.sigs.k8s.io", "pod-group.scheduling.sigs.k8s.io/name", "pod-group.scheduling.x-k8s.io"};

constexpr berth_field_v1 field(std::string_view path, std::uint32_t type) {
  return {berth_str{path.data(), path.size()}, type, 0};
}
inline constexpr std::array k_fields = {
    field("metadata.creationTimestamp", BERTH_FIELD_STR), field("spec.minMember", BERTH_FIELD_INT),
    field("spec.minResources", BERTH_FIELD_JSON), field("spec.scheduleTimeoutSeconds", BERTH_FIELD_INT)};

struct PodGroup {
  std::int64_t created_ns = 0;
  std::uint32_t min_member = 0;
  std::optional<std::int64_t> timeout_s = {};
  std::optional<std::string> min_resources = {};  // JSON object
};

/// Nanoseconds since 1970 of "2006-01-02T15:04:05Z", the form of all Kubernetes timestamps; 0 for anything else.
inline std::int64_t parse_time_ns(std::string_view text) {
  if (text.size() != 20 || text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' || text[16] != ':' ||
      text[19] != 'Z')
    return 0;
  const auto number = [&](std::size_t first, std::size_t count) {
    std::int64_t value = 0;
    for (const char c : text.substr(first, count)) {
      if (c < '0' || c > '9') return std::int64_t{-1};
      value = value * 10 + (c - '0');
    }
    return value;
  };
  std::int64_t year = number(0, 4);
  const std::int64_t month = number(5, 2), day = number(8, 2), hour = number(11, 2), minute = number(14, 2),
                     second = number(17, 2);
  if (year < 0 || month < 1 || month > 12 || day < 1 || day > 31 || hour < 0 || minute < 0 || second < 0) return 0;
  // Days since 1970 in years that begin in March, so that the leap day comes last.
  year -= month <= 2 ? 1 : 0;
  const std::int64_t era_year = year % 400, march_month = (month + 9) % 12;
  const std::int64_t days = year / 400 * 146097 + era_year * 365 + era_year / 4 - era_year / 100 +
                            (153 * march_month + 2) / 5 + day - 1 - 719468;
  return (((days * 24 + hour) * 60 + minute) * 60 + second) * 1'000'000'000;
}

inline PodGroup read_pod_group(const berth_object_v1& object) {
  const auto value = [&](std::size_t i) { return object.values[i].present != 0 ? &object.values[i] : nullptr; };
  PodGroup group;
  if (const auto* created = value(0)) group.created_ns = parse_time_ns(berth::view(created->text));
  if (const auto* min = value(1)) group.min_member = min->number < 0 ? 0u : static_cast<std::uint32_t>(min->number);
  if (const auto* resources = value(2)) group.min_resources = std::string(berth::view(resources->text));
  if (const auto* timeout = value(3)) group.timeout_s = timeout->number;
  return group;
}

/// True when nothing that scheduling reads differs.
inline bool same_spec(const berth_object_v1& a, const berth_object_v1& b) {
  for (std::size_t i = 1; i < k_fields.size(); ++i)
    if (a.values[i].present != b.values[i].present || berth::view(a.values[i].text) != berth::view(b.values[i].text))
      return false;
  return true;
}

}  // namespace coscheduling
