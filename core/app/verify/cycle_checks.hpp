// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "app/verify/plugin_under_test.hpp"
#include "app/verify/trial.hpp"

namespace berth::app {

// Checks V11 to V16, which ask plugins as no decision of a small, calm cluster does.

/// ext/nodes.h: slots and blocks have no end that a plugin may assume.
void judges_many_nodes(const TestedPlugins& tested, Findings& findings);
/// abi/host.h, berth_binder_v1: NO_COLUMN, and groups of fields that are not answered.
void does_without_columns(const TestedPlugins& tested, Findings& findings);
/// ext/prepare.h: a cycle may end after pre-filter, after filters, after pre-score.
void forgets_early_ends(const TestedPlugins& tested, Findings& findings);
/// ext/reserve.h: unreserve takes back what reserve did.
void forgets_reservations(const TestedPlugins& tested, Findings& findings);
/// ext/bind.h: cancelled() and pod_exists() of a pod that is gone.
void survives_deletions(const TestedPlugins& tested, Findings& findings);
/// ext/filter.h: a block is any rows, in any order.
void blocks_do_not_matter(const TestedPlugins& tested, Findings& findings);
/// ext/prepare.h: state_clone, pod_added, pod_removed.
void clones_are_apart(const TestedPlugins& tested, Findings& findings);
/// abi/types.h, convention 3.
void keeps_thread_tags(const TestedPlugins& tested, Findings& findings);

}  // namespace berth::app
