// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "text/value.hpp"

namespace berth::text {

/// One error in something that was read, or a warning about it.
struct Diagnostic {
  std::string file;
  Position position;
  std::string path;     // "profiles[0].plugins.score.enabled[1].weight"; may be empty
  std::string message;  // what is wrong
  std::string advice;   // what would be right; may be empty
};

/// Everything that is wrong, so that it is reported at once.
/// Memory:  grows with what is added; readers bound their input.
/// Threads: the owner's.
class Diagnostics {
 public:
  void add(Diagnostic diagnostic) { all_.push_back(std::move(diagnostic)); }
  /// About nothing that has a place in a file.
  void add(std::string message) { all_.push_back({{}, {}, {}, std::move(message), {}}); }
  void add(std::string_view file, Position position, std::string path, std::string message, std::string advice = {}) {
    all_.push_back({std::string(file), position, std::move(path), std::move(message), std::move(advice)});
  }
  /// All of theirs, after those that are here.
  void add(const Diagnostics& others) { all_.insert(all_.end(), others.all_.begin(), others.all_.end()); }
  bool empty() const noexcept { return all_.empty(); }
  std::size_t size() const noexcept { return all_.size(); }
  const std::vector<Diagnostic>& all() const noexcept { return all_; }
  /// One line each: "file:line:column: path: message (advice)"; parts that are empty are left out. Of more than 100,
  /// or 64 KiB, the first, and how many more there are: what is read may be made to be wrong.
  std::string render() const;

 private:
  std::vector<Diagnostic> all_;
};

/// For Result<T, Diagnostics>.
inline std::string summary(const Diagnostics& diagnostics) { return diagnostics.render(); }

}  // namespace berth::text
