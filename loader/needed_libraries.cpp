// SPDX-License-Identifier: Apache-2.0
#include "loader/needed_libraries.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <spdlog/fmt/fmt.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "base/result.hpp"

namespace berth::loader {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t k_libraries_max = 256;
constexpr std::size_t k_cache_bytes_max = std::size_t{16} << 20;

std::vector<std::string> split(const std::string& text, const char* separators) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find_first_of(separators, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// The directories that the dynamic linker searches without being told.
std::vector<std::string> default_directories() {
  std::vector<std::string> directories;
  Dl_serinfo head{};
  void* const self = ::dlopen(nullptr, RTLD_LAZY);
  if (self != nullptr && ::dlinfo(self, RTLD_DI_SERINFOSIZE, &head) == 0) {
    std::vector<std::byte> memory(head.dls_size + sizeof(Dl_serinfo));
    auto* const info = reinterpret_cast<Dl_serinfo*>(memory.data());
    info->dls_size = head.dls_size;
    info->dls_cnt = head.dls_cnt;
    if (::dlinfo(self, RTLD_DI_SERINFO, info) == 0) {
      for (unsigned i = 0; i < info->dls_cnt; ++i) {
        const Dl_serpath& path = info->dls_serpath[i];
        // glibc 2.36 sets no flag that tells the directories of the system from those of $LD_LIBRARY_PATH.
        if (path.dls_name[0] == '/') directories.emplace_back(path.dls_name);
      }
    }
  }
  if (self != nullptr) ::dlclose(self);
  return directories;
}

/// Asks without loading anything. Fails with what the dynamic linker says of a library that it does not find.
Status in_the_process(const std::string& name) {
  void* const handle = ::dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) {
    const char* const sentence = ::dlerror();
    return Error{sentence != nullptr ? sentence : name + ": found where berth does not look for libraries"};
  }
  ::dlclose(handle);
  return Unit{};
}

bool is_file(const fs::path& path) {
  std::error_code failed;
  return fs::is_regular_file(path, failed);
}

/// A file that the dynamic linker would pass over without a word: of another machine or class.
bool is_foreign(const fs::path& path, const HostMachine& host) {
  std::ifstream file(path, std::ios::binary);
  char head[20] = {};
  if (!file.read(head, sizeof head) || std::memcmp(head, ELFMAG, SELFMAG) != 0) return false;
  std::uint16_t machine = 0;
  std::memcpy(&machine, head + 18, sizeof machine);
  return head[EI_CLASS] != ELFCLASS64 || machine != host.elf_machine;
}

class Search {
 public:
  Search(const PluginFile& plugin, const LibrarySources& sources, LoadReport& report)
      : plugin_(plugin), sources_(sources), report_(report) {}

  /// What `file` needs, what that needs first.
  void go_through(const PluginFile& file, const std::vector<std::string>& own_directories, bool search_origin) {
    for (const std::string& name : file.needed) {
      if (!seen_.insert(name).second) continue;
      const Status loaded = in_the_process(name);
      if (loaded.ok()) continue;
      if (seen_.size() > k_libraries_max) {
        Finding finding = plugin_.finding("P008");
        finding.evidence.push_back(fmt::format("needs more than {} libraries", k_libraries_max));
        report_.add(std::move(finding));
        return;
      }
      if (name.empty() || name.find_first_of("/$") != std::string::npos) {
        Finding finding = file.finding("P008");
        finding.evidence.push_back(fmt::format("DT_NEEDED {} is a path", name));
        finding.evidence.push_back("needed by " + plugin_.path);
        report_.add(std::move(finding));
        continue;
      }
      if (search_origin && take_from_origin(file, name)) continue;
      take_of_system(file, name, loaded.error(), own_directories);
    }
  }
  std::vector<NeededLibrary> take() { return std::move(found_); }

 private:
  /// False: none of that name is where $ORIGIN leads in the file that needs it.
  bool take_from_origin(const PluginFile& file, const std::string& name) {
    for (const std::string& below : file.search_below_origin) {
      const fs::path path = fs::path(fs::path(file.path).parent_path().string() + below) / name;
      std::error_code failed;
      if (!fs::exists(fs::symlink_status(path, failed))) continue;
      const PluginPin* const pin = pin_of(path);
      PluginFile library =
          judge_in_directory(path, sources_.plugin_directory, pin != nullptr ? pin->sha256 : "",
                             pin != nullptr ? pin->where : plugin_.config, sources_.rules, FileKind::library);
      if (library.findings.empty()) judge_pin(pin, library);
      if (library.findings.empty() && library.soname != name) {
        Finding finding = library.finding("P020");
        finding.evidence.push_back(
            fmt::format("{} is in the plugin's directory, but calls itself \"{}\" (DT_SONAME)", name, library.soname));
        finding.advice = fmt::format("link it with -Wl,-soname,{}", name);
        library.findings.push_back(std::move(finding));
      }
      keep(name, std::move(library), {}, true);
      return true;
    }
    return false;
  }

  void take_of_system(const PluginFile& file, const std::string& name, const Error& not_loaded,
                      const std::vector<std::string>& own_directories) {
    const std::optional<fs::path> path = find_in_system(name, own_directories);
    if (!path) {
      Finding finding = plugin_.finding("P020");
      finding.evidence.push_back(
          fmt::format("needs {}, which is in none of the places where the system looks for libraries", name));
      finding.evidence.push_back("dlopen: " + not_loaded.message);
      if (file.path != plugin_.path) finding.evidence.push_back("needed by " + file.path);
      finding.advice = fmt::format("install the package that has {} into the image, or link it statically", name);
      report_.add(std::move(finding));
      return;
    }
    std::vector<std::string> directories;
    PluginFile library = judge_system_library(*path, sources_.rules, directories);
    keep(name, std::move(library), directories, false);
  }

  std::optional<fs::path> find_in_system(const std::string& name, const std::vector<std::string>& own_directories) {
    const auto found_in = [&](const std::vector<std::string>& directories) -> std::optional<fs::path> {
      for (const std::string& directory : directories) {
        const fs::path path = fs::path(directory.empty() ? "." : directory) / name;
        if (is_file(path) && !is_foreign(path, sources_.rules.machine)) return path;
      }
      return std::nullopt;
    };
    if (!sources_.system_directories.empty()) return found_in(sources_.system_directories);
    const char* const asked = std::getenv("LD_LIBRARY_PATH");
    if (asked != nullptr && *asked != '\0')
      if (auto path = found_in(split(asked, ":;"))) return path;
    if (auto path = found_in(own_directories)) return path;
    if (!cache_) cache_ = read_library_cache("/etc/ld.so.cache");
    for (auto [at, end] = cache_->equal_range(name); at != end; ++at)  // one per kind of machine
      if (is_file(at->second) && !is_foreign(at->second, sources_.rules.machine)) return fs::path(at->second);
    if (!defaults_) defaults_ = default_directories();
    return found_in(*defaults_);
  }

  const PluginPin* pin_of(const fs::path& path) const {
    std::error_code ignored;
    if (sources_.pins == nullptr) return nullptr;
    for (const PluginPin& pin : *sources_.pins)
      if (fs::equivalent(sources_.plugin_directory / pin.file, path, ignored)) return &pin;
    return nullptr;
  }

  void judge_pin(const PluginPin* pin, PluginFile& library) const {
    const bool wanted_digest = sources_.require_digest && (pin == nullptr || pin->sha256.empty());
    if (!wanted_digest && !(sources_.require_pin && pin == nullptr)) return;
    Finding finding = library.finding("P004");
    finding.what = "digest of a library in the plugin's directory is not pinned";
    finding.evidence.emplace_back(wanted_digest ? "plugins.requireDigest is set" : "plugins.strict is set");
    finding.advice =
        fmt::format("add {{file: {}, sha256: {}}} to plugins.files after looking at the file",
                    fs::path(library.path).lexically_relative(sources_.plugin_directory).string(), library.sha256);
    library.findings.push_back(std::move(finding));
  }

  void keep(const std::string& name, PluginFile library, const std::vector<std::string>& directories,
            bool search_origin) {
    for (Finding& finding : library.findings) {
      finding.evidence.push_back("needed by " + plugin_.path);
      finding.inspectable = false;
      report_.add(std::move(finding));
    }
    for (std::string& warning : library.warnings) report_.warn(std::move(warning));
    if (!library.findings.empty()) return;
    go_through(library, directories, search_origin);
    found_.push_back({name, std::move(library)});
  }

  const PluginFile& plugin_;
  const LibrarySources& sources_;
  LoadReport& report_;
  std::set<std::string> seen_;
  std::vector<NeededLibrary> found_;
  std::optional<std::multimap<std::string, std::string>> cache_;
  std::optional<std::vector<std::string>> defaults_;
};

}  // namespace

std::vector<NeededLibrary> find_needed_libraries(const PluginFile& plugin, const LibrarySources& sources,
                                                 LoadReport& report) {
  Search search(plugin, sources, report);
  search.go_through(plugin, {}, true);
  return search.take();
}

std::multimap<std::string, std::string> read_library_cache(const fs::path& path) {
  // The format of ldconfig since glibc 2.2: a head, entries of two offsets each, texts.
  constexpr std::string_view k_magic = "glibc-ld.so.cache1.1";
  constexpr std::size_t k_head_bytes = 48;
  constexpr std::size_t k_entry_bytes = 24;
  std::multimap<std::string, std::string> libraries;
  std::ifstream file(path, std::ios::binary);
  std::string bytes;
  for (char buffer[65536]; file && bytes.size() < k_cache_bytes_max;) {
    file.read(buffer, sizeof buffer);
    bytes.append(buffer, static_cast<std::size_t>(file.gcount()));
  }
  if (bytes.size() < k_head_bytes || bytes.compare(0, k_magic.size(), k_magic) != 0) return libraries;
  const auto number = [&](std::size_t at) {
    std::uint32_t value = 0;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return std::size_t{value};
  };
  const auto text = [&](std::size_t at) -> std::string {
    const std::size_t end = at < bytes.size() ? bytes.find('\0', at) : std::string::npos;
    return end == std::string::npos ? std::string() : bytes.substr(at, end - at);
  };
  const std::size_t count = number(k_magic.size());
  for (std::size_t i = 0; i < count && k_head_bytes + (i + 1) * k_entry_bytes <= bytes.size(); ++i) {
    const std::size_t entry = k_head_bytes + i * k_entry_bytes;
    std::uint64_t capabilities = 0;
    std::memcpy(&capabilities, bytes.data() + entry + 16, sizeof capabilities);
    if (capabilities != 0) continue;  // for CPUs of one kind only
    std::string name = text(number(entry + 4));
    std::string value = text(number(entry + 8));
    if (name.empty() || value.empty() || value.front() != '/') continue;
    libraries.emplace(std::move(name), std::move(value));
  }
  return libraries;
}

}  // namespace berth::loader
