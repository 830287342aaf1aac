// SPDX-License-Identifier: Apache-2.0
#include "loader/dynamic_library.hpp"

#include <cxxabi.h>
#include <spdlog/fmt/fmt.h>
#include <sys/mman.h>
#include <unistd.h>

#include <boost/dll/shared_library.hpp>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <utility>

#include "base/process/explained_end.hpp"
#include "base/process/process_time_limit.hpp"
#include "loader/floating_point_mode.hpp"

namespace berth::loader {
namespace {

using Entry = const berth_library_v1*();

constexpr int k_nodelete = 0x1000;  // RTLD_NODELETE, for which Boost.DLL has no name but which it passes on

/// One path with one content is one library, however often it is asked for.
using Identity = std::pair<std::string, std::string>;  // resolved path, sha256

/// A library, and what it was mapped from: the sealed copy of its judged bytes, or the path that they were read from.
struct MappedFile {
  boost::dll::shared_library* library = nullptr;
  bool is_sealed = false;
};

/// What must live as long as the process: handles, since nothing is ever unloaded, and the strings that a signal
/// handler may read. Reachable for ever, destroyed never.
struct Immortals {
  std::deque<boost::dll::shared_library> libraries;
  std::deque<std::string> texts;
  // An open descriptor is the name of what was loaded from it: closed, another file would get the name.
  std::deque<OpenFile> sealed;
  std::map<Identity, MappedFile> by_identity;
};
Immortals& immortals() {
  static auto* const all = new Immortals;
  return *all;
}
const char* immortal(const std::string& text) { return immortals().texts.emplace_back(text).c_str(); }

/// Tells the hooks where plugin code is about to run, and that it is over.
class HookedStage {
 public:
  HookedStage(const LoadHooks& hooks, LoadStage stage, const PluginFile& file, LoadReport& report)
      : hooks_(hooks), file_(file), report_(report) {
    if (hooks_.before) hooks_.before(stage, immortal(file.path), immortal(file.build_id));
  }
  HookedStage(const HookedStage&) = delete;
  HookedStage& operator=(const HookedStage&) = delete;
  ~HookedStage() {
    if (hooks_.after) hooks_.after();
    if (!hooks_.repair) return;
    const std::string repaired = hooks_.repair();
    if (!repaired.empty()) report_.warn(fmt::format("{}: {}", escaped(file_.path, 4096), repaired));
  }

 private:
  const LoadHooks& hooks_;
  const PluginFile& file_;
  LoadReport& report_;
};

/// dlopen's own sentence out of Boost's.
std::string dlopen_sentence(const std::string& what) {
  constexpr std::string_view k_begin = "dlerror system message: ";
  const std::size_t begin = what.find(k_begin);
  const std::size_t end = what.rfind("): ");
  if (begin == std::string::npos || end == std::string::npos || end < begin) return what;
  return what.substr(begin + k_begin.size(), end - begin - k_begin.size());
}

std::string demangled(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status),
                                                    std::free);
  return status == 0 && text ? text.get() : symbol;
}

/// The word after `before`, up to a blank, comma or quote; empty without it.
std::string word_after(const std::string& sentence, std::string_view before) {
  const std::size_t at = sentence.find(before);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + before.size();
  return sentence.substr(begin, sentence.find_first_of(" ,'", begin) - begin);
}

/// "08:01 1234" of the mapping that covers an address: device and inode as the kernel shows them.
std::string mapped_identity(const void* address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    char dash = 0;
    std::string permissions, offset, device, inode;
    std::istringstream words(line);
    words >> std::hex >> begin >> dash >> end >> permissions >> offset >> device >> inode;
    const auto wanted = reinterpret_cast<std::uintptr_t>(address);
    if (wanted >= begin && wanted < end) return device + " " + inode;
  }
  return {};
}

/// The same for the open file, through a mapping of its own: fstat() and the kernel's list of mappings name different
/// devices on overlay file systems.
std::string open_identity(int fd) {
  void* const page = ::mmap(nullptr, 1, PROT_READ, MAP_PRIVATE, fd, 0);
  if (page == MAP_FAILED) return {};
  std::string identity = mapped_identity(page);
  ::munmap(page, 1);
  return identity;
}

/// The report of a process that ends because of a constructor: everything that was found before, then that.
std::string last_report(const PluginFile& file, std::string evidence, const LoadReport& so_far) {
  Finding finding = file.finding("P030");
  finding.evidence.push_back(std::move(evidence));
  finding.advice = "static constructors may do no more than initialise memory: move the work to create()";
  LoadReport all = so_far;
  all.add(std::move(finding));
  return all.render();
}

std::string hang_report(const PluginFile& file, std::chrono::milliseconds limit, const LoadReport& so_far) {
  return last_report(
      file, fmt::format("a constructor has run for {} ms; the limit is reached and the process ends", limit.count()),
      so_far);
}

/// Ends the process with a report when a constructor throws. Going on is no choice: the exception has left the dynamic
/// linker in the middle of its work. Depending on the compiler it arrives here as an exception, or as a call of
/// terminate(), since dlopen() is declared not to throw; a library with a C++ runtime of its own aborts, which the
/// fatal-signal report explains.
class ConstructorBarrier {
 public:
  ConstructorBarrier(const PluginFile& file, const LoadReport& report)
      : file_(file), report_(report), before_(std::set_terminate(on_terminate)) {
    current_ = this;
  }
  ConstructorBarrier(const ConstructorBarrier&) = delete;
  ConstructorBarrier& operator=(const ConstructorBarrier&) = delete;
  ~ConstructorBarrier() {
    current_ = nullptr;
    std::set_terminate(before_);
  }
  /// Requires: an exception is being handled.
  [[noreturn]] void report_and_exit() const noexcept {
    std::string what = "something that is no std::exception";
    try {
      throw;
    } catch (const std::exception& error) {
      what = error.what();
    } catch (...) {
    }
    const std::string text = last_report(file_, "a constructor threw: " + what, report_);
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
    end_is_explained();
    ::_exit(1);
  }

 private:
  [[noreturn]] static void on_terminate() {
    if (current_ != nullptr && std::current_exception()) current_->report_and_exit();
    std::abort();
  }
  static inline const ConstructorBarrier* current_ = nullptr;  // files are loaded one after the other
  const PluginFile& file_;
  const LoadReport& report_;
  const std::terminate_handler before_;
};

/// dlopen's sentence with the path of the file in place of the descriptor that it was loaded from.
std::string with_path(std::string sentence, const std::string& loaded_as, const std::string& path) {
  for (std::size_t at = 0; loaded_as != path && (at = sentence.find(loaded_as, at)) != std::string::npos;) {
    const std::size_t end = at + loaded_as.size();
    const bool longer = end < sentence.size() && sentence[end] >= '0' && sentence[end] <= '9';
    if (!longer) sentence.replace(at, loaded_as.size(), path);
    at += longer ? loaded_as.size() : path.size();
  }
  return sentence;
}

/// dlopen, of exactly the bytes that were judged where they are sealed. Throws what Boost throws.
MappedFile open_file(PluginFile& file, const LoadHooks& hooks, std::string& loaded_as) {
  using boost::dll::load_mode::type;
  const auto mode = static_cast<type>(boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_local | k_nodelete);
  Immortals& all = immortals();
  const Identity identity{file.path, file.sha256};
  if (const auto known = all.by_identity.find(identity); known != all.by_identity.end()) {
    loaded_as = known->second.library->location().string();
    return known->second;
  }
  loaded_as = file.path;
  const bool is_sealed = file.sealed.fd() >= 0;
  if (is_sealed) {
    loaded_as = path_of_descriptor(file.sealed.fd());
    all.sealed.push_back(std::move(file.sealed));
    const std::string base = std::filesystem::path(file.path).filename().string();
    if (hooks.named) hooks.named(immortal(loaded_as), immortal(JudgedBytes::mapped_name(base)), immortal(file.path));
  }
  // The overload that throws keeps what dlopen said; the other one answers "bad file descriptor" to everything.
  all.libraries.emplace_back(boost::dll::fs::path(loaded_as), mode);
  return all.by_identity.emplace(identity, MappedFile{&all.libraries.back(), is_sealed}).first->second;
}

/// Maps the file, and before it what it needs. No library when a finding was added.
MappedFile open_library(PluginFile& file, std::vector<NeededLibrary>& needed, const LoadHooks& hooks,
                        std::chrono::milliseconds limit, LoadReport& report) {
  const ProcessTimeLimit time_limit(limit, hang_report(file, limit, report));
  const HookedStage stage(hooks, LoadStage::constructors, file, report);
  const ConstructorBarrier barrier(file, report);
  PluginFile* opening = &file;
  std::string loaded_as;
  try {
    for (NeededLibrary& library : needed) {
      opening = &library.file;
      open_file(library.file, hooks, loaded_as);
    }
    opening = &file;
    return open_file(file, hooks, loaded_as);
  } catch (const boost::dll::fs::system_error& error) {
    report.add(translate_dlopen_error(file, with_path(dlopen_sentence(error.what()), loaded_as, opening->path)));
    return {};
  } catch (...) {
    barrier.report_and_exit();
  }
}

const berth_library_v1* call_entry(const PluginFile& file, Entry& entry, const LoadHooks& hooks,
                                   std::chrono::milliseconds limit, LoadReport& report) {
  const ProcessTimeLimit time_limit(limit, hang_report(file, limit, report));
  const HookedStage stage(hooks, LoadStage::entry_symbol, file, report);
  std::string thrown;
  try {
    return entry();
  } catch (const std::exception& error) {
    thrown = error.what();
  } catch (...) {
    thrown = "something that is no std::exception";
  }
  Finding finding = file.finding("P017");
  finding.evidence.push_back(fmt::format("{} threw: {}", BERTH_ENTRY_SYMBOL, thrown));
  finding.advice = "the entry returns static data and has no side effect";
  report.add(std::move(finding));
  return nullptr;
}

/// Adds a P031 when the mode is not what it was, and puts it back.
void judge_floating_point(const PluginFile& file, const FloatingPointMode& before, LoadReport& report) {
  const FloatingPointMode after = FloatingPointMode::current();
  if (after == before) return;
  before.restore();
  Finding finding = file.finding("P031");
  finding.evidence.push_back(fmt::format("before: {}; after: {}", before.text(), after.text()));
  finding.advice = "link without -ffast-math and -Ofast: they add a constructor that flushes small numbers to zero";
  report.add(std::move(finding));
}

}  // namespace

Finding translate_dlopen_error(const PluginFile& file, const std::string& sentence) {
  const auto made = [&](std::string_view code, std::string evidence, std::string advice) {
    Finding finding = file.finding(code);
    if (!evidence.empty()) finding.evidence.push_back(std::move(evidence));
    finding.evidence.push_back("dlopen: " + sentence);
    finding.advice = std::move(advice);
    return finding;
  };
  if (const std::string version = word_after(sentence, "version `GLIBC"); !version.empty()) {
    return made("P022", fmt::format("needs GLIBC{}", version),
                "build the plugin on the oldest system that it must run on");
  }
  if (const std::string symbol = word_after(sentence, "undefined symbol: "); !symbol.empty()) {
    const std::string name = demangled(symbol);
    return made("P021", fmt::format("needs {}", name),
                name.find("::") != std::string::npos
                    ? "a C++ name: of a library that is not linked, or of another plugin, which plugins cannot share"
                    : "link the library that has it; link plugins with -Wl,-z,defs to see this when building");
  }
  const std::size_t absent = sentence.find(": cannot open shared object file");
  if (const std::string library = sentence.substr(0, absent); absent != std::string::npos && library != file.path) {
    return made("P020",
                fmt::format("needs {}, which is in none of the places where the system looks for libraries", library),
                fmt::format("install the package that has {} into the image, or link it statically", library));
  }
  if (sentence.find("static TLS block") != std::string::npos) {
    return made("P023", {}, "build the plugin without -ftls-model=initial-exec");
  }
  return made("P024", {}, {});
}

const berth_library_v1* map_library(PluginFile& file, std::vector<NeededLibrary>& needed, const LoadHooks& hooks,
                                    std::chrono::milliseconds limit, LoadReport& report) {
  const FloatingPointMode mode = FloatingPointMode::current();
  const auto [library, is_sealed] = open_library(file, needed, hooks, limit, report);
  judge_floating_point(file, mode, report);
  if (library == nullptr) return nullptr;

  if (!library->has(BERTH_ENTRY_SYMBOL)) {
    Finding finding = file.finding("P011");
    finding.evidence.push_back(fmt::format("{} cannot be found after loading", BERTH_ENTRY_SYMBOL));
    report.add(std::move(finding));
    return nullptr;
  }
  Entry& entry = library->get<Entry>(BERTH_ENTRY_SYMBOL);
  // Sealed bytes are what was judged, this time or earlier: the content is the same. A path may have come to mean another
  // file.
  const std::string judged = is_sealed ? std::string() : open_identity(file.open.fd());
  const std::string mapped = is_sealed ? std::string() : mapped_identity(reinterpret_cast<const void*>(&entry));
  if (judged != mapped) {
    Finding finding = file.finding("P025");
    finding.evidence.push_back(fmt::format("checked device and inode {}, mapped {}", judged, mapped));
    finding.advice = "start again; replace plugins only while berth does not start";
    report.add(std::move(finding));
    return nullptr;
  }
  const berth_library_v1* const described = call_entry(file, entry, hooks, limit, report);
  judge_floating_point(file, mode, report);
  return described;
}

}  // namespace berth::loader
