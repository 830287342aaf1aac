// SPDX-License-Identifier: Apache-2.0
// The predicates and priorities of the Policy API, and the plugins that took their place until v1.22, in one library.
#include <berth/plugin.hpp>

BERTH_PLUGIN_PART_OF(legacy_balanced)
BERTH_PLUGIN_PART_OF(legacy_conditions)
BERTH_PLUGIN_PART_OF(legacy_csi)
BERTH_PLUGIN_PART_OF(legacy_disk_limits)
BERTH_PLUGIN_PART_OF(legacy_even_spread)
BERTH_PLUGIN_PART_OF(legacy_general)
BERTH_PLUGIN_PART_OF(legacy_labels)
BERTH_PLUGIN_PART_OF(legacy_nodes)
BERTH_PLUGIN_PART_OF(legacy_pod_affinity)
BERTH_PLUGIN_PART_OF(legacy_resources)
BERTH_PLUGIN_PART_OF(legacy_services)
BERTH_PLUGIN_PART_OF(legacy_spread)
BERTH_PLUGIN_PART_OF(legacy_volume_binding)
BERTH_PLUGIN_PART_OF(legacy_volumes)
BERTH_PLUGIN_PARTS(berth_part_legacy_balanced(), berth_part_legacy_conditions(), berth_part_legacy_csi(),
                   berth_part_legacy_disk_limits(), berth_part_legacy_even_spread(), berth_part_legacy_general(),
                   berth_part_legacy_labels(), berth_part_legacy_nodes(), berth_part_legacy_pod_affinity(),
                   berth_part_legacy_resources(), berth_part_legacy_services(), berth_part_legacy_spread(),
                   berth_part_legacy_volume_binding(), berth_part_legacy_volumes())
