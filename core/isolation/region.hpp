// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "berth/plugin.h"

/// What berth and the process of an isolated plugin share: one region of memory for each process, of a size that is sealed.
///
/// The two take turns. The host writes a request and raises `to_child`; the child carries it out, writes its reply and sets
/// `to_host` to the same number. A reply may be a question to the host (Upcall): the host's next turn is then the answer.
/// The host believes nothing that stands here: it copies a reply before it looks at it, follows no address of the child's,
/// and measures every length. The child believes the host.
namespace berth::isolation {

/// What the host asks for.
enum class Op : std::uint32_t {
  answer,  // of an Upcall
  create,
  pre_filter,
  pre_score,
  filter,
  score,
  normalize,
  state_clone,
  free_states,
  pod_added,
  pod_removed,
  hint
};

/// What the child asks for while it carries out a request.
enum class Upcall : std::uint32_t {
  none,  // the request is carried out
  column,
  request,
  pod_fields,
  pod_label,
  intern,
  intern_for_cycle,
  text,
  pin,
  unpin,
  log_enabled,
  log,
  make_reason,
  set_members,
  monotonic_ns,
  wall_ns,
  fail_row,
  add_detail
};

/// Lists of berth.sets/1.
enum class SetKind : std::uint32_t { taints, images, ports, features, labels, volumes };

inline constexpr std::uint32_t k_rows_max = 4096;     // of a block
inline constexpr std::uint32_t k_columns_max = 1024;  // of an instance
inline constexpr std::uint32_t k_frees_max = 64;
inline constexpr std::size_t k_note_bytes = 1024;
inline constexpr std::size_t k_asked_bytes = std::size_t{64} << 10;
inline constexpr std::size_t k_answered_bytes = std::size_t{1} << 20;
inline constexpr std::size_t k_pod_bytes = std::size_t{4} << 20;
inline constexpr std::size_t k_region_bytes = std::size_t{512} << 20;  // pages exist once they are written

/// A side sets its own flag before it sleeps, so that the other one spares itself the wake-up of who is awake.
struct Header {
  alignas(64) std::atomic<std::uint32_t> to_child;
  std::atomic<std::uint32_t> child_sleeps;
  alignas(64) std::atomic<std::uint32_t> to_host;
  std::atomic<std::uint32_t> host_sleeps;
  alignas(64) std::atomic<std::uint32_t> ended;  // set by the starter, to wake the host
};

struct Request {
  Op op = Op::answer;
  std::uint32_t free_count = 0;
  std::uint64_t frees[k_frees_max] = {};  // states that are given back before op is carried out
  // Addresses in these are the child's.
  berth_cycle_v1 cycle = {};
  berth_node_block_v1 block = {};
  std::uint64_t other_pod = 0;
  std::uint64_t event = 0;  // of hint; its pods are at `nodes`, and its answer goes to Region::pass
  berth_slot other_node = 0;
  std::uint32_t count = 0;        // of nodes
  std::uint64_t nodes = 0;        // slots
  std::uint64_t scores = 0;       // of normalize
  std::uint64_t candidates = 0;   // of pre_filter, by slot
  std::uint64_t word_count = 0;   // of those
  std::uint64_t symbols_age = 0;  // texts of ids that the child keeps are good while this is the same
  std::uint64_t sets_age = 0;     // likewise of sets
  std::int64_t score_max = 0;     // of create
  // The answer of an upcall: bytes are in `answered`.
  std::uint32_t code = 0;
  std::uint32_t bytes = 0;
  std::uint64_t value = 0;
};

struct Reply {
  Upcall upcall = Upcall::none;
  std::uint32_t code = 0;
  std::uint32_t reason = 0;
  std::uint32_t narrowed = 0;
  std::uint64_t note_bytes = 0;  // as berth_note_v1::text_len
  std::uint64_t state = 0;       // the host keeps it and gives it back
  std::uint64_t value = 0;
  std::uint64_t other = 0;
  std::uint32_t bytes = 0;  // of `asked`
  std::uint32_t out_flags = 0;
};

/// The beginning of the region. What comes behind it is the host's to divide.
struct Region {
  Header header;
  alignas(64) Request request;
  alignas(64) Reply reply;
  std::uint64_t base;  // where the child has the region
  char note[k_note_bytes];
  alignas(64) std::byte asked[k_asked_bytes];
  alignas(64) std::byte answered[k_answered_bytes];
  alignas(64) std::uint64_t candidates[k_rows_max / 64];
  alignas(64) std::uint64_t pass[k_rows_max / 64];
  alignas(64) std::uint64_t unresolvable[k_rows_max / 64];
  alignas(64) std::uint64_t pending[k_rows_max / 64];
  alignas(64) berth_slot slots[k_rows_max];
  alignas(64) berth_reason reasons[k_rows_max];
  alignas(64) std::int64_t raw[k_rows_max];
  alignas(64) std::uint64_t columns[k_columns_max];
  alignas(64) std::byte pods[k_pod_bytes];
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);
inline constexpr std::size_t k_divided_at = (sizeof(Region) + 4095) / 4096 * 4096;
static_assert(k_divided_at < k_region_bytes);

/// A copy of what the other side may be changing: made once, whatever the compiler would like.
inline void copy_once(void* to, const void* from, std::size_t bytes) noexcept {
  std::memcpy(to, from, bytes);
  asm volatile("" ::: "memory");
}
template <typename T>
T copy_once(const T& shared) noexcept {
  T out;
  copy_once(&out, &shared, sizeof(T));
  return out;
}

}  // namespace berth::isolation
