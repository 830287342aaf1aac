// SPDX-License-Identifier: Apache-2.0
#include "isolation/isolated_plugin.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "framework/view/pod_view.hpp"
#include "isolation/packed.hpp"
#include "isolation/pod_copy.hpp"
#include "isolation/turns.hpp"
#include "observe/log.hpp"

namespace berth::isolation {
namespace {

constexpr std::int64_t k_millisecond_ns = 1'000'000, k_second_ns = 1'000'000'000;
constexpr std::int64_t k_first_create_ns = 20 * k_second_ns;  // nothing is scheduled yet
constexpr std::int64_t k_again_least_ns = k_second_ns, k_again_most_ns = 60 * k_second_ns;
constexpr std::int64_t k_steady_ns = 60 * k_second_ns;  // up for so long, its next failure is a first one
/// What no score is beyond: products with the highest weight and score stay numbers.
constexpr std::int64_t k_raw_most = std::int64_t{1} << 48;

berth_code say(berth_note_v1* note, std::string_view text) noexcept {
  if (note != nullptr && note->text != nullptr) {
    std::copy_n(text.data(), std::min<std::uint64_t>(text.size(), note->text_cap), note->text);
    note->text_len = text.size();
  }
  return BERTH_ERROR;
}

const char* name_of(Op op) noexcept {
  switch (op) {
    case Op::create:
      return "create";
    case Op::pre_filter:
      return "pre_filter";
    case Op::pre_score:
      return "pre_score";
    case Op::filter:
      return "filter";
    case Op::score:
      return "score";
    case Op::normalize:
      return "normalize";
    case Op::state_clone:
      return "state_clone";
    case Op::free_states:
      return "state_free";
    case Op::pod_added:
      return "pod_added";
    case Op::pod_removed:
      return "pod_removed";
    case Op::hint:
      return "hint";
    case Op::answer:
      break;
  }
  return "";
}

std::span<const std::byte> trap_of(const framework::PluginInstance& plugin) {
  if (!plugin.fields().is_trapped) return {};
  const framework::PodTrap trap = framework::pod_trap();
  return {static_cast<const std::byte*>(trap.begin), trap.bytes};
}

template <typename T>
T* pointer(std::uint64_t address) noexcept {
  return reinterpret_cast<T*>(static_cast<std::uintptr_t>(address));  // NOLINT: of the other process
}

}  // namespace

// --- the process -----------------------------------------------------------------------------------------------------

IsolatedPlugin::IsolatedPlugin(framework::PluginInstance& instance, const ProxyPlugin& proxy, const berth_host_v1& host,
                               std::string args)
    : instance_(instance), proxy_(proxy), library_(*proxy.library), host_(host), args_(std::move(args)) {}

IsolatedPlugin::~IsolatedPlugin() {
  const Lock lock(mutex_);
  give_back_pins();
}

berth_code IsolatedPlugin::create(const berth_host_v1* host, const berth_binder_v1* binder, berth_str args_json,
                                  void** self, berth_note_v1* note) {
  auto& instance = *static_cast<framework::PluginInstance*>(host->ctx);
  const auto& proxy = static_cast<const ProxyPlugin&>(instance.descriptor());
  std::unique_ptr<IsolatedPlugin> made(new IsolatedPlugin(
      instance, proxy, *host, args_json.ptr == nullptr ? std::string() : std::string(args_json.ptr, args_json.len)));
  if (const berth_code code = made->start(binder, note); code != BERTH_OK) return code;
  *self = made.release();
  return BERTH_OK;
}

berth_code IsolatedPlugin::start(const berth_binder_v1* binder, berth_note_v1* note) {
  const Lock lock(mutex_);
  binder_ = binder;
  const bool is_started = begin(note) && finish_start(now_ns() + library_.limits().load_ns, note);
  binder_ = nullptr;
  if (is_started) return BERTH_OK;
  if (phase_ == Phase::up) return reply_.code;  // create() refuses, and says why
  return say(note, failure_);
}

std::string IsolatedPlugin::when_again() const {
  const std::int64_t left_ns = again_at_ns_ - instance_.host().ports.clock.monotonic_ns();
  if (left_ns <= 0) return "started again at the next call";
  return fmt::format("started again in {}s", (left_ns + k_second_ns - 1) / k_second_ns);
}

berth_code IsolatedPlugin::fail(std::string what, berth_note_v1* note) {
  const std::int64_t now = instance_.host().ports.clock.monotonic_ns();
  if (phase_ == Phase::up && now - up_since_ns_ >= k_steady_ns) again_after_ns_ = 0;
  again_after_ns_ = std::clamp(2 * again_after_ns_, k_again_least_ns, k_again_most_ns);
  again_at_ns_ = now + again_after_ns_;
  child_.reset();
  phase_ = Phase::down;
  ++generation_;
  ++failures_;
  given_back_.clear();
  give_back_pins();
  failure_ = std::move(what);
  observe::error("The process of an isolated plugin failed", {{"plugin", instance_.name()},
                                                              {"profile", instance_.profile()},
                                                              {"reason", failure_},
                                                              {"againAfterSeconds", again_after_ns_ / k_second_ns}});
  return say(note, fmt::format("{}; {}", failure_, when_again()));
}

bool IsolatedPlugin::begin(berth_note_v1* note) {
  Result<std::unique_ptr<ChildProcess>> begun = ChildProcess::begin(library_.starter());
  if (!begun.ok()) {
    fail(begun.error().message, note);
    return false;
  }
  child_ = std::move(*begun);
  mirror_.reset();
  began_ns_ = now_ns();
  phase_ = Phase::loading;
  return true;
}

bool IsolatedPlugin::finish_start(std::int64_t until_ns, berth_note_v1* note) {
  const std::int64_t load_until_ns = began_ns_ + library_.limits().load_ns;
  switch (child_->await(std::min(until_ns, load_until_ns))) {
    case ChildProcess::Outcome::replied:
      break;
    case ChildProcess::Outcome::late:
      if (now_ns() < load_until_ns) {
        say(note, "its process is being started");
        return false;
      }
      fail(fmt::format("its process has not loaded it within {} ms", library_.limits().load_ns / k_millisecond_ns),
           note);
      return false;
    case ChildProcess::Outcome::ended:
      fail(fmt::format("its process ended with {} while it was loaded", child_->end()), note);
      return false;
    case ChildProcess::Outcome::garbled:
      fail("its process gave no answer that can be right while it was loaded", note);
      return false;
  }
  const Reply described = copy_once(child_->region().reply);
  if (described.code != BERTH_OK) {
    std::string why(std::min<std::uint64_t>(described.note_bytes, k_note_bytes), '\0');
    copy_once(why.data(), child_->region().note, why.size());
    fail("its process could not load it: " + why, note);
    return false;
  }
  phase_ = Phase::up;
  up_since_ns_ = instance_.host().ports.clock.monotonic_ns();
  PackedWriter out(child_->region().answered);
  out.text(instance_.name());
  out.text({host_.product.ptr, host_.product.len});
  out.text(args_);
  if (out.is_full()) {
    fail("its args are too long for another process", note);
    return false;
  }
  request().bytes = static_cast<std::uint32_t>(out.size());
  request().score_max = host_.score_max;
  is_creating_ = true;
  asked_again_.clear();
  const std::int64_t limit_ns = library_.limits().call_ns;
  const berth_code code = run(Op::create, note, binder_ != nullptr ? std::max(limit_ns, k_first_create_ns) : limit_ns);
  is_creating_ = false;
  if (code != BERTH_OK) {
    if (phase_ == Phase::up && binder_ == nullptr) fail("create() refuses, as it did not at first", note);
    return false;
  }
  if (binder_ != nullptr)
    budget_ns_ = reply_.value;
  else
    ++restarts_;
  return true;
}

bool IsolatedPlugin::is_up(berth_note_v1* note) {
  if (phase_ == Phase::up) return true;
  if (phase_ == Phase::down) {
    if (instance_.host().ports.clock.monotonic_ns() < again_at_ns_) {
      say(note, fmt::format("{}; {}", failure_, when_again()));
      return false;
    }
    if (!begin(note)) return false;
  }
  if (!finish_start(now_ns() + library_.limits().call_ns, note)) return false;
  observe::info("The process of an isolated plugin runs again",
                {{"plugin", instance_.name()}, {"profile", instance_.profile()}, {"process", child_->process()}});
  return true;
}

berth_code IsolatedPlugin::run(Op op, berth_note_v1* note) { return run(op, note, library_.limits().call_ns); }

berth_code IsolatedPlugin::run(Op op, berth_note_v1* note, std::int64_t limit_ns) {
  call_ = name_of(op);
  Request& shared = request();
  shared.op = op;
  const std::size_t frees = std::min<std::size_t>(given_back_.size(), k_frees_max);
  shared.free_count = static_cast<std::uint32_t>(frees);
  std::copy_n(given_back_.begin(), frees, shared.frees);
  given_back_.erase(given_back_.begin(), given_back_.begin() + static_cast<std::ptrdiff_t>(frees));
  shared.symbols_age = instance_.host().symbols.generation();
  shared.sets_age = instance_.host().lists.recycled.load(std::memory_order_acquire);
  const std::int64_t until_ns = now_ns() + limit_ns;
  for (;;) {
    child_->post();
    switch (child_->await(until_ns)) {
      case ChildProcess::Outcome::replied:
        break;
      case ChildProcess::Outcome::late:
        return fail(fmt::format("its process gave no answer within {} ms in {}", limit_ns / k_millisecond_ns, call_),
                    note);
      case ChildProcess::Outcome::ended:
        return fail(fmt::format("its process ended with {} in {}", child_->end(), call_), note);
      case ChildProcess::Outcome::garbled:
        return fail(fmt::format("its process gave no answer that can be right in {}", call_), note);
    }
    reply_ = copy_once(child_->region().reply);
    if (reply_.upcall == Upcall::none) break;
    if (!answer(reply_)) return fail(fmt::format("its process asked for what cannot be asked in {}", call_), note);
    if (now_ns() > until_ns)  // it answers in time, and asks without end
      return fail(fmt::format("its process was not done within {} ms in {}", limit_ns / k_millisecond_ns, call_), note);
  }
  if (note != nullptr) {
    note->reason = reply_.reason;
    if (note->text != nullptr) {
      const std::uint64_t kept = std::min({reply_.note_bytes, note->text_cap, std::uint64_t{k_note_bytes}});
      copy_once(note->text, child_->region().note, kept);
      note->text_len = kept < reply_.note_bytes ? std::max<std::uint64_t>(kept, note->text_cap) + 1 : kept;
    }
  }
  return reply_.code;
}

// --- calls -----------------------------------------------------------------------------------------------------------

berth_code IsolatedPlugin::too_much(berth_note_v1* note, std::string_view what) const {
  return say(note, fmt::format("{} for a plugin in a process of its own", what));
}

bool IsolatedPlugin::put_cycle(const berth_cycle_v1& cycle, berth_note_v1* note) {
  const auto* const state = static_cast<const State*>(cycle.state);
  if (state != nullptr && state->generation != generation_) {
    say(note, fmt::format("the process that prepared this attempt is gone: {}",
                          failure_.empty() ? std::string_view("it was ended") : std::string_view(failure_)));
    return false;
  }
  const std::uint64_t slots = std::max<std::uint64_t>(cycle.word_count * 64, instance_.host().snapshot.slot_count());
  if (slots > UINT32_MAX || !mirror_.reserve(*child_, instance_, static_cast<std::uint32_t>(slots))) {
    too_much(note, "the cluster has too many nodes");
    return false;
  }
  PodCopy pods(child_->region().pods, child_->there(child_->region().pods), trap_of(instance_));
  std::uint64_t pod = 0;
  if (cycle.pod != nullptr && (pod = pods.add(*cycle.pod)) == 0) {
    too_much(note, "the pod is too large");
    return false;
  }
  if (cycle.nodes != nullptr) std::memcpy(mirror_.nodes(), cycle.nodes, cycle.word_count * sizeof(std::uint64_t));
  berth_cycle_v1& shared = request().cycle;
  shared = cycle;
  shared.pod = pointer<const berth_pod_v1>(pod);
  shared.state = pointer<void>(state == nullptr ? 0 : state->value);
  shared.nodes = cycle.nodes == nullptr ? nullptr : pointer<const std::uint64_t>(child_->there(mirror_.nodes()));
  return true;
}

void IsolatedPlugin::take_state(berth_cycle_v1& cycle) {
  auto* const state = static_cast<State*>(cycle.state);
  if (reply_.state == 0) {
    delete state;
    cycle.state = nullptr;
  } else if (state != nullptr) {
    state->value = reply_.state;
  } else {
    cycle.state = new State{generation_, reply_.state};
  }
}

bool IsolatedPlugin::put_nodes(const berth_slot* nodes, std::uint32_t count, berth_note_v1* note) {
  if (!mirror_.reserve(*child_, instance_, std::max(count, instance_.host().snapshot.slot_count()))) {
    too_much(note, "the cluster has too many nodes");
    return false;
  }
  if (nodes != nullptr) std::memcpy(mirror_.slots(), nodes, std::size_t{count} * sizeof(berth_slot));
  request().nodes = nodes == nullptr ? 0 : child_->there(mirror_.slots());
  request().count = count;
  return true;
}

bool IsolatedPlugin::put_block(const berth_node_block_v1& block, const berth_cycle_v1& cycle, berth_note_v1* note) {
  Region& region = child_->region();
  if (block.rows > k_rows_max || block.column_count > k_columns_max) {
    too_much(note, "the block is too large");
    return false;
  }
  const std::uint32_t resources = cycle.pod == nullptr ? 0 : cycle.pod->resource_count;
  if (!mirror_.show(*child_, instance_, block, resources, region.columns)) {
    too_much(note, "the pod asks for too many resources");
    return false;
  }
  const std::size_t words = (block.rows + 63) / 64;
  std::memcpy(region.candidates, block.candidates, words * sizeof(std::uint64_t));
  if (block.slots != nullptr) std::memcpy(region.slots, block.slots, block.rows * sizeof(berth_slot));
  berth_node_block_v1& shared = request().block;
  shared = block;
  shared.slots = block.slots == nullptr ? nullptr : pointer<const berth_slot>(child_->there(region.slots));
  shared.candidates = pointer<const std::uint64_t>(child_->there(region.candidates));
  shared.columns = pointer<const void* const>(child_->there(region.columns));
  return true;
}

berth_code IsolatedPlugin::pre_filter(berth_cycle_v1* cycle, berth_prepare_out_v1* out, berth_note_v1* note) {
  const Lock lock(mutex_);
  if (!is_up(note) || !put_cycle(*cycle, note)) return BERTH_ERROR;
  if (!mirror_.reserve(*child_, instance_, static_cast<std::uint32_t>(out->word_count * 64)))
    return too_much(note, "the cluster has too many nodes");
  std::memcpy(mirror_.candidates(), out->candidates, out->word_count * sizeof(std::uint64_t));
  request().candidates = child_->there(mirror_.candidates());
  request().word_count = out->word_count;
  const berth_code code = run(Op::pre_filter, note);
  if (phase_ != Phase::up) return code;
  take_state(*cycle);
  out->narrowed = reply_.narrowed != 0 ? 1 : 0;
  if (out->narrowed != 0)
    for (std::uint64_t w = 0; w < out->word_count; ++w) out->candidates[w] &= copy_once(mirror_.candidates()[w]);
  return code;
}

berth_code IsolatedPlugin::pre_score(berth_cycle_v1* cycle, const berth_slot* nodes, std::uint32_t count,
                                     berth_note_v1* note) {
  const Lock lock(mutex_);
  if (!is_up(note) || !put_cycle(*cycle, note) || !put_nodes(nodes, count, note)) return BERTH_ERROR;
  const berth_code code = run(Op::pre_score, note);
  if (phase_ == Phase::up) take_state(*cycle);
  return code;
}

berth_code IsolatedPlugin::filter(const berth_cycle_v1* cycle, const berth_node_block_v1* block,
                                  berth_filter_out_v1* out, berth_note_v1* note) {
  const Lock lock(mutex_);
  if (!is_up(note) || !put_cycle(*cycle, note) || !put_block(*block, *cycle, note)) return BERTH_ERROR;
  Region& region = child_->region();
  const std::size_t words = (block->rows + 63) / 64;
  std::memcpy(region.pass, out->pass, words * sizeof(std::uint64_t));
  std::memset(region.unresolvable, 0, words * sizeof(std::uint64_t));
  std::memset(region.pending, 0, words * sizeof(std::uint64_t));
  if (out->reasons != nullptr) std::memset(region.reasons, 0, words * 64 * sizeof(berth_reason));
  filter_out_ = out;
  const berth_code code = run(Op::filter, note);
  filter_out_ = nullptr;
  if (code != BERTH_OK) return code;
  out->flags = reply_.out_flags;
  for (std::size_t w = 0; w < words; ++w) {
    // Candidates can only become fewer, and what is said of the others counts for those that are out.
    const std::uint64_t pass = out->pass[w] & copy_once(region.pass[w]);
    const std::uint64_t rejected = out->pass[w] & ~pass;
    out->pass[w] = pass;
    out->unresolvable[w] = rejected & copy_once(region.unresolvable[w]);
    if (out->pending != nullptr) out->pending[w] = rejected & copy_once(region.pending[w]);
  }
  if (out->reasons != nullptr) copy_once(out->reasons, region.reasons, block->rows * sizeof(berth_reason));
  return code;
}

berth_code IsolatedPlugin::score(const berth_cycle_v1* cycle, const berth_node_block_v1* block, std::int64_t* raw,
                                 berth_note_v1* note) {
  const Lock lock(mutex_);
  if (!is_up(note) || !put_cycle(*cycle, note) || !put_block(*block, *cycle, note)) return BERTH_ERROR;
  const berth_code code = run(Op::score, note);
  if (code != BERTH_OK) return code;
  copy_once(raw, child_->region().raw, block->rows * sizeof(std::int64_t));
  // Rows that are no candidates may hold anything, and are looked at only where one is beyond the limits.
  bool has_beyond = false;
  for (std::uint32_t row = 0; row < block->rows; ++row) has_beyond |= raw[row] > k_raw_most || raw[row] < -k_raw_most;
  if (!has_beyond) return code;
  for (std::uint32_t row = 0; row < block->rows; ++row) {
    const bool is_beyond = raw[row] > k_raw_most || raw[row] < -k_raw_most;
    if (!is_beyond) continue;
    const std::int64_t said = std::exchange(raw[row], 0);
    if ((block->candidates[row / 64] >> (row % 64) & 1) != 0)
      return fail(fmt::format("its process gave a score of {} in score", said), note);
  }
  return code;
}

berth_code IsolatedPlugin::normalize(const berth_cycle_v1* cycle, const berth_slot* nodes, std::int64_t* scores,
                                     std::uint32_t count, berth_note_v1* note) {
  const Lock lock(mutex_);
  if (!is_up(note) || !put_cycle(*cycle, note) || !put_nodes(nodes, count, note)) return BERTH_ERROR;
  std::memcpy(mirror_.scores(), scores, std::size_t{count} * sizeof(std::int64_t));
  request().scores = child_->there(mirror_.scores());
  const berth_code code = run(Op::normalize, note);
  if (code == BERTH_OK) copy_once(scores, mirror_.scores(), std::size_t{count} * sizeof(std::int64_t));
  return code;
}

berth_code IsolatedPlugin::state_clone(const void* from, void** to, berth_note_v1* note) {
  const Lock lock(mutex_);
  *to = nullptr;
  if (!is_up(note)) return BERTH_ERROR;
  State copied = from == nullptr ? State{generation_, 0} : *static_cast<const State*>(from);
  berth_cycle_v1 cycle{};
  cycle.struct_size = sizeof cycle;
  cycle.state = &copied;
  if (!put_cycle(cycle, note)) return BERTH_ERROR;
  const berth_code code = run(Op::state_clone, note);
  if (code == BERTH_OK && reply_.state != 0) *to = new State{generation_, reply_.state};
  return code;
}

void IsolatedPlugin::state_free(void* state) {
  const Lock lock(mutex_);
  const std::unique_ptr<State> given(static_cast<State*>(state));
  if (given == nullptr || given->generation != generation_ || phase_ != Phase::up) return;
  given_back_.push_back(given->value);
  if (given_back_.size() >= k_frees_max) run(Op::free_states, nullptr);
}

berth_code IsolatedPlugin::pod_moved(Op op, berth_cycle_v1* cycle, const berth_pod_v1* other, berth_slot node,
                                     berth_note_v1* note) {
  const Lock lock(mutex_);
  if (!is_up(note) || !put_cycle(*cycle, note)) return BERTH_ERROR;
  // Behind the cycle's own pod, which has been copied to the beginning.
  Region& region = child_->region();
  PodCopy pods(region.pods, child_->there(region.pods), trap_of(instance_));
  const std::uint64_t own = cycle->pod == nullptr ? 0 : pods.add(*cycle->pod);
  const std::uint64_t moved = pods.add(*other);
  if (moved == 0) return too_much(note, "the pod is too large");
  request().cycle.pod = pointer<const berth_pod_v1>(own);
  request().other_pod = moved;
  request().other_node = node;
  const berth_code code = run(op, note);
  if (phase_ == Phase::up && reply_.state != 0 && cycle->state != nullptr) take_state(*cycle);
  return code;
}

namespace {

/// One node outside of the snapshot, in the columns of the instance. 0: there is no room for it.
std::uint64_t add_node(PodCopy& copies, const framework::PluginInstance& plugin, const berth_node_block_v1* node,
                       std::uint32_t resources) {
  if (node == nullptr) return 0;
  const auto add_rows = [&](const void* rows, cache::ColumnWidth width) -> std::uint64_t {
    if (rows == nullptr) return 0;
    constexpr std::size_t k_rows = 64;
    const std::size_t bytes = bytes_of(width, k_rows);
    auto* const copy = copies.array<std::uint64_t>(bytes / sizeof(std::uint64_t));
    if (copy == nullptr) return 0;
    std::memcpy(copy, rows, bytes);
    return copies.there(copy);
  };
  auto* const columns = copies.array<std::uint64_t>(node->column_count);
  for (std::uint32_t i = 0; columns != nullptr && i < node->column_count; ++i) {
    const framework::BoundColumn& bound = plugin.columns()[i];
    if (bound.kind == framework::BoundColumn::Kind::plain || node->columns[i] == nullptr) {
      columns[i] = bound.kind == framework::BoundColumn::Kind::plain
                       ? add_rows(node->columns[i], plugin.host().snapshot.spec(bound.id).width())
                       : 0;
      continue;
    }
    const auto* const lists = static_cast<const std::int64_t* const*>(node->columns[i]);
    auto* const pointers = copies.array<std::uint64_t>(resources);
    for (std::uint32_t r = 0; pointers != nullptr && r < resources; ++r)
      pointers[r] = add_rows(lists[r], cache::ColumnWidth::i64);
    columns[i] = pointers == nullptr ? 0 : copies.there(pointers);
  }
  auto* const words = copies.array<std::uint64_t>(1);
  auto* const slots = copies.array<berth_slot>(1);
  auto* const block = copies.array<berth_node_block_v1>(1);
  if (block == nullptr) return 0;
  words[0] = node->candidates[0];
  slots[0] = node->slots != nullptr ? node->slots[0] : node->first_slot;
  *block = *node;
  block->slots = pointer<const berth_slot>(copies.there(slots));
  block->candidates = pointer<const std::uint64_t>(copies.there(words));
  block->columns = pointer<const void* const>(copies.there(columns));
  return copies.there(block);
}

}  // namespace

berth_code IsolatedPlugin::hint(const berth_event_v1* event, const berth_pod_v1* const* pods, std::uint32_t count,
                                std::uint64_t* queue, berth_note_v1* note) {
  const Lock lock(mutex_);
  if (count == 0) return BERTH_OK;
  if (!is_up(note)) return BERTH_ERROR;
  if (count > k_rows_max) return too_much(note, "there are too many pods");
  Region& region = child_->region();
  PodCopy copies(region.pods, child_->there(region.pods), trap_of(instance_));
  auto* const list = copies.array<std::uint64_t>(count);
  auto* const shown = copies.array<berth_event_v1>(1);
  if (list == nullptr || shown == nullptr) return too_much(note, "there are too many pods");
  bool has_room = true;
  const auto add_pod = [&](const berth_pod_v1* pod) {
    const std::uint64_t there = pod == nullptr ? 0 : copies.add(*pod);
    has_room = has_room && (pod == nullptr || there != 0);
    return there;
  };
  for (std::uint32_t i = 0; i < count; ++i) list[i] = add_pod(pods[i]);
  const auto add = [&](const berth_node_block_v1* node) {
    const std::uint64_t there = add_node(copies, instance_, node, pods[0]->resource_count);
    has_room = has_room && (node == nullptr || there != 0);
    return pointer<const berth_node_block_v1>(there);
  };
  *shown = *event;
  shown->old_node = add(event->old_node);
  shown->new_node = add(event->new_node);
  shown->old_pod = pointer<const berth_pod_v1>(add_pod(event->old_pod));
  shown->new_pod = pointer<const berth_pod_v1>(add_pod(event->new_pod));
  shown->old_object = shown->new_object = nullptr;  // of watches, which it has none of
  if (!has_room) return too_much(note, "a pod is too large");
  const std::size_t words = (count + 63) / 64;
  std::memset(region.pass, 0, words * sizeof(std::uint64_t));
  request().event = copies.there(shown);
  request().nodes = copies.there(list);
  request().count = count;
  const berth_code code = run(Op::hint, note);
  if (code == BERTH_OK)
    for (std::size_t w = 0; w < words; ++w) queue[w] |= copy_once(region.pass[w]);
  return code;
}

IsolatedState IsolatedPlugin::state() const {
  const Lock lock(mutex_);
  IsolatedState out{phase_ == Phase::up, 0, failures_, restarts_, failure_};
  if (out.is_up) out.process = child_->process();
  return out;
}

std::optional<IsolatedState> isolated_state(const framework::PluginInstance& plugin) {
  if (plugin.descriptor().create != &IsolatedPlugin::create || plugin.self() == nullptr) return std::nullopt;
  return static_cast<const IsolatedPlugin*>(plugin.self())->state();
}

}  // namespace berth::isolation
