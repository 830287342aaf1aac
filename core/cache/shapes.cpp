// SPDX-License-Identifier: Apache-2.0
#include "cache/shapes.hpp"

#include <algorithm>

namespace berth::cache {
namespace {

void mix(std::size_t& h, std::size_t v) noexcept { h = (h ^ v) * 0x9E3779B97F4A7C15ull + (h >> 31); }

void mix_terms(std::size_t& h, const std::vector<model::AffinityTerm>& terms) noexcept {
  mix(h, terms.size());
  for (const model::AffinityTerm& term : terms) {
    mix(h, term.topology_key);
    mix(h, static_cast<std::size_t>(term.weight));
    mix(h, term.selector.requirements.size());
    for (const model::Requirement& r : term.selector.requirements) {
      mix(h, r.key);
      for (const Symbol value : r.values) mix(h, value);
    }
  }
}

}  // namespace

std::size_t shape_hash(const model::Pod& pod) noexcept {
  std::size_t h = pod.ns_symbol;
  mix(h, pod.deleting);
  for (const model::Label& label : pod.labels) mix(h, (std::size_t{label.key} << 32) | label.value);
  if (const model::PodAffinity& affinity = pod.spec->affinity; affinity.present) {
    mix_terms(h, affinity.required);
    mix_terms(h, affinity.preferred);
    mix_terms(h, affinity.anti_required);
    mix_terms(h, affinity.anti_preferred);
  }
  return h;
}

bool same_shape(const model::Pod& a, const model::Pod& b) noexcept {
  return a.ns_symbol == b.ns_symbol && a.deleting == b.deleting && a.labels == b.labels &&
         a.spec->affinity == b.spec->affinity;
}

ShapeId ShapeTable::acquire(const model::PodPtr& pod) {
  auto& bucket = by_hash_[shape_hash(*pod)];
  for (const ShapeId id : bucket)
    if (same_shape(*shapes_[id].exemplar, *pod)) {
      ++shapes_[id].pods;
      return id;
    }
  ShapeId id;
  if (free_.empty()) {
    id = static_cast<ShapeId>(shapes_.size());
    shapes_.emplace_back();
  } else {
    id = free_.back();
    free_.pop_back();
  }
  shapes_[id] = {pod, 1};
  bucket.push_back(id);
  return id;
}

void ShapeTable::release(ShapeId shape) {
  Shape& s = shapes_[shape];
  if (--s.pods != 0) return;
  const auto it = by_hash_.find(shape_hash(*s.exemplar));
  std::erase(it->second, shape);
  if (it->second.empty()) by_hash_.erase(it);
  s.exemplar.reset();
  released_.push_back(shape);
}

void ShapeTable::recycle() {
  free_.insert(free_.end(), released_.begin(), released_.end());
  released_.clear();
}

}  // namespace berth::cache
