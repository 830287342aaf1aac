// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "access/caller_authorities.hpp"
#include "access/review_cache.hpp"
#include "base/clock.hpp"
#include "base/guarded.hpp"
#include "net/http_client.hpp"
#include "observe/metric_page.hpp"
#include "serving/https_server.hpp"

namespace berth::access {

struct DelegatedAccessOptions {
  /// Paths that need no authorization; "/x/*" is everything that begins so.
  std::vector<std::string> always_allowed{"/healthz", "/readyz", "/livez"};
  std::int64_t token_kept_ns = 10'000'000'000;
  std::int64_t allowed_kept_ns = 10'000'000'000, refused_kept_ns = 10'000'000'000;
};

/// Finds out who is calling and asks the API server whether they may. In this order: a front proxy names them in
/// headers, they have a client certificate, a token (TokenReview), or nothing, which is system:anonymous. Paths by
/// SubjectAccessReview; system:masters may do everything.
///
/// Place:   the gate of the HTTPS server. Health endpoints are open to all callers, as kubelets have no credentials.
/// Threads: any; blocks for an answer, at most ten seconds; answers are kept for a while, within a budget. Callers
///          that were not let in lately share a limited number of reviews.
/// Failure: a caller beyond that limit is told to come again (429). A token of more than 10,000 bytes is refused
///          without a review. A certificate or token that is refused, with no other that is good, means 401, not an
///          anonymous caller, and so does a token whose review fails; a failed review of access means 403. What is not
///          reviewed here is not looked at: other schemes than Bearer, and tokens while no reviewer is configured.
/// Source:  kubernetes v1.36 staging/src/k8s.io/apiserver/pkg/server/options (DelegatingAuthenticationOptions,
///          DelegatingAuthorizationOptions).
class DelegatedAccess {
 public:
  /// Null clients: that review cannot be asked for. All outlive it.
  DelegatedAccess(net::HttpClient* authentication, net::HttpClient* authorization, AuthorityLookup& authorities,
                  const Clock& clock, DelegatedAccessOptions options)
      : authentication_(authentication),
        authorization_(authorization),
        authorities_(authorities),
        clock_(clock),
        options_(std::move(options)) {}

  serving::Admission check(const serving::HttpRequest& ask);
  /// False for callers that are answered without a review: probes.
  bool may_wait(const serving::HttpRequest& ask) const;
  /// What was asked and answered, under upstream's names.
  void add_metrics(observe::MetricPage& page) const;
  /// What is kept of reviews, and how many callers were not reviewed.
  void add_cache_metrics(observe::MetricPage& page) const;
  void clear_metrics();

 private:
  struct User {
    std::string name, uid;
    std::vector<std::string> groups;
    std::map<std::string, std::vector<std::string>> extra;
  };
  enum class Access : std::uint8_t { allowed, denied, no_opinion, unknown, too_many };
  static const char* result_of(Access access);  // as metrics say it
  using Users = ReviewCache<std::optional<User>>;
  using Accesses = ReviewCache<Access>;
  static constexpr std::size_t k_users_bytes_max = 4 << 20, k_accesses_bytes_max = 4 << 20;
  static constexpr std::int64_t k_stale_ns = 600'000'000'000;
  /// Reviews by the code that they ended with.
  struct Reviews {
    static constexpr std::array k_bounds_s = {0.25, 0.5, 0.7, 1.0, 1.5, 3.0, 5.0, 10.0};
    std::map<std::string, observe::BucketCounts<k_bounds_s.size()>> by_code;  // of seconds
  };

  /// Nothing: no credential that is reviewed here. A refused one is an error.
  Result<std::optional<User>> identify(const serving::HttpRequest& ask);
  std::optional<User> by_proxy(const serving::HttpRequest& ask, const CallerAuthorities& trusted) const;
  /// Nothing: it is refused.
  Result<std::optional<User>> by_token(const std::string& token);
  static std::size_t bytes_of(const std::optional<User>& user);
  bool is_always_allowed(std::string_view path) const;
  Access authorize(const User& user, const serving::HttpRequest& ask, const std::string& verb);
  Result<std::string> review(net::HttpClient& client, const char* target, std::string body,
                             Reviews DelegatedAccess::*reviews);
  double seconds_since(std::int64_t began_ns) const {
    return static_cast<double>(clock_.monotonic_ns() - began_ns) * 1e-9;
  }

  net::HttpClient* const authentication_;
  net::HttpClient* const authorization_;
  AuthorityLookup& authorities_;
  const Clock& clock_;
  const DelegatedAccessOptions options_;

  mutable Mutex mutex_;
  Users users_ GUARDED_BY(mutex_){k_users_bytes_max, k_stale_ns};         // by token
  Accesses access_ GUARDED_BY(mutex_){k_accesses_bytes_max, k_stale_ns};  // by user, verb and path
  StrangerReviews token_strangers_ GUARDED_BY(mutex_), access_strangers_ GUARDED_BY(mutex_);
  Reviews token_reviews_ GUARDED_BY(mutex_), access_reviews_ GUARDED_BY(mutex_);
  /// By result, with how long it took to come to it.
  struct Decisions {
    static constexpr std::array k_bounds_s = {0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128,
                                              0.256, 0.512, 1.024, 2.048, 4.096, 8.192, 16.384};
    std::map<std::string, observe::BucketCounts<k_bounds_s.size()>> by_result;
    void add(const char* result, double seconds) { by_result[result].add(k_bounds_s, seconds); }
  };
  Decisions authentications_ GUARDED_BY(mutex_), authorizations_ GUARDED_BY(mutex_);
  std::map<std::string, std::uint64_t> users_seen_ GUARDED_BY(mutex_);  // by what is shown of their names
};

}  // namespace berth::access
