// SPDX-License-Identifier: Apache-2.0
#include "app/pages/table_metrics.hpp"

namespace berth::app {
namespace {

using observe::MetricKind;
using observe::MetricSample;

MetricSample of_table(const char* table, std::size_t value) { return {{{"table", table}}, static_cast<double>(value)}; }

}  // namespace

void add_tables(observe::MetricPage& page, const LiveViews& live) {
  const SymbolTableSize symbols = live.symbols.size();
  const cache::CacheTables tables = live.cache.tables();
  const queue::QueueSizes queued = live.queue.sizes();
  page.add(
      MetricKind::gauge, "berth_table_bytes",
      "Bytes of tables that outlive a pod, by table. 'symbols' are the texts of labels, names and the like with "
      "their numbers, 'unused_symbols' those of them that nothing uses any more (kept in case they come back), "
      "'pinned_symbols' those that plugins keep; 'node_lists' are taints, labels, images, ports, volumes and "
      "features of nodes; 'columns' what plugins see of all nodes at once; 'unoffered_resources' what pods ask for "
      "and no node offers; 'pod_classes' what tells pods apart for the reuse of verdicts, 'verdicts' what is reused; "
      "'pods' is room for pods, 'pod_shapes' tells them apart by namespace, labels and affinity; 'pod_sharing' is "
      "kept so that pods share what is equal in them; 'removed_pods' are pods and nodes that the snapshot may still "
      "name; 'in_flight_events' are events kept for pods in flight; 'object_changes' tell plugins what changed.",
      {of_table("columns", tables.column_bytes), of_table("in_flight_events", queued.logged_bytes),
       of_table("node_lists", tables.list_bytes), of_table("object_changes", live.objects.journal_bytes()),
       of_table("pinned_symbols", symbols.pinned_bytes), of_table("pod_classes", live.framework.class_bytes()),
       of_table("pod_shapes", tables.shape_bytes), of_table("pod_sharing", live.reader.sharing_bytes()),
       of_table("pods", tables.pod_slot_bytes), of_table("removed_pods", tables.removed_bytes),
       of_table("resources", tables.resource_bytes), of_table("symbols", symbols.bytes),
       of_table("unoffered_resources", tables.unoffered_bytes), of_table("unused_symbols", symbols.unused_bytes),
       of_table("verdicts", live.recorded.reuse().bytes)});
  page.add(
      MetricKind::gauge, "berth_table_entries",
      "Entries of tables that outlive a pod, by table: 'pods' has room for those in the cache and those removed "
      "since its last refresh, 'removed_pods' are the latter, 'pod_shapes' tell pods apart by namespace, labels and "
      "affinity, 'resources' are the names that nodes offer or plugins count, 'in_flight_events' are kept for pods in "
      "flight.",
      {of_table("in_flight_events", queued.logged_events), of_table("pod_shapes", tables.shapes),
       of_table("pods", tables.pod_slots), of_table("removed_pods", tables.removed_pods),
       of_table("resources", tables.resources), of_table("symbols", symbols.symbols)});
  page.add_one(MetricKind::counter, "berth_refused_resources_total",
               "How often a node offered a resource that is not counted because there are too many names of resources. "
               "Anything but 0: look for what gives nodes ever new ones.",
               static_cast<double>(tables.refused_resources));
}

}  // namespace berth::app
