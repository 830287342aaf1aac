// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <berth/testkit/nodes.hpp>

namespace berth::testkit {

BERTH_TESTKIT_INLINE BlockRecord::BlockRecord(FakeHost& host, const std::vector<NodeSpec>& nodes,
                                              const berth_pod_v1* pod, std::vector<berth_slot> slots)
    : host_(host), nodes_(nodes), pod_(pod), slots_(std::move(slots)) {
  raw_.struct_size = sizeof raw_;
  raw_.rows = static_cast<std::uint32_t>(slots_.empty() ? nodes.size() : slots_.size());
  raw_.slots = slots_.empty() ? nullptr : slots_.data();
  raw_.column_count = static_cast<std::uint32_t>(host.columns.size());
  // In the order of the binder, whose numbers are places in it.
  for (const FakeHost::AskedColumn& column : host.columns) columns_.push_back(make_column(column));
  raw_.columns = columns_.data();
  // Bits past the rows stay 0.
  auto* candidates = static_cast<std::uint64_t*>(buffer((raw_.rows + 63) / 64 * sizeof(std::uint64_t)));
  for (std::uint32_t row = 0; row < raw_.rows; ++row) candidates[row >> 6] |= std::uint64_t{1} << (row & 63);
  candidates_ = candidates;
  raw_.candidates = candidates;
}

BERTH_TESTKIT_INLINE void BlockRecord::drop_candidate(std::uint32_t row) {
  candidates_[row >> 6] &= ~(std::uint64_t{1} << (row & 63));
}

BERTH_TESTKIT_INLINE void* BlockRecord::buffer(std::size_t bytes) {
  buffers_.emplace_back(bytes / sizeof(Line) + 1);
  return buffers_.back().data();
}

BERTH_TESTKIT_INLINE const NodeSpec& BlockRecord::node(std::uint32_t row) const {
  return nodes_[slots_.empty() ? row : slots_[row] == BERTH_NO_SLOT ? 0 : slots_[row]];
}

BERTH_TESTKIT_INLINE std::int64_t BlockRecord::amount(const std::map<std::string, std::int64_t>& of,
                                                      const std::string& resource) {
  // As in a real column, absent and 0 look the same.
  const auto found = of.find(resource);
  return found == of.end() ? 0 : found->second;
}

BERTH_TESTKIT_INLINE berth_id BlockRecord::optional_id(const Strings& of, const std::string& key) {
  const auto found = of.find(key);
  return found == of.end() ? 0 : host_.id(found->second);
}

BERTH_TESTKIT_INLINE const void* BlockRecord::make_column(const FakeHost::AskedColumn& c) {
  // Two shapes of arrays: int64 and u32.
  const auto ints = [&](auto value) -> const void* { return column_of<std::int64_t>(value); };
  const auto ids = [&](auto value) -> const void* { return column_of<std::uint32_t>(value); };
  switch (c.kind) {
    // Amounts, int64.
    case BERTH_COL_FREE:
      return ints([&](const NodeSpec& n) { return amount(n.capacity, c.key) - amount(n.requested, c.key); });
    case BERTH_COL_ALLOCATABLE:
      return ints([&](const NodeSpec& n) { return amount(n.capacity, c.key); });
    case BERTH_COL_STATUS_CAPACITY:
      return ints([&](const NodeSpec& n) { return amount(n.status_capacity, c.key); });
    case BERTH_COL_LISTED:
      return ints([&](const NodeSpec& n) { return std::int64_t{n.capacity.count(c.key) != 0}; });
    case BERTH_COL_HAS_ALLOCATABLE:
      return bits([&](const NodeSpec& n) { return n.capacity.count(c.key) != 0; });
    case BERTH_COL_HAS_STATUS_CAPACITY:
      return bits([&](const NodeSpec& n) { return n.status_capacity.count(c.key) != 0; });
    case BERTH_COL_REQUESTED:
      return ints([&](const NodeSpec& n) { return amount(n.requested, c.key); });
    case BERTH_COL_NONZERO:
      return ints([&](const NodeSpec& n) { return amount(n.nonzero, c.key); });
    case BERTH_COL_PODS:
      return ints([&](const NodeSpec& n) { return n.pods; });
    // Ids of texts, u32.
    case BERTH_COL_LABEL:
      return ids([&](const NodeSpec& n) { return optional_id(n.labels, c.key); });
    case BERTH_COL_ANNOTATION:
      return ids([&](const NodeSpec& n) { return optional_id(n.annotations, c.key); });
    case BERTH_COL_CONDITION:
      return ids([&](const NodeSpec& n) { return optional_id(n.conditions, c.key); });
    case BERTH_COL_NAME:
      return ids([&](const NodeSpec& n) { return host_.id(n.name); });
    // Numbers of sets, u32: equal lists have equal numbers, at the host's.
    case BERTH_COL_TAINT_SET:
      return ids([&](const NodeSpec& n) { return taint_set(n); });
    case BERTH_COL_IMAGE_SET:
      return ids([&](const NodeSpec& n) { return image_set(n); });
    case BERTH_COL_PORT_SET:
      return ids([&](const NodeSpec& n) { return port_set(n); });
    case BERTH_COL_FEATURE_SET:
      return ids([&](const NodeSpec& n) { return feature_set(n); });
    case BERTH_COL_LABEL_SET:
      return ids([&](const NodeSpec& n) { return label_set(n); });
    case BERTH_COL_VOLUME_SET:
      return ids([&](const NodeSpec& n) { return volume_set(n); });
    // A bitmap by row.
    case BERTH_COL_UNSCHEDULABLE:
      return bits([](const NodeSpec& n) { return n.unschedulable; });
    // Arrays by the pod's resources.
    case BERTH_COL_POD_FREE:
      return pod_columns(true);
    case BERTH_COL_POD_ALLOCATABLE:
      return pod_columns(false);
    // A policy that asks for another kind needs the real host: `berth simulate`.
    default:
      throw std::logic_error("the test kit has no column of kind " + std::to_string(c.kind));
  }
}

BERTH_TESTKIT_INLINE const void* BlockRecord::pod_columns(bool free) {
  if (pod_ == nullptr) return nullptr;
  auto* arrays = static_cast<const std::int64_t**>(buffer(pod_->resource_count * sizeof(std::int64_t*)));
  for (std::uint32_t r = 0; r < pod_->resource_count; ++r) {
    // The pod has ids, the specs have texts.
    const std::string name = host_.text(pod_->resources[r].name);
    arrays[r] = column_of<std::int64_t>(
        [&](const NodeSpec& n) { return amount(n.capacity, name) - (free ? amount(n.requested, name) : 0); });
  }
  return arrays;
}

BERTH_TESTKIT_INLINE std::uint32_t BlockRecord::taint_set(const NodeSpec& n) {
  // In the node's order, as the host keeps it.
  std::vector<berth_taint_v1> out;
  for (const TaintSpec& t : n.taints) out.push_back({host_.id(t.key), host_.id(t.value), effect_of(t.effect), 0});
  return host_.taint_set(out);
}

BERTH_TESTKIT_INLINE std::uint32_t BlockRecord::image_set(const NodeSpec& n) {
  std::vector<berth_image_v1> out;
  for (const ImageSpec& i : n.images) out.push_back({host_.id(i.name), i.node_count, i.size_bytes});
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return host_.image_set(out);
}

BERTH_TESTKIT_INLINE std::uint32_t BlockRecord::port_set(const NodeSpec& n) {
  // In the order of the test: policies must not depend on it.
  std::vector<berth_host_port_v1> out;
  for (const PortSpec& p : n.ports) out.push_back(port_of(host_, p));
  return host_.port_set(out);
}

BERTH_TESTKIT_INLINE std::uint32_t BlockRecord::feature_set(const NodeSpec& n) {
  // In the node's order.
  std::vector<berth_id> out;
  for (const std::string& f : n.features) out.push_back(host_.id(f));
  return host_.feature_set(out);
}

BERTH_TESTKIT_INLINE std::uint32_t BlockRecord::volume_set(const NodeSpec& n) {
  std::vector<berth_node_volume_v1> out;
  for (const NodeVolumeSpec& v : n.volumes) {
    // Names and uids are of ephemeral volumes alone, as in the real column.
    const bool owned = v.kind == BERTH_VOLUME_EPHEMERAL;
    out.push_back({host_.id(v.ns), host_.id(v.source), owned ? host_.id(v.pod_name) : 0,
                   owned ? host_.id(v.pod_uid) : 0, v.kind, 0});
  }
  return host_.volume_set(out);
}

BERTH_TESTKIT_INLINE std::uint32_t BlockRecord::label_set(const NodeSpec& n) {
  std::vector<berth_label_v1> out;
  for (const auto& [key, value] : n.labels) out.push_back({host_.id(key), host_.id(value)});
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
  return host_.label_set(out);
}

BERTH_TESTKIT_INLINE BlockRecord::~BlockRecord() = default;

}  // namespace berth::testkit
