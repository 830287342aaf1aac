// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/live/api_connection.hpp"
#include "net/http_client.hpp"
#include "report/html_report.hpp"
#include "report/simulate_report.hpp"

namespace berth::app {

/// What a running berth says on its serving port, asked as the user of a kubeconfig: its queue and its configuration.
///
/// Threads: one. Bounds: an answer takes 15 s and 32 MiB at most.
/// Failure: an Error says what the port answered, and what its certificate or the rights lack.
class SchedulerPages {
 public:
  static Result<std::unique_ptr<SchedulerPages>> make(const SchedulerAddress& scheduler, const ClusterAddress& cluster,
                                                      const Clock& clock);

  /// What it says of the pod "namespace/name"; nothing where the pod is not in its queue.
  Result<std::vector<report::QueueWord>> pod(std::string_view pod);
  /// Of every pod that waits.
  Result<std::vector<report::QueueWord>> queue();
  /// What calls into its plugins took since it began, by plugin; nothing where it is too old to say, or the user may not
  /// ask.
  Result<std::map<std::string, report::PluginCalls, std::less<>>> plugin_calls();
  /// Its KubeSchedulerConfiguration as JSON, defaults written out.
  Result<std::string> configuration();

 private:
  explicit SchedulerPages(std::shared_ptr<net::Endpoint> endpoint);
  Result<std::string> get(std::string target);

  std::shared_ptr<net::Endpoint> endpoint_;
  net::IoThreads threads_{1, "pages"};
  net::HttpClient client_;
};

}  // namespace berth::app
