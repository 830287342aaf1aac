// SPDX-License-Identifier: Apache-2.0
/// Zones and regions of volumes, as the labels of a volume name them.
/// Source: kubernetes v1.36 component-helpers/storage/volume/helpers.go (LabelZonesToSet).
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace storage {

/// "a__b" as a list without white space around its parts. Empty: not to be read.
inline std::vector<std::string> zones_of(std::string_view label) {
  std::vector<std::string> zones;
  for (;;) {
    const std::size_t at = label.find("__");
    std::string_view zone = label.substr(0, at);
    const std::size_t first = zone.find_first_not_of(" \t\n\v\f\r");
    if (first == zone.npos) return {};
    zone = zone.substr(first, zone.find_last_not_of(" \t\n\v\f\r") - first + 1);
    zones.emplace_back(zone);
    if (at == label.npos) return zones;
    label.remove_prefix(at + 2);
  }
}

}  // namespace storage
