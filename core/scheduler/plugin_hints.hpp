// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "framework/framework.hpp"
#include "metrics/hint_metrics.hpp"
#include "queue/hint_table.hpp"
#include "scheduler/hint_threads.hpp"

namespace berth::scheduler {

/// Which events wake pods that a plugin rejected, with the plugins' hints, which `metrics`, outliving the table,
/// records, asked by `threads`, which the table keeps.
queue::HintTable make_hint_table(const framework::Framework& framework, metrics::HintMetrics& metrics,
                                 std::shared_ptr<HintThreads> threads);

}  // namespace berth::scheduler
