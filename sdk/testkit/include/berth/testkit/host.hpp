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

/// The kit is header-only: each header ends with its definitions, impl/*.ipp. A tree with many tests compiles these once, as a
/// library that defines BERTH_TESTKIT_COMPILED for itself and for all that link it.
#if defined(BERTH_TESTKIT_COMPILED)
#define BERTH_TESTKIT_INLINE
#else
#define BERTH_TESTKIT_INLINE inline
#endif

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

  FakeHost();
  ~FakeHost();
  FakeHost(const FakeHost&) = delete;
  FakeHost& operator=(const FakeHost&) = delete;

  /// What create() is given; both live as long as this.
  const berth_host_v1* host() const { return &host_; }
  const berth_binder_v1* binder() const { return &binder_; }

  // Interned strings.
  /// The number of a text, made when it is new; 1 is the empty text.
  berth_id id(std::string_view text);
  /// Empty for 0 and for what is no id.
  std::string text(berth_id id) const;

  // Distinct lists -> set numbers, 0 for the empty list.
  std::uint32_t taint_set(const std::vector<berth_taint_v1>& v);
  std::uint32_t image_set(const std::vector<berth_image_v1>& v);
  std::uint32_t port_set(const std::vector<berth_host_port_v1>& v);
  std::uint32_t feature_set(const std::vector<berth_id>& v);
  std::uint32_t label_set(const std::vector<berth_label_v1>& v);
  std::uint32_t volume_set(const std::vector<berth_node_volume_v1>& v);

  /// The sentences behind an id that berth.reasons/1 made, joined with ", ".
  std::string made_reason(berth_reason reason) const;

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

  static std::uint32_t bind_column(void* ctx, std::uint32_t kind, berth_str key);
  static std::uint32_t bind_request(void* ctx, berth_str resource);
  static std::uint64_t bind_fields(void* ctx, std::uint64_t groups);
  static void bind_label(void* ctx, berth_str key);

  // Missing ones first, then those of the test, then those below.
  static const void* find_service(void* ctx, const char* id);
  static const void* built_in(std::string_view id);

  // Equal lists, equal ids, for as long as the fake lives.
  static berth_reason make_reason(void* ctx, const berth_str* texts, std::uint32_t count);

  static const berth_id* label_column(void* ctx, const berth_cycle_v1* cycle, berth_id key);
  // Gt and Lt are refused here, where the host knows them.
  static berth_code label_match(void* ctx, const berth_cycle_v1* cycle, const berth_requirement_v1* want,
                                std::uint64_t* out, std::uint64_t word_count);

  static berth_code write_bind(void* ctx, berth_str ns, berth_str name, berth_str uid, berth_str node_name,
                               berth_write_done_v1 done, void* arg);

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

#if !defined(BERTH_TESTKIT_COMPILED)
#include <berth/testkit/impl/host.ipp>
#endif
