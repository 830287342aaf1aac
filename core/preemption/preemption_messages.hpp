// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Private to core/preemption.
namespace berth::preemption {

/// How many nodes evictions do not help on, and why.
class RuledOutNodes {
 public:
  /// Nothing, where no node or no reason is named. Requires: another reason than those before.
  void add(std::uint32_t count, std::string_view reason);
  /// "0/5 nodes are available: 2 …, 3 ….", of so many nodes in all.
  std::string sentence(std::uint32_t nodes) &&;

 private:
  std::vector<std::string> entries_;
};

}  // namespace berth::preemption
