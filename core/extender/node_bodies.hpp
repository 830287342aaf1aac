// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <string>
#include <unordered_map>

#include "base/guarded.hpp"
#include "extender/extender.hpp"

namespace berth::extender {

/// What extenders are shown of nodes, as plain text: a body is unpacked once for as long as its node stays as it is,
/// not for every pod that is asked about.
///
/// Place:   shared by all extenders of a configuration that know no nodes; without one of these it stays empty.
/// Threads: synchronises itself.
class NodeBodies {
 public:
  /// Appends a JSON list of the bodies, in order.
  void append_list(std::string& out, extender::Extender::Nodes nodes);
  std::size_t count() const;

 private:
  struct Body {
    model::NodePtr node;  // keeps its address from being used again
    std::string text;
  };
  mutable Mutex mutex_;
  std::unordered_map<const model::Node*, Body> bodies_ GUARDED_BY(mutex_);
  std::size_t sweep_at_ GUARDED_BY(mutex_) = 64;  // that many bodies
};

}  // namespace berth::extender
