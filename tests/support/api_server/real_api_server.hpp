// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "support/child_process.hpp"

namespace berth::tests {

/// kube-apiserver and etcd from the directory that KUBEBUILDER_ASSETS names, on free ports, for as long as it lives.
class RealApiServer {
 public:
  /// Null when the variable is not set. Fails a check when the programs are there and do not come up.
  static std::unique_ptr<RealApiServer> start();
  std::string kubeconfig() const { return kubeconfig(port_); }
  /// One that goes to another port, behind which a relay leads here.
  std::string kubeconfig(std::uint16_t port) const;
  std::uint16_t port() const noexcept { return port_; }

 private:
  explicit RealApiServer(const std::string& assets);
  TemporaryDirectory directory_;
  std::uint16_t port_ = 0;
  std::unique_ptr<ChildProcess> etcd_, server_;
};

}  // namespace berth::tests
