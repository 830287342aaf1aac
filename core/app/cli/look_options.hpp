// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "app/recording/recorded_moment.hpp"
#include "base/result.hpp"

namespace berth::app {

/// A cluster as its user names it.
struct ClusterAddress {
  std::string
      kubeconfig;       // empty: the file of $KUBECONFIG, else ~/.kube/config, else the cluster around us, as kubectl
  std::string context;  // empty: the kubeconfig's current one
  std::string server;   // instead of the kubeconfig's; may be empty
};
/// The serving port of a scheduler.
struct SchedulerAddress {
  std::string url;                  // "https://127.0.0.1:10259"
  std::string authority;            // file of the certificates that signed the port's; empty: those of the kubeconfig
  bool skips_verification = false;  // of that certificate
};

/// Where a cluster is that a command looks at, and whose policies it is asked about.
struct ViewOptions {
  std::vector<std::string> cluster;  // files, directories, "-": then it is simulated; empty: `record` or a live one
  std::string record;                // a recording: then it is looked at as it was
  MomentWanted moment{};             // of `record`
  ClusterAddress live;
  SchedulerAddress scheduler;  // with a live one; without a URL none is asked
  std::string config;          // empty: that of the scheduler, or the defaults
  std::string plugin_dir;
  std::int64_t limit_seconds = 60;  // for a live cluster to be known

  bool is_live() const noexcept { return cluster.empty() && record.empty(); }
  /// Fails when some of it cannot be had together.
  Status check() const;
};

/// Of `berth explain`.
struct ExplainOptions {
  std::string pod;  // NS/POD
  ViewOptions view;
  std::string why_not;           // a node that is asked about; empty: none
  std::string output = "table";  // table, wide, json, yaml
  bool fail_on_pending = false;
};

/// Of `berth ui`.
struct UiOptions {
  ViewOptions view;
  std::uint16_t port = 0;  // of the loopback; 0: any free one
};

}  // namespace berth::app
