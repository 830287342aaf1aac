// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "berth/abi/host.h"
#include "loader/elf/plugin_note.hpp"
#include "loader/findings.hpp"
#include "loader/signature.hpp"

namespace berth::loader {

/// The candidates for the plugin directory, as the caller found them. choose() takes the first that is given; the last
/// two count only when they exist.
struct PluginDirectoryChoice {
  std::string flag;                 // --plugin-dir
  std::string configured;           // BerthConfiguration, plugins.directory
  std::string configured_where;     // "berth.yaml:14:9  plugins.directory"
  std::string environment;          // $BERTH_PLUGIN_DIR
  std::filesystem::path installed;  // <prefix>/lib/berth/plugins
  std::filesystem::path built;      // "plugins" in the same folder as the binary of a build tree

  /// Fills `environment`, `installed` and `built` from the process's environment and /proc/self/exe.
  static PluginDirectoryChoice of_this_process();
};

struct PluginDirectory {
  std::filesystem::path path;
  std::string chosen_by;  // "--plugin-dir", "plugins.directory", "$BERTH_PLUGIN_DIR", "installed", "build tree"
  std::string where;      // position in the configuration, or empty
};
/// Never fails: without any candidate the answer is `installed`, and loading from it says that it is not there.
PluginDirectory choose(const PluginDirectoryChoice& choice);

/// plugins.files[i] of the configuration.
struct PluginPin {
  std::string file;          // relative to the plugin directory, or absolute and inside it
  std::string sha256;        // 64 hex digits, or empty
  std::string where;         // "berth.yaml:14:9  plugins.files[2]"
  bool is_isolated = false;  // its code runs in processes of its own: LoadRequest::isolate
};

/// A file that was judged and whose code is not to run in this process.
struct IsolatedFile {
  const PluginPin* pin = nullptr;
  std::string directory;                 // of plugins, resolved
  std::string file;                      // resolved, inside it
  std::string sha256;                    // of what was judged
  const std::vector<PluginNote>& notes;  // what it offers
};

/// What stands in for its library.
struct IsolatedLibraryEntry {
  const berth_library_v1* entry = nullptr;
  std::shared_ptr<const void> keeper;  // of all that `entry` points to
};

/// A name that some profile uses.
struct WantedPlugin {
  std::string name;
  std::string where;      // "berth.yaml:20:13  profiles[0].plugins.filter.enabled[1]", or empty for built-in defaults
  bool optional = false;  // loaded when a file offers it; no finding when none does
};

/// What this host can do for plugins, said once.
struct HostOffer {
  std::string product;                // "berth 0.1.0"
  std::vector<std::string> services;  // ids that berth_host_v1::service answers
};

struct LoadRequest {
  PluginDirectory directory;
  std::vector<PluginPin> files;
  std::vector<WantedPlugin> wanted;
  bool strict = false;                      // only what `files` pins may load; other files are not even judged
  bool require_digest = false;              // every file that loads needs a pinned sha256
  bool allow_draft_interfaces = false;      // berth.draft.*, for files that were built with another minor
  std::vector<PublicKey> public_keys = {};  // FileRules::public_keys
  std::chrono::milliseconds constructor_limit{10'000};
  bool kernel_seals = true;  // false: as on a kernel without sealed memory
  /// Opens a file that is pinned as isolated, or says why that cannot be. Empty: there is no such thing here.
  std::function<Result<IsolatedLibraryEntry>(const IsolatedFile&)> isolate = {};
};

/// Where code of a file runs during loading.
enum class LoadStage : std::uint8_t { constructors, entry_symbol };

/// Called around dlopen and the entry symbol, so that a crash in there can be explained. Each may be empty.
/// Texts are NUL-terminated and live as long as the process.
struct LoadHooks {
  std::function<void(LoadStage stage, const char* path, const char* build_id)> before;
  /// Before a sealed copy of `path` is mapped: what the dynamic linker and the kernel will call it.
  std::function<void(const char* loaded_as, const char* mapped_as, const char* path)> named;
  std::function<void()> after;
  /// After `after`: puts back what the plugin's code has changed in the process, and says what; empty: nothing.
  std::function<std::string()> repair;
};

/// A library whose code is in the process. Strings live as long as the LoadedPlugins that holds it; `entry` and all
/// that it points to live as long as the process, for no library is ever unloaded.
struct LoadedLibrary {
  const berth_library_v1* entry = nullptr;
  std::string path;                         // resolved; empty when linked in
  std::string sha256;                       // hex; empty when linked in
  std::string build_id;                     // hex, may be empty
  std::vector<PluginNote> notes;            // empty when linked in
  std::shared_ptr<const void> keeper = {};  // of an isolated file, what `entry` points to; it is gone with this
};

/// What the host works with: libraries, and the plugins that they describe.
///
/// Ownership: addresses of LoadedLibrary are stable, also when the object is moved.
/// Threads: const after construction.
class LoadedPlugins {
 public:
  struct Found {
    const LoadedLibrary* library;
    const berth_plugin_v1* plugin;
  };

  LoadedPlugins() = default;
  /// Without a file: for tests and for policies that are linked in. Runs the checks of a descriptor (plausible
  /// sizes, complete ops, required services, unique names), all findings in `report`; broken libraries are left out.
  static LoadedPlugins from_static(std::span<const berth_library_v1* (*const)()> entries, const HostOffer& offer,
                                   LoadReport& report);

  const std::deque<LoadedLibrary>& libraries() const noexcept { return libraries_; }
  /// By the name that a profile lists.
  std::optional<Found> find(std::string_view name) const;
  /// All plugins, in the order of files and descriptors.
  std::vector<Found> all() const;

 private:
  friend class PluginLoader;
  std::deque<LoadedLibrary> libraries_;
};

struct LoadOutcome {
  LoadedPlugins plugins;  // usable only when report.ok()
  LoadReport report;
};

/// From files to validated descriptors, in three passes over all files, so that every problem is in one report: judge
/// each
/// *.so of the directory without running it; match the names that profiles use with what the notes offer; load those
/// files and compare their descriptors with their notes.
///
/// Place:   called by app at start, before anything is scheduled.
///          Boost.DLL is used here and nowhere else.
/// Threads: load() belongs to the main thread.
///          While dlopen runs, a second thread watches the time: a constructor that takes longer than
///          `constructor_limit` is reported as P030 and ends the process with status 1, since a thread cannot be
///          stopped from outside.
/// Failure: every failure is a Finding; any Finding means that the process must not start. A file whose code already
///          ran stays mapped.
class PluginLoader {
 public:
  explicit PluginLoader(HostOffer offer, LoadHooks hooks = {});
  LoadOutcome load(const LoadRequest& request) const;

 private:
  const HostOffer offer_;
  const LoadHooks hooks_;
};

}  // namespace berth::loader
