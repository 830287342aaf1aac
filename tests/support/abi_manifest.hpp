// SPDX-License-Identifier: Apache-2.0
/// What sdk/abi says of the structs of the plugin ABI. Needs BERTH_ABI_HISTORY, the path of that folder.
#pragma once
#include <cstdint>
#include <fstream>
#include <map>
#include <string>

namespace berth {

/// Sizes in bytes, by name, as major 1 began; empty where the manifest cannot be read.
inline std::map<std::string, std::uint32_t> struct_bytes_of_first_version() {
  std::ifstream file(BERTH_ABI_HISTORY "/manifests/1.0.txt");
  std::map<std::string, std::uint32_t> bytes;
  for (std::string kind, name, word; file >> kind; std::getline(file, word))
    if (kind == "struct") file >> name >> word >> bytes[name];
  return bytes;
}

}  // namespace berth
