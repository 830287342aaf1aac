// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <bit>
#include <cstdint>

#include "base/check.hpp"

namespace berth::model {

/// Number of a plugin name in this process, in order of first use. The framework owns the names.
using PluginIndex = std::uint16_t;
inline constexpr PluginIndex k_no_plugin = 0xffff;
inline constexpr std::size_t k_max_plugins = 128;

/// A set of plugins, by value: who rejected a pod, who still waits.
class PluginSet {
 public:
  void insert(PluginIndex plugin) {
    BERTH_CHECK(plugin < k_max_plugins, "plugin index {} in a set of {}", plugin, k_max_plugins);
    words_[plugin >> 6] |= std::uint64_t{1} << (plugin & 63);
  }
  bool contains(PluginIndex plugin) const noexcept {
    return plugin < k_max_plugins && ((words_[plugin >> 6] >> (plugin & 63)) & 1) != 0;
  }
  bool empty() const noexcept { return (words_[0] | words_[1]) == 0; }
  bool intersects(const PluginSet& other) const noexcept {
    return ((words_[0] & other.words_[0]) | (words_[1] & other.words_[1])) != 0;
  }
  void clear() noexcept { words_ = {}; }
  PluginSet& operator|=(const PluginSet& other) noexcept {
    words_[0] |= other.words_[0];
    words_[1] |= other.words_[1];
    return *this;
  }
  friend PluginSet operator|(PluginSet a, const PluginSet& b) noexcept { return a |= b; }
  friend bool operator==(const PluginSet&, const PluginSet&) = default;
  template <typename Body>
  void for_each(Body&& body) const {
    for (std::size_t w = 0; w < words_.size(); ++w)
      for (std::uint64_t rest = words_[w]; rest != 0; rest &= rest - 1)
        body(static_cast<PluginIndex>(w * 64 + static_cast<std::size_t>(std::countr_zero(rest))));
  }

 private:
  std::array<std::uint64_t, k_max_plugins / 64> words_{};
};

}  // namespace berth::model
