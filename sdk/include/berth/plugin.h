/* SPDX-License-Identifier: Apache-2.0
 * berth plugin ABI: everything a plugin author includes. C11, C++11 and later; no other header than <stdint.h>.
 * The six conventions that hold everywhere stand at the top of abi/types.h. */
#ifndef BERTH_PLUGIN_H
#define BERTH_PLUGIN_H

#include "abi/host.h"
#include "abi/note.h"
#include "abi/status.h"
#include "abi/types.h"
#include "abi/version.h"
#include "ext/all_nodes.h"
#include "ext/assume.h"
#include "ext/bind.h"
#include "ext/cycle.h"
#include "ext/debug_pages.h"
#include "ext/domains.h"
#include "ext/dry_run.h"
#include "ext/filter.h"
#include "ext/gates.h"
#include "ext/groups.h"
#include "ext/labels.h"
#include "ext/node_order.h"
#include "ext/nodes.h"
#include "ext/object_writes.h"
#include "ext/objects.h"
#include "ext/permit.h"
#include "ext/placed_pods.h"
#include "ext/pod_index.h"
#include "ext/pods.h"
#include "ext/post_filter.h"
#include "ext/preemption.h"
#include "ext/prepare.h"
#include "ext/queue.h"
#include "ext/requeue.h"
#include "ext/reserve.h"
#include "ext/score.h"
#include "ext/services.h"
#include "ext/shared.h"
#include "ext/writes.h"

#endif
