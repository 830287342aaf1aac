// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "base/symbols.hpp"
#include "text/value.hpp"

namespace berth::decode {

/// Finds the resources that extenders manage in what pods ask for. Immutable; any thread.
/// Source: kubernetes v1.36 pkg/scheduler/extender.go (IsInterested, hasManagedResources).
class ManagedResources {
 public:
  ManagedResources(const std::vector<std::string>& names, SymbolTable& symbols);

  bool empty() const noexcept { return names_.empty(); }
  /// Those that a container or an init container of the pod names in its requests or limits, whatever the amount, in
  /// the order of the names. Ephemeral containers and resources of the pod as a whole do not count.
  std::vector<Symbol> named_by(const text::Value& pod) const;

 private:
  std::vector<std::pair<std::string, Symbol>> names_;
};

}  // namespace berth::decode
