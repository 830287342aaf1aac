/* SPDX-License-Identifier: Apache-2.0
 * Hands out its state as the clone of it, and counts pods that go there. */
#define ZOO_OWN_FILTER
#include <berth/plugin.h>
#include <stdlib.h>
struct state {
  int users, gone;
};
static berth_code zoo_filter(void* self, const berth_cycle_v1* cycle, const berth_node_block_v1* block,
                             berth_filter_out_v1* out, berth_note_v1* note) {
  (void)self, (void)note;
  if (((const struct state*)cycle->state)->gone == 0) return BERTH_OK;
  for (uint32_t word = 0; word < (block->rows + 63) / 64; ++word) out->pass[word] = 0;
  return BERTH_OK;
}
static berth_code pre_filter(void* self, berth_cycle_v1* cycle, berth_prepare_out_v1* out, berth_note_v1* note) {
  struct state* const made = calloc(1, sizeof *made);
  (void)self, (void)out, (void)note;
  if (made == 0) return BERTH_ERROR;
  made->users = 1;
  cycle->state = made;
  return BERTH_OK;
}
static berth_code state_clone(void* self, const void* from, void** to, berth_note_v1* note) {
  (void)self, (void)note;
  ++((struct state*)from)->users;
  *to = (void*)from;
  return BERTH_OK;
}
static void state_free(void* self, void* state) {
  (void)self;
  if (--((struct state*)state)->users == 0) free(state);
}
static berth_code pod_added(void* self, berth_cycle_v1* cycle, const berth_pod_v1* other, berth_slot node,
                            berth_note_v1* note) {
  (void)self, (void)cycle, (void)other, (void)node, (void)note;
  return BERTH_OK;
}
static berth_code pod_removed(void* self, berth_cycle_v1* cycle, const berth_pod_v1* other, berth_slot node,
                              berth_note_v1* note) {
  (void)self, (void)other, (void)node, (void)note;
  ++((struct state*)cycle->state)->gone;
  return BERTH_OK;
}
static const berth_prepare_ops_v1 prepare_ops = {
    sizeof(berth_prepare_ops_v1), 0, pre_filter, 0, state_clone, state_free, pod_added, pod_removed};
#define ZOO_POINTS                                                           \
  {                                                                          \
    {"berth.filter/1", &zoo_filter_ops}, { "berth.prepare/1", &prepare_ops } \
  }
#define ZOO_NOTE_TEXT "plugin=" ZOO_NAME "\0version=" ZOO_VERSION "\0points=berth.filter/1\0points=berth.prepare/1\0"
#include "zoo_plugin.h"
