/* SPDX-License-Identifier: Apache-2.0
 * Where the header's fields lie, as the C compiler has it; the test holds abi.rs against it. An empty field name stands for
 * the end: the size. */
#include <berth/plugin.h>
#include <stddef.h>

struct field_layout {
  const char* name;
  uint64_t offset;
};
#define AT(type, field) {#type "." #field, offsetof(type, field)}
#define SIZE(type) {#type ".", sizeof(type)}

const struct field_layout berth_layout[] = {
    AT(berth_str, ptr), AT(berth_str, len), SIZE(berth_str),
    AT(berth_note_v1, struct_size), AT(berth_note_v1, reason), AT(berth_note_v1, text), AT(berth_note_v1, text_cap),
    AT(berth_note_v1, text_len), SIZE(berth_note_v1),
    AT(berth_host_v1, struct_size), AT(berth_host_v1, abi_minor), AT(berth_host_v1, data_model),
    AT(berth_host_v1, ctx), AT(berth_host_v1, product), AT(berth_host_v1, service), AT(berth_host_v1, score_max),
    SIZE(berth_host_v1),
    AT(berth_binder_v1, struct_size), AT(berth_binder_v1, reserved), AT(berth_binder_v1, ctx),
    AT(berth_binder_v1, column), AT(berth_binder_v1, request), AT(berth_binder_v1, pod_fields),
    AT(berth_binder_v1, pod_label), SIZE(berth_binder_v1),
    AT(berth_point_v1, id), AT(berth_point_v1, ops), SIZE(berth_point_v1),
    AT(berth_reason_text_v1, text), AT(berth_reason_text_v1, code), SIZE(berth_reason_text_v1),
    AT(berth_plugin_v1, struct_size), AT(berth_plugin_v1, flags), AT(berth_plugin_v1, name),
    AT(berth_plugin_v1, version), AT(berth_plugin_v1, summary), AT(berth_plugin_v1, args_schema),
    AT(berth_plugin_v1, points), AT(berth_plugin_v1, reasons), AT(berth_plugin_v1, services),
    AT(berth_plugin_v1, point_count), AT(berth_plugin_v1, reason_count), AT(berth_plugin_v1, service_count),
    AT(berth_plugin_v1, deps), AT(berth_plugin_v1, create), AT(berth_plugin_v1, destroy), SIZE(berth_plugin_v1),
    AT(berth_library_v1, struct_size), AT(berth_library_v1, abi_minor_built),
    AT(berth_library_v1, abi_minor_required), AT(berth_library_v1, plugin_count), AT(berth_library_v1, reserved),
    AT(berth_library_v1, plugins), SIZE(berth_library_v1),
    AT(berth_cycle_v1, struct_size), AT(berth_cycle_v1, flags), AT(berth_cycle_v1, cycle_id),
    AT(berth_cycle_v1, deadline_ns), AT(berth_cycle_v1, pod_class), AT(berth_cycle_v1, pod),
    AT(berth_cycle_v1, state), AT(berth_cycle_v1, nodes), AT(berth_cycle_v1, word_count),
    AT(berth_cycle_v1, node_count), AT(berth_cycle_v1, slot_count), SIZE(berth_cycle_v1),
    AT(berth_node_block_v1, struct_size), AT(berth_node_block_v1, rows), AT(berth_node_block_v1, first_slot),
    AT(berth_node_block_v1, column_count), AT(berth_node_block_v1, slots), AT(berth_node_block_v1, candidates),
    AT(berth_node_block_v1, columns), SIZE(berth_node_block_v1),
    AT(berth_filter_out_v1, struct_size), AT(berth_filter_out_v1, flags), AT(berth_filter_out_v1, pass),
    AT(berth_filter_out_v1, unresolvable), AT(berth_filter_out_v1, reasons), AT(berth_filter_out_v1, ctx),
    AT(berth_filter_out_v1, fail_row), AT(berth_filter_out_v1, add_detail),
    AT(berth_filter_out_v1, pending), SIZE(berth_filter_out_v1),
    AT(berth_filter_ops_v1, struct_size), AT(berth_filter_ops_v1, flags), AT(berth_filter_ops_v1, filter),
    AT(berth_filter_ops_v1, budget_ns), AT(berth_filter_ops_v1, deps), AT(berth_filter_ops_v1, reserved),
    SIZE(berth_filter_ops_v1),
    AT(berth_score_ops_v1, struct_size), AT(berth_score_ops_v1, normalize_kind), AT(berth_score_ops_v1, score),
    AT(berth_score_ops_v1, normalize), AT(berth_score_ops_v1, deps), AT(berth_score_ops_v1, reserved),
    SIZE(berth_score_ops_v1),
    AT(berth_interest_v1, resource), AT(berth_interest_v1, actions), AT(berth_interest_v1, flags),
    AT(berth_interest_v1, hinted), SIZE(berth_interest_v1),
    AT(berth_requeue_ops_v1, struct_size), AT(berth_requeue_ops_v1, interest_count),
    AT(berth_requeue_ops_v1, interests), AT(berth_requeue_ops_v1, hint), SIZE(berth_requeue_ops_v1),
};
const uint64_t berth_layout_count = sizeof berth_layout / sizeof *berth_layout;

/* Constants that abi.rs repeats. */
_Static_assert(BERTH_ABI_MAJOR == 1 && BERTH_DATA_MODEL == 1, "abi.rs was written for another ABI");
_Static_assert(BERTH_OK == 0 && BERTH_ERROR == 1 && BERTH_TOO_OLD == 17, "codes");
_Static_assert(BERTH_COL_PODS == 5 && BERTH_SCORE_MAX == 100 && BERTH_NORM_NONE == 0, "columns and scores");
_Static_assert(BERTH_CYCLE_WANT_REASONS == 1 && BERTH_DEP_NODE_USAGE == 8, "flags");
_Static_assert(BERTH_KIND_POD == 1 && BERTH_KIND_NODE == 2 && BERTH_ACTION_ADD == 1 && BERTH_ACTION_DELETE == 2, "events");
