/* SPDX-License-Identifier: Apache-2.0
 * Offers interfaces of which half the functions are absent. */
#define ZOO_NOTE_TEXT                         \
  "plugin=" ZOO_NAME "\0version=" ZOO_VERSION \
  "\0points=berth.filter/1\0points=berth.prepare/1\0points=berth.reserve/1\0"
#define ZOO_OWN_FILTER
#define ZOO_OWN_FILTER_OPS
#define ZOO_OTHER_OPS                                                                                                  \
  static const berth_filter_ops_v1 zoo_filter_ops = {sizeof(berth_filter_ops_v1), 0, 0, 0, 0, 0};                            \
  static berth_code zoo_pod_added(void* self, berth_cycle_v1* cycle, const berth_pod_v1* other, berth_slot node,       \
                                  berth_note_v1* note) {                                                               \
    (void)self, (void)cycle, (void)other, (void)node, (void)note;                                                      \
    return BERTH_OK;                                                                                                   \
  }                                                                                                                    \
  static const berth_prepare_ops_v1 zoo_prepare_ops = {sizeof(berth_prepare_ops_v1), 0, 0, 0, 0, 0, zoo_pod_added, 0}; \
  static berth_code zoo_reserve(void* self, berth_cycle_v1* cycle, berth_slot node, berth_note_v1* note) {             \
    (void)self, (void)cycle, (void)node, (void)note;                                                                   \
    return BERTH_OK;                                                                                                   \
  }                                                                                                                    \
  static const berth_reserve_ops_v1 zoo_reserve_ops = {sizeof(berth_reserve_ops_v1), 0, zoo_reserve, 0};
#define ZOO_POINTS                                                                \
  {                                                                               \
    {"berth.filter/1", &zoo_filter_ops}, {"berth.prepare/1", &zoo_prepare_ops}, { \
      "berth.reserve/1", &zoo_reserve_ops                                         \
    }                                                                             \
  }
#include "zoo_plugin.h"
