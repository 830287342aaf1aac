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
              std::vector<berth_slot> slots = {});
  ~BlockRecord();
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
  void drop_candidate(std::uint32_t row);

 private:
  // What buffers are made of, for their alignment.
  struct alignas(64) Line {
    unsigned char bytes[64] = {};
  };
  /// Zeroed, and at least a line longer than asked for.
  void* buffer(std::size_t bytes);
  /// BERTH_NO_SLOT stands for the one node that there is.
  const NodeSpec& node(std::uint32_t row) const;
  /// A value per row; pad rows stay 0.
  template <class T, class Value>
  const T* column_of(Value&& value) {
    T* column = static_cast<T*>(buffer((raw_.rows + 63) / 64 * 64 * sizeof(T)));
    for (std::uint32_t row = 0; row < raw_.rows; ++row) column[row] = value(node(row));
    return column;
  }
  /// 0 where the resource is not named: HAS_ALLOCATABLE and HAS_STATUS_CAPACITY tell the two apart.
  static std::int64_t amount(const std::map<std::string, std::int64_t>& of, const std::string& resource);
  /// 0 where the key is absent.
  berth_id optional_id(const Strings& of, const std::string& key);
  /// One column as the binder was asked for it.
  const void* make_column(const FakeHost::AskedColumn& c);
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
  const void* pod_columns(bool free);
  // Each as the host delivers it: label and image sets are sorted by id, the others as the test says.
  std::uint32_t taint_set(const NodeSpec& n);
  // Sizes and counts are what the test says.
  std::uint32_t image_set(const NodeSpec& n);
  std::uint32_t port_set(const NodeSpec& n);
  std::uint32_t feature_set(const NodeSpec& n);
  // One entry per pod and volume.
  std::uint32_t volume_set(const NodeSpec& n);
  // All labels of the node, by key id.
  std::uint32_t label_set(const NodeSpec& n);

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

#if !defined(BERTH_TESTKIT_COMPILED)
#include <berth/testkit/impl/nodes.ipp>
#endif
