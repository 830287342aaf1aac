// SPDX-License-Identifier: Apache-2.0
/// FakeHost: just enough of a host to create one policy and call it: a binder that records what was asked for, and the
/// services intern, sets, reasons, labels, log and writes over plain containers.
///
/// A policy that works here is not proven to work: the real host also checks. Threads: one at a time. Ids, set numbers
/// and reason ids live as long as the fake.
///
/// Lifetime: what the services show lives as long as the fake, longer than a host would keep it. Set numbers are never recycled.
/// Errors:   wrong threads, missing rights and limits are not checked: `berth simulate` does that.
/// Source:   berth_host_v1, berth_binder_v1 (abi/host.h) and the headers of the services.
#pragma once
#include <berth/plugin.h>

#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::testkit {

/// Borrows: as long as `text` lives.
inline berth_str str(std::string_view text) { return berth_str{text.data(), text.size()}; }
/// A copy.
inline std::string text_of(berth_str s) { return s.len == 0 ? std::string() : std::string(s.ptr, s.len); }

/// A column of labels that the labels service serves: what a snapshot would hold.
using LabelsBySlot = std::vector<std::map<std::string, std::string>>;

/// Policy owns one. Members that are data are the test's to read and write.
class FakeHost {
 public:
  /// kind: BERTH_COL_*; key as the binder was given it.
  struct AskedColumn {
    std::uint32_t kind;
    std::string key;
  };
  /// severity: BERTH_LOG_*. Fields are not kept.
  struct LogLine {
    std::uint32_t severity;
    std::string message;
  };
  /// A bind that the policy asked berth.writes/1 for. The test answers: done(arg, code, text), once.
  struct BindWrite {
    std::string ns, name, uid, node_name;
    berth_write_done_v1 done;
    void* arg;
  };

  FakeHost() {
    id("");  // BERTH_ID_EMPTY
    taint_sets_.emplace_back();
    image_sets_.emplace_back();
    port_sets_.emplace_back();
    feature_sets_.emplace_back();
    label_sets_.emplace_back();
    volume_sets_.emplace_back();
    host_ = {sizeof host_,    BERTH_ABI_MINOR,         BERTH_DATA_MODEL, this,
             str("test kit"), &FakeHost::find_service, BERTH_SCORE_MAX};
    binder_ = {sizeof binder_,
               0,
               this,
               &FakeHost::bind_column,
               &FakeHost::bind_request,
               &FakeHost::bind_fields,
               &FakeHost::bind_label,
               &FakeHost::bind_groups};
  }
  FakeHost(const FakeHost&) = delete;
  FakeHost& operator=(const FakeHost&) = delete;

  /// What create() is given; both live as long as this.
  const berth_host_v1* host() const { return &host_; }
  const berth_binder_v1* binder() const { return &binder_; }

  // Interned strings.
  /// The number of a text, made when it is new; 1 is the empty text.
  berth_id id(std::string_view text) {
    const auto found = ids_.find(std::string(text));
    if (found != ids_.end()) return found->second;
    texts_.emplace_back(text);
    const auto number = static_cast<berth_id>(texts_.size());
    ids_.emplace(std::string(text), number);
    return number;
  }
  /// Empty for 0 and for what is no id.
  std::string text(berth_id id) const { return id == 0 || id > texts_.size() ? std::string() : texts_[id - 1]; }

  // Distinct lists -> set numbers, 0 for the empty list.
  std::uint32_t taint_set(const std::vector<berth_taint_v1>& v) { return number_of(taint_sets_, v); }
  std::uint32_t image_set(const std::vector<berth_image_v1>& v) { return number_of(image_sets_, v); }
  std::uint32_t port_set(const std::vector<berth_host_port_v1>& v) { return number_of(port_sets_, v); }
  std::uint32_t feature_set(const std::vector<berth_id>& v) { return number_of(feature_sets_, v); }
  std::uint32_t label_set(const std::vector<berth_label_v1>& v) { return number_of(label_sets_, v); }
  std::uint32_t volume_set(const std::vector<berth_node_volume_v1>& v) { return number_of(volume_sets_, v); }

  /// The sentences behind an id that berth.reasons/1 made, joined with ", ".
  std::string made_reason(berth_reason reason) const {
    return reason < k_first_made || reason - k_first_made >= made_.size() ? std::string()
                                                                          : made_[reason - k_first_made];
  }

  // What the policy asked for in create().
  std::vector<AskedColumn> columns;   ///< the number of a column is its place here
  std::vector<std::string> requests;  ///< resources of Setup::request(), likewise
  std::uint64_t pod_groups = 0;       ///< BERTH_POD_*
  std::set<std::string> pod_labels;   ///< of Setup::pod_label()

  // What this host lacks. Set before create().
  std::set<std::string> missing_services;   ///< by id
  std::set<std::uint32_t> missing_columns;  ///< BERTH_COL_*
  std::uint64_t missing_pod_groups = 0;     ///< BERTH_POD_*
  /// Pod fields that the policy did not ask for are traps, as in `berth simulate` with `verdictReuse: verify`: reading them ends the test.
  bool traps_unasked_fields = false;
  /// Further services, by id: tables of the C ABI. They win over the built-in ones.
  std::map<std::string, const void*> extra_services;
  /// What extra services find their data by: their ctx is this host.
  std::shared_ptr<void> companion;
  /// The same for services that stand by themselves, by id.
  std::map<std::string, std::shared_ptr<void>> companions;

  // What the services saw and serve.
  LabelsBySlot labels_by_slot;                ///< set by Attempt
  std::vector<const void*> snapshot_columns;  ///< by slot, in the order of `columns`
  std::vector<LogLine> log;                   ///< every line, whatever its severity
  std::vector<BindWrite> binds;               ///< taken ones, in their order
  berth_code bind_answer = BERTH_OK;          ///< what bind() of berth.writes/1 returns

 private:
  static constexpr berth_reason k_first_made = 1u << 20;
  static FakeHost& self(void* ctx) { return *static_cast<FakeHost*>(ctx); }

  /// The place of the list, appended when it is new. Compared byte by byte.
  template <class T>
  static std::uint32_t number_of(std::deque<std::vector<T>>& sets, const std::vector<T>& members) {
    for (std::size_t i = 0; i < sets.size(); ++i) {
      if (sets[i].size() == members.size() &&
          (members.empty() || std::memcmp(sets[i].data(), members.data(), members.size() * sizeof(T)) == 0)) {
        return static_cast<std::uint32_t>(i);
      }
    }
    sets.push_back(members);
    return static_cast<std::uint32_t>(sets.size() - 1);
  }
  template <class T>
  static const T* members_of(const std::deque<std::vector<T>>& sets, std::uint32_t set, std::uint32_t* count) {
    *count = set < sets.size() ? static_cast<std::uint32_t>(sets[set].size()) : 0;
    return *count == 0 ? nullptr : sets[set].data();
  }

  static std::uint32_t bind_column(void* ctx, std::uint32_t kind, berth_str key) {
    FakeHost& h = self(ctx);
    if (h.missing_columns.count(kind) != 0) return BERTH_NO_COLUMN;
    if (kind == BERTH_COL_POD_FREE || kind == BERTH_COL_POD_CAPACITY) h.pod_groups |= BERTH_POD_REQUESTS;
    for (std::size_t i = 0; i < h.columns.size(); ++i) {
      if (h.columns[i].kind == kind && h.columns[i].key == text_of(key)) return static_cast<std::uint32_t>(i);
    }
    h.columns.push_back({kind, text_of(key)});
    return static_cast<std::uint32_t>(h.columns.size() - 1);
  }
  static std::uint32_t bind_request(void* ctx, berth_str resource) {
    self(ctx).requests.push_back(text_of(resource));
    return static_cast<std::uint32_t>(self(ctx).requests.size() - 1);
  }
  static void bind_fields(void* ctx, std::uint32_t groups) { bind_groups(ctx, groups); }
  static std::uint64_t bind_groups(void* ctx, std::uint64_t groups) {
    const std::uint64_t known = groups & ~self(ctx).missing_pod_groups;
    self(ctx).pod_groups |= known;
    return known;
  }
  static void bind_label(void* ctx, berth_str key) { self(ctx).pod_labels.insert(text_of(key)); }

  // Missing ones first, then those of the test, then those below.
  static const void* find_service(void* ctx, const char* id) {
    FakeHost& h = self(ctx);
    if (h.missing_services.count(id) != 0) return nullptr;
    const auto extra = h.extra_services.find(id);
    if (extra != h.extra_services.end()) return extra->second;
    return built_in(id);
  }
  static const void* built_in(std::string_view id) {
    static const berth_intern_v1 intern{sizeof intern,
                                        0,
                                        [](void* c, berth_str s) { return self(c).id(text_of(s)); },
                                        [](void* c, berth_id i) {
                                          const FakeHost& h = self(c);
                                          return i == 0 || i > h.texts_.size() ? berth_str{} : str(h.texts_[i - 1]);
                                        },
                                        [](void*, berth_id) {},
                                        [](void*, berth_id) {},
                                        [](void* c, berth_id i, berth_str* out) {
                                          const FakeHost& h = self(c);
                                          *out = i == 0 || i > h.texts_.size() ? berth_str{} : str(h.texts_[i - 1]);
                                        },
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

  // Equal lists, equal ids, for as long as the fake lives.
  static berth_reason make_reason(void* ctx, const berth_str* texts, std::uint32_t count) {
    std::string joined;
    for (std::uint32_t i = 0; i < count; ++i) joined += (i == 0 ? "" : ", ") + text_of(texts[i]);
    auto& made = self(ctx).made_;
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (made[i] == joined) return k_first_made + static_cast<berth_reason>(i);
    }
    made.push_back(joined);
    return k_first_made + static_cast<berth_reason>(made.size() - 1);
  }

  static const berth_id* label_column(void* ctx, const berth_cycle_v1* cycle, berth_id key) {
    FakeHost& h = self(ctx);
    auto& column = h.label_columns_.emplace_back((cycle->slot_count + 63u) / 64u * 64u, 0u);
    const std::string name = h.text(key);
    for (std::size_t slot = 0; slot < h.labels_by_slot.size() && slot < column.size(); ++slot) {
      const auto found = h.labels_by_slot[slot].find(name);
      if (found != h.labels_by_slot[slot].end()) column[slot] = h.id(found->second);
    }
    return column.data();
  }
  // Gt and Lt are refused here, where the host knows them.
  static berth_code label_match(void* ctx, const berth_cycle_v1* cycle, const berth_requirement_v1* want,
                                std::uint64_t* out, std::uint64_t word_count) {
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

  static berth_code write_bind(void* ctx, berth_str ns, berth_str name, berth_str uid, berth_str node_name,
                               berth_write_done_v1 done, void* arg) {
    FakeHost& h = self(ctx);
    if (h.bind_answer == BERTH_OK)
      h.binds.push_back({text_of(ns), text_of(name), text_of(uid), text_of(node_name), done, arg});
    return h.bind_answer;
  }

  berth_host_v1 host_{};
  berth_binder_v1 binder_{};
  std::map<std::string, berth_id> ids_;
  std::deque<std::string> texts_;
  std::deque<std::vector<berth_taint_v1>> taint_sets_;
  std::deque<std::vector<berth_image_v1>> image_sets_;
  std::deque<std::vector<berth_host_port_v1>> port_sets_;
  std::deque<std::vector<berth_id>> feature_sets_;
  std::deque<std::vector<berth_label_v1>> label_sets_;
  std::deque<std::vector<berth_node_volume_v1>> volume_sets_;
  std::deque<std::vector<berth_id>> label_columns_;
  std::vector<std::string> made_;
};

}  // namespace berth::testkit
