// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace berth::bench {

struct ChurnOptions {
  std::int64_t pods = 1'000'000;
  std::int64_t alive = 2'000;  // at once
  std::int64_t nodes = 100;
  bool standby = false;  // nothing is decided: pods are bound by another replica
};

struct ChurnSizes {
  std::int64_t pods = 0;  // that came so far; all but `alive` have gone
  std::size_t rss_bytes = 0;
  std::size_t heap_bytes = 0;  // in use, with what malloc adds
  std::vector<std::pair<std::string, std::size_t>> tables;
};

/// Pods with names, jobs, namespaces, labels and annotations that no other has come, are placed, report their status
/// and go; some ask for resources and node labels that do not exist. Nodes change their annotations and taints. All of
/// it is decoded from JSON and goes through the cache: with a snapshot for each decision, or one that rests.
/// `report` is told after every `step` pods.
void churn(const ChurnOptions& options, std::int64_t step, const std::function<void(const ChurnSizes& sizes)>& report);

}  // namespace berth::bench
