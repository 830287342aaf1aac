// SPDX-License-Identifier: Apache-2.0
#include "loader/descriptor.hpp"

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include <algorithm>
#include <set>
#include <utility>

#include "berth/ext/requeue.h"
#include "loader/ops_completeness.hpp"

namespace berth::loader {
namespace {

constexpr std::uint32_t k_struct_bytes_max = 64 * 1024;
constexpr std::uint32_t k_plugins_max = 256;
constexpr std::uint32_t k_points_max = 64;
constexpr std::uint32_t k_services_max = 256;
constexpr std::uint32_t k_reasons_max = 4096;
constexpr std::uint32_t k_interests_max = 4096;
constexpr std::size_t k_text_bytes_max = 4096;
constexpr std::size_t k_schema_bytes_max = 1 << 20;

/// What a descriptor says, copied out while it is being checked.
struct Described {
  std::string name;
  std::string version;
  std::vector<std::string> points;
  std::vector<std::string> services;
};

/// One walk over one descriptor; evidence is collected per code, so that a library gives few findings with many lines.
class DescriptorReader {
 public:
  std::vector<std::string> malformed;   // P017
  std::vector<std::string> incomplete;  // P043
  std::vector<std::string> unknown;     // warnings

  int probe_error() const noexcept { return memory_.error(); }
  std::vector<Described> read(const berth_library_v1* library) {
    std::vector<Described> plugins;
    if (library == nullptr) {
      malformed.emplace_back("the entry symbol returned NULL");
      return plugins;
    }
    constexpr auto least = static_cast<std::uint32_t>(offsetof(berth_library_v1, plugins) + sizeof(void*));
    if (!plausible("library descriptor", library, least)) return plugins;
    if (library->plugin_count == 0 || library->plugin_count > k_plugins_max) {
      malformed.push_back(
          fmt::format("the library has {} plugins, expected 1..{}", library->plugin_count, k_plugins_max));
      return plugins;
    }
    if (library->reserved != 0)
      malformed.push_back(fmt::format("the library's reserved field is {:#x}, expected 0", library->reserved));
    if (!array("library", "plugins", library->plugins, library->plugin_count)) return plugins;
    for (std::uint32_t i = 0; i < library->plugin_count; ++i) {
      auto plugin = read_plugin(i, library->plugins[i]);
      if (!plugin) continue;
      // A profile means one of them, and the host could not say which.
      if (std::any_of(plugins.begin(), plugins.end(),
                      [&](const Described& other) { return other.name == plugin->name; }))
        malformed.push_back(fmt::format("the library has two plugins {}", plugin->name));
      plugins.push_back(std::move(*plugin));
    }
    return plugins;
  }

 private:
  /// A struct of ours that starts with its size.
  bool plausible(const std::string& what, const void* at, std::uint32_t bytes_min) {
    if (at == nullptr || !memory_.readable(at, sizeof(std::uint32_t))) {
      malformed.push_back(fmt::format("{} is {}", what, at == nullptr ? "NULL" : "not readable"));
      return false;
    }
    const std::uint32_t size = *static_cast<const std::uint32_t*>(at);
    if (size < bytes_min || size > k_struct_bytes_max) {
      malformed.push_back(
          fmt::format("{} has struct_size {}, expected {}..{}", what, size, bytes_min, k_struct_bytes_max));
      return false;
    }
    if (!memory_.readable(at, size)) {
      malformed.push_back(fmt::format("{} has struct_size {}, but not all of it is readable", what, size));
      return false;
    }
    return true;
  }

  template <typename T>
  bool array(const std::string& owner, const char* field, const T* at, std::uint32_t count) {
    if (count == 0) return true;
    if (at != nullptr && memory_.readable(at, sizeof(T) * count)) return true;
    malformed.push_back(
        fmt::format("{}: {} is {}, count is {}", owner, field, at == nullptr ? "NULL" : "not readable", count));
    return false;
  }

  bool count_within(const std::string& owner, const char* field, std::uint32_t count, std::uint32_t max) {
    if (count <= max) return true;
    malformed.push_back(fmt::format("{}: {} is {}, expected 0..{}", owner, field, count, max));
    return false;
  }

  bool text(const std::string& owner, const std::string& field, const char* at, std::string& out,
            std::size_t bytes_max = k_text_bytes_max) {
    if (at != nullptr && memory_.text(at, bytes_max, out)) return true;
    malformed.push_back(fmt::format("{}: {} is {}", owner, field, at == nullptr ? "NULL" : "no text that ends"));
    return false;
  }

  std::optional<Described> read_plugin(std::uint32_t index, const berth_plugin_v1* plugin) {
    std::string who = fmt::format("plugin {}", index);
    constexpr auto least = static_cast<std::uint32_t>(offsetof(berth_plugin_v1, destroy) + sizeof(void*));
    if (!plausible(who + " descriptor", plugin, least)) return std::nullopt;
    Described described;
    if (!text(who, "name", plugin->name, described.name)) return std::nullopt;
    if (!is_plugin_name(described.name)) {
      malformed.push_back(fmt::format(
          "{}: name \"{}\" has characters other than letters, digits, '.', '_', '-' and one '/'", who, described.name));
      return std::nullopt;
    }
    who = described.name;
    if (text(who, "version", plugin->version, described.version) &&
        (described.version.empty() || escaped(described.version) != described.version)) {
      malformed.push_back(fmt::format("{}: version \"{}\" is empty or cannot be shown", who, described.version));
    }
    std::string unused;
    text(who, "summary", plugin->summary, unused);
    if (plugin->args_schema != nullptr) text(who, "args_schema", plugin->args_schema, unused, k_schema_bytes_max);
    read_points(who, *plugin, described);
    read_services(who, *plugin, described);
    read_reasons(who, *plugin);
    check_filter_reasons(who, *plugin, described);
    if (plugin->flags != 0) malformed.push_back(fmt::format("{}: flags has unknown bits {:#x}", who, plugin->flags));
    if (plugin->deps != BERTH_DEP_EVERYTHING && (plugin->deps & ~k_known_deps) != 0) {
      malformed.push_back(fmt::format("{}: deps has unknown bits {:#x}", who, plugin->deps & ~k_known_deps));
    }
    if (plugin->create == nullptr) incomplete.push_back(who + " lacks create");
    if (plugin->destroy == nullptr) incomplete.push_back(who + " lacks destroy");
    return described;
  }

  void read_points(const std::string& who, const berth_plugin_v1& plugin, Described& described) {
    if (!count_within(who, "point_count", plugin.point_count, k_points_max)) return;
    if (plugin.point_count == 0) malformed.push_back(who + ": offers no points");
    if (!array(who, "points", plugin.points, plugin.point_count)) return;
    std::set<std::string> seen;
    for (std::uint32_t i = 0; i < plugin.point_count; ++i) {
      std::string id;
      if (!text(who, fmt::format("points[{}].id", i), plugin.points[i].id, id)) continue;
      described.points.push_back(id);
      if (!seen.insert(id).second) {
        malformed.push_back(fmt::format("{}: {} is offered twice", who, id));
      } else if (!is_known_point(id)) {
        unknown.push_back(fmt::format("{}: offers {}, unknown to this berth; ignored", who, escaped(id)));
      } else if (plausible(fmt::format("{}: ops table of {}", who, id), plugin.points[i].ops, first_bytes(id))) {
        read_ops(who, id, plugin.points[i].ops);
      }
    }
  }

  void read_ops(const std::string& who, const std::string& id, const void* ops) {
    for (const std::string& function : missing_functions(id, ops))
      incomplete.push_back(fmt::format("{}: {} lacks {}", who, id, function));
    for (const std::string& value : unknown_values(id, ops))
      malformed.push_back(fmt::format("{}: {}: {}", who, id, value));
    if (id == "berth.requeue/1") read_interests(who, *static_cast<const berth_requeue_ops_v1*>(ops));
  }

  void read_interests(const std::string& who, const berth_requeue_ops_v1& ops) {
    if (ops.interests == nullptr) return;  // missing_functions() says so
    if (!count_within(who, "interest_count", ops.interest_count, k_interests_max) ||
        !array(who, "interests", ops.interests, ops.interest_count))
      return;
    for (std::uint32_t i = 0; i < ops.interest_count; ++i)
      for (const std::string& value : unknown_values(ops.interests[i]))
        malformed.push_back(fmt::format("{}: interests[{}]: {}", who, i, value));
  }

  void read_services(const std::string& who, const berth_plugin_v1& plugin, Described& described) {
    if (!count_within(who, "service_count", plugin.service_count, k_services_max) ||
        !array(who, "services", plugin.services, plugin.service_count)) {
      return;
    }
    for (std::uint32_t i = 0; i < plugin.service_count; ++i) {
      std::string id;
      if (text(who, fmt::format("services[{}]", i), plugin.services[i], id))
        described.services.push_back(std::move(id));
    }
  }

  void read_reasons(const std::string& who, const berth_plugin_v1& plugin) {
    if (!count_within(who, "reason_count", plugin.reason_count, k_reasons_max) ||
        !array(who, "reasons", plugin.reasons, plugin.reason_count)) {
      return;
    }
    std::string unused;
    for (std::uint32_t i = 1; i < plugin.reason_count; ++i) {  // entry 0 is unused
      if (text(who, fmt::format("reasons[{}].text", i), plugin.reasons[i].text, unused) && unused.empty())
        malformed.push_back(fmt::format("{}: reasons[{}].text is empty", who, i));
      if (plugin.reasons[i].code != nullptr)
        text(who, fmt::format("reasons[{}].code", i), plugin.reasons[i].code, unused);
    }
  }

  /// Without a table of reasons they are made by the service, and a plugin that has neither rejects pods without a word.
  void check_filter_reasons(const std::string& who, const berth_plugin_v1& plugin, const Described& described) {
    const auto has = [](const std::vector<std::string>& list, std::string_view id) {
      return std::find(list.begin(), list.end(), id) != list.end();
    };
    if (plugin.reason_count <= 1 && has(described.points, "berth.filter/1") &&
        !has(described.services, "berth.reasons/1"))
      incomplete.push_back(who + ": berth.filter/1 lacks reasons: a table of them, or the service berth.reasons/1");
  }

  const MemoryProbe memory_;
};

std::string listed(std::vector<std::string> words) {
  std::sort(words.begin(), words.end());
  return words.empty() ? "none" : fmt::format("{}", fmt::join(words, ", "));
}

bool same_words(std::vector<std::string> a, std::vector<std::string> b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  return a == b;
}

/// Field by field: the file was put together from parts of different builds.
std::vector<std::string> disagreements(const berth_library_v1& library, const std::vector<Described>& plugins,
                                       const std::vector<PluginNote>& notes) {
  std::vector<std::string> found;
  const auto differ = [&](const std::string& field, const auto& note, const auto& descriptor) {
    found.push_back(fmt::format("{}: note says {}, descriptor says {}", field, note, descriptor));
  };
  std::uint16_t minor_required = 0;
  for (const PluginNote& note : notes) minor_required = std::max(minor_required, note.minor_required);
  if (minor_required != library.abi_minor_required)
    differ("minor required", minor_required, library.abi_minor_required);
  for (const PluginNote& note : notes) {
    if (note.minor_built != library.abi_minor_built) differ("minor built", note.minor_built, library.abi_minor_built);
    const auto plugin =
        std::find_if(plugins.begin(), plugins.end(), [&](const Described& each) { return each.name == note.plugin; });
    if (plugin == plugins.end()) {
      found.push_back(fmt::format("plugin {} has a note but no descriptor", note.plugin));
      continue;
    }
    if (plugin->version != note.version) differ(note.plugin + " version", note.version, plugin->version);
    if (!same_words(plugin->points, note.points)) {
      differ(note.plugin + " points", listed(note.points), listed(plugin->points));
    }
    if (!same_words(plugin->services, note.services)) {
      differ(note.plugin + " services", listed(note.services), listed(plugin->services));
    }
  }
  for (const Described& plugin : plugins) {
    if (std::none_of(notes.begin(), notes.end(), [&](const PluginNote& note) { return note.plugin == plugin.name; })) {
      found.push_back(fmt::format("plugin {} has a descriptor but no note", plugin.name));
    }
  }
  return found;
}

std::vector<std::string> missing_services(const std::vector<Described>& plugins,
                                          const std::vector<std::string>& offered) {
  std::vector<std::string> missing;
  for (const Described& plugin : plugins) {
    for (const std::string& service : plugin.services) {
      if (std::find(offered.begin(), offered.end(), service) == offered.end()) missing.push_back(service);
    }
  }
  return missing;
}

void add(std::string_view code, std::vector<std::string> evidence, std::string advice, const Finding& context,
         LoadReport& report) {
  if (evidence.empty()) return;
  const Finding title = make_finding(code);
  Finding finding = context;
  finding.code = title.code;
  finding.what = title.what;
  finding.evidence = std::move(evidence);
  finding.advice = std::move(advice);
  report.add(std::move(finding));
}

}  // namespace

MemoryProbe::MemoryProbe() {
  if (::pipe2(ends_, O_CLOEXEC | O_NONBLOCK) != 0) error_ = errno;
}

MemoryProbe::~MemoryProbe() {
  ::close(ends_[0]);
  ::close(ends_[1]);
}

bool MemoryProbe::readable(const void* at, std::size_t bytes) const {
  if (bytes == 0) return true;
  constexpr std::uintptr_t k_page_bytes = 4096;  // the smallest page; a larger one is probed more often than needed
  const auto begin = reinterpret_cast<std::uintptr_t>(at);
  if (bytes > UINTPTR_MAX - begin) return false;
  for (std::uintptr_t address = begin; address < begin + bytes; address = (address / k_page_bytes + 1) * k_page_bytes) {
    // The bare system call: a sanitizer's wrapper of write() would itself look at the byte.
    if (::syscall(SYS_write, ends_[1], address, std::size_t{1}) != 1) return false;
    char byte;
    if (::read(ends_[0], &byte, 1) != 1) return false;
  }
  return true;
}

bool MemoryProbe::text(const char* at, std::size_t bytes_max, std::string& out) const {
  constexpr std::uintptr_t k_page_bytes = 4096;
  out.clear();
  for (std::size_t done = 0; done < bytes_max;) {
    const auto address = reinterpret_cast<std::uintptr_t>(at + done);
    const std::size_t chunk = std::min<std::size_t>(bytes_max - done, k_page_bytes - address % k_page_bytes);
    if (!readable(at + done, 1)) return false;
    for (std::size_t i = 0; i < chunk; ++i, ++done) {
      if (at[done] == '\0') return true;
      out += at[done];
    }
  }
  return false;
}

void judge_descriptor(const berth_library_v1* library, const DescriptorRules& rules, const Finding& context,
                      LoadReport& report) {
  DescriptorReader reader;
  if (reader.probe_error() != 0) {
    add("P024",
        {fmt::format("its descriptor cannot be looked at: no pipe can be made: errno {}", reader.probe_error())},
        "look for what takes the file descriptors: a constructor of the plugin may have changed the limit", context,
        report);
    return;
  }
  const std::vector<Described> plugins = reader.read(library);
  for (std::string& sentence : reader.unknown) report.warn(std::move(sentence));
  const bool readable = reader.malformed.empty();
  add("P017", std::move(reader.malformed), "build the plugin with this berth's SDK, which fills the descriptor",
      context, report);
  add("P043", std::move(reader.incomplete), "implement the missing functions, or leave the point out", context, report);
  if (!readable) return;
  if (rules.notes != nullptr) {
    add("P016", disagreements(*library, plugins, *rules.notes),
        "build the plugin from clean sources: its parts are of different builds", context, report);
  } else if (rules.host_services != nullptr) {
    std::vector<std::string> missing = missing_services(plugins, *rules.host_services);
    if (!missing.empty()) {
      add("P013", {fmt::format("requires services that {} does not have: {}", rules.product, fmt::join(missing, ", "))},
          "upgrade berth, or use a version of the plugin that does without", context, report);
    }
  }
}

}  // namespace berth::loader
