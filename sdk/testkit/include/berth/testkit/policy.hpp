// SPDX-License-Identifier: Apache-2.0
/// Policy: a policy created over a FakeHost. Attempt: one pod against some nodes, point by point, through the C
/// functions.
///
///   Policy policy(entry());
///   Attempt attempt(policy, {.tolerations = {...}}, {{.name = "a"}, {.name = "b", .unschedulable = true}});
///   EXPECT_EQ(attempt.filter()[1].reason, "node(s) were unschedulable");
///
/// filter() and score() ask twice, contiguous and gathered in reverse, and throw when the answers differ.
///
/// Lifetime: a Policy outlives its Attempts; both own the texts and arrays that they show to the policy.
/// Threads:  one. Errors: CallError for a code that the caller cannot use, std::logic_error for answers that contradict each other.
/// Source:   the ops tables of sdk/include/berth/ext: functions are called as the host calls them, without its checks and limits.
#pragma once
#include <berth/testkit/nodes.hpp>

#include <ostream>

namespace berth::testkit {

/// What a call returned, with the note as text: the reason's sentence or the free text.
struct Outcome {
  berth_code code = BERTH_OK;  ///< BERTH_*
  std::string text = {};
  friend bool operator==(const Outcome& a, const Outcome& b) { return a.code == b.code && a.text == b.text; }
  friend std::ostream& operator<<(std::ostream& out, const Outcome& o) {
    return out << o.code << " \"" << o.text << '"';
  }
};

/// What a filter said about one node.
/// One row of a block; the functions below make one for a comparison.
struct Answer {
  bool passes = true;
  bool unresolvable = false;
  std::string reason = {};
  std::string error = {};  // of fail_row; the rest is as at the start then
  bool pending = false;    // rejected for now only
  friend bool operator==(const Answer& a, const Answer& b) {
    return a.passes == b.passes && a.unresolvable == b.unresolvable && a.reason == b.reason && a.error == b.error &&
           a.pending == b.pending;
  }
  friend std::ostream& operator<<(std::ostream& out, const Answer& a) {
    if (!a.error.empty()) return out << "error: " << a.error;
    if (a.passes) return out << "passes";
    return out << (a.pending ? "pending: " : a.unresolvable ? "unresolvable: " : "unschedulable: ") << a.reason;
  }
};
/// What a filter said about a rejected node beyond its reason.
struct Detail {
  std::uint32_t row = 0;
  std::string text;
  std::uint64_t count = 0;
  friend bool operator==(const Detail& a, const Detail& b) {
    return a.row == b.row && a.text == b.text && a.count == b.count;
  }
  friend std::ostream& operator<<(std::ostream& out, const Detail& d) {
    return out << "row " << d.row << ": " << d.count << " × " << d.text;
  }
};
// reason: the sentence, as the policy's table or berth.reasons/1 has it.
inline Answer passes() { return {}; }
inline Answer failed(std::string error) { return {.error = std::move(error)}; }
inline Answer unschedulable(std::string reason) { return {.passes = false, .reason = std::move(reason)}; }
Answer unresolvable(std::string reason);
inline Answer pending(std::string reason) { return {.passes = false, .reason = std::move(reason), .pending = true}; }

/// A call that did not answer OK, where the caller can use nothing else. what() is the note's text.
class CallError : public std::runtime_error {
 public:
  explicit CallError(Outcome what) : std::runtime_error(what.text), outcome(std::move(what)) {}
  Outcome outcome;
};

/// A note with room for 1,024 bytes.
class NoteRecord {
 public:
  berth_note_v1* raw() { return &raw_; }
  std::string text() const;
  berth_reason reason() const { return raw_.reason; }

 private:
  char buffer_[1024] = {};
  berth_note_v1 raw_{sizeof(berth_note_v1), 0, buffer_, sizeof buffer_, 0};
};

/// An object as a watch shows it: one value per field.
struct FieldText {
  FieldText(const char* value) : text(value) {}                                  // NOLINT: as short as a string
  FieldText(std::string value) : text(std::move(value)) {}                       // NOLINT
  FieldText(std::int64_t value) : text(std::to_string(value)), number(value) {}  // NOLINT: quantities, booleans
  std::string text;                                                              ///< empty: absent
  std::int64_t number = 0;
};
struct ObjectSpec {
  std::string ns = {};
  std::string name = {};
  std::vector<FieldText> values = {};
};
/// Shows it in ABI shape for as long as both live.
class ObjectRecord {
 public:
  explicit ObjectRecord(const ObjectSpec& spec, std::uint64_t version = 1);
  ~ObjectRecord();
  ObjectRecord(const ObjectRecord&) = delete;
  ObjectRecord& operator=(const ObjectRecord&) = delete;
  const berth_object_v1* raw() const { return &raw_; }

 private:
  std::string uid_;
  std::vector<berth_value_v1> values_;
  berth_object_v1 raw_{};
};

/// What happened, for Policy::wakes(). Nodes, pods and objects are absent where they did not exist before, or do not
/// after.
struct EventSpec {
  std::uint32_t kind = BERTH_KIND_NODE;
  std::uint32_t actions = BERTH_ACTION_ADD;
  std::optional<NodeSpec> old_node = {};
  std::optional<NodeSpec> new_node = {};
  std::optional<PodSpec> old_pod = {};
  std::optional<PodSpec> new_pod = {};
  std::optional<ObjectSpec> old_object = {};
  std::optional<ObjectSpec> new_object = {};
};

/// One instance: created by the constructor, destroyed at the end. Owns its host.
class Policy {
 public:
  /// Throws CallError when create() refuses. `prepare` runs before: missing_* and extra_services of the host are set
  /// there. args_json is passed as it is, without schema and defaults. index: which plugin of the library.
  explicit Policy(const berth_library_v1* library, std::string_view args_json = {},
                  void (*prepare)(FakeHost&) = nullptr, std::uint32_t index = 0);
  ~Policy();
  Policy(const Policy&) = delete;
  Policy& operator=(const Policy&) = delete;

  /// What the policy asked for, logged and wrote.
  FakeHost& host() { return host_; }
  const berth_plugin_v1& plugin() const { return *plugin_; }
  /// For calls of the C functions that have no function here.
  void* self() const { return self_; }

  /// The ops table of a point, nullptr when the policy does not offer it.
  template <class Ops>
  const Ops* ops(std::string_view id) const {
    for (std::uint32_t i = 0; i < plugin_->point_count; ++i) {
      if (plugin_->points[i].id == id) return static_cast<const Ops*>(plugin_->points[i].ops);
    }
    return nullptr;
  }
  /// Of the policy's table, or made by berth.reasons/1; empty for 0.
  std::string sentence(berth_reason reason) const;
  /// The code with what the note says.
  Outcome outcome(berth_code code, const NoteRecord& note) const;

  /// Requires: berth.queue/1 with pre_enqueue.
  Outcome pre_enqueue(const PodSpec& spec);
  /// key_words words. Times are nanoseconds of the wall clock. Throws CallError. Requires: berth.queue/1 with key.
  std::vector<std::uint64_t> queue_key(const PodSpec& spec, std::int64_t enqueued_ns,
                                       std::int64_t first_attempt_ns = 0);
  /// Would this event wake the waiting pod? Applies the host's matching of interests, then asks the hint where there is
  /// one.
  bool wakes(const EventSpec& event, const PodSpec& waiting);

 private:
  /// In events nodes carry no pods.
  static NodeSpec empty_node(NodeSpec node);
  bool ask_hint(const berth_requeue_ops_v1& requeue, std::uint32_t interest, const EventSpec& spec,
                const PodSpec& waiting);

  FakeHost host_;
  const berth_plugin_v1* plugin_;
  std::string args_;
  void* self_ = nullptr;
};

/// A snapshot of the given nodes, slot i the i-th, and one cycle about the pod. Frees the policy's state at the end.
class Attempt {
 public:
  /// The host's labels and snapshot columns are those of this attempt until the next one is made.
  Attempt(Policy& policy, const PodSpec& pod, std::vector<NodeSpec> nodes);
  ~Attempt();
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  /// For calls of other points, with the state that earlier ones left.
  berth_cycle_v1* cycle() { return &cycle_; }
  const std::vector<NodeSpec>& nodes() const { return nodes_; }

  /// Requires: berth.prepare/1 with pre_filter.
  Outcome pre_filter();
  /// Whether pre_filter narrowed the candidates, even if to all.
  bool narrowed() const { return narrowed_; }
  /// Names of the nodes that pre_filter left, in slot order.
  std::vector<std::string> candidates() const;
  /// With all nodes as feasible ones, whatever filter says. Requires: berth.prepare/1 with pre_score.
  Outcome pre_score();
  /// One answer per node. Throws CallError when filter returns anything but OK.
  std::vector<Answer> filter();
  /// What the filter says beyond reasons, in the order in which it says it.
  std::vector<Detail> filter_details();
  /// What the policy's filter may take in an attempt; 0: as long as it wants.
  std::uint64_t filter_budget_ns() const;
  /// The deadline that filter sees from here on, as the host sets it for a policy with a budget; 0: none.
  void set_deadline_ns(std::uint64_t monotonic_ns);
  /// One raw score per node.
  std::vector<std::int64_t> score();
  /// Scores after the normalisation that the policy declares, its own included.
  std::vector<std::int64_t> normalized();

 private:
  /// What a filter says about single rows.
  struct RowTexts {
    const berth_node_block_v1* block;
    std::map<std::uint32_t, std::string> errors;
    std::vector<Detail> details;

    bool is_candidate(std::uint32_t row) const;
    static berth_code fail_row(void* ctx, std::uint32_t row, berth_str text);
    static berth_code add_detail(void* ctx, std::uint32_t row, berth_str text, std::uint64_t count);
  };
  std::vector<berth_slot> reversed_slots() const;
  std::vector<Answer> filter_block(std::vector<berth_slot> slots);
  std::vector<std::int64_t> score_block(std::vector<berth_slot> slots);

  Policy& policy_;
  std::vector<NodeSpec> nodes_;
  PodRecord pod_;
  std::optional<BlockRecord> snapshot_;
  std::vector<std::uint64_t> present_;
  std::vector<std::uint64_t> candidates_;
  bool narrowed_ = false;
  berth_cycle_v1 cycle_{};
};

}  // namespace berth::testkit

#if defined(BERTH_TESTED_ENTRY)
extern "C" const berth_library_v1* BERTH_TESTED_ENTRY(void);
namespace berth::testkit {
/// The library that berth_add_plugin(… TESTS …) linked into this program.
inline const berth_library_v1* tested_library() { return BERTH_TESTED_ENTRY(); }
}  // namespace berth::testkit
#endif

#if !defined(BERTH_TESTKIT_COMPILED)
#include <berth/testkit/impl/policy.ipp>
#endif
