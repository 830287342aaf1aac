// SPDX-License-Identifier: Apache-2.0
/// Recordings on disk, packed with gzip or not. Link ZLIB::ZLIB.
#pragma once
#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace berth::tests {

inline constexpr std::size_t k_packed_file_bytes_max = 256 << 20;  ///< unpacked

/// The text of the file. Throws std::runtime_error with the path in it.
inline std::string read_packed_file(const std::string& path) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), &gzclose);
  if (file == nullptr) throw std::runtime_error(path + ": cannot be opened");
  std::string text;
  char block[1 << 16];
  for (int size = 0; (size = gzread(file.get(), block, sizeof block)) != 0;) {
    if (size < 0) throw std::runtime_error(path + ": cannot be unpacked");
    text.append(block, static_cast<std::size_t>(size));
    if (text.size() > k_packed_file_bytes_max) throw std::runtime_error(path + ": is larger than 256 MiB");
  }
  return text;
}

/// The file itself; of a folder, each .json and .json.gz file directly in it, by name.
inline std::vector<std::string> recordings_at(const std::string& path) {
  if (!std::filesystem::is_directory(path)) return {path};
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    const std::string name = entry.path().string();
    if (entry.is_regular_file() && (name.ends_with(".json") || name.ends_with(".json.gz"))) files.push_back(name);
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace berth::tests
