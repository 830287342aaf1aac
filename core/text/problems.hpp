// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "text/value.hpp"

namespace berth::text {

/// One thing wrong with something that was read.
struct Problem {
  std::string file;
  Position position;
  std::string path;     // "profiles[0].plugins.score.enabled[1].weight"; may be empty
  std::string message;  // what is wrong
  std::string advice;   // what would be right; may be empty
};

/// Collects everything that is wrong, so that it is reported at once.
class Problems {
 public:
  void add(Problem problem) { all_.push_back(std::move(problem)); }
  void add(std::string_view file, Position position, std::string path, std::string message, std::string advice = {}) {
    all_.push_back({std::string(file), position, std::move(path), std::move(message), std::move(advice)});
  }
  bool empty() const noexcept { return all_.empty(); }
  std::size_t size() const noexcept { return all_.size(); }
  const std::vector<Problem>& all() const noexcept { return all_; }
  /// One line each: "file:line:column: path: message (advice)"; parts that are empty are left out. Of more than 100,
  /// or 64 KiB, the first, and how many more there are: what is read may be made to be wrong.
  std::string render() const;

 private:
  std::vector<Problem> all_;
};

}  // namespace berth::text
