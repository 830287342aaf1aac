// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

namespace berth::app {

/// Of `berth record info|cut|export`.
struct RecordOptions {
  std::string path;      // a segment, or a directory of them
  std::string from, to;  // RFC 3339, or empty
  std::string output;    // cut: the file to write
  std::string kinds;     // export: names with commas between them; empty: all
  bool json = false;     // info
};

/// Of `berth replay`.
struct ReplayOptions {
  std::string path;                   // a segment, or a directory of them
  std::string plugin_dir;             // empty: the usual one
  std::optional<std::string> config;  // another configuration; absent: the recording's; "": the defaults
  std::string output = "table";       // table, json
};

}  // namespace berth::app
