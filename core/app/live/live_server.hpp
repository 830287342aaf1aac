// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>

#include "access/delegated_access.hpp"
#include "app/cli/run_options.hpp"
#include "app/live/key_source.hpp"
#include "app/pages/live_pages.hpp"
#include "metrics/rest_metrics.hpp"
#include "serving/serving_counts.hpp"

namespace berth::app {

/// What a server needs of files, all of it read before the process confines itself.
struct ServingBasis {
  std::optional<KeySource> keys;                                 // absent: nothing is served over TLS
  std::shared_ptr<net::Endpoint> token_reviews, access_reviews;  // null: none

  /// `own` is the API server of the cluster around us, if any: it reviews, unless flags name another. Failure: names the
  /// file that cannot be read or written.
  static Result<ServingBasis> make(const RunOptions& options, const FlagValues& flags,
                                   const std::shared_ptr<net::Endpoint>& own, const Clock& clock);
};

/// What flags and configuration make of the HTTPS server: its certificate, who may ask, and who is asked about that. And
/// of the one that serves health endpoints without TLS.
///
/// Lifetime: I/O threads, clock and what the pages show outlive it.
/// Threads:  made and destroyed on one; answers on its own.
class LiveServer {
 public:
  /// `requests`, which outlives it, is shown, and counts those of the reviews.
  static Result<std::unique_ptr<LiveServer>> make(const RunOptions& options, const FlagValues& flags,
                                                  LivePagesParts pages, net::IoThreads& io, ServingBasis basis,
                                                  metrics::RestMetrics& requests);

 private:
  LiveServer() = default;
  Status serve(const RunOptions& options, KeySource keys, std::vector<serving::Route> routes);
  Status serve_health(const FlagValues::PlainAddress& at, const std::vector<serving::Route>& routes);
  /// Lets the pages show what gate, reviews and servers count.
  void show_counts(LivePagesParts& pages, metrics::RestMetrics& requests) const;
  void make_reviewers(const ServingBasis& basis, net::IoThreads& io, metrics::RestMetrics& requests);

  std::unique_ptr<net::HttpClient> token_reviewer_, access_reviewer_;  // null: there is none
  std::unique_ptr<access::AuthorityLookup> authorities_;
  std::unique_ptr<access::DelegatedAccess> access_;
  std::shared_ptr<serving::ServingCounts> counts_ = std::make_shared<serving::ServingCounts>(),
                                          health_counts_ = std::make_shared<serving::ServingCounts>();
  std::unique_ptr<serving::HttpsServer> server_, health_;  // null: none; these go first
};

}  // namespace berth::app
