// SPDX-License-Identifier: Apache-2.0
#include "text/problems.hpp"

#include <spdlog/fmt/fmt.h>

#include <iterator>

namespace berth::text {

std::string Problems::render() const {
  std::string out;
  for (const Problem& problem : all_) {
    if (!problem.file.empty()) {
      out += problem.file;
      if (problem.position.line != 0)
        fmt::format_to(std::back_inserter(out), ":{}:{}", problem.position.line, problem.position.column);
      out += ": ";
    }
    if (!problem.path.empty()) {
      out += problem.path;
      out += ": ";
    }
    out += problem.message;
    if (!problem.advice.empty()) {
      out += " (";
      out += problem.advice;
      out += ')';
    }
    out += '\n';
  }
  return out;
}

}  // namespace berth::text
