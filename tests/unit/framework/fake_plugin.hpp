// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "berth/ext/groups.h"
#include "framework/plugin_instance.hpp"

namespace berth::framework::testing {

/// A plugin of this process: functions behind the C tables, each settable.
struct FakePlugin {
  explicit FakePlugin(std::string plugin_name) : name(std::move(plugin_name)) {}
  FakePlugin(const FakePlugin&) = delete;
  FakePlugin& operator=(const FakePlugin&) = delete;
  ~FakePlugin() {
    if (const auto it = described().find(name); it != described().end() && it->second == this) described().erase(it);
  }

  /// The descriptor; functions that are set by now are offered. Until the next plugin of that name is described, create()
  /// finds this one.
  const berth_plugin_v1& describe() {
    described()[name] = this;
    points.clear();
    if (pre_enqueue) points.push_back({"berth.queue/1", &queue_ops});
    if (pre_filter) points.push_back({"berth.prepare/1", &prepare_ops});
    if (filter) points.push_back({"berth.filter/1", &filter_ops});
    if (post_filter) points.push_back({"berth.post_filter/1", &post_filter_ops});
    if (score) points.push_back({"berth.score/1", &score_ops});
    if (reserve || unreserve) points.push_back({"berth.reserve/1", &reserve_ops});
    if (permit) points.push_back({"berth.permit/1", &permit_ops});
    if (pre_bind || bind || post_bind) points.push_back({"berth.bind/1", &bind_ops});
    if (group_of) points.push_back({"berth.groups/1", &group_ops});
    score_ops.normalize_kind = normalize_kind;
    filter_ops.deps = filter_deps;
    score_ops.deps = score_deps;
    if (!state_free) prepare_ops.state_free = nullptr;
    if (!pre_bind_check) bind_ops.pre_bind_check = nullptr;
    if (!pre_bind) bind_ops.pre_bind = nullptr;
    if (!bind) bind_ops.bind = nullptr;
    if (!post_bind) bind_ops.post_bind = nullptr;
    reason_texts.assign(1, {});
    for (const std::string& text : reasons) reason_texts.push_back({text.c_str(), nullptr});
    descriptor = {sizeof(berth_plugin_v1),
                  0,
                  name.c_str(),
                  "1.0.0",
                  "A plugin of a test.",
                  nullptr,
                  points.data(),
                  reason_texts.data(),
                  services.data(),
                  static_cast<std::uint32_t>(points.size()),
                  static_cast<std::uint32_t>(reason_texts.size()),
                  static_cast<std::uint32_t>(services.size()),
                  deps,
                  &create_it,
                  nullptr};
    return descriptor;
  }
  /// A table of the host's services.
  template <typename Table>
  const Table& service(const char* id) const {
    return *static_cast<const Table*>(host->service(host->ctx, id));
  }

  std::string name;
  std::uint32_t deps = BERTH_DEP_POD_SPEC | BERTH_DEP_NODE_STATIC;
  std::uint32_t filter_deps = 0, score_deps = 0;
  std::vector<std::string> reasons;   // ids from 1
  std::vector<const char*> services;  // that it declares
  std::function<berth_code(const berth_binder_v1&, berth_note_v1*)> create;
  std::function<berth_code(const berth_queue_pod_v1&, berth_note_v1*)> pre_enqueue;
  std::function<berth_code(berth_cycle_v1&, berth_prepare_out_v1&, berth_note_v1*)> pre_filter;
  std::function<void(void* state)> state_free;
  std::function<berth_code(const berth_cycle_v1&, const berth_node_block_v1&, berth_filter_out_v1&, berth_note_v1*)>
      filter;
  std::uint64_t filter_budget_ns = 0;
  std::function<berth_code(berth_cycle_v1&, const berth_post_filter_in_v1&, berth_post_filter_out_v1&, berth_note_v1*)>
      post_filter;
  std::function<berth_code(const berth_node_block_v1&, std::int64_t*, berth_note_v1*)> score;
  std::function<berth_code(std::int64_t*, std::uint32_t, berth_note_v1*)> normalize;
  std::uint32_t normalize_kind = BERTH_NORM_NONE;
  std::function<berth_code(berth_slot, berth_note_v1*)> reserve;
  std::function<void(berth_slot)> unreserve;
  std::function<berth_code(berth_permit_out_v1&, berth_note_v1*)> permit;
  std::function<berth_code(std::uint32_t* flags, berth_note_v1*)> pre_bind_check;
  std::function<berth_code(const berth_cycle_v1&, berth_bind_call_v1*, berth_note_v1*)> pre_bind, bind;
  std::function<void(const berth_bind_call_v1*)> post_bind;
  std::function<berth_code(const berth_pod_v1&, berth_str& group, berth_note_v1*)> group_of;
  const berth_host_v1* host = nullptr;  // given to create

 private:
  static FakePlugin& of(void* self) { return *static_cast<FakePlugin*>(self); }
  static std::map<std::string, FakePlugin*, std::less<>>& described() {
    static std::map<std::string, FakePlugin*, std::less<>> by_name;
    return by_name;
  }
  static berth_code create_it(const berth_host_v1* given_host, const berth_binder_v1* binder, berth_str, void** self,
                              berth_note_v1* note) {
    FakePlugin& plugin = *described().at(static_cast<PluginInstance*>(given_host->ctx)->name());
    *self = &plugin;
    plugin.host = given_host;
    return plugin.create ? plugin.create(*binder, note) : static_cast<berth_code>(BERTH_OK);
  }

  berth_queue_ops_v1 queue_ops{sizeof(berth_queue_ops_v1), 0, nullptr, nullptr,
                               [](void* self, const berth_queue_pod_v1* pod, berth_note_v1* note) -> berth_code {
                                 return of(self).pre_enqueue(*pod, note);
                               }};
  berth_prepare_ops_v1 prepare_ops{
      sizeof(berth_prepare_ops_v1),
      0,
      [](void* self, berth_cycle_v1* cycle, berth_prepare_out_v1* out, berth_note_v1* note) -> berth_code {
        return of(self).pre_filter(*cycle, *out, note);
      },
      nullptr,
      nullptr,
      [](void* self, void* state) { of(self).state_free(state); },
      nullptr,
      nullptr};
  berth_filter_ops_v1 filter_ops{
      sizeof(berth_filter_ops_v1),
      0,
      [](void* self, const berth_cycle_v1* cycle, const berth_node_block_v1* block, berth_filter_out_v1* out,
         berth_note_v1* note) -> berth_code { return of(self).filter(*cycle, *block, *out, note); },
      [](void* self) -> std::uint64_t { return of(self).filter_budget_ns; },
      0,
      0};
  berth_post_filter_ops_v1 post_filter_ops{
      sizeof(berth_post_filter_ops_v1), 0,
      [](void* self, berth_cycle_v1* cycle, const berth_post_filter_in_v1* in, berth_post_filter_out_v1* out,
         berth_note_v1* note) -> berth_code { return of(self).post_filter(*cycle, *in, *out, note); }};
  berth_score_ops_v1 score_ops{
      sizeof(berth_score_ops_v1),
      BERTH_NORM_NONE,
      [](void* self, const berth_cycle_v1*, const berth_node_block_v1* block, std::int64_t* raw,
         berth_note_v1* note) -> berth_code { return of(self).score(*block, raw, note); },
      [](void* self, const berth_cycle_v1*, const berth_slot*, std::int64_t* scores, std::uint32_t count,
         berth_note_v1* note) -> berth_code { return of(self).normalize(scores, count, note); },
      0,
      0};
  berth_reserve_ops_v1 reserve_ops{sizeof(berth_reserve_ops_v1), 0,
                                   [](void* self, berth_cycle_v1*, berth_slot node, berth_note_v1* note) {
                                     return of(self).reserve ? of(self).reserve(node, note) : berth_code{BERTH_OK};
                                   },
                                   [](void* self, berth_cycle_v1*, berth_slot node) {
                                     if (of(self).unreserve) of(self).unreserve(node);
                                   }};
  berth_permit_ops_v1 permit_ops{sizeof(berth_permit_ops_v1), 0,
                                 [](void* self, const berth_cycle_v1*, berth_slot, berth_permit_out_v1* out,
                                    berth_note_v1* note) -> berth_code { return of(self).permit(*out, note); }};
  berth_bind_ops_v1 bind_ops{
      sizeof(berth_bind_ops_v1),
      0,
      [](void* self, const berth_cycle_v1*, berth_slot, std::uint32_t* flags, berth_note_v1* note) -> berth_code {
        return of(self).pre_bind_check(flags, note);
      },
      [](void* self, berth_cycle_v1* cycle, berth_bind_call_v1* call, berth_note_v1* note) -> berth_code {
        return of(self).pre_bind(*cycle, call, note);
      },
      [](void* self, berth_cycle_v1* cycle, berth_bind_call_v1* call, berth_note_v1* note) -> berth_code {
        return of(self).bind(*cycle, call, note);
      },
      [](void* self, berth_cycle_v1*, const berth_bind_call_v1* call) { of(self).post_bind(call); }};
  berth_group_ops_v1 group_ops{
      sizeof(berth_group_ops_v1), 0,
      [](void* self, const berth_pod_v1* pod, berth_str* group, berth_note_v1* note) -> berth_code {
        return of(self).group_of(*pod, *group, note);
      },
      [](void*, const berth_pod_v1*, berth_quorum_v1*, berth_note_v1*) -> berth_code { return BERTH_OK; }};
  std::vector<berth_point_v1> points;
  std::vector<berth_reason_text_v1> reason_texts;
  berth_plugin_v1 descriptor{};
};

inline berth_str key(const char* text) { return {text, std::char_traits<char>::length(text)}; }
inline void explain(berth_note_v1* note, std::string_view text) {
  std::copy_n(text.data(), std::min<std::uint64_t>(text.size(), note->text_cap), note->text);
  note->text_len = text.size();
}

}  // namespace berth::framework::testing
