// SPDX-License-Identifier: Apache-2.0
/// Takes arbitrary bytes as a library. What the judge of plugin files lets pass is loaded by the dynamic linker of this
/// machine, in a process of its own, up to the moment before anything of it runs: both must have seen the same name, the
/// same needed libraries and search paths, and no memory may be writable and executable.
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "loader/elf/elf_policy.hpp"

namespace {

using berth::loader::ElfFile;

constexpr unsigned k_child_seconds = 5;
constexpr std::string_view k_missing = ": cannot open shared object file";

/// "needed libm.so.6\nsoname …\n": what is loaded, in the order of the file.
struct View {
  std::vector<std::string> needed;
  std::string soname, search_paths;
  std::string text() const {
    std::string out = "soname " + soname + "\nsearch " + search_paths + "\n";
    for (const std::string& name : needed) out += "needed " + name + "\n";
    return out;
  }
};

/// What the judge would let pass; nothing of all other bytes.
std::optional<View> judged(std::span<const std::byte> bytes) {
  static const berth::loader::HostMachine machine = berth::loader::HostMachine::of_this_process();
  berth::loader::PluginFile file;
  const std::optional<ElfFile> elf = berth::loader::judge_elf(bytes, machine, file);
  if (!elf || !file.findings.empty()) return std::nullopt;
  View view;
  for (const std::string_view name : elf->needed) view.needed.emplace_back(name);
  view.soname = elf->soname;
  if (elf->runpath) view.search_paths = *elf->runpath;
  if (elf->rpath) view.search_paths += std::string(" ") + std::string(*elf->rpath);
  return view;
}

// --- in the other process: nothing here may allocate once the dynamic linker is stopped -------------------------------

int report_to = -1;
std::string_view wanted_path;

void say(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(report_to, text.data(), text.size());
    if (written <= 0) ::_exit(3);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

/// The dynamic linker may have made absolute what the file has relative to its first address.
std::uint64_t address_of(const link_map& map, std::uint64_t value) {
  return value < map.l_addr ? map.l_addr + value : value;
}

void say_view(const link_map& map) {
  const char* names = nullptr;
  std::uint64_t soname = 0, runpath = 0, rpath = 0;
  bool has_soname = false, has_runpath = false, has_rpath = false;
  for (const ElfW(Dyn)* at = map.l_ld; at->d_tag != DT_NULL; ++at) {
    if (at->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(address_of(map, at->d_un.d_ptr));
    if (at->d_tag == DT_SONAME) soname = at->d_un.d_val, has_soname = true;
    if (at->d_tag == DT_RUNPATH) runpath = at->d_un.d_val, has_runpath = true;
    if (at->d_tag == DT_RPATH) rpath = at->d_un.d_val, has_rpath = true;
    if (at->d_tag == DT_FILTER || at->d_tag == DT_AUXILIARY || at->d_tag == DT_AUDIT || at->d_tag == DT_DEPAUDIT)
      say("loads others besides\n");
  }
  say("soname ");
  if (has_soname && names != nullptr) say(names + soname);
  say("\nsearch ");
  if (has_runpath && names != nullptr) say(names + runpath);
  if (has_rpath && has_runpath && names != nullptr) say(" ");
  if (has_rpath && names != nullptr) say(names + rpath);
  say("\n");
  for (const ElfW(Dyn)* at = map.l_ld; at->d_tag != DT_NULL; ++at)
    if (at->d_tag == DT_NEEDED && names != nullptr) say("needed "), say(names + at->d_un.d_val), say("\n");
}

void say_writable_code() {
  std::FILE* const maps = std::fopen("/proc/self/maps", "re");
  std::array<char, 512> line{};
  while (maps != nullptr && std::fgets(line.data(), line.size(), maps) != nullptr)
    if (const char* const rights = std::strchr(line.data(), ' ');
        rights != nullptr && std::strncmp(rights, " rwx", 4) == 0)
      say("memory is writable and executable\n");
}

/// The dynamic linker stops here when its list of libraries has changed: everything is mapped, nothing has run yet.
void at_stop(int) {
  const r_debug& state = _r_debug;
  if (state.r_state != r_debug::RT_CONSISTENT) return;
  for (const link_map* map = state.r_map; map != nullptr; map = map->l_next) {
    if (map->l_name == nullptr || map->l_name != wanted_path) continue;
    say_view(*map);
    say_writable_code();
    ::_exit(0);
  }
}

/// Makes the function that the dynamic linker calls for debuggers a trap, as they do. On return the rest of it runs:
/// a `ret`, which the trap stands in front of.
bool set_trap() {
#if defined(__x86_64__)
  constexpr std::array<unsigned char, 2> k_trap{0xCC, 0xC3};  // int3; ret
#else
  return false;
#endif
  auto* const at = reinterpret_cast<unsigned char*>(_r_debug.r_brk);
  if (at == nullptr) return false;
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(at) / page * page;
  auto* const begin = reinterpret_cast<void*>(first);
  if (::mprotect(begin, 2 * page, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return false;
  std::memcpy(at, k_trap.data(), k_trap.size());
  if (::mprotect(begin, 2 * page, PROT_READ | PROT_EXEC) != 0) return false;
  struct sigaction stop {};
  stop.sa_handler = at_stop;
  return ::sigaction(SIGTRAP, &stop, nullptr) == 0;
}

[[noreturn]] void load(std::span<const std::byte> bytes, int report) {
  report_to = report;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM}) ::signal(signal, SIG_DFL);
  ::alarm(k_child_seconds);
  // What the dynamic linker says of files that it cannot bear is of no interest here.
  if (const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC); nowhere >= 0) ::dup2(nowhere, STDERR_FILENO);
  const int fd = ::memfd_create("library", MFD_CLOEXEC);
  if (fd < 0 || ::write(fd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) ::_exit(2);
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  wanted_path = path;
  if (!set_trap()) ::_exit(2);
  ::dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  // It did not get as far as to be stopped.
  const char* const why = ::dlerror();
  const std::string_view sentence = why == nullptr ? "" : why;
  if (const std::size_t end = sentence.find(k_missing); end != std::string_view::npos)
    say("misses "), say(sentence.substr(0, end)), say("\n");
  ::_exit(1);
}

// ----------------------------------------------------------------------------------------------------------------------

struct Loaded {
  int status = 0;  // of the other process
  std::string said;
};

std::optional<Loaded> loaded(std::span<const std::byte> bytes) {
  std::array<int, 2> pipe{};
  if (::pipe(pipe.data()) != 0) return std::nullopt;
  const pid_t child = ::fork();
  if (child == 0) load(bytes, pipe[1]);
  ::close(pipe[1]);
  Loaded out;
  std::array<char, 4096> piece{};
  while (child > 0) {
    const ssize_t got = ::read(pipe[0], piece.data(), piece.size());
    if (got <= 0) break;
    out.said.append(piece.data(), static_cast<std::size_t>(got));
  }
  ::close(pipe[0]);
  if (child < 0 || ::waitpid(child, &out.status, 0) != child) return std::nullopt;
  return out;
}

}  // namespace

/// How many inputs were compared, for those who have to know that this looks at something.
std::size_t compared_views = 0;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  const std::optional<View> judge = judged(bytes);
  if (!judge) return 0;
  const std::optional<Loaded> linker = loaded(bytes);
  if (!linker) return 0;
  const bool was_stopped = WIFEXITED(linker->status) && WEXITSTATUS(linker->status) == 0;
  // One that is not found ends the loading; a library that is found may miss others, which are not this file's.
  const auto is_ours = [&](const std::string& name) { return linker->said == "misses " + name + "\n"; };
  const bool misses = linker->said.starts_with("misses ");
  const bool agrees = was_stopped ? linker->said == judge->text()
                                  : !misses || std::any_of(judge->needed.begin(), judge->needed.end(), is_ours);
  compared_views += was_stopped || misses ? 1 : 0;
  if (agrees) return 0;
  std::fprintf(stderr, "the judge saw\n%sand the dynamic linker\n%s", judge->text().c_str(), linker->said.c_str());
  std::abort();
}
