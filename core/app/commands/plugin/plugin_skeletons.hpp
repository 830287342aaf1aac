// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string_view>

namespace berth::app {

/// A file of the projects that `berth plugin new` writes: sdk/skeletons, and the Zig sample of sdk/examples, as they were
/// when berth was built (plugin_skeletons.cpp.in).
struct SkeletonFile {
  std::string_view language;  // "c++", "c", "rust", "zig"; empty: of every language
  std::string_view path;      // in the project's folder; may have {target} in it
  std::string_view text;
  std::string_view about;  // for the project's README; empty: it is not listed there
};

/// In the order in which they are written.
std::span<const SkeletonFile> skeleton_files() noexcept;

}  // namespace berth::app
