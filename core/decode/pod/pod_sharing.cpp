// SPDX-License-Identifier: Apache-2.0
#include "decode/pod/pod_sharing.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <string_view>

#include "base/guarded.hpp"
#include "model/object_bytes.hpp"

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
std::size_t rough_hash(const model::PodClaim& v) noexcept {
  return mix(mix(of_text(v.name), of_text(v.claim)), of_text(v.claim_template));
}

template <typename T>
std::size_t rough_hash(const model::SharedList<T>& list) noexcept {
  std::size_t out = list.size();
  for (const T& value : list) out = mix(out, rough_hash(value));
  return out;
}
std::size_t rough_hash(const model::SharedText& text) noexcept { return of_text(text); }

// The parts that a whole is hashed by are shared already; equal lists are one list then, and comparing wholes is cheap.
std::size_t rough_hash(const model::OwnerReference& v) noexcept { return mix(of_text(v.uid), of_text(v.name)); }
std::size_t rough_hash(const model::PodRequests& v) noexcept {
  std::size_t out =
      mix(static_cast<std::size_t>(v.nonzero_cpu_milli), static_cast<std::size_t>(v.nonzero_memory_bytes));
  for (const model::PodResource& resource : v.resources) out = mix(out, rough_hash(resource));
  for (const model::ContainerResources& container : v.containers) out = mix(out, rough_hash(container));
  return out;
}
std::size_t rough_hash(const model::NodeSelection& v) noexcept {
  return mix(mix(rough_hash(v.selector), rough_hash(v.required)), rough_hash(v.preferred));
}
std::size_t rough_hash(const model::PodSpec& v) noexcept {
  std::size_t out = mix(rough_hash(v.tolerations), rough_hash(v.images));
  for (const auto* terms :
       {&v.affinity.required, &v.affinity.preferred, &v.affinity.anti_required, &v.affinity.anti_preferred})
    out = mix(out, rough_hash(*terms));
  out = mix(mix(out, rough_hash(v.spread)), rough_hash(v.host_ports));
  out = mix(mix(out, rough_hash(v.gates)), rough_hash(v.resource_claims));
  return mix(mix(out, rough_hash(v.group)), static_cast<std::size_t>(v.generation));
}
template <typename T>
std::size_t rough_hash(const model::Shared<T>& value) noexcept {
  return rough_hash(*value);
}

std::size_t rough_hash(const SymbolHold& v) noexcept {
  std::size_t out = v.list().size();
  for (const Symbol symbol : v.list()) out = mix(out, symbol);
  return out;
}

std::size_t kept_bytes(const SymbolHold& v) noexcept { return v.list_bytes(); }
using model::kept_bytes;

// What is equal and what is taken over.
template <typename T>
bool is_same(const T& a, const T& b) noexcept {
  return a == b;
}
bool is_same(const SymbolHold& a, const SymbolHold& b) noexcept { return std::ranges::equal(a.list(), b.list()); }
template <typename T>
void take(T& value, const T& equal) noexcept {
  value = equal;
}
void take(SymbolHold& value, const SymbolHold& equal) noexcept { value.share(equal); }
template <typename T>
const T& to_keep(const T& value) noexcept {
  return value;
}
SymbolHold to_keep(const SymbolHold& value) noexcept { return value.without_own(); }

/// The newest of the values that fall together. Values larger than k_value_bytes_max are not kept: what many pods have
/// in common is small. Beyond k_table_bytes_max others make room, one slot after the other.
template <typename T>
class Table {
 public:
  void share(T& value) {
    if (value.is_none()) return;
    Slot& slot = slots_[(rough_hash(value) >> 32) % slots_.size()];
    if (is_same(slot.value, value)) {
      take(value, slot.value);
      return;
    }
    const std::size_t bytes = kept_bytes(value);
    if (bytes > PodSharing::k_value_bytes_max) return;
    while (bytes_ - slot.bytes + bytes > PodSharing::k_table_bytes_max) empty_one();
    bytes_ = bytes_ - slot.bytes + bytes;
    slot = {to_keep(value), static_cast<std::uint32_t>(bytes)};
  }
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  struct Slot {
    T value;
    std::uint32_t bytes = 0;
  };
  void empty_one() noexcept {
    Slot& slot = slots_[next_++ % slots_.size()];
    bytes_ -= slot.bytes;
    slot = Slot();
  }

  std::array<Slot, 512> slots_;
  std::size_t bytes_ = 0;  // that slots keep
  std::size_t next_ = 0;   // to be emptied
};

}  // namespace

struct PodSharing::Tables {
  Mutex mutex;
  Table<model::SharedList<model::Label>> labels GUARDED_BY(mutex);
  Table<model::SharedList<model::Toleration>> tolerations GUARDED_BY(mutex);
  Table<model::SharedList<model::NodeTerm>> node_terms GUARDED_BY(mutex);
  Table<model::SharedList<model::AffinityTerm>> affinity_terms GUARDED_BY(mutex);
  Table<model::SharedList<model::SpreadConstraint>> spread GUARDED_BY(mutex);
  Table<model::SharedList<model::HostPort>> ports GUARDED_BY(mutex);
  Table<model::SharedList<model::ImageRef>> images GUARDED_BY(mutex);
  Table<model::SharedList<model::PodVolume>> volumes GUARDED_BY(mutex);
  Table<model::SharedList<model::NodeVolume>> node_volumes GUARDED_BY(mutex);
  Table<model::SharedList<model::PodCondition>> conditions GUARDED_BY(mutex);
  Table<model::SharedList<std::string>> texts GUARDED_BY(mutex);
  Table<model::SharedList<model::PodClaim>> claims GUARDED_BY(mutex);
  Table<model::SharedText> text GUARDED_BY(mutex);
  Table<model::Shared<model::OwnerReference>> controllers GUARDED_BY(mutex);
  Table<model::Shared<model::PodRequests>> requests GUARDED_BY(mutex);
  Table<model::Shared<model::NodeSelection>> selections GUARDED_BY(mutex);
  Table<model::Shared<model::PodSpec>> specs GUARDED_BY(mutex);
  Table<SymbolHold> symbols GUARDED_BY(mutex);  // without own symbols

  std::size_t bytes() const noexcept REQUIRES(mutex) {
    return labels.bytes() + tolerations.bytes() + node_terms.bytes() + affinity_terms.bytes() + spread.bytes() +
           ports.bytes() + images.bytes() + volumes.bytes() + node_volumes.bytes() + conditions.bytes() +
           texts.bytes() + claims.bytes() + text.bytes() + controllers.bytes() + requests.bytes() + selections.bytes() +
           specs.bytes() + symbols.bytes();
  }
  void share_parts(model::PodSpec& spec) REQUIRES(mutex) {
    tolerations.share(spec.tolerations);
    model::PodAffinity& affinity = spec.affinity;
    for (auto* list : {&affinity.required, &affinity.preferred, &affinity.anti_required, &affinity.anti_preferred})
      affinity_terms.share(*list);
    spread.share(spec.spread);
    ports.share(spec.host_ports);
    images.share(spec.images);
    texts.share(spec.gates);
    claims.share(spec.resource_claims);
    text.share(spec.group);
  }
};

PodSharing::PodSharing() : tables_(std::make_unique<Tables>()) {}
PodSharing::~PodSharing() = default;

void PodSharing::share(model::Pod& pod) {
  Tables& t = *tables_;
  const Lock lock(t.mutex);
  for (auto* list : {&pod.labels, &pod.annotations}) t.labels.share(*list);
  for (auto* text : {&pod.ns, &pod.scheduler_name, &pod.phase}) t.text.share(*text);
  t.volumes.share(pod.volumes);
  t.node_volumes.share(pod.node_volumes);
  t.conditions.share(pod.conditions);
  t.requests.share(pod.requests);
  if (!pod.controller.is_none()) {
    model::OwnerReference& controller = pod.controller.edit();
    for (auto* text : {&controller.api_version, &controller.kind, &controller.name, &controller.uid})
      t.text.share(*text);
    t.controllers.share(pod.controller);
  }
  if (!pod.node_selection.is_none()) {
    model::NodeSelection& selection = pod.node_selection.edit();
    t.labels.share(selection.selector);
    for (auto* list : {&selection.required, &selection.preferred}) t.node_terms.share(*list);
    t.selections.share(pod.node_selection);
  }
  t.share_parts(pod.spec.edit());
  t.specs.share(pod.spec);
  t.symbols.share(pod.symbols);
}

std::size_t PodSharing::bytes() const {
  const Lock lock(tables_->mutex);
  return sizeof(Tables) + tables_->bytes();
}

}  // namespace berth::decode
