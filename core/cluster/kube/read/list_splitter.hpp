// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "cluster/kube/read/object_answers.hpp"

namespace berth::cluster::kube {

/// Cuts the JSON of a Kubernetes list into its items while it arrives, so that no more than one item is ever held.
///
/// It finds where values begin and end; whether an item is proper JSON is for its reader to say.
/// Threads: one.
/// Failure: text that cannot be a list, an item of more than k_object_bytes_max; nothing more is taken then.
class ListSplitter {
 public:
  /// Called with each item, in order; the view is valid during the call.
  using OnItem = std::function<void(std::string_view item)>;

  explicit ListSplitter(OnItem on_item) : on_item_(std::move(on_item)) {}

  Status add(std::string_view piece);
  /// True once the closing brace was seen.
  bool complete() const noexcept { return state_ == State::ended; }

  // Known when complete() (and before, as far as they have come).
  const std::string& kind() const noexcept { return kind_; }                // "PodList", may be empty
  const std::string& api_version() const noexcept { return api_version_; }  // "v1"
  const std::string& metadata() const noexcept { return metadata_; }        // JSON of ListMeta, or empty

 private:
  enum class State { start, key, key_text, colon, value, raw, items_start, items, ended };
  bool step(char c);
  bool raw(char c);
  void end_of_value();
  Error too_large();

  const OnItem on_item_;
  State state_ = State::start;
  bool in_items_ = false;
  bool escaped_ = false, quoted_ = false;
  int depth_ = 0;  // inside the value that is being collected
  bool is_broken_ = false;
  std::size_t offset_ = 0;
  std::string key_, value_, kind_, api_version_, metadata_;
};

/// Cuts a watch into its lines. Threads: one.
class LineSplitter {
 public:
  explicit LineSplitter(std::function<void(std::string_view line)> on_line) : on_line_(std::move(on_line)) {}
  /// Fails on a line of more than k_object_bytes_max, before it is held; nothing more is taken then.
  Status add(std::string_view piece);
  /// Bytes of a line that has no end yet.
  std::size_t pending_bytes() const noexcept { return rest_.size(); }

 private:
  const std::function<void(std::string_view)> on_line_;
  bool is_broken_ = false;
  std::string rest_;
};

}  // namespace berth::cluster::kube
