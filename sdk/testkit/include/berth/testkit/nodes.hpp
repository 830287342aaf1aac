// SPDX-License-Identifier: Apache-2.0
/// NodeSpec: what a test says about a node, in strings. BlockRecord: nodes as the columns that the policy asked for.
#pragma once
#include <berth/testkit/pods.hpp>

namespace berth::testkit {

struct TaintSpec {
  std::string key;
  std::string value;
  std::string effect;
};
struct ImageSpec {
  std::string name;
  std::int64_t size_bytes;
  std::uint32_t node_count = 1;
};
/// A volume of a pod on the node.
struct NodeVolumeSpec {
  std::uint32_t kind = BERTH_VOLUME_CLAIM;
  std::string source = {};
  std::string ns = "default";
  std::string pod_name = {};  ///< EPHEMERAL only
  std::string pod_uid = {};
};
struct NodeSpec {
  std::string name = "node";
  Strings labels = {};
  Strings annotations = {};
  Strings conditions = {};  ///< type to status
  std::vector<TaintSpec> taints = {};
  bool unschedulable = false;
  std::vector<PortSpec> ports = {};
  std::vector<ImageSpec> images = {};
  std::vector<std::string> features = {};
  std::map<std::string, std::int64_t> capacity = {};  ///< allocatable
  std::map<std::string, std::int64_t> status_capacity = {};
  std::map<std::string, std::int64_t> requested = {};
  std::map<std::string, std::int64_t> nonzero = {};
  std::int64_t pods = 0;
  std::vector<NodeVolumeSpec> volumes = {};
};

/// A block of nodes with this host's columns: 64-byte aligned, padded with zero rows. Borrows the host and the pod.
class BlockRecord {
 public:
  /// Without slots the block is contiguous from slot 0. With slots row i is node slots[i] of `nodes`, a gathered block;
  /// BERTH_NO_SLOT is allowed when `nodes` has one element (a hint).
  BlockRecord(FakeHost& host, const std::vector<NodeSpec>& nodes, const berth_pod_v1* pod = nullptr,
              std::vector<berth_slot> slots = {})
      : host_(host), nodes_(nodes), pod_(pod), slots_(std::move(slots)) {
    raw_.struct_size = sizeof raw_;
    raw_.rows = static_cast<std::uint32_t>(slots_.empty() ? nodes.size() : slots_.size());
    raw_.slots = slots_.empty() ? nullptr : slots_.data();
    raw_.column_count = static_cast<std::uint32_t>(host.columns.size());
    for (const FakeHost::AskedColumn& column : host.columns) columns_.push_back(make_column(column));
    raw_.columns = columns_.data();
    auto* candidates = static_cast<std::uint64_t*>(buffer((raw_.rows + 63) / 64 * sizeof(std::uint64_t)));
    for (std::uint32_t row = 0; row < raw_.rows; ++row) candidates[row >> 6] |= std::uint64_t{1} << (row & 63);
    candidates_ = candidates;
    raw_.candidates = candidates;
  }
  BlockRecord(const BlockRecord&) = delete;
  BlockRecord& operator=(const BlockRecord&) = delete;

  const berth_node_block_v1* raw() const { return &raw_; }
  std::uint32_t words() const { return (raw_.rows + 63) / 64; }
  const std::uint64_t* candidates() const { return candidates_; }
  void drop_candidate(std::uint32_t row) { candidates_[row >> 6] &= ~(std::uint64_t{1} << (row & 63)); }

 private:
  struct alignas(64) Line {
    unsigned char bytes[64] = {};
  };
  void* buffer(std::size_t bytes) {
    buffers_.emplace_back(bytes / sizeof(Line) + 1);
    return buffers_.back().data();
  }
  const NodeSpec& node(std::uint32_t row) const {
    return nodes_[slots_.empty() ? row : slots_[row] == BERTH_NO_SLOT ? 0 : slots_[row]];
  }
  template <class T, class Value>
  const T* column_of(Value&& value) {
    T* column = static_cast<T*>(buffer((raw_.rows + 63) / 64 * 64 * sizeof(T)));
    for (std::uint32_t row = 0; row < raw_.rows; ++row) column[row] = value(node(row));
    return column;
  }
  static std::int64_t amount(const std::map<std::string, std::int64_t>& of, const std::string& resource) {
    const auto found = of.find(resource);
    return found == of.end() ? 0 : found->second;
  }
  berth_id optional_id(const Strings& of, const std::string& key) {
    const auto found = of.find(key);
    return found == of.end() ? 0 : host_.id(found->second);
  }
  const void* make_column(const FakeHost::AskedColumn& c) {
    const auto ints = [&](auto value) -> const void* { return column_of<std::int64_t>(value); };
    const auto ids = [&](auto value) -> const void* { return column_of<std::uint32_t>(value); };
    switch (c.kind) {
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
      case BERTH_COL_LABEL:
        return ids([&](const NodeSpec& n) { return optional_id(n.labels, c.key); });
      case BERTH_COL_ANNOTATION:
        return ids([&](const NodeSpec& n) { return optional_id(n.annotations, c.key); });
      case BERTH_COL_CONDITION:
        return ids([&](const NodeSpec& n) { return optional_id(n.conditions, c.key); });
      case BERTH_COL_NAME:
        return ids([&](const NodeSpec& n) { return host_.id(n.name); });
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
      case BERTH_COL_UNSCHEDULABLE:
        return bits([](const NodeSpec& n) { return n.unschedulable; });
      case BERTH_COL_POD_FREE:
        return pod_columns(true);
      case BERTH_COL_POD_CAPACITY:
        return pod_columns(false);
      default:
        throw std::logic_error("the test kit has no column of kind " + std::to_string(c.kind));
    }
  }
  template <class Holds>
  const void* bits(Holds&& holds) {
    auto* words = static_cast<std::uint64_t*>(buffer((raw_.rows + 63) / 64 * sizeof(std::uint64_t)));
    for (std::uint32_t row = 0; row < raw_.rows; ++row) {
      if (holds(node(row))) words[row >> 6] |= std::uint64_t{1} << (row & 63);
    }
    return words;
  }
  const void* pod_columns(bool free) {
    if (pod_ == nullptr) return nullptr;
    auto* arrays = static_cast<const std::int64_t**>(buffer(pod_->resource_count * sizeof(std::int64_t*)));
    for (std::uint32_t r = 0; r < pod_->resource_count; ++r) {
      const std::string name = host_.text(pod_->resources[r].name);
      arrays[r] = column_of<std::int64_t>(
          [&](const NodeSpec& n) { return amount(n.capacity, name) - (free ? amount(n.requested, name) : 0); });
    }
    return arrays;
  }
  std::uint32_t taint_set(const NodeSpec& n) {
    std::vector<berth_taint_v1> out;
    for (const TaintSpec& t : n.taints) out.push_back({host_.id(t.key), host_.id(t.value), effect_of(t.effect), 0});
    return host_.taint_set(out);
  }
  std::uint32_t image_set(const NodeSpec& n) {
    std::vector<berth_image_v1> out;
    for (const ImageSpec& i : n.images) out.push_back({host_.id(i.name), i.node_count, i.size_bytes});
    std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    return host_.image_set(out);
  }
  std::uint32_t port_set(const NodeSpec& n) {
    std::vector<berth_host_port_v1> out;
    for (const PortSpec& p : n.ports) out.push_back(port_of(host_, p));
    return host_.port_set(out);
  }
  std::uint32_t feature_set(const NodeSpec& n) {
    std::vector<berth_id> out;
    for (const std::string& f : n.features) out.push_back(host_.id(f));
    return host_.feature_set(out);
  }
  std::uint32_t volume_set(const NodeSpec& n) {
    std::vector<berth_node_volume_v1> out;
    for (const NodeVolumeSpec& v : n.volumes) {
      const bool owned = v.kind == BERTH_VOLUME_EPHEMERAL;
      out.push_back({host_.id(v.ns), host_.id(v.source), owned ? host_.id(v.pod_name) : 0,
                     owned ? host_.id(v.pod_uid) : 0, v.kind, 0});
    }
    return host_.volume_set(out);
  }
  std::uint32_t label_set(const NodeSpec& n) {
    std::vector<berth_label_v1> out;
    for (const auto& [key, value] : n.labels) out.push_back({host_.id(key), host_.id(value)});
    std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
    return host_.label_set(out);
  }

  FakeHost& host_;
  const std::vector<NodeSpec>& nodes_;
  const berth_pod_v1* pod_;
  std::vector<berth_slot> slots_;
  std::deque<std::vector<Line>> buffers_;
  std::vector<const void*> columns_;
  std::uint64_t* candidates_ = nullptr;
  berth_node_block_v1 raw_{};
};

}  // namespace berth::testkit
