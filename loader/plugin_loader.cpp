// SPDX-License-Identifier: Apache-2.0
#include "loader/plugin_loader.hpp"

#include <spdlog/fmt/fmt.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "loader/descriptor.hpp"
#include "loader/dynamic_library.hpp"
#include "loader/near_names.hpp"
#include "loader/needed_libraries.hpp"
#include "loader/plugin_file.hpp"

namespace berth::loader {
namespace {

namespace fs = std::filesystem;

/// A file that may be judged: an entry of the directory, pinned or not.
struct Candidate {
  fs::path path;
  const PluginPin* pin = nullptr;
};

void warn_of_environment(LoadReport& report) {
  for (const char* const name : {"LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT"}) {
    const char* const value = std::getenv(name);
    if (value != nullptr && *value != '\0') report.warn(fmt::format("{} is set: it changes what plugins load", name));
  }
}

void add_missing_directory(const PluginDirectory& directory, const std::string& why, LoadReport& report) {
  Finding finding = make_finding("P001");
  finding.what = "plugin directory not found";
  finding.file = directory.path.string();
  finding.evidence.push_back(fmt::format("chosen by {}; {}", directory.chosen_by, why));
  finding.advice = "create it, or name the right one with --plugin-dir";
  finding.config = directory.where;
  finding.inspectable = false;
  report.add(std::move(finding));
}

/// Finds candidates by name and by the file behind it, however many there are.
class CandidateIndex {
 public:
  void add(const fs::path& path, std::size_t place) {
    by_path_.emplace(path.string(), place);
    if (const std::optional<FileId> id = file_behind(path)) by_file_.emplace(*id, place);
  }
  /// The first of them that is that file.
  std::optional<std::size_t> find(const fs::path& path) const {
    std::optional<std::size_t> out;
    if (const auto same = by_path_.find(path.string()); same != by_path_.end()) out = same->second;
    const std::optional<FileId> id = file_behind(path);
    const auto same = id ? by_file_.find(*id) : by_file_.end();
    if (same != by_file_.end() && (!out || same->second < *out)) out = same->second;
    return out;
  }

 private:
  using FileId = std::pair<dev_t, ino_t>;
  static std::optional<FileId> file_behind(const fs::path& path) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) return std::nullopt;
    return FileId(info.st_dev, info.st_ino);
  }

  std::map<std::string, std::size_t> by_path_;
  std::map<FileId, std::size_t> by_file_;
};

/// *.so of the directory in the order of their names, then pinned files that the listing does not have.
std::vector<Candidate> candidates_in(const fs::path& root, const std::vector<PluginPin>& pins, bool strict,
                                     std::error_code& failed) {
  std::vector<Candidate> candidates;
  for (fs::directory_iterator at(root, failed), end; !failed && at != end; at.increment(failed)) {
    if (at->path().extension() == ".so" && at->path().filename().string().front() != '.')
      candidates.push_back({at->path()});
  }
  std::sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  CandidateIndex index;
  for (std::size_t i = 0; i < candidates.size(); ++i) index.add(candidates[i].path, i);
  for (const PluginPin& pin : pins) {
    const fs::path path = (root / pin.file).lexically_normal();  // an absolute name replaces the root
    if (const std::optional<std::size_t> found = index.find(path)) {
      candidates[*found].pin = &pin;
    } else {
      index.add(path, candidates.size());
      candidates.push_back({path, &pin});
    }
  }
  if (strict) std::erase_if(candidates, [](const Candidate& candidate) { return candidate.pin == nullptr; });
  return candidates;
}

bool offers(const PluginFile& file, std::string_view name) {
  return std::any_of(file.notes.begin(), file.notes.end(), [&](const PluginNote& note) { return note.plugin == name; });
}

bool is_wanted(const PluginFile& file, const LoadRequest& request) {
  return std::any_of(request.wanted.begin(), request.wanted.end(),
                     [&](const WantedPlugin& plugin) { return offers(file, plugin.name); });
}

/// A pinned file that is no plugin and is not called like one is there for plugins that need it: it is judged as a
/// library with them.
bool is_companion(const Candidate& candidate, const PluginFile& file) {
  return candidate.pin != nullptr && candidate.path.extension() != ".so" &&
         std::any_of(file.findings.begin(), file.findings.end(),
                     [](const Finding& finding) { return finding.code == "P010"; });
}

/// Two links to one file are one file. Memory is kept for files that will be loaded, not for all that lie there.
std::vector<PluginFile> judge_all(const std::vector<Candidate>& candidates, const fs::path& root,
                                  const FileRules& rules, const LoadRequest& request) {
  std::vector<PluginFile> files;
  std::set<std::string> seen;
  for (const Candidate& candidate : candidates) {
    const std::string pinned = candidate.pin != nullptr ? candidate.pin->sha256 : "";
    const std::string config = candidate.pin != nullptr ? candidate.pin->where : "";
    PluginFile file = judge_in_directory(candidate.path, root, pinned, config, rules);
    if (is_companion(candidate, file)) {
      std::erase_if(file.findings, [](const Finding& finding) { return finding.code == "P010"; });
      if (file.findings.empty()) continue;
    }
    if (!file.findings.empty() || !is_wanted(file, request)) file.sealed = OpenFile();
    if (!file.findings.empty() || seen.insert(file.path).second) files.push_back(std::move(file));
  }
  return files;
}

/// P041: also for names that no profile uses, since tomorrow one may.
void judge_duplicates(const std::vector<PluginFile>& files, LoadReport& report) {
  std::map<std::string, std::vector<std::string>> offered;
  for (const PluginFile& file : files) {
    for (const PluginNote& note : file.notes) {
      offered[note.plugin].push_back(fmt::format("{}  version {}", file.path, note.version));
    }
  }
  for (auto& [name, places] : offered) {
    if (places.size() == 1 || name.empty()) continue;
    Finding finding = make_finding("P041");
    finding.plugin = name;
    finding.evidence = std::move(places);
    finding.advice = "keep one of them in the plugin directory, or pin one with plugins.files and strict: true";
    report.add(std::move(finding));
  }
}

/// P040, with what the directory offers instead. One finding for all names when there is nothing at all to choose from.
void judge_wanted(const std::vector<PluginFile>& files, const LoadRequest& request, LoadReport& report) {
  std::vector<std::string> names;
  for (const PluginFile& file : files) {
    for (const PluginNote& note : file.notes) names.push_back(note.plugin);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::set<std::string> judged;
  std::vector<std::string> absent;
  for (const WantedPlugin& wanted : request.wanted) {
    if (wanted.optional) continue;
    if (std::find(names.begin(), names.end(), wanted.name) != names.end() || !judged.insert(wanted.name).second)
      continue;
    absent.push_back(wanted.name);
    if (names.empty()) continue;
    Finding finding = make_finding("P040");
    finding.plugin = wanted.name;
    const std::vector<std::string> near = near_names(wanted.name, names);
    finding.evidence.push_back(
        near.empty() ? fmt::format("{} offers {}", request.directory.path.string(), fmt::join(names, ", "))
                     : fmt::format("{} offers {}", request.directory.path.string(), fmt::join(near, ", ")));
    finding.advice = near.empty() ? "copy the file that has the plugin there, or take the name out of the profile"
                                  : fmt::format("write {}, or copy the file that has the plugin there", near.front());
    finding.config = wanted.where;
    report.add(std::move(finding));
  }
  if (!names.empty() || absent.empty()) return;
  Finding finding = make_finding("P040");
  finding.evidence.push_back(fmt::format("{} (chosen by {}) has no file that offers {}",
                                         request.directory.path.string(), request.directory.chosen_by,
                                         fmt::join(absent, ", ")));
  const bool unreadable = !files.empty();
  if (unreadable) finding.evidence.push_back(fmt::format("its {} *.so cannot be used, see above", files.size()));
  finding.advice = unreadable ? "repair the files above, or name the directory that has the plugins with --plugin-dir"
                              : "name the directory that has the plugins with --plugin-dir";
  report.add(std::move(finding));
}

/// requireDigest: a file that would load and that nothing pins.
void judge_required_digest(const PluginFile& file, const std::vector<Candidate>& candidates, LoadReport& report) {
  const bool pinned = std::any_of(candidates.begin(), candidates.end(), [&](const Candidate& candidate) {
    return candidate.pin != nullptr && !candidate.pin->sha256.empty() && candidate.path.string() == file.asked_as;
  });
  if (pinned) return;
  Finding finding = file.finding("P004");
  finding.what = "digest of the plugin file is not pinned";
  finding.evidence.emplace_back("plugins.requireDigest is set");
  finding.advice = fmt::format("add {{file: {}, sha256: {}}} to plugins.files after looking at the file",
                               fs::path(file.asked_as).filename().string(), file.sha256);
  report.add(std::move(finding));
}

std::string log_line(const PluginFile& file, bool loaded) {
  std::string line = fmt::format("{} {}  sha256 {}  build id {}", loaded ? "loaded" : "available, not used:", file.path,
                                 file.sha256, file.build_id.empty() ? "none" : file.build_id);
  for (const PluginNote& note : file.notes) {
    line += fmt::format("  {} {} (SDK {}, ABI {}.{}, points {})", escaped(note.plugin), escaped(note.version),
                        escaped(note.sdk), note.abi_major, note.minor_built,
                        escaped(fmt::format("{}", fmt::join(note.points, ", "))));
  }
  return line;
}

/// Maps one file, after what it needs, and judges what it describes. False when that gave a finding.
bool load_file(PluginFile& file, const LoadRequest& request, const LibrarySources& sources, const HostOffer& offer,
               const LoadHooks& hooks, std::deque<LoadedLibrary>& libraries, LoadReport& report) {
  const std::size_t before = report.findings().size();
  std::vector<NeededLibrary> needed = find_needed_libraries(file, sources, report);
  if (report.findings().size() != before) return false;
  const berth_library_v1* const entry = map_library(file, needed, hooks, request.constructor_limit, report);
  if (entry == nullptr && report.findings().size() != before) return false;
  judge_descriptor(entry, {&file.notes, &offer.services, offer.product}, file.finding("P017"), report);
  if (report.findings().size() != before) return false;
  libraries.push_back({entry, file.path, file.sha256, file.build_id, file.notes});
  return true;
}

const PluginPin* isolated_pin(const PluginFile& file, const std::vector<Candidate>& candidates) {
  for (const Candidate& candidate : candidates)
    if (candidate.pin != nullptr && candidate.pin->is_isolated && candidate.path.string() == file.asked_as)
      return candidate.pin;
  return nullptr;
}

/// As load_file(), but no code of it runs here.
bool isolate_file(PluginFile& file, const PluginPin& pin, const LoadRequest& request, const HostOffer& offer,
                  std::deque<LoadedLibrary>& libraries, LoadReport& report) {
  const std::size_t before = report.findings().size();
  const IsolatedFile asked{&pin, fs::path(file.path).parent_path().string(), file.path, file.sha256, file.notes};
  Result<IsolatedLibraryEntry> opened =
      request.isolate ? request.isolate(asked)
                      : Result<IsolatedLibraryEntry>(Error{"this program runs plugins inside its own process only"});
  if (!opened.ok()) {
    Finding finding = file.finding("P061");
    finding.evidence.push_back(opened.error().message);
    finding.advice =
        "plugins that filter and score nodes by their columns can be isolated; leave isolation out for others";
    finding.config = pin.where;
    report.add(std::move(finding));
    return false;
  }
  judge_descriptor(opened->entry, {&file.notes, &offer.services, offer.product}, file.finding("P017"), report);
  if (report.findings().size() != before) return false;
  libraries.push_back({opened->entry, file.path, file.sha256, file.build_id, file.notes, std::move(opened->keeper)});
  return true;
}

std::vector<LoadedPlugins::Found> plugins_of(const LoadedLibrary& library) {
  std::vector<LoadedPlugins::Found> found;
  for (std::uint32_t i = 0; i < library.entry->plugin_count; ++i)
    found.push_back({&library, library.entry->plugins[i]});
  return found;
}

}  // namespace

PluginLoader::PluginLoader(HostOffer offer, LoadHooks hooks) : offer_(std::move(offer)), hooks_(std::move(hooks)) {}

LoadOutcome PluginLoader::load(const LoadRequest& request) const {
  LoadOutcome outcome;
  LoadReport& report = outcome.report;
  warn_of_environment(report);

  // 1. Judge every file without running it.
  std::error_code failed;
  const fs::path root = fs::canonical(request.directory.path, failed);
  std::vector<Candidate> candidates;
  if (!failed) candidates = candidates_in(root, request.files, request.strict, failed);
  if (failed) {
    add_missing_directory(request.directory, failed.message(), report);
    return outcome;
  }
  FileRules rules{HostMachine::of_this_process(), offer_.product, offer_.services, true,
                  request.allow_draft_interfaces};
  rules.strict = request.strict;
  rules.seal = true;
  rules.kernel_seals = request.kernel_seals;
  rules.public_keys = request.public_keys;
  const LibrarySources sources{root, &request.files, request.strict, request.require_digest, rules, {}};
  std::vector<PluginFile> files = judge_all(candidates, root, rules, request);
  for (PluginFile& file : files) {
    for (const Finding& finding : file.findings) report.add(finding);
    for (std::string& warning : file.warnings) report.warn(std::move(warning));
  }

  // 2. Match what profiles want with what the notes offer.
  judge_duplicates(files, report);
  judge_wanted(files, request, report);

  // 3. Load the files that are wanted and sound. A duplicate name, a missing one or a broken file elsewhere does not
  //    stop this: the report is to be complete.
  for (PluginFile& file : files) {
    if (!file.findings.empty()) continue;
    if (!is_wanted(file, request)) {
      report.note(log_line(file, false));
      continue;
    }
    if (request.require_digest) {
      const std::size_t before = report.findings().size();
      judge_required_digest(file, candidates, report);
      if (report.findings().size() != before) continue;
    }
    const PluginPin* const isolated = isolated_pin(file, candidates);
    const bool is_loaded = isolated != nullptr
                               ? isolate_file(file, *isolated, request, offer_, outcome.plugins.libraries_, report)
                               : load_file(file, request, sources, offer_, hooks_, outcome.plugins.libraries_, report);
    if (is_loaded) report.note(log_line(file, true));
  }
  return outcome;
}

LoadedPlugins LoadedPlugins::from_static(std::span<const berth_library_v1* (*const)()> entries, const HostOffer& offer,
                                         LoadReport& report) {
  LoadedPlugins plugins;
  std::set<std::string> names;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    Finding context;
    context.plugin = fmt::format("linked in, entry {}", i);
    context.inspectable = false;
    const std::size_t before = report.findings().size();
    const berth_library_v1* const entry = entries[i]();
    judge_descriptor(entry, {nullptr, &offer.services, offer.product}, context, report);
    if (report.findings().size() != before) continue;
    plugins.libraries_.push_back({entry, {}, {}, {}, {}});
    for (const Found& found : plugins_of(plugins.libraries_.back())) {
      if (names.insert(found.plugin->name).second) continue;
      Finding finding = make_finding("P041");
      finding.plugin = found.plugin->name;
      finding.evidence.push_back(fmt::format("linked in twice, again by entry {}", i));
      finding.inspectable = false;
      report.add(std::move(finding));
    }
  }
  return plugins;
}

std::optional<LoadedPlugins::Found> LoadedPlugins::find(std::string_view name) const {
  for (const Found& found : all()) {
    if (found.plugin->name == name) return found;
  }
  return std::nullopt;
}

std::vector<LoadedPlugins::Found> LoadedPlugins::all() const {
  std::vector<Found> everything;
  for (const LoadedLibrary& library : libraries_) {
    for (const Found& found : plugins_of(library)) everything.push_back(found);
  }
  return everything;
}

PluginDirectoryChoice PluginDirectoryChoice::of_this_process() {
  PluginDirectoryChoice choice;
  if (const char* const directory = std::getenv("BERTH_PLUGIN_DIR")) choice.environment = directory;
  std::error_code failed;
  const fs::path binary = fs::read_symlink("/proc/self/exe", failed);
  if (failed) return choice;
  choice.installed = binary.parent_path().parent_path() / "lib" / "berth" / "plugins";
  choice.built = binary.parent_path() / "plugins";
  return choice;
}

PluginDirectory choose(const PluginDirectoryChoice& choice) {
  std::error_code ignored;
  if (!choice.flag.empty()) return {choice.flag, "--plugin-dir", {}};
  if (!choice.configured.empty()) return {choice.configured, "plugins.directory", choice.configured_where};
  if (!choice.environment.empty()) return {choice.environment, "$BERTH_PLUGIN_DIR", {}};
  if (fs::is_directory(choice.installed, ignored)) return {choice.installed, "installed", {}};
  if (fs::is_directory(choice.built, ignored)) return {choice.built, "build tree", {}};
  return {choice.installed, "installed", {}};
}

}  // namespace berth::loader
