// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::loader {

/// One reason why a plugin file cannot be used. Rendered as
///
///   BERTH-P013 plugin needs a newer berth
///     file:      /plugins/rack-spread.so  (sha256 3f1c…, build id 9a22…)
///     plugin:    example.com/RackSpread 1.2.0, SDK 1.6.1
///     evidence:  requires ABI 1.6, this berth 0.9.2 implements 1.4
///     do:        …
///     config:    berth.yaml:14:9  plugins.files[2]
///     look:      berth plugin inspect /plugins/rack-spread.so
///
/// Lines without content are left out. Text that comes from a file is escaped and bounded when rendered.
struct Finding {
  std::string code;  // "P013": stable, see README.md of this folder
  std::string what;
  std::string file;
  std::string sha256;    // hex, or empty
  std::string build_id;  // hex, or empty
  std::string plugin;    // "name version, SDK x"
  std::vector<std::string> evidence;
  std::string advice;       // "do:"
  std::string config;       // where the configuration asks for it
  bool inspectable = true;  // ends with the inspect command
};

/// A finding with the title that belongs to a code, nothing else filled in. Requires: a code of the catalogue.
Finding make_finding(std::string_view code);

/// Everything that is wrong with everything that was read, and what is merely worth a line in the log.
class LoadReport {
 public:
  void add(Finding finding) { findings_.push_back(std::move(finding)); }
  void warn(std::string sentence) { warnings_.push_back(std::move(sentence)); }
  void note(std::string sentence) { notes_.push_back(std::move(sentence)); }

  /// Nothing stops the start.
  bool ok() const noexcept { return findings_.empty(); }
  const std::vector<Finding>& findings() const noexcept { return findings_; }
  /// One sentence each: odd, but the start goes on.
  const std::vector<std::string>& warnings() const noexcept { return warnings_; }
  /// One line each: loaded libraries, files that no profile uses.
  const std::vector<std::string>& notes() const noexcept { return notes_; }
  /// The findings, separated by an empty line, ending with a newline; empty when ok(). Of more than 100, or 64 KiB, the
  /// first, and how many more there are.
  std::string render() const;

 private:
  std::vector<Finding> findings_;
  std::vector<std::string> warnings_;
  std::vector<std::string> notes_;
};

std::string render(const Finding& finding);

/// Control characters and invalid UTF-8 as \xNN, cut at about `limit` bytes: for text that comes from a plugin.
std::string escaped(std::string_view text, std::size_t limit = 200);

}  // namespace berth::loader
