// SPDX-License-Identifier: Apache-2.0
#include "preemption/what_if_rows.hpp"

#include <algorithm>

#include "base/bitmap.hpp"
#include "framework/points/filter_call.hpp"
#include "framework/profile_runtime.hpp"

namespace berth::preemption {
namespace {

constexpr std::uint32_t k_unmoved_by_pods = BERTH_DEP_POD_SPEC | BERTH_DEP_NODE_STATIC;

}  // namespace

void WhatIfRows::follow(cache::ColumnId id) {
  if (id >= followed_.size()) followed_.resize(id + 1, 0);
  if (followed_[id] != 0) return;
  followed_[id] = 1;
  const cache::ColumnSpec& spec = blocks_.snapshot().spec(id);
  const auto add = [&](std::int64_t sign, Amount amount) {
    changes_.push_back({blocks_.changing(id), sign < 0 ? 1u : 0u, static_cast<std::uint32_t>(amount)});
  };
  switch (spec.kind) {
    case cache::ColumnKind::free:
    case cache::ColumnKind::requested: {
      const std::int64_t sign = spec.kind == cache::ColumnKind::free ? -1 : 1;
      if (spec.resource < cache::k_first_scalar)
        add(sign, static_cast<Amount>(spec.resource));
      else
        scalar_changes_.push_back({blocks_.changing(id), sign, spec.resource});
      break;
    }
    case cache::ColumnKind::nonzero:
      if (spec.resource == cache::k_cpu)
        add(1, Amount::nonzero_cpu);
      else if (spec.resource == cache::k_memory)
        add(1, Amount::nonzero_memory);
      else if (spec.resource == cache::k_ephemeral_storage)
        add(1, Amount::ephemeral_storage);
      else
        scalar_changes_.push_back({blocks_.changing(id), 1, spec.resource});
      break;
    case cache::ColumnKind::pods:
      add(1, Amount::pods);
      break;
    case cache::ColumnKind::image_set:
      break;  // refreshed with the row, but nothing that pods change
    case cache::ColumnKind::allowed_pods:
      break;  // pods change it only where their sums do not fit a number: such nodes are left as they are
    default:
      reads_lists_ = reads_lists_ || spec.usage();
      break;
  }
}

void WhatIfRows::begin(framework::CycleContext& context, std::span<const cache::Slot> slots) {
  end();
  context_ = &context;
  slots_ = slots;
  block_ = blocks_.what_if_rows(slots);
  asked_.clear();
  changes_.clear();
  scalar_changes_.clear();
  std::fill(followed_.begin(), followed_.end(), std::uint8_t{0});
  watches_pods_ = reads_lists_ = false;
  std::size_t watching = 0;
  for (const framework::PluginInstance* plugin : context.profile().filter) {
    if (context.skips_filter(*plugin)) continue;
    const bool watches = plugin->prepare != nullptr &&
                         (plugin->prepare->pod_added != nullptr || plugin->prepare->pod_removed != nullptr);
    asked_.push_back({plugin,
                      plugin->filter_is_reusable() && !watches && (plugin->filter_deps() & ~k_unmoved_by_pods) == 0,
                      watches, watching, watching * slots.size()});
    watching += watches ? 1 : 0;
    for (const framework::BoundColumn& column : plugin->columns())
      if (column.kind == framework::BoundColumn::Kind::plain) follow(column.id);
    if (plugin->pod_bound())
      for (const auto& resource : context.resource_columns()) {
        follow(resource.free);
        follow(resource.capacity);
      }
  }
  watches_pods_ = watching != 0;
  states_.assign(watching * slots.size(), nullptr);
  if (shape_views_.size() < watching) shape_views_.resize(watching);
  has_state_.assign(watching * block_.words(), 0);
  joined_.assign(watching * block_.words(), 0);
}

void WhatIfRows::end() noexcept {
  for (const Asked& asked : asked_) {
    if (!asked.watches || asked.plugin->prepare->state_free == nullptr) continue;
    for (std::size_t row = 0; row < slots_.size(); ++row) {
      void*& state = states_[asked.states + row];
      if (state == nullptr) continue;
      framework::Note note;
      framework::call_plugin(*asked.plugin, observe::Point::state_free, note, [&] {
        asked.plugin->prepare->state_free(asked.plugin->self(), state);
        return berth_code{BERTH_OK};
      });
      state = nullptr;
    }
  }
  asked_.clear();
  errors_.clear();
  slots_ = {};
}

const std::string& WhatIfRows::error(std::uint32_t row) const {
  static const std::string none;
  const auto at = errors_.find(row);
  return at == errors_.end() ? none : at->second;
}

void WhatIfRows::fail(std::uint32_t row, const framework::PluginInstance& plugin, std::string text,
                      std::span<framework::NodeVerdict> verdicts) {
  if (!verdicts.empty()) verdicts[row] = {framework::Code::error, &plugin, host_.reasons.make({text})};
  errors_.try_emplace(row, std::move(text));
}

void WhatIfRows::charge_rest(std::uint32_t row, const model::Pod& pod, int sign) {
  const auto& asked = pod.requests->resources;
  for (std::size_t i = cache::k_first_scalar; i < asked.size(); ++i) {
    if (asked[i].effective == 0) continue;
    const cache::ResourceIndex resource = host_.resources.find(asked[i].name);
    for (const ScalarChange& change : scalar_changes_)
      if (change.resource == resource) change.values[row] += change.sign * sign * asked[i].effective;
  }
}

void* WhatIfRows::state_of(const Asked& asked, std::uint32_t row) const noexcept {
  void* const own = context_->abi(*asked.plugin)->state;
  if (!asked.watches) return own;
  void* const cloned = states_[asked.states + row];
  return cloned != nullptr ? cloned : own;
}

bool WhatIfRows::clone(const Asked& asked, std::uint32_t row) {
  void*& state = states_[asked.states + row];
  const void* const own = context_->abi(*asked.plugin)->state;
  if (state != nullptr || own == nullptr || asked.plugin->prepare->state_clone == nullptr) return true;
  framework::Note note;
  const framework::Code code = framework::call_plugin(*asked.plugin, observe::Point::state_clone, note, [&] {
    return asked.plugin->prepare->state_clone(asked.plugin->self(), own, &state, note.abi());
  });
  if (code == framework::Code::success) {
    bitmap::set(&has_state_[asked.number * block_.words()], row);
    return true;
  }
  fail(row, *asked.plugin, fmt::format("cloning the state of plugin \"{}\": {}", asked.plugin->name(), note.text()),
       {});
  return false;
}

const berth_pod_v1* WhatIfRows::view_of_shape(const Asked& asked, const model::Pod& exemplar, std::uint32_t shape) {
  constexpr std::uint64_t k_groups_of_shape = BERTH_POD_LABELS | BERTH_POD_NAMESPACE | BERTH_POD_AFFINITY;
  const framework::PodFields& fields = asked.plugin->fields();
  if ((fields.groups & ~k_groups_of_shape) != 0 || !fields.requests.empty()) return nullptr;
  auto& views = shape_views_[asked.number];
  if (views.empty()) views.resize(concerns_.size(), nullptr);
  if (views[shape] == nullptr) {
    framework::PodView view;
    view.reset(exemplar, context_->snapshot_arena());
    views[shape] = view.view(fields);
  }
  return views[shape];
}

bool WhatIfRows::tell(std::uint32_t row, const model::Pod& pod, const model::Pod& exemplar, std::uint32_t shape,
                      bool added) {
  if (!watches_pods_ || concerns_[shape] == 0) return true;
  framework::PodView view;
  view.reset(pod, context_->snapshot_arena());
  Concern watching = 0;
  for (const Asked& asked : asked_) {
    if (!asked.watches) continue;
    watching |= bit_of(asked);
    if ((concerns_[shape] & bit_of(asked)) == 0) continue;
    const framework::PluginInstance& plugin = *asked.plugin;
    const auto call = added ? plugin.prepare->pod_added : plugin.prepare->pod_removed;
    if (call == nullptr) continue;
    if (!clone(asked, row)) return false;
    framework::InstanceCycle cycle = context_->what_if(plugin, state_of(asked, row));
    const berth_pod_v1* shown = view_of_shape(asked, exemplar, shape);
    if (shown == nullptr) shown = view.view(plugin.fields());
    framework::Note note;
    const framework::Code code =
        framework::call_plugin(plugin, added ? observe::Point::add_pod : observe::Point::remove_pod, note,
                               [&] { return call(plugin.self(), &cycle.abi, shown, slots_[row], note.abi()); });
    if (code == framework::Code::skip) {
      if (asked.number < k_concern_bits) concerns_[shape] &= ~bit_of(asked);
      continue;
    }
    if (added) bitmap::set(&joined_[asked.number * block_.words()], row);
    if (code == framework::Code::success) continue;
    fail(row, plugin,
         fmt::format("running {} on PreFilter plugin \"{}\": {}", added ? "AddPod" : "RemovePod", plugin.name(),
                     note.text()),
         {});
    return false;
  }
  concerns_[shape] &= watching;
  return true;
}

/// One plugin over one block. False when it broke: nothing is decided then.
bool WhatIfRows::ask(const Asked& asked, const framework::Block& block, void* state, std::uint64_t* alive,
                     std::span<framework::NodeVerdict> verdicts) {
  const framework::PluginInstance& plugin = *asked.plugin;
  const std::size_t words = block.words();
  std::copy_n(alive, words, scratch_.pass.data());
  std::fill_n(scratch_.unresolvable.data(), words, 0);
  const bool reasons = !verdicts.empty();
  if (reasons) std::fill_n(scratch_.reasons.data(), words * 64, 0);
  framework::FilterCall call(*context_, plugin, scratch_.pass.data(), scratch_.unresolvable.data(),
                             reasons ? scratch_.reasons.data() : nullptr);
  framework::InstanceCycle cycle =
      context_->what_if(plugin, state, reasons ? std::uint32_t{BERTH_CYCLE_WANT_REASONS} : 0u);
  framework::Note note;
  const framework::Code code = call.run(&cycle.abi, blocks_.bind(block, plugin, context_, alive), note);
  if (code != framework::Code::success) {
    const std::string text = call.failure_text(code, note);
    // A block that broke is taken apart: the nodes that are not to blame go on.
    if (block.rows > 1) return false;
    const auto row = static_cast<std::uint32_t>(block.slots - slots_.data());
    fail(row, plugin, text, {});
    if (reasons) verdicts[0] = {framework::Code::error, &plugin, host_.reasons.make({text})};
    *alive = 0;
    return true;
  }
  const auto first = &block == &block_ ? 0u : static_cast<std::uint32_t>(block.slots - slots_.data());
  for (const framework::FilterCall::RowError& error : call.errors()) {
    fail(first + error.row, plugin, error.text, {});
    if (reasons) verdicts[error.row] = {framework::Code::error, &plugin, host_.reasons.make({error.text})};
    bitmap::clear(alive, error.row);
  }
  for (std::size_t w = 0; w < words; ++w) {
    if (reasons)
      for (std::uint64_t rejected = alive[w] & ~scratch_.pass[w]; rejected != 0; rejected &= rejected - 1) {
        const std::size_t row = w * 64 + static_cast<std::size_t>(std::countr_zero(rejected));
        verdicts[row] = {call.rejection(static_cast<std::uint32_t>(row)), &plugin, scratch_.reasons[row]};
      }
    alive[w] &= scratch_.pass[w];
  }
  return true;
}

void WhatIfRows::judge(std::uint64_t* alive, bool again, std::span<framework::NodeVerdict> verdicts) {
  const std::size_t words = block_.words();
  if (scratch_.pass.size() < words) {
    scratch_.pass.resize(words);
    scratch_.unresolvable.resize(words);
  }
  if (scratch_.reasons.size() < words * 64) scratch_.reasons.resize(words * 64);
  if (!errors_.empty())
    for (const auto& [row, text] : errors_) bitmap::clear(alive, row);
  observe::enter_block(slots_.front(), slots_.back() + 1);
  for (const Asked& asked : asked_) {
    if (again && asked.fixed) continue;
    if (!bitmap::any(alive, words)) break;
    if (asked.watches)
      judge_watching(asked, again, alive, verdicts);
    else if (!ask(asked, block_, context_->abi(*asked.plugin)->state, alive, verdicts))
      judge_one_by_one(asked, alive, alive, verdicts);
  }
  observe::leave_block();
}

/// Rows that have no state of their own are a block; where no pod came that concerns the filter, it says what it said.
void WhatIfRows::judge_watching(const Asked& asked, bool again, std::uint64_t* alive,
                                std::span<framework::NodeVerdict> verdicts) {
  const std::size_t words = block_.words();
  const std::uint64_t* const own = &has_state_[asked.number * words];
  std::uint64_t* const joined = &joined_[asked.number * words];
  singles_.assign(alive, alive + words);
  if (again)
    for (std::size_t w = 0; w < words; ++w) singles_[w] &= joined[w];
  std::fill_n(joined, words, 0);
  together_ = singles_;
  for (std::size_t w = 0; w < words; ++w) {
    together_[w] &= ~own[w];
    singles_[w] &= own[w];
  }
  if (bitmap::any(together_.data(), words)) {
    passed_ = together_;
    if (ask(asked, block_, context_->abi(*asked.plugin)->state, passed_.data(), verdicts))
      for (std::size_t w = 0; w < words; ++w) alive[w] &= ~together_[w] | passed_[w];
    else
      judge_one_by_one(asked, together_.data(), alive, verdicts);
  }
  judge_one_by_one(asked, singles_.data(), alive, verdicts);
}

void WhatIfRows::judge_one_by_one(const Asked& asked, const std::uint64_t* rows, std::uint64_t* alive,
                                  std::span<framework::NodeVerdict> verdicts) {
  for (std::size_t w = 0; w < block_.words(); ++w)
    for (std::uint64_t rest = rows[w]; rest != 0; rest &= rest - 1) {
      const auto row = static_cast<std::uint32_t>(w * 64 + static_cast<std::size_t>(std::countr_zero(rest)));
      std::uint64_t fits = 1;
      ask(asked, blocks_.what_if_row(row), state_of(asked, row), &fits,
          verdicts.empty() ? verdicts : verdicts.subspan(row, 1));
      if (fits == 0) bitmap::clear(alive, row);
    }
}

}  // namespace berth::preemption
