// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <iosfwd>
#include <string>
#include <vector>

namespace berth::app {

struct PluginNewOptions {
  std::string name;                                       // "example.com/PreferRack", or "PreferRack": of example.com
  std::string language = "c++";                           // c++, c, rust, zig
  std::vector<std::string> points = {"filter", "score"};  // extension points that the policy has
  std::string directory;                                  // where the project's folder goes; empty: here
};

/// `berth plugin new`: a project of a policy that builds, passes its test and decides something, in a new folder that is
/// named after the policy (prefer_rack). A folder that is there already is not touched.
/// Returns the exit status: 0 done, 1 it cannot be written, 2 wrong usage; what is wrong, and what to do, is on `err`.
int new_plugin(const PluginNewOptions& options, std::ostream& out, std::ostream& err);

}  // namespace berth::app
