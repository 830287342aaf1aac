/* SPDX-License-Identifier: Apache-2.0
 * Scores every node 101. */
#define ZOO_NOTE_TEXT "plugin=" ZOO_NAME "\0version=" ZOO_VERSION "\0points=berth.score/1\0"
#define ZOO_OWN_FILTER
#define ZOO_OWN_FILTER_OPS
#define ZOO_OTHER_OPS                                                                                                  \
  static berth_code zoo_score(void* self, const berth_cycle_v1* cycle, const berth_node_block_v1* block, int64_t* raw, \
                              berth_note_v1* note) {                                                                   \
    (void)self, (void)cycle, (void)note;                                                                               \
    for (uint32_t row = 0; row < block->rows; ++row) raw[row] = BERTH_SCORE_MAX + 1;                                   \
    return BERTH_OK;                                                                                                   \
  }                                                                                                                    \
  static const berth_score_ops_v1 zoo_score_ops = {sizeof(berth_score_ops_v1), BERTH_NORM_NONE, zoo_score, 0, 0, 0};
#define ZOO_POINTS                      \
  {                                     \
    { "berth.score/1", &zoo_score_ops } \
  }
#include "zoo_plugin.h"
