// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <string>

#include "base/result.hpp"

struct stat;

namespace berth {

struct FileLimits {
  std::size_t bytes_max = std::size_t{1} << 20;  // more is an error
  bool is_regular = false;                       // pipes and devices are refused as well: none of them is waited for
};

/// What the file holds, which may be nothing. The error says why not, without the path: "Is a directory", "it is larger
/// than 1048576 bytes". A pipe that no program writes to is empty, not waited for.
Result<std::string> read_file_bytes(const std::string& path, const FileLimits& limits = {});

/// A file that has to have something in it, as it is; the error names it.
Result<std::string> read_file(const std::string& path);

/// Fails where others than root and this process' user own a file or directory, or may write to it; a sticky directory is no
/// exception. looks_at_mode: false where no mode can let anyone write.
Status only_owner_writes(const struct stat& info, bool looks_at_mode = true);

}  // namespace berth
