/* SPDX-License-Identifier: Apache-2.0
 * A note whose last entry does not end. */
#define ZOO_NO_NOTE
#include "zoo_plugin.h"
__attribute__((used, aligned(4), section(".note.berth"))) static const struct {
  uint32_t name_size, desc_size, type;
  char owner[8];
  uint16_t numbers[4];
  char text[8];
} zoo_note = {6u,
              16u,
              1u,
              "berth",
              {BERTH_ABI_MAJOR, BERTH_ABI_MINOR, BERTH_ABI_MINOR, BERTH_DATA_MODEL},
              {'p', 'l', 'u', 'g', 'i', 'n', '=', 'x'}};
