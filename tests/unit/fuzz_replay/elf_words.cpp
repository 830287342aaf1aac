// SPDX-License-Identifier: Apache-2.0
// Every word of what an ELF file says about itself, changed to what could make the judge and the dynamic linker see two
// different libraries. Ends with how many were compared: too few would prove nothing.
#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern std::size_t compared_views;

namespace {

/// Where the program headers and the dynamic section are: all that says what is loaded from where.
std::vector<std::size_t> words_of(const std::string& file) {
  Elf64_Ehdr header{};
  std::memcpy(&header, file.data(), sizeof header);
  std::vector<std::size_t> words;
  const auto add = [&](std::size_t first, std::size_t bytes) {
    for (std::size_t at = first; at + 8 <= std::min(first + bytes, file.size()); at += 8) words.push_back(at);
  };
  add(offsetof(Elf64_Ehdr, e_phoff), 24);
  add(header.e_phoff, std::size_t{header.e_phnum} * sizeof(Elf64_Phdr));
  for (std::uint16_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    std::memcpy(&segment, file.data() + header.e_phoff + i * sizeof segment, sizeof segment);
    if (segment.p_type == PT_DYNAMIC) add(segment.p_offset, segment.p_filesz);
  }
  return words;
}

std::uint64_t word_at(const std::string& file, std::size_t at) {
  std::uint64_t word = 0;
  std::memcpy(&word, file.data() + at, sizeof word);
  return word;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t compared_min = argc == 3 ? std::strtoul(argv[2], nullptr, 10) : 0;
  std::size_t tried = 0;
  std::vector<std::filesystem::path> paths;
  if (argc == 3) std::copy(std::filesystem::directory_iterator(argv[1]), {}, std::back_inserter(paths));
  std::sort(paths.begin(), paths.end());
  for (const auto& path : paths) {
    std::ifstream in(path, std::ios::binary);
    const std::string file(std::istreambuf_iterator<char>(in), {});
    for (const std::size_t at : words_of(file)) {
      const std::uint64_t word = word_at(file, at), before = at < 16 ? 0 : word_at(file, at - 16);
      for (const std::uint64_t changed :
           {std::uint64_t{0}, ~std::uint64_t{0}, word ^ 1, word + 1, word - 1, word + 16, word - 16, word + 0x1000,
            word - 0x1000, word * 2, before, std::uint64_t{0x7ffffffd}, std::uint64_t{DT_NEEDED}}) {
        std::string other = file;
        std::memcpy(other.data() + at, &changed, sizeof changed);
        std::printf("%s: %#lx at %#zx\n", path.filename().c_str(), static_cast<unsigned long>(changed), at);
        std::fflush(stdout);  // the last line names the input when this one fails
        LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(other.data()), other.size());
        ++tried;
      }
    }
  }
  std::printf("%zu tried, %zu compared\n", tried, compared_views);
  return compared_views < compared_min || tried == 0 ? 1 : 0;
}
