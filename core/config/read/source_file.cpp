// SPDX-License-Identifier: Apache-2.0
#include "config/read/source_file.hpp"

#include <spdlog/fmt/fmt.h>

#include <fstream>
#include <iostream>

namespace berth::config {
namespace {

// What a ConfigMap can hold. A larger file is another file given by mistake.
constexpr std::size_t k_file_bytes_max = 1U << 20U;

}  // namespace

Result<std::string> read_source_file(const std::string& path) {
  std::string text;
  std::ifstream opened;
  if (path != "-") opened.open(path, std::ios::binary);
  std::istream& in = path == "-" ? std::cin : opened;
  std::string block(1U << 16U, '\0');
  bool readable = path == "-" || opened.is_open();
  while (readable && text.size() <= k_file_bytes_max) {
    in.read(block.data(), static_cast<std::streamsize>(block.size()));
    text.append(block.data(), static_cast<std::size_t>(in.gcount()));
    if (in.bad()) readable = false;
    if (!in) break;
  }
  if (!readable) return Error{"cannot be read", ErrorCode::unreadable};
  if (text.size() > k_file_bytes_max)
    return Error{fmt::format("is larger than {} bytes: not a configuration", k_file_bytes_max)};
  return text;
}

Result<std::string> read_policy_file(const PolicyLocation& location) {
  if (!location.file.empty()) return read_source_file(location.file);
  return Error{fmt::format("ConfigMap {}/{} can only be read by `berth run`: save its policy.cfg as a file",
                           location.config_map_namespace, location.config_map_name)};
}

}  // namespace berth::config
