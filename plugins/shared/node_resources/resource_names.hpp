// SPDX-License-Identifier: Apache-2.0
/// Classes of resource names, as kubernetes v1.36 pkg/apis/core/v1/helper draws them. Used when args are read, never
/// per pod: the host marks a pod's resources itself.
#pragma once
#include <berth/names.hpp>

#include <string>
#include <string_view>

namespace berth::node_resources {

inline constexpr std::string_view k_cpu = "cpu";
inline constexpr std::string_view k_memory = "memory";
inline constexpr std::string_view k_ephemeral_storage = "ephemeral-storage";

inline bool is_native(std::string_view name) {
  return name.find('/') == name.npos || name.find("kubernetes.io/") != name.npos;
}

inline bool is_extended(std::string_view name) {
  return !is_native(name) && !name.starts_with("requests.") &&
         qualified_name_problems("requests." + std::string(name)).empty();
}

/// Scalars are counted per name on nodes; any other name, except cpu, memory and ephemeral-storage, counts nowhere.
inline bool is_scalar(std::string_view name) {
  return is_extended(name) || name.starts_with("hugepages-") || name.find("kubernetes.io/") != name.npos ||
         name.starts_with("attachable-volumes-");
}

}  // namespace berth::node_resources
