// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

/// What the host and its starter say to each other: one message a packet.
namespace berth::isolation {

enum class StarterRequest : std::uint32_t { begin = 1, end = 2 };
enum class StarterNotice : std::uint32_t { begun = 1, not_begun = 2, ended = 3 };

struct StarterMessage {
  std::uint32_t what = 0;  // StarterRequest or StarterNotice
  std::int32_t value = 0;  // begun: the process; not_begun: errno; ended: its status, as of waitpid
  std::uint64_t child = 0;
};

/// Descriptors of the programs that are started here.
inline constexpr int k_given_descriptor = 3;

}  // namespace berth::isolation
