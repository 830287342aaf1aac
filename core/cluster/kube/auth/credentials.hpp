// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/guarded.hpp"
#include "base/result.hpp"
#include "cluster/kube/auth/client_config.hpp"
#include "cluster/kube/auth/exec_plugin.hpp"

namespace berth::cluster::kube {

/// The identity of a client over time: tokens are read again every minute, exec plugins run again before their
/// credential expires and after the server refused it.
///
/// Place:   one for all clients of an endpoint: what an exec plugin said, or that it failed, holds for all of them.
/// Bounds:  a plugin that fails, or whose credential has expired or is refused, is run again after 1, 2, 4, ... 60 seconds;
///          the first refusal of a credential that was good is free. Until then each request gets what there is: the old
///          credential, or the failure. A token file has 1 MiB at most.
/// Threads: any. current() may run a command, or wait for another that does; nothing else does.
/// Source:  kubernetes v1.36 staging/src/k8s.io/client-go/transport/token_source.go and plugin/pkg/client/auth/exec.
class Credentials : public net::Authorizer {
 public:
  /// `clock` outlives it.
  Credentials(ClientConfig config, const Clock& clock) : config_(std::move(config)), clock_(clock) {}

  /// `stop`: ends a plugin that runs; may be null.
  Result<net::Identity> current(const net::StopEvent* stop = nullptr) override;
  /// The same where nothing may block; nothing: a command has to run first.
  std::optional<net::Identity> at_once() override;
  /// The server answered 401: an exec plugin is asked again, unless it has been since it said this.
  void refused(const net::Identity& identity) override;
  std::vector<std::string> files() const override { return {config_.auth.token_file}; }
  bool runs_command() const override { return config_.auth.exec.has_value(); }
  /// Impersonate-… headers; the same for every request.
  std::vector<std::pair<std::string, std::string>> headers() const override;

 private:
  /// What the exec plugin said last.
  struct Held {
    ExecCredential credential;
    std::uint64_t generation = 0;
    bool is_bad = false;  // the server refused it, or it came with less than a second to live
  };
  bool needs_exec() const { return config_.auth.exec && config_.server.secure(); }
  /// What is used now; nothing: the plugin has to run.
  std::optional<Result<Held>> known() const;
  Result<Held> ask_exec(const net::StopEvent* stop);
  Result<Held> keep(Result<ExecCredential> said);
  net::Identity identity_of(const Held* exec);
  void read_token_file() REQUIRES(mutex_);
  std::string token(std::string& source);

  const ClientConfig config_;
  const Clock& clock_;

  // Order: run_mutex_ before mutex_. mutex_ is never held while a command runs.
  Mutex run_mutex_;  // held while the exec plugin runs: there is one at a time
  mutable Mutex mutex_;
  std::string file_token_ GUARDED_BY(mutex_);
  std::int64_t file_read_ns_ GUARDED_BY(mutex_) = -1;  // monotonic; -1: never
  std::optional<Held> held_ GUARDED_BY(mutex_);
  Error failure_ GUARDED_BY(mutex_);  // of the last run, if that failed
  bool has_failed_ GUARDED_BY(mutex_) = false;
  int bad_runs_ GUARDED_BY(mutex_) = 0;                // in a row
  std::int64_t ran_ns_ GUARDED_BY(mutex_) = 0;         // monotonic: when the last run ended
  std::int64_t runs_again_ns_ GUARDED_BY(mutex_) = 0;  // monotonic: not before
};

/// The API server of a configuration, with its credentials. `clock` outlives it. Fails as cluster::kube::make_endpoint().
Result<std::shared_ptr<net::Endpoint>> make_endpoint(ClientConfig config, const Clock& clock,
                                                     const Environment& environment);

}  // namespace berth::cluster::kube
