// SPDX-License-Identifier: Apache-2.0
/// Semantic versions, as blang/semver reads and orders them.
#pragma once
#include <cstdint>
#include <string_view>

#include "arena.hpp"

namespace berth::cel {

struct Semver {
  std::uint64_t major = 0, minor = 0, patch = 0;
  std::string_view prerelease;  ///< dot-separated; the build metadata counts nowhere and is not kept
};

struct SemverParsed {
  Semver value;
  std::string_view error;  ///< empty: parsed
};

/// `normalize`: accepts `v1.2`, `01.2.3` and the like. Texts of the answer are pieces of `arena`, of `text` or literals.
SemverParsed parse_semver(std::string_view text, bool normalize, Arena& arena);
int compare(const Semver& left, const Semver& right);
/// In steps: every part of the pre-release is looked at.
inline std::uint64_t comparison_steps(const Semver& version) {
  return 1 + 2 * std::uint64_t{version.prerelease.size()};
}

}  // namespace berth::cel
