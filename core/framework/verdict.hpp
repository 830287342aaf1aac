// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "model/plugin_set.hpp"

namespace berth::framework {

/// What a plugin says about a pod or a node. Numbers are kube-scheduler's and the ABI's.
enum class Code : std::uint32_t {
  success = 0,
  error = 1,
  unschedulable = 2,
  unresolvable = 3,
  wait = 4,
  skip = 5,
  pending = 6,
  async = 16
};
/// "UnschedulableAndUnresolvable", as upstream prints it.
std::string_view code_name(Code code) noexcept;
inline bool rejects(Code code) noexcept {
  return code == Code::unschedulable || code == Code::unresolvable || code == Code::pending;
}

/// A verdict about a pod as a whole. Data, not an error: an `error` code carries its sentence like any other.
struct Verdict {
  Code code = Code::success;
  model::PluginIndex plugin = model::k_no_plugin;
  std::vector<std::string> reasons;

  bool success() const noexcept { return code == Code::success; }
  /// Reasons joined with ", ".
  std::string message() const;
};

}  // namespace berth::framework
