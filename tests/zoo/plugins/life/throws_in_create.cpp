/* SPDX-License-Identifier: Apache-2.0
 * Throws over the boundary when it is created. */
#define ZOO_OWN_CREATE
#include <berth/plugin.h>
#include <stdexcept>
static berth_code zoo_create(const berth_host_v1*, const berth_binder_v1*, berth_str, void**, berth_note_v1*) {
  throw std::runtime_error("no racks today");
}
#include "zoo_plugin.h"
