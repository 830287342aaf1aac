// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/guarded.hpp"
#include "base/result.hpp"
#include "serving/https_server.hpp"

namespace berth::serving {

/// One thing that must be so. Called on any thread, often.
struct HealthCheck {
  std::string name;
  std::function<Status()> check;
};

/// How often each check was asked for and how it was, for the page of service level indicators.
/// Threads: any.
class HealthRecord {
 public:
  struct Entry {
    std::string endpoint, check;
    bool is_good = false;  // last time
    std::uint64_t good = 0, bad = 0;
  };
  void add(const std::string& endpoint, const std::string& check, bool is_good);
  std::vector<Entry> entries() const;
  void clear();

 private:
  mutable Mutex mutex_;
  std::vector<Entry> entries_ GUARDED_BY(mutex_);
};

/// Routes of one health endpoint ("healthz", "livez", "readyz") and of its single checks. Reasons of a failure are only
/// logged, but for a single check that is asked for.
/// Source: kubernetes v1.36 staging/src/k8s.io/apiserver/pkg/server/healthz/healthz.go.
std::vector<Route> health_routes(const std::string& endpoint, const std::vector<HealthCheck>& checks,
                                 std::shared_ptr<HealthRecord> record);

}  // namespace berth::serving
