// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "config/absent_plugins.hpp"
#include "config/profile.hpp"
#include "framework/plugin_instance.hpp"
#include "framework/profile_runtime.hpp"
#include "framework/view/pod_classes.hpp"

namespace berth::framework {

/// What the framework is built on; all of it outlives the framework.
struct FrameworkParts {
  SymbolTable& symbols;
  cache::Snapshot& snapshot;
  cache::ResourceTable& resources;
  cache::SharedLists& lists;
  std::function<model::PodPtr(cache::PodHandle)> pod_of;
  ObjectStore& objects;
  observe::MetricRegistry& metrics;
  observe::CallCounters& counters;
  PluginPorts ports;
  std::string product;
  std::vector<HostService> services = {};  // added to the framework's own
  /// Another that may reject pods, registered after no plugin; empty: there is none.
  std::string extra_rejector = {};
  /// A plugin that reads a pod field it did not ask for ends the process; a call that writes past an answer fails.
  bool traps_unasked_fields = false;
  /// For checks: what one plugin is not given.
  Withheld withheld = {};
};

/// A plugin that would not be made for a profile, and what it said.
struct Refusal {
  std::string plugin, scheduler_name, message;
};
using Refusals = std::vector<Refusal>;
/// For Result<T, Refusals>.
std::string summary(const Refusals& refusals);

/// Plugins at work: every profile with its instances, lists per extension point, pod classes.
///
/// Its place: made once at start from a resolved configuration and loaded plugins; cycle and binding call through it.
/// Failure:   make() creates every instance and reports every refusal, not just the first.
/// Threads:   constant after make(); the calls follow the ABI's thread tags.
class Framework {
 public:
  /// sources: the plugins that profiles name, by descriptor name.
  static Result<std::unique_ptr<Framework>, Refusals> make(const config::Configuration& configuration,
                                                           const config::AbsentPlugins& absent,
                                                           const std::vector<PluginSource>& sources,
                                                           FrameworkParts parts);

  const std::vector<std::unique_ptr<ProfileRuntime>>& profiles() const noexcept { return profiles_; }
  /// The profile for pods of this scheduler name, or null.
  const ProfileRuntime* find(std::string_view scheduler_name) const noexcept;
  /// Position in profiles(), or npos.
  std::size_t index_of(std::string_view scheduler_name) const noexcept;
  const PluginNames& names() const noexcept { return names_; }
  ReasonTable& reasons() noexcept { return reasons_; }
  Host& host() noexcept { return host_; }
  /// Stands for FrameworkParts::extra_rejector among the rejectors of a pod.
  model::PluginIndex extra_rejector() const noexcept { return extra_rejector_; }
  /// Class of a pod under its profile; 0 for a scheduler name that no profile has.
  std::uint64_t classify(const model::Pod& pod);
  /// Name of the pod's group within its namespace, whatever its scheduler; empty: none. Threads: any.
  Result<std::string> group_of(const model::Pod& pod) const;
  /// Whether a plugin of any profile sees that group of a pod's fields (BERTH_POD_…).
  bool shows(std::uint32_t group) const noexcept;
  /// Keys of the node annotations that plugins bound.
  std::vector<std::string> node_annotations() const;
  /// What the tables of pod classes take.
  std::size_t class_bytes() const;
  /// Changes when a plugin has announced that its answers may be others.
  std::uint64_t epochs() const;
  /// The answers of all instances of that plugin are not reused any more.
  void stop_reuse(model::PluginIndex plugin) noexcept;
  CyclePool& pool(std::size_t profile) noexcept { return *pools_[profile]; }

 private:
  Framework(const config::Configuration& configuration, const config::AbsentPlugins& absent,
            const std::vector<PluginSource>& sources, FrameworkParts parts, Refusals& refusals);

  PluginNames names_;
  ReasonTable reasons_;
  Host host_;
  const model::PluginIndex extra_rejector_;
  std::vector<std::unique_ptr<ProfileRuntime>> profiles_;
  std::vector<std::unique_ptr<PodClasses>> classes_;  // parallel
  std::vector<std::unique_ptr<CyclePool>> pools_;     // parallel; gone before the profiles
};

}  // namespace berth::framework
