// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <chrono>
#include <iosfwd>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "app/recording/recording_times.hpp"
#include "app/simulate/cluster_view.hpp"
#include "base/guarded.hpp"
#include "base/result.hpp"
#include "serving/https_server.hpp"

namespace berth::app {

/// The page of `berth ui`, made again for every answer. The query of a request says what it wants to see, in the words of
/// the command line: `at=TIME` of a recording; of manifests changes in their order, `drain=NODE` as `--drain NODE`. With
/// `data` the answer is what the page shows, as JSON.
///
/// Bounds:  one look at a time; k_waiting_max requests wait for it, and more are refused. k_changes_max changes of
///          k_change_bytes_max, which add k_added_max nodes and pods and are simulated, with what was before, for
///          k_changed_seconds.
/// Threads: any.
class ServedPage {
 public:
  static constexpr std::size_t k_waiting_max = 4;
  static constexpr std::size_t k_changes_max = 20, k_change_bytes_max = 1'000, k_added_max = 10'000;
  static constexpr std::chrono::seconds k_changed_seconds{60};

  explicit ServedPage(const ViewOptions& options) : options_(options), times_(options.record), view_(options, said_) {}

  /// Whether the cluster can be looked at. What was said about it goes to `err`.
  bool check(std::ostream& err);
  serving::HttpResponse reply(const serving::HttpRequest& ask);

 private:
  struct Wish {
    Look look;
    bool is_for_data = false;
  };
  Result<Wish> wish_of(const std::vector<std::pair<std::string, std::string>>& query) const;
  serving::HttpResponse answer(const serving::HttpRequest& ask);
  Result<std::string> render(const Wish& wish);
  /// What the page shows of the cluster without the changes, for comparison.
  Result<std::string> before(Look look) REQUIRES(mutex_);

  const ViewOptions options_;
  std::atomic<std::size_t> waiting_{0};
  Mutex mutex_;
  RememberedTimes times_ GUARDED_BY(mutex_);
  std::ostringstream said_ GUARDED_BY(mutex_);
  ClusterView view_ GUARDED_BY(mutex_);
};

}  // namespace berth::app
