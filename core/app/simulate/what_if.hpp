// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "app/cli/simulate_options.hpp"
#include "base/result.hpp"
#include "base/symbols.hpp"
#include "cluster/embedded/manifest_reader.hpp"
#include "report/what_if/change_report.hpp"

namespace berth::app {

/// Changes manifests before they are simulated: each change sees what those before it did.
///
/// Nodes that are added have the DaemonSet pods, the devices and the volume limits of the node that they are like. What a
/// drained node loses comes back pending, as its controllers would make it again, or is gone where it has no controller;
/// pods of DaemonSets and of the node itself stay. Pods of a scaled workload are like its newest one.
///
/// Place:   between read_manifests() and a simulation. Threads: one. symbols and manifests outlive it.
/// Failure: an Error says what is wrong with the option and what to do; the manifests may then be half changed.
class WhatIf {
 public:
  /// Most nodes or pods that one change may add.
  static constexpr std::int64_t k_added_max = 100'000;

  /// `added_max`: nodes and pods that all changes together may add.
  WhatIf(cluster::Manifests& manifests, SymbolTable& symbols,
         std::size_t added_max = std::numeric_limits<std::size_t>::max())
      : manifests_(manifests), symbols_(symbols), added_left_(added_max) {}
  Result<report::ChangeLine> apply(const WhatIfChange& change);

 private:
  using PodTest = std::function<bool(const model::Pod& pod)>;
  using VolumeClaims = std::unordered_map<std::string, model::ObjectPtr>;  // of a namespace, by name

  /// Counts what is to be added, and fails where it is too much.
  Status take_room(std::size_t added);
  Status add_nodes(const WhatIfChange& change, report::ChangeLine& line);
  Status drain(const WhatIfChange& change, report::ChangeLine& line);
  Status remove_pods(const WhatIfChange& change, report::ChangeLine& line);
  Status scale(const WhatIfChange& change, report::ChangeLine& line);
  void add_pod_like(const model::PodPtr& pod, const std::string& name, const VolumeClaims& claims,
                    report::ChangeLine& line);

  model::NodePtr find_node(std::string_view name) const;
  Error no_node(std::string_view option, std::string_view name) const;
  std::vector<model::PodPtr> pods_where(const PodTest& test) const;
  /// What pods that go leave behind is free.
  void release_claims(const model::Pod& pod);
  void remove(const std::vector<model::PodPtr>& pods, report::ChangeLine& line);
  /// `stem` with the first number from `from` on that no object of that kind has.
  std::string free_name(const std::unordered_set<std::string>& taken, const std::string& stem, std::size_t& from) const;

  cluster::Manifests& manifests_;
  SymbolTable& symbols_;
  std::size_t added_left_;
};

}  // namespace berth::app
