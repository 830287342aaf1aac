// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/symbols.hpp"
#include "decode/object_decoder.hpp"
#include "net/endpoint.hpp"

namespace berth::app {

/// The objects of a live cluster for a command that looks at it: listed and watched as `berth run` does, nothing is written.
///
/// Lifetime: symbols outlive it. Threads: read() and the destructor on one; the rest from any.
/// Failure:  read() ends within `limit`: with an Error that names what could not be read. After that the copy is as of the
///           last change that the watches told of, however long ago that is.
class ClusterCopy {
 public:
  struct Options {
    std::vector<std::string> resources;  // besides pods and nodes, as "apps/v1/replicasets"
    decode::DecodeOptions decode;
    std::chrono::seconds limit{60};
  };
  ClusterCopy(std::shared_ptr<net::Endpoint> endpoint, SymbolTable& symbols, Options options);
  ~ClusterCopy();
  ClusterCopy(const ClusterCopy&) = delete;
  ClusterCopy& operator=(const ClusterCopy&) = delete;

  /// Follows the cluster; returns when all of it is known. Requires: called once.
  Status read();
  /// Everything, as of now: nodes, other objects and pods, each by namespace and name. Finished pods are not among them.
  std::vector<decode::Decoded> objects() const;
  /// "https://10.0.0.1:6443".
  std::string server() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace berth::app
