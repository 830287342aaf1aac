// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <atomic>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "decode/remains.hpp"
#include "text/diagnostics.hpp"

namespace berth::cluster::kube {

/// Why an object cannot be read.
enum class Undecodable : std::uint8_t {
  malformed,  // its bytes are not what they should encode
  invalid,    // some field is not what it should be
  nameless    // it has no name that could be read
};
inline constexpr std::array<std::string_view, 3> k_undecodable_words = {"malformed", "invalid", "nameless"};
using UndecodableCounts = std::array<std::uint64_t, k_undecodable_words.size()>;

/// Counts the objects of one resource that cannot be read, and names each once in the log, up to k_named_max of them.
/// Threads: note() from one; counts() from any.
class UndecodableLog {
 public:
  static constexpr std::size_t k_named_max = 256;

  explicit UndecodableLog(std::string resource) : resource_(std::move(resource)) {}
  void note(Undecodable reason, const decode::ObjectIdentity& identity, const text::Diagnostics& diagnostics);
  UndecodableCounts counts() const noexcept;

 private:
  const std::string resource_;
  std::array<std::atomic<std::uint64_t>, k_undecodable_words.size()> counts_{};
  boost::unordered_flat_set<std::string> named_;
};

}  // namespace berth::cluster::kube
