// SPDX-License-Identifier: Apache-2.0
// GpuShare: pods share the cards of a node, each within the memory of one card.
//
// Assumes: cards of a node are of one size; a pod uses one card; other components that put such pods on nodes write the card
// down as well. Decides: a node fits if one of its cards has the memory free; the card and the node on which the least
// is left over are the best. Ties: the card of the lowest number; nodes as everywhere.
#include <berth/plugin.hpp>

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "bookings.hpp"
#include "card_table.hpp"

namespace gpushare {
namespace {

constexpr std::int64_t k_full_score = 100;
// Nodes that look as they did are read again all the same, so many in each attempt.
constexpr std::uint32_t k_reread = 2;

/// One attempt: what is asked for, and which pods are imagined to have come or gone.
struct State {
  struct Change {
    berth::Slot slot;
    std::optional<std::uint32_t> card;  // none: unknown, so every card
    std::int64_t amount;
  };
  std::int64_t wanted = 0;
  std::vector<Change> changes;
};

class GpuShare {
 public:
  static constexpr berth::Identity identity{
      .name = "GpuShare", .version = "1.0.0", .summary = "Lets pods share GPUs, each within the memory of one card."};
  static constexpr const char args_schema[] = R"json({
    "type": "object",
    "additionalProperties": false,
    "properties": {
      "memoryResource": {
        "type": "string", "default": "example.com/gpu-mem",
        "description": "Resource that pods ask for and of which a node has the sum of its cards."
      },
      "cardsResource": {
        "type": "string", "default": "example.com/gpu-count",
        "description": "Resource of which a node has as many as it has cards."
      },
      "cardAnnotation": {
        "type": "string", "default": "example.com/gpu-card",
        "description": "Annotation of a pod that names its card, from 0."
      }
    }
  })json";
  static constexpr berth::ReasonText reasons[] = {{"node(s) had no GPU to share", "NoGpu"},
                                                  {"node(s) had no card with enough free GPU memory", "NoCardFits"}};
  static constexpr const char* services[] = {berth::Intern::id, berth::NodeColumns::id, berth::DryRun::id,
                                             berth::Writes::id};
  static constexpr const char* rbac[] = {"patch core/pods"};
  static constexpr berth::Interest interests[] = {
      berth::hinted(BERTH_KIND_POD, BERTH_ACTION_DELETE),
      berth::always(BERTH_KIND_NODE, BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_NODE_ALLOCATABLE)};
  using State = gpushare::State;

  explicit GpuShare(berth::Setup& setup)
      : intern_(setup.service<berth::Intern>()),
        columns_(setup.service<berth::NodeColumns>()),
        nodes_(setup.service<berth::DryRun>()),
        writes_(setup.service<berth::Writes>()) {
    const berth::Json args = setup.args();
    const auto text = [&](const char* key, const char* fallback) {
      return args.is_null() ? std::string(fallback) : std::string(args[key].string(key));
    };
    const std::string memory = text("memoryResource", "example.com/gpu-mem");
    const std::string cards = text("cardsResource", "example.com/gpu-count");
    annotation_text_ = text("cardAnnotation", "example.com/gpu-card");
    if (annotation_text_.find_first_of("\"\\") != std::string::npos)
      throw berth::BadArgs("cardAnnotation: " + annotation_text_ + " is no key of an annotation");
    annotation_ = intern_(annotation_text_);
    wanted_ = setup.request(memory);
    memory_ = setup.allocatable(memory);
    requested_ = setup.requested(memory);
    cards_ = setup.allocatable(cards);
    pods_ = setup.pods();
    names_ = setup.name();
    setup.pod_fields(BERTH_POD_REQUESTS | BERTH_POD_ANNOTATIONS | BERTH_POD_IDENTITY | BERTH_POD_NAMESPACE);
  }

  berth::Verdict pre_filter(const berth::Cycle& cycle, berth::PreFilter<State>& out) {
    const std::int64_t wanted = cycle.request(wanted_);
    if (wanted <= 0) return berth::Verdict::skip();
    refresh(cycle);
    out.make().wanted = wanted;
    return berth::Verdict::ok();
  }
  berth::Verdict pod_added(const berth::Cycle& cycle, berth::Pod other, berth::Slot node) const {
    imagine(cycle, other, node, other.request(wanted_));
    return berth::Verdict::ok();
  }
  berth::Verdict pod_removed(const berth::Cycle& cycle, berth::Pod other, berth::Slot node) const {
    imagine(cycle, other, node, -other.request(wanted_));
    return berth::Verdict::ok();
  }

  void filter(const berth::Cycle& cycle, berth::FilterBlock& block) const {
    const State* const state = counted(cycle);
    if (state == nullptr) return;
    const std::vector<std::int64_t>& most_free = table_.most_free();
    block.each_candidate([&](std::uint32_t row) {
      const berth::Slot slot = block.slot(row);
      if (slot >= most_free.size() || table_.card_count(slot) == 0)
        block.reject_row(row, berth::unresolvable(1));
      else if ((state->changes.empty() ? most_free[slot] : imagined_free(*state, slot)) < state->wanted)
        block.reject_row(row, berth::unschedulable(2));
    });
  }

  berth::Verdict pre_score(const berth::Cycle& cycle, berth::PreScore<State>&) const {
    return cycle.request(wanted_) > 0 ? berth::Verdict::ok() : berth::Verdict::skip();
  }
  void score(const berth::Cycle& cycle, berth::ScoreBlock& block) const {
    const State* const state = counted(cycle);
    block.each_candidate([&](std::uint32_t row) {
      const berth::Slot slot = block.slot(row);
      const bool known = state != nullptr && slot < table_.most_free().size() && table_.card_size(slot) > 0;
      block(row) =
          known ? k_full_score - table_.left_over(slot, state->wanted) * k_full_score / table_.card_size(slot) : 0;
    });
  }

  berth::Verdict reserve(const berth::Cycle& cycle, berth::Slot slot) {
    const std::int64_t wanted = cycle.request(wanted_);
    if (counted(cycle) == nullptr) return berth::Verdict::ok();
    read(cycle, slot);
    const std::optional<std::uint32_t> card = table_.best_fit(slot, wanted);
    if (!card) return berth::Verdict::unschedulable(berth::Reason{2});
    bookings_.put(cycle.pod().uid(), *card);
    table_.use(slot, *card, wanted);
    // What the node will look like with this pod: if it does, there is nothing to read.
    seen_[slot].requested += wanted;
    ++seen_[slot].pods;
    return berth::Verdict::ok();
  }
  void unreserve(const berth::Cycle& cycle, berth::Slot) { bookings_.erase(cycle.pod().uid()); }

  berth::Verdict pre_bind_check(const berth::Cycle& cycle, berth::Slot, berth::PreBindFlags& flags) const {
    flags.parallel();
    return cycle.request(wanted_) > 0 ? berth::Verdict::ok() : berth::Verdict::skip();
  }
  berth::Verdict pre_bind(const berth::Cycle& cycle, berth::BindCall call) const {
    const berth::Pod pod = cycle.pod();
    const std::optional<std::uint32_t> card = bookings_.find(pod.uid());
    if (!card) return berth::Verdict::error("the pod has no card");
    const std::string patch =
        R"({"metadata":{"annotations":{")" + annotation_text_ + R"(":")" + std::to_string(*card) + R"("}}})";
    switch (writes_.patch_pod_metadata(intern_.text(pod.ns()), pod.name(), pod.uid(), patch, &written, call.raw())) {
      case BERTH_OK:
        return berth::Verdict::async();
      case BERTH_DENIED:
        return berth::Verdict::error("the host does not let this plugin annotate pods");
      default:
        return berth::Verdict::error("the host did not accept the annotation");
    }
  }

  void post_bind(const berth::Cycle& cycle, std::string_view) {
    if (cycle.request(wanted_) > 0) bookings_.bound(cycle.pod().uid());
  }

  bool hint(const berth::Event& event, berth::Pod) const {
    return event.about_pod() && event.old_pod() && event.old_pod()->request(wanted_) > 0;
  }

 private:
  /// What a node looked like when its cards were counted.
  struct Seen {
    berth::Id name = 0;
    std::int64_t memory = 0, cards = 0, requested = 0, pods = -1;
    bool settled = false;  // every pod on it says which card it has
    bool operator==(const Seen&) const = default;
  };

  /// What preFilter left; null when the pod asks for no card. Throws Failure when a profile leaves preFilter out: the
  /// cards were not counted then.
  const State* counted(const berth::Cycle& cycle) const {
    const State* const state = cycle.state<State>();
    if (state == nullptr && cycle.request(wanted_) > 0)
      throw berth::Failure(R"(error reading "PreFilterGpuShare" from cycleState: not found)");
    return state;
  }

  static void written(void* call, berth_code code, berth_str text) {
    berth::BindCall(static_cast<berth_bind_call_v1*>(call))
        .complete(code == BERTH_OK ? static_cast<berth_code>(BERTH_OK) : static_cast<berth_code>(BERTH_ERROR),
                  berth::view(text));
  }

  std::optional<std::uint32_t> annotated_card(berth::Pod pod) const {
    for (const berth::Label& annotation : pod.annotations()) {
      if (annotation.key != annotation_) continue;
      const std::string_view text = intern_.text(annotation.value);
      std::uint32_t card = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), card);
      if (error == std::errc() && end == text.data() + text.size()) return card;
    }
    return std::nullopt;
  }
  std::optional<std::uint32_t> card_of(berth::Pod pod) const {
    if (const auto card = bookings_.find(pod.uid())) return card;
    return annotated_card(pod);
  }

  /// Counts the cards of nodes that look different from before.
  void refresh(const berth::Cycle& cycle) {
    const std::size_t slots = cycle.slot_count();
    table_.resize(slots);
    seen_.resize(slots);
    memory_by_slot_ = columns_.column(cycle, memory_);
    cards_by_slot_ = columns_.column(cycle, cards_);
    requested_by_slot_ = columns_.column(cycle, requested_);
    pods_by_slot_ = columns_.column(cycle, pods_);
    names_by_slot_ = columns_.column(cycle, names_);
    for (std::size_t slot = 0; slot < slots; ++slot) {
      const Seen& seen = seen_[slot];
      if (!seen.settled || seen.requested != requested_by_slot_[slot] || seen.pods != pods_by_slot_[slot] ||
          seen.memory != memory_by_slot_[slot] || seen.cards != cards_by_slot_[slot] ||
          seen.name != names_by_slot_[slot])
        read(cycle, static_cast<berth::Slot>(slot));
    }
    for (std::uint32_t i = 0; i < k_reread && slots != 0; ++i) read(cycle, static_cast<berth::Slot>(next_++ % slots));
  }

  void read(const berth::Cycle& cycle, berth::Slot slot) {
    table_.start(slot, memory_by_slot_[slot], cards_by_slot_[slot]);
    Seen& seen = seen_[slot];
    seen = {names_by_slot_[slot],     memory_by_slot_[slot], cards_by_slot_[slot],
            requested_by_slot_[slot], pods_by_slot_[slot],   true};
    if (seen.cards == 0) return;
    nodes_.pods_on(cycle, slot, [&](berth::Pod pod) {
      const std::int64_t amount = pod.request(wanted_);
      if (amount <= 0) return;
      const std::optional<std::uint32_t> annotated = annotated_card(pod);
      const std::optional<std::uint32_t> card = card_of(pod);
      // The pod says it by itself now.
      if (annotated && card == annotated) bookings_.erase(pod.uid());
      if (card)
        table_.use(slot, *card, amount);
      else
        table_.use_every_card(slot, amount);
      seen.settled = seen.settled && card.has_value();
    });
  }

  void imagine(const berth::Cycle& cycle, berth::Pod other, berth::Slot node, std::int64_t amount) const {
    if (State* const state = cycle.state<State>(); state != nullptr && amount != 0)
      state->changes.push_back({node, card_of(other), amount});
  }
  /// Of the emptiest card, with the changes.
  std::int64_t imagined_free(const State& state, berth::Slot slot) const {
    std::int64_t most = CardTable::k_none;
    for (std::uint32_t card = 0; card < table_.card_count(slot); ++card) {
      std::int64_t free = table_.free(slot, card);
      for (const State::Change& change : state.changes)
        if (change.slot == slot && (!change.card || *change.card == card)) free -= change.amount;
      most = std::max(most, free);
    }
    return most;
  }

  berth::Intern intern_;
  berth::NodeColumns columns_;
  berth::DryRun nodes_;
  berth::Writes writes_;
  std::string annotation_text_;
  berth::Id annotation_ = 0;
  berth::Request wanted_;
  berth::IntColumn memory_, requested_, cards_, pods_;
  berth::IdColumn names_;

  // Of the scheduling thread; filter and score only read.
  CardTable table_;
  std::vector<Seen> seen_;                        // by slot
  std::uint64_t next_ = 0;                        // node to read again, whatever it looks like
  const std::int64_t* memory_by_slot_ = nullptr;  // of the attempt at hand
  const std::int64_t* cards_by_slot_ = nullptr;
  const std::int64_t* requested_by_slot_ = nullptr;
  const std::int64_t* pods_by_slot_ = nullptr;
  const berth::Id* names_by_slot_ = nullptr;

  Bookings bookings_;
};

}  // namespace
}  // namespace gpushare

BERTH_PLUGIN(gpushare::GpuShare)
