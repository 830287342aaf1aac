// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "cluster/kube/auth/client_config.hpp"

namespace berth::cluster::kube {

/// What an exec plugin answered.
struct ExecCredential {
  std::string token;
  std::string certificate, key;      // PEM; both or none
  std::int64_t expires_wall_ns = 0;  // 0: when the server refuses it
};

class StopEvent;  // stop_event.hpp

/// Runs the command and reads the ExecCredential that it prints. It may print 1 MiB in all, of which the beginning of
/// its standard error is logged. Its standard input is empty; it has a process group of its own.
/// Threads: any; blocks until the command ends, at most `limit`, or until `stop` is set, if there is one: then the
///          command and those of its group are killed.
/// Failure: says what went wrong, with the plugin's install hint when the command cannot be found.
/// Source:  kubernetes v1.36 staging/src/k8s.io/client-go/plugin/pkg/client/auth/exec/exec.go.
Result<ExecCredential> run_exec_plugin(const ClientConfig& config, std::chrono::milliseconds limit,
                                       const net::StopEvent* stop = nullptr);

/// The ExecCredential in `text`, of the version that the plugin was configured for.
Result<ExecCredential> read_exec_credential(const std::string& text, const std::string& api_version);

}  // namespace berth::cluster::kube
