// SPDX-License-Identifier: Apache-2.0
/// allocator_vectors DIR|FILE: holds recorded allocations against the allocator. Of a folder, every .json and .json.gz file directly
/// in it. Prints what agrees, and of every other case what was recorded and what came out; exits with 1 if there is one, with 2 if
/// a file cannot be read.
#include <cstdio>
#include <exception>
#include <string>

#include "recording.hpp"
#include "support/packed_file.hpp"

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: allocator_vectors DIR|FILE\n");
    return 2;
  }
  std::size_t agreeing = 0, all = 0;
  try {
    for (const std::string& file : berth::tests::recordings_at(arguments[1])) {
      std::size_t in_file = 0;
      const auto cases = berth::dra::read_recorded_cases(file);
      for (const auto& recorded : cases) {
        const std::string differs = berth::dra::compare_with_recording(recorded);
        in_file += differs.empty();
        if (!differs.empty())
          std::printf("%s: %s %s\n    %s\n", file.c_str(), recorded.id.c_str(), recorded.label.c_str(),
                      differs.c_str());
      }
      std::printf("%s: %zu of %zu cases agree\n", file.c_str(), in_file, cases.size());
      agreeing += in_file;
      all += cases.size();
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "allocator_vectors: %s\n", e.what());
    return 2;
  }
  if (all == 0) std::fprintf(stderr, "allocator_vectors: %s: no cases\n", arguments[1]);
  return all != 0 && agreeing == all ? 0 : 1;
}
