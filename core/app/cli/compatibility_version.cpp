// SPDX-License-Identifier: Apache-2.0
#include "app/cli/compatibility_version.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <optional>

namespace berth::app {
namespace {

constexpr int k_versions_back = 3;

std::optional<int> read_minor(std::string value, int oldest, int newest) {
  if (value.starts_with("kube=")) value.erase(0, 5);
  if (value.starts_with('v')) value.erase(0, 1);
  for (int minor = oldest; minor <= newest; ++minor)
    if (const std::string known = release(minor); value == known || value == known + ".0") return minor;
  return std::nullopt;
}

}  // namespace

std::string release(int minor) { return fmt::format("1.{}", minor); }

CompatibilityVersion read_compatibility_version(int binary_minor, const std::vector<std::string>& emulated,
                                                const std::vector<std::string>& min_compatible,
                                                text::Diagnostics& diagnostics) {
  const int oldest = binary_minor - k_versions_back;
  const auto read = [&](const char* flag, const std::vector<std::string>& values) {
    std::optional<int> minor;
    for (const std::string& value : values) {
      const std::optional<int> known = read_minor(value, oldest, binary_minor);
      if (!known)
        diagnostics.add(fmt::format("{}: \"{}\" is not a version from kube={} to kube={}", flag, value, release(oldest),
                                    release(binary_minor)));
      else if (minor)
        diagnostics.add(fmt::format("{}: it is given twice, as {} and {}", flag, release(*minor), release(*known)));
      else
        minor = known;
    }
    return minor;
  };
  CompatibilityVersion out{};
  out.emulated_minor = read("--emulated-version", emulated).value_or(binary_minor);
  const std::optional<int> compatible = read("--min-compatibility-version", min_compatible);
  if (compatible && *compatible > out.emulated_minor)
    diagnostics.add(fmt::format("--min-compatibility-version: {} is newer than the emulated version, {}",
                                release(*compatible), release(out.emulated_minor)));
  out.min_compatible_minor = compatible.value_or(std::max(out.emulated_minor - 1, oldest));
  return out;
}

}  // namespace berth::app
