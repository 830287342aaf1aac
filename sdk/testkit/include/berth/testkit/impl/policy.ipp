// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <berth/testkit/policy.hpp>

namespace berth::testkit {

BERTH_TESTKIT_INLINE Answer unresolvable(std::string reason) {
  return {.passes = false, .unresolvable = true, .reason = std::move(reason)};
}

BERTH_TESTKIT_INLINE std::string NoteRecord::text() const {
  return std::string(buffer_, std::min<std::size_t>(raw_.text_len, sizeof buffer_));
}

BERTH_TESTKIT_INLINE ObjectRecord::ObjectRecord(const ObjectSpec& spec, std::uint64_t version)
    : uid_(spec.name + "-uid") {
  for (const FieldText& value : spec.values)
    values_.push_back({0, value.text.empty() ? 0u : 1u, value.number, str(value.text)});
  raw_ = {sizeof raw_,   static_cast<std::uint32_t>(values_.size()), str(spec.ns), str(spec.name), str(uid_), version,
          values_.data()};
}

BERTH_TESTKIT_INLINE Policy::Policy(const berth_library_v1* library, std::string_view args_json,
                                    void (*prepare)(FakeHost&), std::uint32_t index)
    : plugin_(library->plugins[index]), args_(args_json) {
  if (prepare != nullptr) prepare(host_);
  NoteRecord note;
  const berth_code code = plugin_->create(host_.host(), host_.binder(), str(args_), &self_, note.raw());
  if (code != BERTH_OK) throw CallError({code, note.text()});
}

BERTH_TESTKIT_INLINE Policy::~Policy() {
  if (self_ != nullptr) plugin_->destroy(self_);
}

BERTH_TESTKIT_INLINE std::string Policy::sentence(berth_reason reason) const {
  return reason < plugin_->reason_count ? plugin_->reasons[reason].text : host_.made_reason(reason);
}

BERTH_TESTKIT_INLINE Outcome Policy::outcome(berth_code code, const NoteRecord& note) const {
  return {code, note.reason() != 0 ? sentence(note.reason()) : note.text()};
}

BERTH_TESTKIT_INLINE Outcome Policy::pre_enqueue(const PodSpec& spec) {
  PodRecord pod(host_, spec, BERTH_POD_IDENTITY | BERTH_POD_PLACEMENT);
  const berth_queue_pod_v1 queued{sizeof queued, 1, 0, pod.raw(), 0};
  NoteRecord note;
  return outcome(ops<berth_queue_ops_v1>("berth.queue/1")->pre_enqueue(self_, &queued, note.raw()), note);
}

BERTH_TESTKIT_INLINE std::vector<std::uint64_t> Policy::queue_key(const PodSpec& spec, std::int64_t enqueued_ns,
                                                                  std::int64_t first_attempt_ns) {
  PodRecord pod(host_, spec);
  const berth_queue_pod_v1 queued{sizeof queued, 1, enqueued_ns, pod.raw(), first_attempt_ns};
  const auto* queue = ops<berth_queue_ops_v1>("berth.queue/1");
  std::vector<std::uint64_t> key(queue->key_words);
  NoteRecord note;
  const berth_code code = queue->key(self_, &queued, key.data(), note.raw());
  if (code != BERTH_OK) throw CallError({code, note.text()});
  return key;
}

BERTH_TESTKIT_INLINE bool Policy::wakes(const EventSpec& event, const PodSpec& waiting) {
  const auto* requeue = ops<berth_requeue_ops_v1>("berth.requeue/1");
  if (requeue == nullptr) return true;
  for (std::uint32_t i = 0; i < requeue->interest_count; ++i) {
    const berth_interest_v1& interest = requeue->interests[i];
    if (interest.resource != event.kind || (interest.actions & event.actions) == 0 ||
        event.actions > interest.actions) {
      continue;
    }
    if (interest.hinted == 0 || requeue->hint == nullptr || ask_hint(*requeue, i, event, waiting)) return true;
  }
  return false;
}

BERTH_TESTKIT_INLINE NodeSpec Policy::empty_node(NodeSpec node) {
  node.requested.clear();
  node.nonzero.clear();
  node.pods = 0;
  return node;
}

BERTH_TESTKIT_INLINE bool Policy::ask_hint(const berth_requeue_ops_v1& requeue, std::uint32_t interest,
                                           const EventSpec& spec, const PodSpec& waiting) {
  constexpr std::uint32_t k_always = BERTH_POD_IDENTITY | BERTH_POD_PLACEMENT;
  std::vector<NodeSpec> old_nodes, new_nodes;
  if (spec.old_node) old_nodes.push_back(empty_node(*spec.old_node));
  if (spec.new_node) new_nodes.push_back(empty_node(*spec.new_node));
  PodRecord pod(host_, waiting, k_always);
  std::optional<BlockRecord> old_block, new_block;
  if (spec.old_node) old_block.emplace(host_, old_nodes, pod.raw(), std::vector<berth_slot>{BERTH_NO_SLOT});
  if (spec.new_node) new_block.emplace(host_, new_nodes, pod.raw(), std::vector<berth_slot>{BERTH_NO_SLOT});
  std::optional<PodRecord> old_pod, new_pod;
  if (spec.old_pod) old_pod.emplace(host_, *spec.old_pod, k_always);
  if (spec.new_pod) new_pod.emplace(host_, *spec.new_pod, k_always);
  std::optional<ObjectRecord> old_object, new_object;
  if (spec.old_object) old_object.emplace(*spec.old_object);
  if (spec.new_object) new_object.emplace(*spec.new_object);
  const berth_event_v1 event{sizeof event,
                             interest,
                             spec.kind,
                             spec.actions,
                             old_block ? old_block->raw() : nullptr,
                             new_block ? new_block->raw() : nullptr,
                             old_pod ? old_pod->raw() : nullptr,
                             new_pod ? new_pod->raw() : nullptr,
                             old_object ? old_object->raw() : nullptr,
                             new_object ? new_object->raw() : nullptr};
  const berth_pod_v1* pods[] = {pod.raw()};
  std::uint64_t queue = 0;
  NoteRecord note;
  return requeue.hint(self_, &event, pods, 1, &queue, note.raw()) != BERTH_OK || queue != 0;
}

BERTH_TESTKIT_INLINE Attempt::Attempt(Policy& policy, const PodSpec& pod, std::vector<NodeSpec> nodes)
    : policy_(policy), nodes_(std::move(nodes)), pod_(policy.host(), pod) {
  policy.host().labels_by_slot.clear();
  for (const NodeSpec& node : nodes_) policy.host().labels_by_slot.push_back(node.labels);
  snapshot_.emplace(policy.host(), nodes_);
  policy.host().snapshot_columns.assign(snapshot_->raw()->columns,
                                        snapshot_->raw()->columns + snapshot_->raw()->column_count);
  present_.assign((nodes_.size() + 63) / 64, 0);
  for (std::size_t slot = 0; slot < nodes_.size(); ++slot) present_[slot >> 6] |= std::uint64_t{1} << (slot & 63);
  cycle_.struct_size = sizeof cycle_;
  cycle_.cycle_id = 1;
  cycle_.pod = pod_.raw();
  cycle_.nodes = present_.data();
  cycle_.word_count = present_.size();
  cycle_.node_count = static_cast<std::uint32_t>(nodes_.size());
  cycle_.slot_count = static_cast<std::uint32_t>(nodes_.size());
}

BERTH_TESTKIT_INLINE Attempt::~Attempt() {
  const auto* prepare = policy_.ops<berth_prepare_ops_v1>("berth.prepare/1");
  if (cycle_.state != nullptr && prepare != nullptr) prepare->state_free(policy_.self(), cycle_.state);
}

BERTH_TESTKIT_INLINE Outcome Attempt::pre_filter() {
  candidates_ = present_;
  berth_prepare_out_v1 out{sizeof out, 0, candidates_.data(), candidates_.size()};
  NoteRecord note;
  const auto* prepare = policy_.ops<berth_prepare_ops_v1>("berth.prepare/1");
  const berth_code code = prepare->pre_filter(policy_.self(), &cycle_, &out, note.raw());
  narrowed_ = out.narrowed != 0;
  return policy_.outcome(code, note);
}

BERTH_TESTKIT_INLINE std::vector<std::string> Attempt::candidates() const {
  std::vector<std::string> names;
  for (std::size_t slot = 0; slot < nodes_.size(); ++slot) {
    if ((candidates_[slot >> 6] >> (slot & 63) & 1u) != 0) names.push_back(nodes_[slot].name);
  }
  return names;
}

BERTH_TESTKIT_INLINE Outcome Attempt::pre_score() {
  std::vector<berth_slot> slots;
  for (std::size_t slot = 0; slot < nodes_.size(); ++slot) slots.push_back(static_cast<berth_slot>(slot));
  NoteRecord note;
  const auto* prepare = policy_.ops<berth_prepare_ops_v1>("berth.prepare/1");
  return policy_.outcome(
      prepare->pre_score(policy_.self(), &cycle_, slots.data(), static_cast<std::uint32_t>(slots.size()), note.raw()),
      note);
}

BERTH_TESTKIT_INLINE std::vector<Answer> Attempt::filter() {
  const std::vector<Answer> answers = filter_block({});
  std::vector<Answer> reversed = filter_block(reversed_slots());
  std::reverse(reversed.begin(), reversed.end());
  if (reversed != answers) throw std::logic_error("filter answers differently in a gathered block");
  return answers;
}

BERTH_TESTKIT_INLINE std::vector<Detail> Attempt::filter_details() {
  BlockRecord block(policy_.host(), nodes_, pod_.raw(), {});
  std::vector<std::uint64_t> pass(block.candidates(), block.candidates() + block.words());
  std::vector<std::uint64_t> unresolvable(block.words());
  std::vector<berth_reason> reasons(block.words() * 64);
  RowTexts texts{block.raw(), {}, {}};
  std::vector<std::uint64_t> pending(block.words());
  berth_filter_out_v1 out{sizeof out,     0,      pass.data(),         unresolvable.data(),
                          reasons.data(), &texts, &RowTexts::fail_row, &RowTexts::add_detail,
                          pending.data()};
  cycle_.flags = BERTH_CYCLE_WANT_REASONS | BERTH_CYCLE_WANT_DETAILS;
  NoteRecord note;
  const auto* filter = policy_.ops<berth_filter_ops_v1>("berth.filter/1");
  const berth_code code = filter->filter(policy_.self(), &cycle_, block.raw(), &out, note.raw());
  cycle_.flags = 0;
  if (code != BERTH_OK) throw CallError({code, note.text()});
  return texts.details;
}

BERTH_TESTKIT_INLINE std::uint64_t Attempt::filter_budget_ns() const {
  const auto* filter = policy_.ops<berth_filter_ops_v1>("berth.filter/1");
  return BERTH_HAS(filter, budget_ns) && filter->budget_ns != nullptr ? filter->budget_ns(policy_.self()) : 0;
}

BERTH_TESTKIT_INLINE void Attempt::set_deadline_ns(std::uint64_t monotonic_ns) { cycle_.deadline_ns = monotonic_ns; }

BERTH_TESTKIT_INLINE std::vector<std::int64_t> Attempt::score() {
  const std::vector<std::int64_t> scores = score_block({});
  std::vector<std::int64_t> reversed = score_block(reversed_slots());
  std::reverse(reversed.begin(), reversed.end());
  if (reversed != scores) throw std::logic_error("score answers differently in a gathered block");
  return scores;
}

BERTH_TESTKIT_INLINE std::vector<std::int64_t> Attempt::normalized() {
  std::vector<std::int64_t> scores = score();
  const auto* ops = policy_.ops<berth_score_ops_v1>("berth.score/1");
  const std::uint32_t kind = ops->normalize_kind;
  if (kind == BERTH_NORM_CUSTOM) {
    std::vector<berth_slot> slots(nodes_.size());
    for (std::size_t slot = 0; slot < slots.size(); ++slot) slots[slot] = static_cast<berth_slot>(slot);
    NoteRecord note;
    const berth_code code = ops->normalize(policy_.self(), &cycle_, slots.data(), scores.data(),
                                           static_cast<std::uint32_t>(slots.size()), note.raw());
    if (code != BERTH_OK) throw CallError({code, note.text()});
  }
  std::int64_t most = 0;
  for (const std::int64_t s : scores) most = std::max(most, s);
  if ((kind == BERTH_NORM_MINMAX || kind == BERTH_NORM_MINMAX_INTEGER) && !scores.empty()) {
    const auto [least, greatest] = std::minmax_element(scores.begin(), scores.end());
    const std::int64_t low = *least, range = *greatest - *least;
    for (std::int64_t& s : scores) {
      s = range == 0 ? 0
          : kind == BERTH_NORM_MINMAX_INTEGER
              ? (s - low) * 100 / range
              : static_cast<std::int64_t>(100.0 * (static_cast<double>(s - low) / static_cast<double>(range)));
    }
  }
  for (std::int64_t& s : scores) {
    if (kind == BERTH_NORM_MAX && most != 0) s = 100 * s / most;
    if (kind == BERTH_NORM_MAX_REVERSED) s = most == 0 ? 100 : 100 - 100 * s / most;
  }
  return scores;
}

BERTH_TESTKIT_INLINE bool Attempt::RowTexts::is_candidate(std::uint32_t row) const {
  return row < block->rows && (block->candidates[row >> 6] >> (row & 63) & 1u) != 0;
}

BERTH_TESTKIT_INLINE berth_code Attempt::RowTexts::fail_row(void* ctx, std::uint32_t row, berth_str text) {
  auto& texts = *static_cast<RowTexts*>(ctx);
  if (!texts.is_candidate(row)) return BERTH_BAD_ARGS;
  texts.errors.try_emplace(row, text_of(text));
  return BERTH_OK;
}

BERTH_TESTKIT_INLINE berth_code Attempt::RowTexts::add_detail(void* ctx, std::uint32_t row, berth_str text,
                                                              std::uint64_t count) {
  auto& texts = *static_cast<RowTexts*>(ctx);
  if (!texts.is_candidate(row)) return BERTH_BAD_ARGS;
  texts.details.push_back({row, text_of(text), count});
  return BERTH_OK;
}

BERTH_TESTKIT_INLINE std::vector<berth_slot> Attempt::reversed_slots() const {
  std::vector<berth_slot> slots;
  for (std::size_t i = nodes_.size(); i != 0; --i) slots.push_back(static_cast<berth_slot>(i - 1));
  return slots;
}

BERTH_TESTKIT_INLINE std::vector<Answer> Attempt::filter_block(std::vector<berth_slot> slots) {
  BlockRecord block(policy_.host(), nodes_, pod_.raw(), std::move(slots));
  const std::uint32_t rows = block.raw()->rows;
  std::vector<std::uint64_t> pass(block.candidates(), block.candidates() + block.words());
  std::vector<std::uint64_t> unresolvable(block.words());
  std::vector<berth_reason> reasons(block.words() * 64);
  RowTexts texts{block.raw(), {}, {}};
  std::vector<std::uint64_t> pending(block.words()), pending_again(block.words());
  berth_filter_out_v1 out{sizeof out,          0,       pass.data(),   unresolvable.data(), reasons.data(), &texts,
                          &RowTexts::fail_row, nullptr, pending.data()};
  cycle_.flags = BERTH_CYCLE_WANT_REASONS;
  NoteRecord note;
  const auto* filter = policy_.ops<berth_filter_ops_v1>("berth.filter/1");
  const berth_code code = filter->filter(policy_.self(), &cycle_, block.raw(), &out, note.raw());
  if (code != BERTH_OK) throw CallError({code, note.text()});
  if (out.flags != 0) throw std::logic_error("filter set the reserved flags of its answer");
  // The pass without reasons must agree.
  std::vector<std::uint64_t> again(block.candidates(), block.candidates() + block.words());
  std::vector<std::uint64_t> unresolvable_again(block.words());
  RowTexts texts_again{block.raw(), {}, {}};
  berth_filter_out_v1 silent{
      sizeof silent,       0,       again.data(),        unresolvable_again.data(), nullptr, &texts_again,
      &RowTexts::fail_row, nullptr, pending_again.data()};
  cycle_.flags = 0;
  if (filter->filter(policy_.self(), &cycle_, block.raw(), &silent, note.raw()) != BERTH_OK || again != pass ||
      unresolvable_again != unresolvable || pending_again != pending || texts_again.errors != texts.errors) {
    throw std::logic_error("filter answers differently without reasons");
  }
  std::vector<Answer> answers;
  for (std::uint32_t row = 0; row < rows; ++row) {
    const auto bit = [row](const std::vector<std::uint64_t>& words) {
      return (words[row >> 6] >> (row & 63) & 1u) != 0;
    };
    if (const auto error = texts.errors.find(row); error != texts.errors.end())
      answers.push_back(failed(error->second));
    else
      answers.push_back({.passes = bit(pass),
                         .unresolvable = bit(unresolvable),
                         .reason = policy_.sentence(reasons[row]),
                         .pending = bit(pending)});
  }
  return answers;
}

BERTH_TESTKIT_INLINE std::vector<std::int64_t> Attempt::score_block(std::vector<berth_slot> slots) {
  BlockRecord block(policy_.host(), nodes_, pod_.raw(), std::move(slots));
  std::vector<std::int64_t> raw(block.words() * 64, -1);
  NoteRecord note;
  const auto* score = policy_.ops<berth_score_ops_v1>("berth.score/1");
  const berth_code code = score->score(policy_.self(), &cycle_, block.raw(), raw.data(), note.raw());
  if (code != BERTH_OK) throw CallError({code, note.text()});
  raw.resize(block.raw()->rows);
  return raw;
}

BERTH_TESTKIT_INLINE ObjectRecord::~ObjectRecord() = default;

}  // namespace berth::testkit
