// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/guarded.hpp"
#include "net/http_client.hpp"
#include "observe/metric_page.hpp"

namespace berth::metrics {

/// Counts requests to the API server under client-go's names. Threads: any.
/// Source: kubernetes v1.36 staging/src/k8s.io/component-base/metrics/prometheus/restclient/metrics.go.
class RestMetrics {
 public:
  void add(const net::CallReport& report);
  void add_to(observe::MetricPage& page) const;
  void clear();
  /// For HttpClientOptions::on_call; this outlives the client.
  std::function<void(const net::CallReport&)> listener() {
    return [this](const net::CallReport& report) { add(report); };
  }

 private:
  static constexpr std::array k_seconds = {.005, .025, .1, .25, .5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0};
  static constexpr std::array k_bytes = {64.0,    256.0,    512.0,     1024.0,    4096.0,    16384.0,
                                         65536.0, 262144.0, 1048576.0, 4194304.0, 16777216.0};
  struct Verb {
    observe::BucketCounts<k_seconds.size()> duration, held_back;
    observe::BucketCounts<k_bytes.size()> request, response;
  };
  using Kind = std::pair<std::string, std::string>;  // verb, host

  mutable Mutex mutex_;
  std::map<std::pair<std::string, Kind>, std::uint64_t> requests_, retries_;  // by code and kind
  std::map<Kind, Verb> verbs_ GUARDED_BY(mutex_);
};

}  // namespace berth::metrics
