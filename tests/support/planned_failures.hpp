// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/embedded/embedded_cluster.hpp"

namespace berth::tests {

/// Writes that an embedded cluster is to refuse, each once.
///
/// Place:   for EmbeddedCluster::Options::refuse; outlives the cluster. Threads: one, which is the one that writes.
class PlannedFailures {
 public:
  using Kind = cluster::RecordedWrite::Kind;

  /// The next write of that kind fails; with `key` ("ns/name"), the next one to it.
  void next(Kind kind, Error error, std::string key = {}) {
    planned_.push_back({kind, std::move(key), std::move(error)});
  }
  std::function<std::optional<Error>(Kind kind, std::string_view key)> refuse() {
    return [this](Kind kind, std::string_view key) { return take(kind, key); };
  }

 private:
  struct Planned {
    Kind kind;
    std::string key;
    Error error;
  };

  std::optional<Error> take(Kind kind, std::string_view key) {
    const auto planned = std::find_if(planned_.begin(), planned_.end(), [&](const Planned& each) {
      return each.kind == kind && (each.key.empty() || each.key == key);
    });
    if (planned == planned_.end()) return std::nullopt;
    Error error = std::move(planned->error);
    planned_.erase(planned);
    return error;
  }

  std::vector<Planned> planned_;
};

}  // namespace berth::tests
