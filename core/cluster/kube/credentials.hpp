// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "cluster/kube/client_config.hpp"
#include "cluster/kube/exec_plugin.hpp"

namespace berth::cluster::kube {

/// Who we are, for one request or one connection.
struct Identity {
  std::string authorization;  // value of the header; empty: none
  PemSource certificate, key;
  std::uint64_t generation = 0;  // grows when the certificate of an exec plugin changes: old connections end
};

/// The identity of a client over time: tokens are read again every minute, exec plugins run again before their
/// credential expires and after the server refused it.
/// Threads: any. current() may run a command, or wait for another that does; nothing else does.
/// Source:  kubernetes v1.36 staging/src/k8s.io/client-go/transport/token_source.go and plugin/pkg/client/auth/exec.
class Credentials {
 public:
  /// `config` and `clock` outlive it.
  Credentials(const ClientConfig& config, const Clock& clock) : config_(config), clock_(clock) {}

  Result<Identity> current();
  /// The same where nothing may block; nothing: a command has to run first.
  std::optional<Identity> at_once();
  /// The server answered 401: an exec plugin is asked again, unless it has been since it said this.
  void refused(const Identity& identity);
  /// Impersonate-… headers; the same for every request.
  std::vector<std::pair<std::string, std::string>> impersonation_headers() const;

 private:
  /// What the exec plugin said last.
  struct Held {
    ExecCredential credential;
    std::uint64_t generation = 0;
  };
  bool needs_exec() const { return config_.auth.exec && config_.server.secure(); }
  std::optional<Held> held() const;
  Result<Held> ask_exec();
  Identity identity_of(const Held* exec);
  void read_token_file();
  std::string token();

  const ClientConfig& config_;
  const Clock& clock_;

  // Order: run_mutex_ before mutex_. mutex_ is never held while a command runs.
  std::mutex run_mutex_;      // held while the exec plugin runs: there is one at a time
  mutable std::mutex mutex_;  // guards all below
  std::string file_token_;
  std::int64_t file_read_ns_ = -1;  // monotonic; -1: never
  std::optional<Held> held_;
};

}  // namespace berth::cluster::kube
