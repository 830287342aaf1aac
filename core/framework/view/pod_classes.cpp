// SPDX-License-Identifier: Apache-2.0
#include "framework/view/pod_classes.hpp"

#include <algorithm>
#include <utility>

#include "base/guarded.hpp"

namespace berth::framework {
void PodClasses::write_key(const model::Pod& pod) {
  key_.clear();
  ClassKey key(key_);
  for (const PodFieldGroup& group : pod_field_groups())
    if ((fields_.groups & group.bit) != 0 && group.write_key != nullptr) group.write_key(pod, key);
  if (!fields_.requests.empty() && (fields_.groups & BERTH_POD_REQUESTS) == 0)
    pod_field_groups().front().write_key(pod, key);
  if ((fields_.groups & BERTH_POD_LABELS) == 0) {
    for (const model::Label& label : pod.labels)
      if (std::binary_search(fields_.labels.begin(), fields_.labels.end(), label.key))
        key.numbers(label.key, label.value);
    key.number(k_no_symbol);
  }
  // What the host itself judges by; no plugin asks for it.
  key.list(pod.spec->unsupported, [&](const model::PodSpec::Unsupported& need) { key.text(need.plugin); });
}

std::uint64_t PodClasses::class_of(const model::Pod& pod) {
  const Lock lock(mutex_);
  if ((fields_.groups & (BERTH_POD_IDENTITY | BERTH_POD_JSON)) != 0) return next_++;
  write_key(pod);
  const std::uint64_t generation = symbols_ == nullptr ? 0 : symbols_->generation();
  if (generation != generation_) recent_ = earlier_ = {};
  generation_ = generation;
  if (const auto it = recent_.numbers.find(key_); it != recent_.numbers.end()) return it->second;
  const std::size_t bytes = key_.size() + k_upkeep_bytes;
  if (bytes > k_key_bytes_max / 2) return next_++;
  std::uint64_t number = earlier_.numbers.empty() ? 0 : taken_from_earlier();
  if (number == 0) number = next_++;
  if (recent_.bytes + bytes > k_key_bytes_max / 2) earlier_ = std::exchange(recent_, {});
  recent_.bytes += bytes;
  recent_.numbers.emplace(key_, number);
  if (key_.capacity() > k_scratch_bytes_max) std::string().swap(key_);
  return number;
}

std::uint64_t PodClasses::taken_from_earlier() {
  const auto it = earlier_.numbers.find(key_);
  if (it == earlier_.numbers.end()) return 0;
  const std::uint64_t number = it->second;
  earlier_.bytes -= key_.size() + k_upkeep_bytes;
  earlier_.numbers.erase(it);
  return number;
}

}  // namespace berth::framework
