// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/process/environment.hpp"
#include "base/result.hpp"
#include "cluster/kube/auth/client_config.hpp"
#include "text/diagnostics.hpp"

namespace berth::cluster::kube {

struct KubeconfigOptions {
  std::string context = {};  // empty: current-context
  std::string server = {};   // --master: replaces the cluster's server
};

/// What the text of a kubeconfig (YAML or JSON) says about its chosen context. `file` names it in problems; relative
/// paths in it are relative to the directory of `file`. Files that it names are not opened.
/// Failure: adds every problem with its place and returns nothing.
/// Source:  kubernetes v1.36 staging/src/k8s.io/client-go/tools/clientcmd.
///          Departs: everything wrong is said at once; an auth-provider is refused, as the client libraries refuse it
///          when they use it.
std::optional<ClientConfig> read_kubeconfig(std::string_view text, const std::string& file,
                                            const KubeconfigOptions& options, text::Diagnostics& diagnostics);
/// Reads the file, then as above.
std::optional<ClientConfig> load_kubeconfig(const std::string& path, const KubeconfigOptions& options,
                                            text::Diagnostics& diagnostics);

/// The credentials that every pod has: KUBERNETES_SERVICE_HOST and _PORT, and token and ca.crt in `directory`.
Result<ClientConfig> in_cluster_config(const Environment& environment,
                                       const std::string& directory = "/var/run/secrets/kubernetes.io/serviceaccount");

}  // namespace berth::cluster::kube
