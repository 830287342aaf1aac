/* SPDX-License-Identifier: Apache-2.0
 * Looks for nodes by a label while it judges nodes, where only calls of the cycle may. */
#define ZOO_OWN_CREATE
#define ZOO_OWN_FILTER
#include <berth/plugin.h>
static const berth_labels_v1* labels;
static void* labels_ctx;
static berth_code zoo_create(const berth_host_v1* host, const berth_binder_v1* binder, berth_str args, void** self,
                             berth_note_v1* note) {
  (void)binder, (void)args, (void)note;
  labels = host->service(host->ctx, "berth.labels/1");
  labels_ctx = host->ctx;
  *self = (void*)0;
  return labels != 0 ? BERTH_OK : BERTH_TOO_OLD;
}
static berth_code zoo_filter(void* self, const berth_cycle_v1* cycle, const berth_node_block_v1* block,
                             berth_filter_out_v1* out, berth_note_v1* note) {
  static uint64_t found[2048];
  const berth_requirement_v1 any = {0};
  (void)self, (void)block, (void)out, (void)note;
  labels->match(labels_ctx, cycle, &any, found, cycle->word_count < 2048 ? cycle->word_count : 2048);
  return BERTH_OK;
}
#define ZOO_SERVICES \
  { "berth.labels/1" }
#define ZOO_NOTE_TEXT "plugin=" ZOO_NAME "\0version=" ZOO_VERSION "\0points=berth.filter/1\0service=berth.labels/1\0"
#include "zoo_plugin.h"
