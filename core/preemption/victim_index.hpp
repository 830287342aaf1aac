// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <span>
#include <vector>

#include "berth/ext/preemption.h"
#include "cache/shapes.hpp"
#include "cache/snapshot.hpp"
#include "framework/plugin_instance.hpp"

namespace berth::preemption {

/// What a pod takes of a node, in the order of Amount; the last is the pod itself.
enum class Amount : std::uint8_t { cpu, memory, ephemeral_storage, nonzero_cpu, nonzero_memory, pods };
inline constexpr std::size_t k_amounts = 6;
using Amounts = std::array<std::int64_t, k_amounts>;

/// A pod on a node, with what a search for victims reads of it at hand: 20,000 pods are looked at without touching one.
struct PodOnNode {
  cache::PodHandle handle = 0;
  std::uint32_t amounts = 0;  // class of what it takes
  std::uint32_t shape = 0;    // number of its shape among shapes()
  bool has_scalars = false;   // requests beyond Amounts
  bool has_lists = false;     // host ports or volumes
};

/// The pods of every node in a policy's order of importance, brought up to date by the nodes that changed.
///
/// Place:   one per plugin instance that searches for victims.
/// Shapes:  pods() of a slot lie together, slots roughly in order, so that a walk over all nodes reads memory forward.
/// Threads: the scheduling thread.
class VictimIndex {
 public:
  using Importance = void (*)(void* self, const berth_victim_v1* pods, std::uint32_t count, std::uint64_t* keys);

  explicit VictimIndex(framework::Host& host) : host_(host) {}

  void refresh(Importance importance, void* self);
  /// Where the pods of a slot lie in pods() and facts(). Valid until the next refresh().
  struct Range {
    std::uint32_t first = 0, count = 0;
  };
  Range range(cache::Slot slot) const noexcept { return {ranges_[slot].first, ranges_[slot].count}; }
  /// What is true of the pods of a node together.
  struct Whole {
    Amounts sum{};
    std::int32_t highest_priority = INT32_MIN;
    bool has_scalars = false, has_lists = false;  // some pod has
  };
  const Whole& whole(cache::Slot slot) const noexcept { return ranges_[slot].whole; }
  const PodOnNode* pods() const noexcept { return pods_.data(); }
  /// As the policy sees them, parallel to pods().
  const berth_victim_v1* facts() const noexcept { return facts_.data(); }
  /// By PodOnNode::amounts. Pods come from templates, so there are few.
  const Amounts* amounts() const noexcept { return amount_classes_.data(); }
  /// By PodOnNode::shape: a pod of it, of which only what makes the shape may be read.
  const std::vector<model::PodPtr>& shapes() const noexcept { return shapes_; }
  /// No pod has a lower priority; some that had it may be gone.
  std::int32_t lowest_priority() const noexcept { return lowest_priority_; }
  /// Grows when classes are numbered from the start: what was found out by their numbers holds no more.
  std::uint64_t numbering() const noexcept { return numbering_; }

 private:
  struct Held {
    std::uint32_t first = 0, count = 0, capacity = 0;
    Whole whole;
  };
  struct HashShape {
    std::size_t operator()(const model::PodPtr& pod) const noexcept { return cache::shape_hash(*pod); }
  };
  struct SameShape {
    bool operator()(const model::PodPtr& a, const model::PodPtr& b) const noexcept { return cache::same_shape(*a, *b); }
  };
  struct HashAmounts {
    std::size_t operator()(const Amounts& amounts) const noexcept;
  };
  void read(cache::Slot slot);
  PodOnNode pod_on_node(const model::PodPtr& pod, cache::PodHandle handle);
  std::uint32_t amount_class(const Amounts& amounts);
  std::uint32_t shape_number(const model::PodPtr& pod);
  void start_over();

  framework::Host& host_;
  Importance importance_ = nullptr;
  void* self_ = nullptr;
  bool known_ = false;
  std::uint64_t position_ = 0, membership_ = 0, numbering_ = 0;
  std::uint64_t symbol_generation_ = 0;
  std::vector<PodOnNode> pods_;
  std::vector<berth_victim_v1> facts_;
  std::vector<Held> ranges_;  // by slot
  std::int32_t lowest_priority_ = INT32_MAX;
  std::size_t wasted_ = 0;  // rows of pods_ that no range covers
  boost::unordered_flat_map<Amounts, std::uint32_t, HashAmounts> amount_numbers_;
  std::vector<Amounts> amount_classes_;
  boost::unordered_flat_map<model::PodPtr, std::uint32_t, HashShape, SameShape> shape_numbers_;
  std::vector<model::PodPtr> shapes_;
  std::vector<PodOnNode> fresh_;
  std::vector<berth_victim_v1> fresh_facts_;
  std::vector<std::uint64_t> keys_;
  std::vector<std::uint32_t> order_;
};

/// One pod as a policy sees it.
berth_victim_v1 victim_facts(const model::Pod& pod, cache::Slot node, std::uint32_t position);

}  // namespace berth::preemption
