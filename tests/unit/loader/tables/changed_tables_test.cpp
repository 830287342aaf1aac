// SPDX-License-Identifier: Apache-2.0
// Every word of the tables of a library, changed: what the judge lets pass, the dynamic linker must load or refuse.
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spdlog/fmt/fmt.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "loader/elf/elf_policy.hpp"

namespace berth::loader {
namespace {

constexpr unsigned k_child_seconds = 10;

std::string file_of(const char* path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

/// "P027: sentence", one line each.
std::string judged(const std::string& bytes) {
  static const HostMachine machine = HostMachine::of_this_process();
  PluginFile file;
  judge_elf(std::as_bytes(std::span(bytes.data(), bytes.size())), machine, file);
  std::string out;
  for (const Finding& finding : file.findings)
    for (const std::string& evidence : finding.evidence) out += finding.code + ": " + evidence + "\n";
  return out;
}

/// In another process. "" when the dynamic linker has loaded or refused it; else how that process ended.
std::string death_of(const std::string& bytes) {
  const pid_t child = ::fork();
  if (child == 0) {
    const struct rlimit none {};
    ::setrlimit(RLIMIT_CORE, &none);
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM}) ::signal(signal, SIG_DFL);
    ::alarm(k_child_seconds);
    const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    ::dup2(nowhere, STDERR_FILENO);
    const int fd = ::memfd_create("library", MFD_CLOEXEC);
    if (fd < 0 || ::write(fd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) ::_exit(2);
    ::dlopen(fmt::format("/proc/self/fd/{}", fd).c_str(), RTLD_NOW | RTLD_LOCAL);
    ::_exit(0);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) return "cannot be tried";
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status)) : fmt::format("exit {}", WEXITSTATUS(status));
}

/// Where the tables are in the file: headers, and whatever sections describe but code, data and what is not mapped.
std::vector<std::size_t> words_of(const std::string& file) {
  std::vector<std::size_t> words;
  const auto add = [&](std::size_t first, std::size_t bytes) {
    for (std::size_t at = first; at + 4 <= std::min(first + bytes, file.size()); at += 4) words.push_back(at);
  };
  Elf64_Ehdr header{};
  std::memcpy(&header, file.data(), sizeof header);
  add(0, sizeof header);
  add(header.e_phoff, std::size_t{header.e_phnum} * sizeof(Elf64_Phdr));
  for (std::uint16_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section{};
    std::memcpy(&section, file.data() + header.e_shoff + i * sizeof section, sizeof section);
    const bool is_table = section.sh_type == SHT_DYNAMIC || section.sh_type == SHT_DYNSYM ||
                          section.sh_type == SHT_HASH || section.sh_type == SHT_GNU_HASH ||
                          section.sh_type == SHT_RELA || section.sh_type == SHT_GNU_versym ||
                          section.sh_type == SHT_GNU_verneed || section.sh_type == SHT_GNU_verdef ||
                          section.sh_type == SHT_NOTE || section.sh_type == SHT_STRTAB;
    if (is_table && (section.sh_flags & SHF_ALLOC) != 0) add(section.sh_offset, section.sh_size);
  }
  return words;
}

std::vector<std::uint32_t> changes_of(std::uint32_t word) {
  return {0u,       ~0u,           word ^ 1u,  word + 1,    word - 1,   word + 8,
          word - 8, word + 0x1000, word << 16, 0x7ffffffdu, 0x40000000u};
}

void try_all(const char* path) {
  const std::string file = file_of(path);
  ASSERT_EQ(judged(file), "");
  ASSERT_EQ(death_of(file), "");
  std::size_t tried = 0, passed = 0, died = 0;
  for (const std::size_t at : words_of(file)) {
    std::uint32_t word = 0;
    std::memcpy(&word, file.data() + at, sizeof word);
    for (const std::uint32_t changed : changes_of(word)) {
      std::string other = file;
      std::memcpy(other.data() + at, &changed, sizeof changed);
      ++tried;
      if (!judged(other).empty()) continue;
      ++passed;
      const std::string death = death_of(other);
      if (death.empty()) continue;
      ++died;
      if (died <= 20) ADD_FAILURE() << fmt::format("{:#x} instead of {:#x} at {:#x}: {}", changed, word, at, death);
    }
  }
  EXPECT_EQ(died, 0u);
  EXPECT_GT(passed, tried / 10) << "the judge lets nothing pass, which proves nothing";
  std::printf("%zu tried, %zu let pass, %zu died\n", tried, passed, died);
}

TEST(ChangedTables, WithHashesOfBothKindsAreLoadedOrRefused) { try_all(BERTH_TABLES_SEED); }
TEST(ChangedTables, WithPackedRelocationsAreLoadedOrRefused) { try_all(BERTH_TABLES_SEED_PACKED); }

}  // namespace
}  // namespace berth::loader
