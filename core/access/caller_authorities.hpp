// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/guarded.hpp"
#include "base/result.hpp"
#include "net/http_client.hpp"

namespace berth::access {

/// The authorities that may sign certificates of callers. Empty authorities: no certificate is accepted.
struct CallerAuthorities {
  std::string client_ca;                   // PEM: signs client certificates
  std::string request_header_ca;           // PEM: signs front proxies, which name their callers in headers
  std::vector<std::string> allowed_names;  // common names of front proxies; empty: any
  std::vector<std::string> username_headers, uid_headers, group_headers, extra_header_prefixes;
};

/// What the command line says of them; a file or a header that is named here wins over the cluster's.
struct CallerAuthorityOptions {
  std::string client_ca_file, request_header_ca_file;
  std::vector<std::string> allowed_names;
  std::vector<std::string> username_headers{"x-remote-user"}, uid_headers, group_headers{"x-remote-group"},
      extra_header_prefixes{"x-remote-extra-"};
  bool looks_up = true;           // in the cluster's ConfigMap
  bool tolerates_failure = true;  // of the first look there
};

/// Keeps CallerAuthorities as flags and the ConfigMap kube-system/extension-apiserver-authentication say, looking again
/// once a minute while callers come.
///
/// Threads: any. One of those who ask does the looking, and waits for the server at most ten seconds.
/// Failure: what was known stays. At first, a file that is missing or has no certificate is an error, and so is a
///          cluster that cannot be asked, when that is not tolerated.
/// Source:  kubernetes v1.36 staging/src/k8s.io/apiserver/pkg/server/options/authentication.go. Departs: looks once a
///          minute instead of watching.
class AuthorityLookup {
 public:
  /// `client` asks the API server and outlives the lookup; null: flags alone count.
  static Result<std::unique_ptr<AuthorityLookup>> make(CallerAuthorityOptions options, net::HttpClient* client,
                                                       const Clock& clock);
  std::shared_ptr<const CallerAuthorities> current();

 private:
  AuthorityLookup(CallerAuthorityOptions options, net::HttpClient* client, const Clock& clock)
      : options_(std::move(options)), client_(client), clock_(clock) {}
  Result<CallerAuthorities> from_flags() const;
  /// Adds what the cluster says of those that no flag names.
  Status add_from_cluster(CallerAuthorities& known) const;
  Result<CallerAuthorities> look() const;
  void note(Result<CallerAuthorities> found);

  const CallerAuthorityOptions options_;
  net::HttpClient* const client_;
  const Clock& clock_;
  Mutex looking_;  // held during a look; comes first
  Mutex mutex_;
  std::shared_ptr<const CallerAuthorities> known_ GUARDED_BY(mutex_) = std::make_shared<CallerAuthorities>();
  std::int64_t looked_ns_ GUARDED_BY(mutex_) = 0;
};

}  // namespace berth::access
