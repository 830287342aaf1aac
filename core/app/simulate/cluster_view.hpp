// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <iosfwd>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/look_options.hpp"
#include "app/live/api_connection.hpp"
#include "app/live/cluster_copy.hpp"
#include "app/live/scheduler_pages.hpp"
#include "app/simulate/policy_run.hpp"

namespace berth::app {

/// What to see of a cluster.
struct Look {
  std::string pod = {};  // "namespace/name", explained; empty: none
  std::string at = {};   // of a recording: instead of ViewOptions::moment; empty: that one
  // Of manifests: changed before they are simulated, with PolicyRun::Options of the same names.
  std::vector<WhatIfChange> changes = {};
  std::size_t added_max = std::numeric_limits<std::size_t>::max();
  std::optional<std::chrono::steady_clock::time_point> decide_until = {};
};

/// A cluster that a command looks at, once or again and again: manifests are read and simulated each time; a live cluster is
/// read once and then watched, and policies are asked here, on a copy; a recording is read up to a moment, and policies are asked
/// about that.
///
/// Why on a copy: what would make a pod fit takes dozens of judgements of all nodes, which the scheduler would have to make
/// between decisions; and a copy has what another scheduler, or none, has to decide by.
/// Threads: one at a time. Lifetime: `err` outlives it; so does the view what it gives.
class ClusterView {
 public:
  ClusterView(ViewOptions options, std::ostream& err);
  ~ClusterView();

  /// The cluster as of now, or the moment. Warnings go to `err`.
  Result<std::unique_ptr<PolicyRun>, RunFailure> look(const Look& look = {});
  /// "https://10.0.0.1:6443" of a live cluster, the file of a recording; empty for manifests.
  std::string server() const;

 private:
  Result<std::unique_ptr<PolicyRun>, RunFailure> look_back(const Look& look);
  PolicyRun::Options run_options(const Look& look) const;
  RunStatus connect();
  RunStatus ask_scheduler(PolicyRun& run, const std::string& pod);
  void say(const std::string& text);

  const ViewOptions options_;
  std::ostream& err_;
  SystemClock clock_;
  const std::shared_ptr<SymbolTable> symbols_ = std::make_shared<SymbolTable>();
  std::shared_ptr<net::Endpoint> endpoint_;
  std::string config_text_;
  std::unique_ptr<SchedulerPages> scheduler_;  // null: none is asked
  std::unique_ptr<ClusterCopy> copy_;
};

}  // namespace berth::app
