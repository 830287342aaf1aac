// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "app/plugins/plugin_library.hpp"
#include "app/simulate/simulation.hpp"
#include "base/result.hpp"
#include "config/profile.hpp"
#include "config/raw_configuration.hpp"
#include "loader/elf/plugin_note.hpp"

namespace berth::app {

/// Which plugins are looked at, and how they are configured.
struct TestedPlugins {
  std::vector<loader::PluginNote> notes;  // of the plugins in it
  std::string config;                     // a configuration with them; empty: they are added to the default profile
  std::string plugin_dir;                 // with the file, and berth's own

  bool has(std::string_view name) const;
  /// "berth.filter" is a point of one of them, in whatever version.
  bool has_point(std::string_view point) const;
};

/// The file's plugins in a scheduler of their own, with a cluster in memory: what a check looks at.
/// Threads: one. The process that makes it may end at any call of it.
class PluginUnderTest {
 public:
  struct Options {
    config::VerdictReuse reuse = config::VerdictReuse::verify;
    bool with_plugins = true;  // false: the same profile without those of the file
    framework::Withheld withheld = {};
    std::string args = {};  // of the first of them, as YAML in one line; empty: those of the configuration, or none
  };

  /// Loads, configures and creates. Fails with what the loader, the configuration or the plugins say.
  static Result<std::unique_ptr<PluginUnderTest>> make(const TestedPlugins& tested, const Options& options);
  ~PluginUnderTest();

  /// Manifests, YAML documents. Returns the pods among them that wait, in their order. Nothing is decided yet.
  std::vector<model::PodPtr> put(const std::string& manifests);
  /// Decides about all pods that wait, as time goes on, for as long as that may still place one.
  std::vector<report::Decision> decide();

  const PluginLibrary& plugins() const noexcept { return plugins_; }
  Simulation& simulation() noexcept { return *simulation_; }
  scheduler::ManualScheduler& scheduler() noexcept { return simulation_->scheduler(); }

 private:
  PluginUnderTest() = default;
  Status load(const TestedPlugins& tested, const Options& options);
  Status configure(const TestedPlugins& tested, const Options& options, bool sorts_queue);

  SymbolTable symbols_;
  config::RawConfiguration raw_;
  config::Configuration configuration_;
  PluginLibrary plugins_;
  std::unique_ptr<Simulation> simulation_;
};

}  // namespace berth::app
