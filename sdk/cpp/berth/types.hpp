// SPDX-License-Identifier: Apache-2.0
/// Vocabulary that every header of the C++ wrapper shares.
///
/// The wrapper is header-only and holds no state of its own. All of it lives in the inline namespace `sdk`, so that a
/// plugin which is linked into a host never meets a host type of the same name.
///
/// Threads: any, all of it: values and pure functions.
/// Source:  sdk/include/berth/abi/types.h and ext/nodes.h, ext/pods.h, whose structs have shorter names here.
#pragma once
#include <berth/plugin.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace berth {
inline namespace sdk {

using Id = berth_id;                       ///< interned string; 0 = absent
using Slot = berth_slot;                   ///< dense number of a node
using Reason = berth_reason;               ///< 1..N: row of the plugin's `reasons`, counted from 1
using Label = berth_label_v1;              ///< key and value; lists are sorted by key id
using Taint = berth_taint_v1;              ///< effect is BERTH_EFFECT_*; an empty value is BERTH_ID_EMPTY
using Toleration = berth_toleration_v1;    ///< op is BERTH_TOLERATION_*
using HostPort = berth_host_port_v1;       ///< port > 0; ip and protocol are never 0
using NodeVolume = berth_node_volume_v1;   ///< a volume of a pod on a node
using Requirement = berth_requirement_v1;  ///< key, BERTH_OP_*, values
using Selector = berth_selector_v1;        ///< a label selector; kind is BERTH_SELECTOR_*
using NodeTerm = berth_node_term_v1;       ///< a term of a node selector; weight in preferred ones only
using ReasonText = berth_reason_text_v1;   ///< static strings: a sentence for people, a code for machines

/// The text without a copy: it lives as long as what the berth_str borrows, which is the call unless a header says
/// more.
constexpr std::string_view view(berth_str text) noexcept {
  return text.len == 0 ? std::string_view() : std::string_view(text.ptr, static_cast<std::size_t>(text.len));
}
/// The other way round: for an argument of a host function, which copies what it keeps. No terminating NUL is needed.
constexpr berth_str borrow(std::string_view text) noexcept { return berth_str{text.data(), text.size()}; }

/// A span over a C array whose pointer may be NULL when it is empty.
template <class T>
constexpr std::span<T> span_of(T* first, std::uint64_t count) noexcept {
  return first == nullptr ? std::span<T>() : std::span<T>(first, static_cast<std::size_t>(count));
}

/// Thrown by a constructor that does not accept its args; the text reaches the operator (BERTH_BAD_ARGS).
struct BadArgs : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Thrown when the host lacks a column or service (BERTH_TOO_OLD).
struct TooOld : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Thrown anywhere to end the pod's attempt with a sentence (BERTH_ERROR).
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace sdk
}  // namespace berth
