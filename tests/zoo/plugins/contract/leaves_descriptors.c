/* SPDX-License-Identifier: Apache-2.0
 * Opens files when it is created, and closes none. */
#define ZOO_OWN_CREATE
#include <berth/plugin.h>
#include <fcntl.h>
static berth_code zoo_create(const berth_host_v1* host, const berth_binder_v1* binder, berth_str args, void** self,
                             berth_note_v1* note) {
  (void)host, (void)binder, (void)args, (void)note;
  for (int i = 0; i < 8; ++i)
    if (open("/dev/null", O_RDONLY) < 0) return BERTH_ERROR;
  *self = (void*)0;
  return BERTH_OK;
}
#include "zoo_plugin.h"
