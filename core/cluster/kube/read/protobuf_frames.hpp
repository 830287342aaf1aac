// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.hpp"

/// What stands around the objects of an API server in protobuf; the objects themselves are core/decode's.
/// Source: kubernetes v1.36 staging/src/k8s.io/apimachinery/pkg/runtime/serializer/protobuf and pkg/runtime/types.go.
namespace berth::cluster::kube {

inline constexpr std::string_view k_protobuf = "application/vnd.kubernetes.protobuf";
/// What comes before the envelope of a whole answer.
inline constexpr std::string_view k_protobuf_magic{"k8s\0", 4};

/// The envelope: magic, then runtime.Unknown. Views of the bytes that were given.
struct ProtobufObject {
  std::string_view api_version, kind, message;
};
Result<ProtobufObject> read_protobuf_object(std::string_view bytes);

/// One frame of a watch. `object` has an envelope of its own.
struct ProtobufEvent {
  std::string_view type, object;
};
Result<ProtobufEvent> read_protobuf_event(std::string_view frame);

/// Cuts a list into its items while it arrives, so that little more than one item is ever held.
/// Threads: one.
/// Failure: bytes that cannot be a list, an item that says it has more than k_object_bytes_max; nothing more is taken
///          then.
class ProtobufListSplitter {
 public:
  /// Called with each item's message, in order; the view is valid during the call.
  using OnItem = std::function<void(std::string_view item)>;

  explicit ProtobufListSplitter(OnItem on_item) : on_item_(std::move(on_item)) {}

  Status add(std::string_view piece);
  /// True when the list could end here: whether it does is for its transport to say.
  bool complete() const noexcept { return has_list_ && list_left_ == 0 && rest_.empty(); }

  // Known as far as they have come; before the first item in what servers write.
  const std::string& kind() const noexcept { return kind_; }                // "PodList"
  const std::string& api_version() const noexcept { return api_version_; }  // "v1"
  const std::string& metadata() const noexcept { return metadata_; }        // a ListMeta message

 private:
  bool take(std::string_view& bytes);
  Status field(std::uint32_t number, std::string_view payload);

  const OnItem on_item_;
  std::string rest_;  // the start of what has not come whole
  bool has_magic_ = false, has_list_ = false, is_broken_ = false, is_too_large_ = false;
  std::uint64_t list_left_ = 0;  // bytes of the list message that are still to come
  std::string kind_, api_version_, metadata_;
};

/// Cuts a watch into its frames: four bytes of length, the first the highest, then the frame. Threads: one.
class FrameSplitter {
 public:
  explicit FrameSplitter(std::function<void(std::string_view frame)> on_frame) : on_frame_(std::move(on_frame)) {}
  /// Fails on a frame that says it has more than k_object_bytes_max, before it is held; nothing more is taken then.
  Status add(std::string_view piece);
  /// Bytes of a frame that has not come whole.
  std::size_t pending_bytes() const noexcept { return rest_.size(); }

 private:
  const std::function<void(std::string_view)> on_frame_;
  bool is_broken_ = false;
  std::string rest_;
};

}  // namespace berth::cluster::kube
