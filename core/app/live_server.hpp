// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <ostream>

#include "app/delegated_access.hpp"
#include "app/live_pages.hpp"
#include "app/rest_metrics.hpp"
#include "app/run_command.hpp"

namespace berth::app {

/// What flags and configuration make of the HTTPS server: its certificate, who may ask, and who is asked about that.
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
  std::uint16_t port() const noexcept { return server_->port(); }

 private:
  LiveServer() = default;
  /// False with what is wrong in `err`.
  bool make_reviewers(const RunOptions& options, const Clock& clock, cluster::kube::IoThreads& io,
                      const std::shared_ptr<cluster::kube::Endpoint>& own, RestMetrics& requests, std::ostream& err);

  std::unique_ptr<cluster::kube::HttpClient> token_reviewer_, access_reviewer_;  // null: nobody
  std::unique_ptr<AuthorityLookup> authorities_;
  std::unique_ptr<DelegatedAccess> access_;
  std::unique_ptr<serving::HttpsServer> server_;  // goes first
};

}  // namespace berth::app
