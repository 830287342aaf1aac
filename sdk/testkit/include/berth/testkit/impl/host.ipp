// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <berth/testkit/host.hpp>

namespace berth::testkit {

BERTH_TESTKIT_INLINE FakeHost::FakeHost() {
  id("");  // BERTH_ID_EMPTY
  taint_sets_.emplace_back();
  image_sets_.emplace_back();
  port_sets_.emplace_back();
  feature_sets_.emplace_back();
  label_sets_.emplace_back();
  volume_sets_.emplace_back();
  host_ = {sizeof host_,    BERTH_ABI_MINOR,         BERTH_DATA_MODEL, this,
           str("test kit"), &FakeHost::find_service, BERTH_SCORE_MAX};
  binder_ = {sizeof binder_,       0, this, &FakeHost::bind_column, &FakeHost::bind_request, &FakeHost::bind_fields,
             &FakeHost::bind_label};
}

BERTH_TESTKIT_INLINE berth_id FakeHost::id(std::string_view text) {
  const auto found = ids_.find(std::string(text));
  if (found != ids_.end()) return found->second;
  texts_.emplace_back(text);
  const auto number = static_cast<berth_id>(texts_.size());
  ids_.emplace(std::string(text), number);
  return number;
}

BERTH_TESTKIT_INLINE std::string FakeHost::text(berth_id id) const {
  return id == 0 || id > texts_.size() ? std::string() : texts_[id - 1];
}

BERTH_TESTKIT_INLINE std::uint32_t FakeHost::taint_set(const std::vector<berth_taint_v1>& v) {
  return number_of(taint_sets_, v);
}

BERTH_TESTKIT_INLINE std::uint32_t FakeHost::image_set(const std::vector<berth_image_v1>& v) {
  return number_of(image_sets_, v);
}

BERTH_TESTKIT_INLINE std::uint32_t FakeHost::port_set(const std::vector<berth_host_port_v1>& v) {
  return number_of(port_sets_, v);
}

BERTH_TESTKIT_INLINE std::uint32_t FakeHost::feature_set(const std::vector<berth_id>& v) {
  return number_of(feature_sets_, v);
}

BERTH_TESTKIT_INLINE std::uint32_t FakeHost::label_set(const std::vector<berth_label_v1>& v) {
  return number_of(label_sets_, v);
}

BERTH_TESTKIT_INLINE std::uint32_t FakeHost::volume_set(const std::vector<berth_node_volume_v1>& v) {
  return number_of(volume_sets_, v);
}

BERTH_TESTKIT_INLINE std::string FakeHost::made_reason(berth_reason reason) const {
  return reason < k_first_made || reason - k_first_made >= made_.size() ? std::string() : made_[reason - k_first_made];
}

BERTH_TESTKIT_INLINE std::uint32_t FakeHost::bind_column(void* ctx, std::uint32_t kind, berth_str key) {
  FakeHost& h = self(ctx);
  if (h.missing_columns.count(kind) != 0) return BERTH_NO_COLUMN;
  if (kind == BERTH_COL_POD_FREE || kind == BERTH_COL_POD_ALLOCATABLE) h.pod_groups |= BERTH_POD_REQUESTS;
  for (std::size_t i = 0; i < h.columns.size(); ++i) {
    if (h.columns[i].kind == kind && h.columns[i].key == text_of(key)) return static_cast<std::uint32_t>(i);
  }
  h.columns.push_back({kind, text_of(key)});
  return static_cast<std::uint32_t>(h.columns.size() - 1);
}

BERTH_TESTKIT_INLINE std::uint32_t FakeHost::bind_request(void* ctx, berth_str resource) {
  self(ctx).requests.push_back(text_of(resource));
  return static_cast<std::uint32_t>(self(ctx).requests.size() - 1);
}

BERTH_TESTKIT_INLINE std::uint64_t FakeHost::bind_fields(void* ctx, std::uint64_t groups) {
  const std::uint64_t known = groups & ~self(ctx).missing_pod_groups;
  self(ctx).pod_groups |= known;
  return known;
}

BERTH_TESTKIT_INLINE void FakeHost::bind_label(void* ctx, berth_str key) { self(ctx).pod_labels.insert(text_of(key)); }

BERTH_TESTKIT_INLINE const void* FakeHost::find_service(void* ctx, const char* id) {
  FakeHost& h = self(ctx);
  if (h.missing_services.count(id) != 0) return nullptr;
  const auto extra = h.extra_services.find(id);
  if (extra != h.extra_services.end()) return extra->second;
  return built_in(id);
}

BERTH_TESTKIT_INLINE const void* FakeHost::built_in(std::string_view id) {
  static const berth_intern_v1 intern{sizeof intern,
                                      0,
                                      [](void* c, berth_str s) { return self(c).id(text_of(s)); },
                                      [](void* c, berth_id i, berth_str* out) {
                                        const FakeHost& h = self(c);
                                        *out = i == 0 || i > h.texts_.size() ? berth_str{} : str(h.texts_[i - 1]);
                                      },
                                      [](void*, berth_id) {},
                                      [](void*, berth_id) {},
                                      [](void* c, berth_str s) { return self(c).id(text_of(s)); }};
  static const berth_sets_v1 sets{
      sizeof sets,
      0,
      [](void* c, std::uint32_t s, std::uint32_t* n) { return members_of(self(c).taint_sets_, s, n); },
      [](void* c, std::uint32_t s, std::uint32_t* n) { return members_of(self(c).image_sets_, s, n); },
      [](void* c, std::uint32_t s, std::uint32_t* n) { return members_of(self(c).port_sets_, s, n); },
      [](void* c, std::uint32_t s, std::uint32_t* n) { return members_of(self(c).feature_sets_, s, n); },
      [](void* c, std::uint32_t s, std::uint32_t* n) { return members_of(self(c).label_sets_, s, n); },
      [](void* c, std::uint32_t s, std::uint32_t* n) { return members_of(self(c).volume_sets_, s, n); },
      [](void*) { return std::uint64_t{1}; }};
  static const berth_reasons_v1 reasons{sizeof reasons, 0, &FakeHost::make_reason};
  static const berth_labels_v1 labels{sizeof labels, 0, &FakeHost::label_column, &FakeHost::label_match};
  static const berth_log_v1 log{
      sizeof log, 0, [](void*, std::uint32_t) { return 1u; },
      [](void* c, std::uint32_t severity, berth_str message, const berth_kv_v1*, std::uint32_t) {
        self(c).log.push_back({severity, text_of(message)});
      }};
  static const berth_writes_v1 writes{sizeof writes, 0, &FakeHost::write_bind, nullptr, nullptr, nullptr, nullptr};
  static const berth_nodes_v1 nodes{sizeof nodes,
                                    0,
                                    [](void* c, const berth_cycle_v1*, std::uint32_t index) {
                                      const auto& all = self(c).snapshot_columns;
                                      return index < all.size() ? all[index] : nullptr;
                                    },
                                    nullptr,
                                    nullptr,
                                    nullptr};
  if (id == "berth.nodes/1") return &nodes;
  if (id == "berth.intern/1") return &intern;
  if (id == "berth.sets/1") return &sets;
  if (id == "berth.reasons/1") return &reasons;
  if (id == "berth.labels/1") return &labels;
  if (id == "berth.log/1") return &log;
  if (id == "berth.writes/1") return &writes;
  return nullptr;
}

BERTH_TESTKIT_INLINE berth_reason FakeHost::make_reason(void* ctx, const berth_str* texts, std::uint32_t count) {
  std::string joined;
  for (std::uint32_t i = 0; i < count; ++i) joined += (i == 0 ? "" : ", ") + text_of(texts[i]);
  auto& made = self(ctx).made_;
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (made[i] == joined) return k_first_made + static_cast<berth_reason>(i);
  }
  made.push_back(joined);
  return k_first_made + static_cast<berth_reason>(made.size() - 1);
}

BERTH_TESTKIT_INLINE const berth_id* FakeHost::label_column(void* ctx, const berth_cycle_v1* cycle, berth_id key) {
  FakeHost& h = self(ctx);
  auto& column = h.label_columns_.emplace_back((cycle->slot_count + 63u) / 64u * 64u, 0u);
  const std::string name = h.text(key);
  for (std::size_t slot = 0; slot < h.labels_by_slot.size() && slot < column.size(); ++slot) {
    const auto found = h.labels_by_slot[slot].find(name);
    if (found != h.labels_by_slot[slot].end()) column[slot] = h.id(found->second);
  }
  return column.data();
}

BERTH_TESTKIT_INLINE berth_code FakeHost::label_match(void* ctx, const berth_cycle_v1* cycle,
                                                      const berth_requirement_v1* want, std::uint64_t* out,
                                                      std::uint64_t word_count) {
  if (want->op < BERTH_OP_IN || want->op > BERTH_OP_DOES_NOT_EXIST) return BERTH_BAD_ARGS;
  const berth_id* column = label_column(ctx, cycle, want->key);
  for (std::uint64_t w = 0; w < word_count; ++w) out[w] = 0;
  for (std::uint32_t slot = 0; slot < cycle->slot_count; ++slot) {
    if ((cycle->nodes[slot >> 6] >> (slot & 63) & 1u) == 0) continue;
    bool listed = false;
    for (std::uint32_t i = 0; i < want->value_count; ++i) listed = listed || want->values[i] == column[slot];
    const bool present = column[slot] != 0;
    const bool meets = want->op == BERTH_OP_IN       ? present && listed
                       : want->op == BERTH_OP_NOT_IN ? !present || !listed
                       : want->op == BERTH_OP_EXISTS ? present
                                                     : !present;
    if (meets) out[slot >> 6] |= std::uint64_t{1} << (slot & 63);
  }
  return BERTH_OK;
}

BERTH_TESTKIT_INLINE berth_code FakeHost::write_bind(void* ctx, berth_str ns, berth_str name, berth_str uid,
                                                     berth_str node_name, berth_write_done_v1 done, void* arg) {
  FakeHost& h = self(ctx);
  if (h.bind_answer == BERTH_OK)
    h.binds.push_back({text_of(ns), text_of(name), text_of(uid), text_of(node_name), done, arg});
  return h.bind_answer;
}

BERTH_TESTKIT_INLINE FakeHost::~FakeHost() = default;

}  // namespace berth::testkit
