// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "cluster/kube/http_client.hpp"
#include "serving/https_server.hpp"

namespace berth::app {

/// Asks the API server who is calling and whether they may: tokens by TokenReview, paths by SubjectAccessReview.
///
/// Place:   the gate of the HTTPS server. Health endpoints are open to everybody, as kubelets have no credentials.
/// Threads: any; blocks for an answer, at most ten seconds; answers are kept for ten seconds.
/// Failure: whoever cannot be asked about is refused.
/// Source:  kubernetes v1.36 staging/src/k8s.io/apiserver/pkg/server/options (DelegatingAuthenticationOptions).
/// Departs:
///          client certificates and front proxies are not looked at.
class DelegatedAccess {
 public:
  /// Null clients: that review cannot be asked for. They outlive it.
  DelegatedAccess(cluster::kube::HttpClient* authentication, cluster::kube::HttpClient* authorization,
                  const Clock& clock)
      : authentication_(authentication), authorization_(authorization), clock_(clock) {}

  /// The refusal, or nothing.
  std::optional<serving::Reply> check(const serving::Ask& ask);

 private:
  struct User {
    std::string name, uid;
    std::vector<std::string> groups;
  };
  template <typename T>
  struct Kept {
    std::int64_t until_ns = 0;
    T value;
  };
  std::optional<User> authenticate(const std::string& token);
  bool authorize(const User& user, const std::string& path, const std::string& verb);

  cluster::kube::HttpClient* const authentication_;
  cluster::kube::HttpClient* const authorization_;
  const Clock& clock_;
  std::mutex mutex_;                                        // guards all below
  std::map<std::string, Kept<std::optional<User>>> users_;  // by token
  std::map<std::string, Kept<bool>> allowed_;               // by user, verb and path
};

}  // namespace berth::app
