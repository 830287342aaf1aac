// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/absent_plugins.hpp"
#include "config/legacy/translate.hpp"
#include "config/profile.hpp"
#include "config/read/fields.hpp"
#include "text/diagnostics.hpp"
#include "text/value.hpp"

/// A configuration that was read, but does not know yet which plugins there are.
///
/// Loading is in two steps because plugins load in between: load() reads the file, checks everything that needs no
/// plugin, and merges each profile over the default profile; needed_plugins() says which plugins to load; resolve()
/// (config/resolve.hpp) does the rest with what was loaded.
namespace berth::config {

/// The sets of a profile's `plugins`: the twelve points by their index, then those that are no point of a pod.
inline constexpr std::size_t k_multi_point = k_point_count;
inline constexpr std::size_t k_placement_generate = k_point_count + 1;
inline constexpr std::size_t k_placement_score = k_point_count + 2;
inline constexpr std::size_t k_plugin_set_count = k_placement_score + 1;
/// As written: "filter", "multiPoint".
std::string_view plugin_set_name(std::size_t set) noexcept;

struct RawPlugin {
  std::string name;
  std::int32_t weight = 0;  // 0: not given
  Place place;
  bool from_defaults = false;  // the default profile listed it, the file did not
  std::string comment = {};    // what an older configuration said instead; empty: the same
};

struct RawPluginSet {
  std::vector<RawPlugin> enabled;
  std::vector<RawPlugin> disabled;
  bool disables(std::string_view name) const noexcept;
};
using RawPluginSets = std::array<RawPluginSet, k_plugin_set_count>;

struct RawPluginConfig {
  std::string name;
  const text::Value* args = nullptr;  // null: none given; otherwise a mapping of RawConfiguration::documents
  Place place;
  Place args_place;
};

struct RawProfile {
  std::string scheduler_name;
  std::optional<std::int32_t> percentage_of_nodes_to_score;
  RawPluginSets plugins;  // merged over the default profile
  std::vector<RawPluginConfig> plugin_config;
  Place place;
};

/// A name for the loader.
struct NeededPlugin {
  std::string name;
  std::string where;      // "berth.yaml:20:13  profiles[0].plugins.filter.enabled[1]"; empty for the default profile
  bool optional = false;  // an absent plugin, or one that has args but is not enabled: load it when a file offers it
};

/// Movable; the values that `plugin_config` points to move along.
struct RawConfiguration {
  std::string file;  // as given, for messages; empty when nothing was read
  std::vector<text::Document> documents;
  Configuration values;  // everything but `profiles`
  std::vector<RawProfile> profiles;
  std::optional<Tree> converted;  // what was written for an older scheduler, as it was understood: v1
  text::Diagnostics notes;        // what is read differently there, or has no effect

  /// The names that profiles enable or configure, sorted, each once. Some may be mistyped.
  std::vector<NeededPlugin> needed_plugins(const AbsentPlugins& absent) const;
};

/// Reads a configuration: YAML with up to two documents, a KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1,
/// or an older version, or a Policy; see config/legacy/translate.hpp) and a BerthConfiguration (config.berth.dev/v1alpha1) in
/// either order, either alone; or JSON. Strict: unknown fields, duplicate keys, wrong types and values out of range are
/// problems, all of them, each with its position. After a problem the result is what could be read, for resolve() to
/// find more; it must not be used otherwise. `file` names the text in messages.
RawConfiguration load(std::string_view text, std::string file, text::Diagnostics& diagnostics,
                      const TranslateOptions& options = {});

/// load() of a file; "-" is standard input. A file that cannot be read is a problem. Without another reader of
/// Policies, those in files are read.
RawConfiguration load_file(const std::string& path, text::Diagnostics& diagnostics, TranslateOptions options = {});

/// What an empty configuration means.
RawConfiguration load_defaults();

}  // namespace berth::config
