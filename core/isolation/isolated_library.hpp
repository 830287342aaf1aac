// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "berth/plugin.h"
#include "isolation/description.hpp"
#include "isolation/plugin_program.hpp"
#include "isolation/starter_link.hpp"

namespace berth::isolation {

struct IsolationLimits {
  std::int64_t call_ns = 1'000'000'000;   // a call that takes longer ends the process
  std::int64_t load_ns = 20'000'000'000;  // from its start until it has loaded the file
};

class IsolatedLibrary;

/// A descriptor as the loader and the framework know it; its functions go to another process.
struct ProxyPlugin : berth_plugin_v1 {
  PluginDescription description;
  IsolatedLibrary* library = nullptr;
  std::vector<berth_point_v1> points_of_it;
  std::vector<berth_reason_text_v1> reasons_of_it;
  std::vector<const char*> services_of_it;
  berth_prepare_ops_v1 prepare{};
  berth_filter_ops_v1 filter{};
  berth_score_ops_v1 score{};
  berth_requeue_ops_v1 requeue{};
};

/// A plugin file whose code runs in processes of its own, one for each instance, and never in this one.
///
/// Its place: it looks like a loaded library: descriptors in, calls out. Only the loader and app know the difference.
/// Ownership: outlives the instances that were made of its descriptors.
/// Threads: any.
class IsolatedLibrary {
 public:
  /// Starts a process that loads the file, and asks what it is. `berth`: the program that is started; empty: the one that runs.
  static Result<std::shared_ptr<IsolatedLibrary>> open(const PluginProgram& program, IsolationLimits limits,
                                                       const std::string& berth = {});
  IsolatedLibrary(const IsolatedLibrary&) = delete;
  IsolatedLibrary& operator=(const IsolatedLibrary&) = delete;

  const berth_library_v1* entry() const noexcept { return &entry_; }
  StarterLink& starter() noexcept { return *starter_; }
  const IsolationLimits& limits() const noexcept { return limits_; }

 private:
  IsolatedLibrary(std::shared_ptr<StarterLink> starter, IsolationLimits limits, LibraryDescription description);

  const std::shared_ptr<StarterLink> starter_;
  const IsolationLimits limits_;
  std::deque<ProxyPlugin> plugins_;
  std::vector<const berth_plugin_v1*> pointers_;
  berth_library_v1 entry_{};
};

}  // namespace berth::isolation
