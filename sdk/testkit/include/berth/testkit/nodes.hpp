// SPDX-License-Identifier: Apache-2.0
/// NodeSpec: what a test says about a node, in strings. BlockRecord: nodes as the columns that the policy asked for.
///
/// Units:    cpu in milli-cores, memory and storage in bytes, sizes in bytes. A resource that a map does not name is 0 in its column.
/// Lifetime: specs own their texts. A BlockRecord owns its columns, and borrows host, nodes and pod, which outlive it.
/// Threads:  one. Errors: std::logic_error for a kind of column that the kit does not have.
/// Source:   berth_node_block_v1 and BERTH_COL_* (ext/nodes.h).
#pragma once
#include <berth/testkit/pods.hpp>

namespace berth::testkit {

/// Of BERTH_COL_TAINT_SET, in the order that is given.
struct TaintSpec {
  std::string key;
  std::string value;   ///< may be empty: BERTH_ID_EMPTY
  std::string effect;  ///< NoSchedule, PreferNoSchedule, NoExecute; else OTHER
};
/// Of BERTH_COL_IMAGE_SET; sorted here.
struct ImageSpec {
  std::string name;  ///< as the node reports it
  std::int64_t size_bytes;
  std::uint32_t node_count = 1;  ///< nodes that have the image
};
/// A volume of a pod on the node, of BERTH_COL_VOLUME_SET, in the order that is given.
struct NodeVolumeSpec {
  std::uint32_t kind = BERTH_VOLUME_CLAIM;  ///< CLAIM, EPHEMERAL or INLINE
  std::string source = {};                  ///< claim name, <pod>-<volume>, or JSON
  std::string ns = "default";               ///< of the pod
  std::string pod_name = {};                ///< EPHEMERAL only
  std::string pod_uid = {};                 ///< EPHEMERAL only
};
/// A node as the columns tell it: pods that are said to be on it (requested, pods, ports, volumes) are not checked
/// against anything.
// All of it is optional: a test names what its policy looks at.
struct NodeSpec {
  std::string name = "node";                                 ///< metadata.name
  Strings labels = {};                                       ///< key to value
  Strings annotations = {};                                  ///< key to value
  Strings conditions = {};                                   ///< type to status
  std::vector<TaintSpec> taints = {};                        ///< spec.taints
  bool unschedulable = false;                                ///< spec.unschedulable
  std::vector<PortSpec> ports = {};                          ///< host ports in use
  std::vector<ImageSpec> images = {};                        ///< status.images
  std::vector<std::string> features = {};                    ///< declared features
  std::map<std::string, std::int64_t> capacity = {};         ///< allocatable
  std::map<std::string, std::int64_t> status_capacity = {};  ///< status.capacity
  std::map<std::string, std::int64_t> requested = {};        ///< by the pods on it
  std::map<std::string, std::int64_t> nonzero = {};          ///< likewise, with defaults
  std::int64_t pods = 0;                                     ///< number of pods on it
  std::vector<NodeVolumeSpec> volumes = {};                  ///< of the pods on it
};

/// A block of nodes with this host's columns: 64-byte aligned, padded with zero rows. Borrows the host and the pod.
/// Every row is a candidate until drop_candidate(). Columns are made by the constructor: what changes in `nodes` later does
/// not show.
class BlockRecord {
 public:
  /// Without slots the block is contiguous from slot 0. With slots row i is node slots[i] of `nodes`, a gathered
  /// block; BERTH_NO_SLOT is allowed when `nodes` has one element (a hint). Without a pod, columns that follow it are
  /// null.
  BlockRecord(FakeHost& host, const std::vector<NodeSpec>& nodes, const berth_pod_v1* pod = nullptr,
              std::vector<berth_slot> slots = {})
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
  // The policy has pointers into it.
  BlockRecord(const BlockRecord&) = delete;
  BlockRecord& operator=(const BlockRecord&) = delete;

  /// Lives as long as the record.
  const berth_node_block_v1* raw() const { return &raw_; }
  /// Of 64 rows, as bitmaps by row have.
  std::uint32_t words() const { return (raw_.rows + 63) / 64; }
  /// words() of them; bits past the rows are 0.
  const std::uint64_t* candidates() const { return candidates_; }
  /// The row needs no answer: what a policy says of it must not matter. Requires: row < raw()->rows.
  void drop_candidate(std::uint32_t row) { candidates_[row >> 6] &= ~(std::uint64_t{1} << (row & 63)); }

 private:
  // What buffers are made of, for their alignment.
  struct alignas(64) Line {
    unsigned char bytes[64] = {};
  };
  /// Zeroed, and at least a line longer than asked for.
  void* buffer(std::size_t bytes) {
    buffers_.emplace_back(bytes / sizeof(Line) + 1);
    return buffers_.back().data();
  }
  /// BERTH_NO_SLOT stands for the one node that there is.
  const NodeSpec& node(std::uint32_t row) const {
    return nodes_[slots_.empty() ? row : slots_[row] == BERTH_NO_SLOT ? 0 : slots_[row]];
  }
  /// A value per row; pad rows stay 0.
  template <class T, class Value>
  const T* column_of(Value&& value) {
    T* column = static_cast<T*>(buffer((raw_.rows + 63) / 64 * 64 * sizeof(T)));
    for (std::uint32_t row = 0; row < raw_.rows; ++row) column[row] = value(node(row));
    return column;
  }
  /// 0 where the resource is not named: HAS_ALLOCATABLE and HAS_STATUS_CAPACITY tell the two apart.
  static std::int64_t amount(const std::map<std::string, std::int64_t>& of, const std::string& resource) {
    // As in a real column, absent and 0 look the same.
    const auto found = of.find(resource);
    return found == of.end() ? 0 : found->second;
  }
  /// 0 where the key is absent.
  berth_id optional_id(const Strings& of, const std::string& key) {
    const auto found = of.find(key);
    return found == of.end() ? 0 : host_.id(found->second);
  }
  /// One column as the binder was asked for it.
  const void* make_column(const FakeHost::AskedColumn& c) {
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
      case BERTH_COL_POD_CAPACITY:
        return pod_columns(false);
      // A policy that asks for another kind needs the real host: `berth simulate`.
      default:
        throw std::logic_error("the test kit has no column of kind " + std::to_string(c.kind));
    }
  }
  /// A bit per row.
  template <class Holds>
  const void* bits(Holds&& holds) {
    auto* words = static_cast<std::uint64_t*>(buffer((raw_.rows + 63) / 64 * sizeof(std::uint64_t)));
    for (std::uint32_t row = 0; row < raw_.rows; ++row) {
      if (holds(node(row))) words[row >> 6] |= std::uint64_t{1} << (row & 63);
    }
    return words;
  }
  /// One array per entry of the pod's resources, in their order; null without a pod.
  const void* pod_columns(bool free) {
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
  // Each as the host delivers it: label and image sets are sorted by id, the others as the test says.
  std::uint32_t taint_set(const NodeSpec& n) {
    // In the node's order, as the host keeps it.
    std::vector<berth_taint_v1> out;
    for (const TaintSpec& t : n.taints) out.push_back({host_.id(t.key), host_.id(t.value), effect_of(t.effect), 0});
    return host_.taint_set(out);
  }
  // Sizes and counts are what the test says.
  std::uint32_t image_set(const NodeSpec& n) {
    std::vector<berth_image_v1> out;
    for (const ImageSpec& i : n.images) out.push_back({host_.id(i.name), i.node_count, i.size_bytes});
    std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    return host_.image_set(out);
  }
  std::uint32_t port_set(const NodeSpec& n) {
    // In the order of the test: policies must not depend on it.
    std::vector<berth_host_port_v1> out;
    for (const PortSpec& p : n.ports) out.push_back(port_of(host_, p));
    return host_.port_set(out);
  }
  std::uint32_t feature_set(const NodeSpec& n) {
    // In the node's order.
    std::vector<berth_id> out;
    for (const std::string& f : n.features) out.push_back(host_.id(f));
    return host_.feature_set(out);
  }
  // One entry per pod and volume.
  std::uint32_t volume_set(const NodeSpec& n) {
    std::vector<berth_node_volume_v1> out;
    for (const NodeVolumeSpec& v : n.volumes) {
      // Names and uids are of ephemeral volumes alone, as in the real column.
      const bool owned = v.kind == BERTH_VOLUME_EPHEMERAL;
      out.push_back({host_.id(v.ns), host_.id(v.source), owned ? host_.id(v.pod_name) : 0,
                     owned ? host_.id(v.pod_uid) : 0, v.kind, 0});
    }
    return host_.volume_set(out);
  }
  // All labels of the node, by key id.
  std::uint32_t label_set(const NodeSpec& n) {
    std::vector<berth_label_v1> out;
    for (const auto& [key, value] : n.labels) out.push_back({host_.id(key), host_.id(value)});
    std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
    return host_.label_set(out);
  }

  FakeHost& host_;                         ///< makes ids and set numbers
  const std::vector<NodeSpec>& nodes_;     ///< the caller's
  const berth_pod_v1* pod_;                ///< null: none
  std::vector<berth_slot> slots_;          ///< empty: contiguous
  std::deque<std::vector<Line>> buffers_;  ///< never move
  std::vector<const void*> columns_;       ///< in the order of the binder
  std::uint64_t* candidates_ = nullptr;    ///< in buffers_
  berth_node_block_v1 raw_{};              ///< points to all of these
};

}  // namespace berth::testkit
