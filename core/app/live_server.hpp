// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <ostream>

#include "app/delegated_access.hpp"
#include "app/live_pages.hpp"
#include "app/rest_metrics.hpp"
#include "app/run_command.hpp"
#include "serving/serving_counts.hpp"

namespace berth::app {

/// What flags and configuration make of the HTTPS server: its certificate, who may ask, and who is asked about that. And
/// of the one that serves health endpoints without TLS.
///
/// Lifetime: I/O threads, clock and what the pages show outlive it.
/// Threads:  made and destroyed on one; answers on its own.
class LiveServer {
 public:
  /// Null with what is wrong in `err`. `requests`, which outlives it, is shown, and counts those of the reviews. `own`
  /// is the API server of the cluster around us, if any: it reviews, unless flags name somebody else.
  static std::unique_ptr<LiveServer> make(const RunOptions& options, const FlagValues& flags, LivePagesParts pages,
                                          cluster::kube::IoThreads& io, std::shared_ptr<cluster::kube::Endpoint> own,
                                          RestMetrics& requests, std::ostream& err);

 private:
  LiveServer() = default;
  Status serve(const RunOptions& options, const FlagValues& flags, const Clock& clock,
               std::vector<serving::Route> routes);
  Status serve_health(const FlagValues::PlainAddress& at, const std::vector<serving::Route>& routes);
  /// Lets the pages show what gate, reviews and servers count.
  void show_counts(LivePagesParts& pages, RestMetrics& requests) const;
  /// False with what is wrong in `err`.
  bool make_reviewers(const RunOptions& options, const Clock& clock, cluster::kube::IoThreads& io,
                      const std::shared_ptr<cluster::kube::Endpoint>& own, RestMetrics& requests, std::ostream& err);

  std::unique_ptr<cluster::kube::HttpClient> token_reviewer_, access_reviewer_;  // null: there is none
  std::unique_ptr<AuthorityLookup> authorities_;
  std::unique_ptr<DelegatedAccess> access_;
  std::shared_ptr<serving::ServingCounts> counts_ = std::make_shared<serving::ServingCounts>(),
                                          health_counts_ = std::make_shared<serving::ServingCounts>();
  std::unique_ptr<serving::HttpsServer> server_, health_;  // null: none; these go first
};

}  // namespace berth::app
