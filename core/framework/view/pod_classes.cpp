// SPDX-License-Identifier: Apache-2.0
#include "framework/view/pod_classes.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/guarded.hpp"

namespace berth::framework {
namespace {

/// Appends values so that different field values never give equal bytes: every list carries its length.
class KeyWriter {
 public:
  explicit KeyWriter(std::string& out) : out_(out) {}
  template <typename T>
  void number(T value) {
    char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    out_.append(bytes, sizeof(T));
  }
  void text(std::string_view value) {
    number(static_cast<std::uint32_t>(value.size()));
    out_.append(value);
  }
  template <typename List, typename Each>
  void list(const List& values, Each&& each) {
    number(static_cast<std::uint32_t>(values.size()));
    for (const auto& value : values) each(value);
  }
  void labels(const model::Labels& values) {
    list(values, [&](const model::Label& l) {
      number(l.key);
      number(l.value);
    });
  }
  void requirements(const std::vector<model::Requirement>& values) {
    list(values, [&](const model::Requirement& r) {
      number(r.key);
      number(r.op);
      number(r.number);
      list(r.values, [&](Symbol v) { number(v); });
    });
  }
  void selector(const model::Selector& s) {
    number(s.kind);
    requirements(s.requirements);
    text(s.error);
  }
  void terms(const std::vector<model::AffinityTerm>& values) {
    list(values, [&](const model::AffinityTerm& t) {
      selector(t.selector);
      selector(t.namespace_selector);
      list(t.namespaces, [&](Symbol v) { number(v); });
      number(t.topology_key);
      number(t.weight);
    });
  }
  void node_terms(const std::vector<model::NodeTerm>& values) {
    list(values, [&](const model::NodeTerm& t) {
      requirements(t.expressions);
      requirements(t.fields);
      number(t.weight);
      text(t.error);
    });
  }

 private:
  std::string& out_;
};

}  // namespace

void PodClasses::write_key(const model::Pod& pod) {
  key_.clear();
  KeyWriter key(key_);
  const std::uint64_t g = fields_.groups;
  if (g & BERTH_POD_REQUESTS || !fields_.requests.empty())
    key.list(pod.requests->resources, [&](const model::PodResource& r) {
      key.number(r.name);
      key.number(r.request);
      key.number(r.effective);
      key.number(r.scoring);
    });
  if (g & BERTH_POD_LABELS) {
    key.labels(pod.labels);
  } else {
    for (const model::Label& label : pod.labels)
      if (std::binary_search(fields_.labels.begin(), fields_.labels.end(), label.key)) {
        key.number(label.key);
        key.number(label.value);
      }
    key.number(k_no_symbol);
  }
  if (g & BERTH_POD_TOLERATIONS)
    key.list(pod.spec->tolerations, [&](const model::Toleration& t) {
      key.number(t.key);
      key.number(t.value);
      key.number(t.op);
      key.number(t.effect);
      key.number(t.seconds);
    });
  if (g & BERTH_POD_PRIORITY) key.number(pod.priority);
  if (g & BERTH_POD_NAMESPACE) key.number(pod.ns_symbol);
  if (g & BERTH_POD_NODE_SELECTION) {
    const model::NodeSelection& s = pod.node_selection;
    key.number(
        static_cast<std::uint8_t>((s.has_selector ? 1 : 0) | (s.has_required ? 2 : 0) | (s.has_preferred ? 4 : 0)));
    key.labels(s.selector);
    key.node_terms(s.required);
    key.node_terms(s.preferred);
  }
  if (g & BERTH_POD_PORTS)
    key.list(pod.spec->host_ports, [&](const model::HostPort& p) {
      key.number(p.ip);
      key.number(p.protocol);
      key.number(p.port);
    });
  if (g & BERTH_POD_IMAGES) {
    key.list(pod.spec->images, [&](const model::ImageRef& i) {
      key.number(i.name);
      key.number(i.kind);
    });
    key.number(pod.spec->container_count);
  }
  if (g & BERTH_POD_SPREAD)
    key.list(pod.spec->spread, [&](const model::SpreadConstraint& c) {
      key.selector(c.selector);
      key.list(c.match_label_keys, [&](Symbol v) { key.number(v); });
      key.number(c.topology_key);
      key.number(c.max_skew);
      key.number(c.min_domains);
      key.number(c.action);
      key.number(static_cast<std::uint8_t>((c.honor_node_affinity ? 1 : 0) | (c.honor_node_taints ? 2 : 0)));
    });
  if (g & BERTH_POD_AFFINITY) {
    key.number(static_cast<std::uint8_t>(pod.spec->affinity.present));
    key.terms(pod.spec->affinity.required);
    key.terms(pod.spec->affinity.preferred);
    key.terms(pod.spec->affinity.anti_required);
    key.terms(pod.spec->affinity.anti_preferred);
  }
  if (g & BERTH_POD_OWNER) {
    key.text(pod.controller->api_version);
    key.text(pod.controller->kind);
    key.text(pod.controller->name);
    key.text(pod.controller->uid);
  }
  if (g & BERTH_POD_GATES) key.list(pod.spec->gates, [&](const std::string& gate) { key.text(gate); });
  if (g & BERTH_POD_SPEC_FLAGS)
    key.number(static_cast<std::uint8_t>((pod.spec->host_network ? 1 : 0) | (pod.spec->host_users_false ? 2 : 0) |
                                         (pod.spec->restarts_all_containers ? 4 : 0)));
  if (g & BERTH_POD_PLACEMENT) {
    key.number(pod.node_name);
    key.number(pod.nominated_node);
  }
  if (g & BERTH_POD_VOLUMES)
    key.list(pod.volumes, [&](const model::PodVolume& v) {
      key.text(v.name);
      key.text(v.source);
      key.number(v.kind);
      key.number(static_cast<std::uint8_t>(v.read_only));
    });
  if (g & BERTH_POD_STORAGE) {
    key.number(static_cast<std::uint32_t>(pod.node_volumes.size()));
    if (pod.names_claims()) key.text(pod.uid.text());
    for (const model::PodVolume& v : pod.volumes) {
      if (v.kind == model::PodVolume::Kind::other) continue;
      key.text(v.name);
      key.text(v.source);
      key.number(v.kind);
      key.number(static_cast<std::uint8_t>(v.read_only));
    }
  }
  if (g & BERTH_POD_RESOURCE_CLAIMS)
    key.list(pod.spec->resource_claims, [&](const model::PodClaim& claim) { key.text(claim.name); });
  if ((g & BERTH_POD_CLAIMS) != 0) {
    const bool has_claims = !pod.spec->resource_claims.empty();
    key.number(static_cast<std::uint8_t>(has_claims));
    if (has_claims) key.text(pod.uid.text());
  }
  if ((g & BERTH_POD_CONTAINERS) != 0 || ((g & BERTH_POD_CLAIMS) != 0 && pod.asks_for_devices())) {
    const auto amount = [&](const model::ContainerAmount& each) {
      key.number(each.name);
      key.number(static_cast<std::uint8_t>((each.has_request ? 1 : 0) | (each.has_limit ? 2 : 0)));
      key.number(each.request);
      key.number(each.limit);
    };
    key.list(pod.requests->containers, [&](const model::ContainerResources& each) {
      key.number(each.kind);
      key.list(each.amounts, amount);
    });
    key.list(pod.requests->overhead, amount);
  }
  if (g & BERTH_POD_ANNOTATIONS) key.labels(pod.annotations);
  if (g & BERTH_POD_GROUP) key.text(pod.spec->group);
  if (g & BERTH_POD_STATUS) {
    key.text(pod.phase);
    key.number(pod.start_ns);
    key.number(static_cast<std::uint8_t>(pod.deleting));
    key.number(pod.deletion_s);
  }
  if (g & BERTH_POD_CREATED) key.number(pod.creation_ns);
  if (g & BERTH_POD_SCHEDULING) {
    key.text(pod.scheduler_name);
    key.number(static_cast<std::uint8_t>(pod.spec->preempts));
  }
  if (g & BERTH_POD_QOS) key.number(pod.requests->qos);
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
  std::uint64_t number = taken_from_earlier();
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
