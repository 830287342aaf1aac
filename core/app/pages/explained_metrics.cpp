// SPDX-License-Identifier: Apache-2.0
#include "app/pages/explained_metrics.hpp"

namespace berth::app {

void add_explained(observe::MetricPage& page, const LiveViews& live) {
  using observe::MetricKind;
  if (live.explained == nullptr) return;
  const binding::ExplainedCounts counts = live.explained->counts();
  const auto number = [](std::uint64_t value) { return static_cast<double>(value); };
  page.add(MetricKind::counter, "berth_explained_events_searches_total",
           "Searches of what would make a pod fit that is pending for longer than explainAfter, by result: 'found', "
           "'nothing' to say, 'failed' with an exception, 'gone' where the pod was bound or deleted meanwhile, "
           "'dropped' where too many pods waited for one.",
           {{{{"result", "dropped"}}, number(counts.dropped)},
            {{{"result", "failed"}}, number(counts.failed)},
            {{{"result", "found"}}, number(counts.found)},
            {{{"result", "gone"}}, number(counts.gone)},
            {{{"result", "nothing"}}, number(counts.nothing)}});
  page.add_one(MetricKind::counter, "berth_explained_events_search_seconds_total",
               "Time of those searches. One thread makes them, a tenth of the time at most.", counts.seconds);
  page.add_one(MetricKind::gauge, "berth_explained_events_pods",
               "Pods for which a line was found or is to be looked for, 1024 at most.", number(counts.pods));
}

}  // namespace berth::app
