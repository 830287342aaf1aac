// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace berth::bench {

struct WholeChurnOptions {
  std::string berth, plugin_dir;  // the program, and its plugins
  std::int64_t pods = 1'000'000;
  std::int64_t alive = 300;  // at once
  std::int64_t nodes = 20;
};

struct ReplicaSizes {
  std::size_t rss_bytes = 0;
  std::map<std::string, std::size_t> tables;  // berth_table_bytes

  /// Tables that count towards others are left out.
  std::size_t table_bytes() const;
};
struct WholeChurnSizes {
  std::int64_t pods = 0;   // that came so far; all but `alive` have gone
  std::int64_t bound = 0;  // of these
  ReplicaSizes leader, standby;
};

/// Two replicas of berth, one of which leads, against the test API server: pods with names, jobs, owners, namespaces,
/// labels and annotations that no other has come, are decided about and bound over HTTP, report their status and go. Some fit
/// nowhere; some are far larger than others. Namespaces bring services and ReplicaSets, and go as well; nodes report.
/// `report` is told after every `step` pods, once the replicas have seen them go. Throws when a replica ends, or when
/// nothing is bound for a minute.
void whole_churn(const WholeChurnOptions& options, std::int64_t step,
                 const std::function<void(const WholeChurnSizes& sizes)>& report);

}  // namespace berth::bench
