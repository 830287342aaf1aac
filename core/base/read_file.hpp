// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fstream>
#include <iterator>
#include <string>

#include "base/result.hpp"

namespace berth {

/// A file that has to have something in it, as it is.
inline Result<std::string> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (text.empty()) return Error{path + " cannot be read or is empty"};
  return text;
}

}  // namespace berth
