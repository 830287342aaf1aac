// SPDX-License-Identifier: Apache-2.0
#include "decode/pod_sharing.hpp"

#include <array>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

namespace berth::decode {
namespace {

std::size_t mix(std::size_t a, std::size_t b) noexcept { return (a ^ b) * 0x9E3779B97F4A7C15ULL; }
std::size_t of_text(std::string_view text) noexcept { return std::hash<std::string_view>()(text); }

// Enough of a value to tell most from each other; equality is looked at afterwards.
std::size_t rough_hash(const model::Label& v) noexcept { return mix(v.key, v.value); }
std::size_t rough_hash(const model::PodResource& v) noexcept {
  return mix(v.name, static_cast<std::size_t>(v.effective));
}
std::size_t rough_hash(const model::ContainerAmount& v) noexcept {
  return mix(mix(v.name, static_cast<std::size_t>(v.request)), static_cast<std::size_t>(v.limit));
}
std::size_t rough_hash(const model::ContainerResources& v) noexcept {
  std::size_t out = mix(static_cast<std::size_t>(v.kind), v.amounts.size());
  for (const model::ContainerAmount& amount : v.amounts) out = mix(out, rough_hash(amount));
  return out;
}
std::size_t rough_hash(const model::Toleration& v) noexcept {
  return mix(mix(v.key, v.value), static_cast<std::size_t>(v.effect));
}
std::size_t rough_hash(const model::Selector& v) noexcept {
  std::size_t out = v.requirements.size();
  for (const model::Requirement& r : v.requirements)
    out = mix(mix(out, r.key), r.values.empty() ? 0 : r.values.front());
  return out;
}
std::size_t rough_hash(const model::NodeTerm& v) noexcept {
  std::size_t out = static_cast<std::size_t>(v.weight);
  for (const model::Requirement& r : v.expressions) out = mix(mix(out, r.key), r.values.empty() ? 0 : r.values.front());
  return mix(out, v.fields.size());
}
std::size_t rough_hash(const model::AffinityTerm& v) noexcept {
  return mix(mix(v.topology_key, static_cast<std::size_t>(v.weight)), rough_hash(v.selector));
}
std::size_t rough_hash(const model::SpreadConstraint& v) noexcept {
  return mix(mix(v.topology_key, static_cast<std::size_t>(v.max_skew)), rough_hash(v.selector));
}
std::size_t rough_hash(const model::HostPort& v) noexcept { return mix(v.ip, static_cast<std::size_t>(v.port)); }
std::size_t rough_hash(const model::ImageRef& v) noexcept { return mix(v.name, static_cast<std::size_t>(v.kind)); }
std::size_t rough_hash(const model::PodVolume& v) noexcept { return mix(of_text(v.name), of_text(v.source)); }
std::size_t rough_hash(const model::NodeVolume& v) noexcept { return mix(v.ns, v.source); }
std::size_t rough_hash(const model::PodCondition& v) noexcept {
  return mix(mix(of_text(v.type), of_text(v.status)), of_text(v.reason));
}
std::size_t rough_hash(const std::string& v) noexcept { return of_text(v); }

template <typename T>
std::size_t rough_hash(const model::SharedList<T>& list) noexcept {
  std::size_t out = list.size();
  for (const T& value : list) out = mix(out, rough_hash(value));
  return out;
}
std::size_t rough_hash(const model::SharedText& text) noexcept { return of_text(text); }

template <typename T>
class Table {
 public:
  void share(T& value) {
    if (value.empty()) return;
    T& slot = slots_[(rough_hash(value) >> 32) % slots_.size()];
    if (slot == value)
      value = slot;
    else
      slot = value;
  }

 private:
  std::array<T, 512> slots_;
};

}  // namespace

struct PodSharing::Tables {
  std::mutex mutex;  // guards all below
  Table<model::SharedList<model::Label>> labels;
  Table<model::SharedList<model::PodResource>> resources;
  Table<model::SharedList<model::ContainerResources>> containers;
  Table<model::SharedList<model::ContainerAmount>> amounts;
  Table<model::SharedList<model::Toleration>> tolerations;
  Table<model::SharedList<model::NodeTerm>> node_terms;
  Table<model::SharedList<model::AffinityTerm>> affinity_terms;
  Table<model::SharedList<model::SpreadConstraint>> spread;
  Table<model::SharedList<model::HostPort>> ports;
  Table<model::SharedList<model::ImageRef>> images;
  Table<model::SharedList<model::PodVolume>> volumes;
  Table<model::SharedList<model::NodeVolume>> node_volumes;
  Table<model::SharedList<model::PodCondition>> conditions;
  Table<model::SharedList<std::string>> texts;
  Table<model::SharedText> text;
};

PodSharing::PodSharing() : tables_(std::make_unique<Tables>()) {}
PodSharing::~PodSharing() = default;

void PodSharing::share(model::Pod& pod) {
  Tables& t = *tables_;
  const std::lock_guard lock(t.mutex);
  for (auto* list : {&pod.labels, &pod.annotations, &pod.node_selection.selector}) t.labels.share(*list);
  t.resources.share(pod.requests.resources);
  t.containers.share(pod.requests.containers);
  t.amounts.share(pod.requests.overhead);
  t.tolerations.share(pod.tolerations);
  for (auto* list : {&pod.node_selection.required, &pod.node_selection.preferred}) t.node_terms.share(*list);
  for (auto* list :
       {&pod.affinity.required, &pod.affinity.preferred, &pod.affinity.anti_required, &pod.affinity.anti_preferred})
    t.affinity_terms.share(*list);
  t.spread.share(pod.spread);
  t.ports.share(pod.host_ports);
  t.images.share(pod.images);
  t.volumes.share(pod.volumes);
  t.node_volumes.share(pod.node_volumes);
  t.conditions.share(pod.conditions);
  for (auto* list : {&pod.gates, &pod.resource_claims}) t.texts.share(*list);
  for (auto* text : {&pod.scheduler_name, &pod.group, &pod.phase, &pod.controller.api_version, &pod.controller.kind,
                     &pod.controller.name, &pod.controller.uid})
    t.text.share(*text);
}

}  // namespace berth::decode
