// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "cycle/reuse/class_entry.hpp"
#include "framework/framework.hpp"
#include "preemption/kept_answers.hpp"

namespace berth::cycle {

/// A kept answer that is not what a fresh look finds, though nothing has changed that the plugin declares as its input.
struct UndeclaredInput {
  const framework::PluginInstance* plugin = nullptr;  // null: some plugin of that point, or berth's own ranking
  std::string point;                                  // "filter", "score"; "choice": the ranking; "victims": evictions
  std::string node;
  std::string pod;          // "namespace/name"
  std::string kept, fresh;  // "fits", "does not fit", "score 40", "evictions make no room"

  /// The whole of it, for logs and events.
  std::string sentence() const;
};

/// Which decisions are looked at: one in so many on average, at distances that no pattern of pods follows.
class DecisionSample {
 public:
  /// 0: none of them; 1: all of them.
  explicit DecisionSample(std::uint32_t one_in) noexcept : one_in_(one_in) { draw(); }
  bool next() noexcept {
    if (one_in_ == 0 || --left_ != 0) return false;
    draw();
    return true;
  }
  /// Any number below that one. Requires: below != 0.
  std::uint32_t any(std::uint32_t below) noexcept {
    step();
    return static_cast<std::uint32_t>(state_ % below);
  }

 private:
  void step() noexcept {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
  }
  void draw() noexcept {
    if (one_in_ != 0) left_ = 1 + any(2 * one_in_ - 1);
  }
  const std::uint32_t one_in_;
  std::uint32_t left_ = 0;
  std::uint64_t state_ = 0x9E3779B97F4A7C15;
};

/// Holds kept verdicts and scores of a class of pods against a fresh look. Where they differ, the fresh ones take the place
/// of the kept ones, before anything is decided.
///
/// Cost:    a decision of a sample looks at k_sampled_rows nodes somewhere in the list, and at all of them when one
///          differs; where every decision is checked it looks at all of them always.
/// Who it was is known where the kept answers came from one plugin only, or with a note of each plugin's part. These are
/// kept where every decision is checked: always, or for a while after an answer of no known plugin.
/// Memory:  one entry more than the cache has, while anything is checked.
/// Threads: the scheduling thread's. Failure: where the fresh look fails, nothing is said; the plugin is asked again soon.
class ReuseCheck {
 public:
  /// one_in: 1 checks every decision, 0 none.
  ReuseCheck(framework::NodeBlocks& blocks, std::uint32_t one_in) noexcept
      : blocks_(blocks), every_(one_in == 1), sample_(one_in) {}

  /// A decision from this entry begins, which is not up to date yet.
  void begin(ClassEntry& entry);
  /// Requires: update_filters() and update_feasible() for that rotation start.
  void check_filters(framework::CycleContext& context, ClassEntry& entry, std::size_t start);
  /// Requires: update_scores().
  void check_scores(framework::CycleContext& context, ClassEntry& entry);

  /// The choice among groups of nodes is not what a search finds that counts from the start. kept: the node.
  void add_choice(const framework::CycleContext& context, cache::Slot kept);
  /// What a node said about evictions is not what it says now.
  void add_victims(const framework::CycleContext& context, const preemption::ChangedAnswer& answer);

  bool has_found() const noexcept { return !found_.empty(); }
  /// What the decision under way has found, one of each plugin and point. Answers of those plugins are not reused from now
  /// on. epochs: as they were when the decision began. A plugin that has announced something since is not blamed.
  std::vector<UndeclaredInput> settle(framework::Framework& framework, std::uint64_t epochs);

  /// So many decisions are checked after an answer that no plugin could be named for.
  static constexpr std::uint32_t k_close_look = 1000;
  static constexpr std::uint32_t k_sampled_rows = 256;

 private:
  bool looks_at_all() const noexcept { return every_ || close_look_ != 0; }
  /// The nodes of the sample: their rows, in a block.
  framework::Block sampled() const;
  bool filters_agree(framework::CycleContext& context, const ClassEntry& entry);
  bool scores_agree(framework::CycleContext& context, const ClassEntry& entry);
  /// False where a filter breaks.
  bool look_at_all(framework::CycleContext& context);
  void compare_filters(const framework::CycleContext& context, const ClassEntry& entry);
  void compare_scores(const framework::CycleContext& context, ClassEntry& entry);
  void add(const framework::CycleContext& context, const framework::PluginInstance* plugin, const char* point,
           cache::Slot slot, std::string kept, std::string fresh);
  /// Puts the fresh answers in the place of the kept ones when something was found.
  void replace(ClassEntry& entry);

  framework::NodeBlocks& blocks_;
  const bool every_;  // whether each decision is checked
  DecisionSample sample_;
  std::uint32_t close_look_ = 0;  // decisions that are still checked for the sake of a name
  bool checks_ = false;           // the decision under way
  bool is_fresh_ = false;         // fresh_ is of that decision
  std::size_t start_ = 0;         // its rotation
  cache::Slot first_ = 0;         // of the sample
  ClassEntry fresh_;
  ClassEntry::Buffers buffers_;
  std::vector<std::int64_t> sums_;
  std::vector<UndeclaredInput> found_;
};

}  // namespace berth::cycle
