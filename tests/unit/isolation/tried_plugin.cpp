// SPDX-License-Identifier: Apache-2.0
/// A plugin whose behaviour follows from the pod's priority: what a stranger's may do, one number each. With priority 0 it is a
/// filter and a score over columns like others.
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "berth/plugin.h"
#include "isolation/region.hpp"
#include "unit/isolation/deeds.hpp"

namespace {

using berth::isolation::Region;
using berth::isolation::tried::Deed;

struct Policy {
  std::uint32_t free_cpu = 0, zone = 0, taints = 0, request = 0;
  berth_id bad_zone = 0;
  const berth_sets_v1* sets = nullptr;
  const berth_intern_v1* intern = nullptr;
  const berth_reasons_v1* reasons = nullptr;
  void* ctx = nullptr;
};

volatile std::uint64_t g_sink = 0;
volatile std::uintptr_t g_nowhere = 8;

berth_str text(std::string_view from) { return {from.data(), from.size()}; }

void say(berth_note_v1* note, std::string_view what) {
  std::memcpy(note->text, what.data(), what.size());
  note->text_len = what.size();
}

[[noreturn]] void hang() {
  for (;;) g_sink = g_sink + 1;
}

/// Where this process has the region: the block's candidates lie in it.
Region& region_of(const berth_node_block_v1* block) {
  auto* const at =
      reinterpret_cast<char*>(const_cast<std::uint64_t*>(block->candidates)) - offsetof(Region, candidates);
  return *reinterpret_cast<Region*>(at);
}

void misbehave(Deed deed, const berth_node_block_v1* block) {
  switch (deed) {
    case Deed::crash:
      *reinterpret_cast<volatile int*>(g_nowhere) = 1;
      break;
    case Deed::hang:
      hang();
    case Deed::overwrite_region: {
      Region& region = region_of(block);
      std::memset(static_cast<void*>(&region), 0xff, sizeof region);
      hang();
    }
    case Deed::wrong_turn: {
      Region& region = region_of(block);
      region.header.to_host.store(12345);
      hang();
    }
    case Deed::unknown_question: {
      Region& region = region_of(block);
      region.reply.upcall = static_cast<berth::isolation::Upcall>(77);
      region.header.to_host.store(region.header.to_child.load());
      hang();
    }
    case Deed::long_question: {
      Region& region = region_of(block);
      region.reply.upcall = berth::isolation::Upcall::intern;
      region.reply.bytes = 0xfffffff0u;
      region.header.to_host.store(region.header.to_child.load());
      hang();
    }
    case Deed::ask_for_a_column: {
      Region& region = region_of(block);
      region.reply.upcall = berth::isolation::Upcall::column;
      region.header.to_host.store(region.header.to_child.load());
      hang();
    }
    case Deed::ask_without_end: {
      Region& region = region_of(block);
      for (std::uint64_t i = 0;; ++i) {
        region.reply = {};
        region.reply.upcall = berth::isolation::Upcall::set_members;
        region.reply.value = i * 7919;
        region.reply.other = i % 8;
        const std::uint32_t turn = region.header.to_child.load();
        region.header.to_host.store(turn);
        while (region.header.to_child.load() == turn) {
        }
      }
    }
    case Deed::open_socket:
      g_sink = static_cast<std::uint64_t>(::socket(AF_INET, SOCK_STREAM, 0));
      break;
    case Deed::fork:
      g_sink = static_cast<std::uint64_t>(::fork());
      break;
    case Deed::read_a_file:
      g_sink = static_cast<std::uint64_t>(::open("/etc/passwd", O_RDONLY));
      break;
    case Deed::start_a_thread: {
      pthread_t thread;
      ::pthread_create(
          &thread, nullptr, [](void*) -> void* { return nullptr; }, nullptr);
      break;
    }
    case Deed::make_code: {
      void* const page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      g_sink = reinterpret_cast<std::uint64_t>(page);
      break;
    }
    case Deed::leak:
      for (;;) {
        constexpr std::size_t k_bytes = std::size_t{64} << 20;
        void* const memory = std::malloc(k_bytes);
        if (memory == nullptr) std::abort();
        std::memset(memory, 1, k_bytes);
      }
    case Deed::leave:
      ::_exit(3);
    case Deed::none:
    case Deed::say_bad_scores:
    case Deed::hang_in_score:
      break;
  }
}

Deed deed_of(const berth_cycle_v1* cycle) { return static_cast<Deed>(cycle->pod->priority); }

berth_code pre_filter(void*, berth_cycle_v1* cycle, berth_prepare_out_v1*, berth_note_v1*) {
  cycle->state = new std::int64_t(cycle->pod->requests[0]);
  return BERTH_OK;
}
void state_free(void*, void* state) { delete static_cast<std::int64_t*>(state); }

bool has_taint(const Policy& policy, std::uint32_t set) {
  std::uint32_t count = 0;
  const berth_taint_v1* const taints = policy.sets->taints(policy.ctx, set, &count);
  for (std::uint32_t i = 0; i < count; ++i) {
    berth_str key;
    policy.intern->text(policy.ctx, taints[i].key, &key);
    if (std::string_view(key.ptr, key.len) == "example.com/kept") return true;
  }
  return false;
}

berth_code filter(void* self, const berth_cycle_v1* cycle, const berth_node_block_v1* block, berth_filter_out_v1* out,
                  berth_note_v1*) {
  const Policy& policy = *static_cast<Policy*>(self);
  misbehave(deed_of(cycle), block);
  const auto* const free_cpu = static_cast<const std::int64_t*>(block->columns[policy.free_cpu]);
  const auto* const zone = static_cast<const berth_id*>(block->columns[policy.zone]);
  const auto* const taints = static_cast<const std::uint32_t*>(block->columns[policy.taints]);
  const std::int64_t request =
      cycle->state != nullptr ? *static_cast<std::int64_t*>(cycle->state) : cycle->pod->requests[0];
  for (std::uint32_t row = 0; row < block->rows; ++row) {
    const std::uint64_t bit = std::uint64_t{1} << (row & 63);
    if ((block->candidates[row >> 6] & bit) == 0) continue;
    const bool is_bad = zone[row] == policy.bad_zone;
    const bool is_full = free_cpu[row] < request;
    const bool is_kept = taints[row] != 0 && has_taint(policy, taints[row]);
    if (!is_bad && !is_full && !is_kept) continue;
    out->pass[row >> 6] &= ~bit;
    if (is_bad) out->unresolvable[row >> 6] |= bit;
    if (out->reasons == nullptr) continue;
    const berth_str sentence = text("node(s) are kept for others");
    out->reasons[row] = is_bad ? 1 : is_full ? 2 : policy.reasons->make(policy.ctx, &sentence, 1);
  }
  return BERTH_OK;
}

berth_code score(void* self, const berth_cycle_v1* cycle, const berth_node_block_v1* block, std::int64_t* raw,
                 berth_note_v1*) {
  const Policy& policy = *static_cast<Policy*>(self);
  if (deed_of(cycle) == Deed::hang_in_score) hang();
  const auto* const free_cpu = static_cast<const std::int64_t*>(block->columns[policy.free_cpu]);
  for (std::uint32_t row = 0; row < block->rows; ++row)
    raw[row] = deed_of(cycle) == Deed::say_bad_scores ? INT64_MAX : free_cpu[row];
  return BERTH_OK;
}

/// A node with room for the pod is worth another attempt.
berth_code hint(void* self, const berth_event_v1* event, const berth_pod_v1* const* pods, std::uint32_t count,
                std::uint64_t* queue, berth_note_v1*) {
  const Policy& policy = *static_cast<Policy*>(self);
  if (event->new_node == nullptr) return BERTH_ERROR;
  for (std::uint32_t i = 0; i < count; ++i) {
    misbehave(static_cast<Deed>(pods[i]->priority), event->new_node);
    const bool is_other = std::string_view(pods[i]->name.ptr, pods[i]->name.len) == "other";
    const auto* const free_cpu = static_cast<const std::int64_t*>(event->new_node->columns[policy.free_cpu]);
    if (!is_other && free_cpu[0] >= pods[i]->requests[0]) queue[i >> 6] |= std::uint64_t{1} << (i & 63);
  }
  return BERTH_OK;
}

berth_code create(const berth_host_v1* host, const berth_binder_v1* binder, berth_str args, void** self,
                  berth_note_v1* note) {
  if (std::string_view(args.ptr, args.len).find("refuse") != std::string_view::npos) {
    say(note, "these args are refused");
    return BERTH_BAD_ARGS;
  }
  auto* const policy = new Policy;
  policy->ctx = host->ctx;
  policy->sets = static_cast<const berth_sets_v1*>(host->service(host->ctx, "berth.sets/1"));
  policy->intern = static_cast<const berth_intern_v1*>(host->service(host->ctx, "berth.intern/1"));
  policy->reasons = static_cast<const berth_reasons_v1*>(host->service(host->ctx, "berth.reasons/1"));
  policy->free_cpu = binder->column(binder->ctx, BERTH_COL_FREE, text("cpu"));
  policy->zone = binder->column(binder->ctx, BERTH_COL_LABEL, text("topology.kubernetes.io/zone"));
  policy->taints = binder->column(binder->ctx, BERTH_COL_TAINT_SET, text(""));
  policy->request = binder->request(binder->ctx, text("cpu"));
  binder->pod_fields(binder->ctx, BERTH_POD_PRIORITY);
  policy->bad_zone = policy->intern->intern(policy->ctx, text("bad"));
  *self = policy;
  return BERTH_OK;
}

void destroy(void* self) { delete static_cast<Policy*>(self); }

constexpr berth_filter_ops_v1 k_filter{sizeof(berth_filter_ops_v1), 0, &filter, nullptr, 0, 0};
constexpr berth_score_ops_v1 k_score{sizeof(berth_score_ops_v1), BERTH_NORM_MINMAX, &score, nullptr, 0, 0};
constexpr berth_prepare_ops_v1 k_prepare{
    sizeof(berth_prepare_ops_v1), 0, &pre_filter, nullptr, nullptr, &state_free, nullptr, nullptr};
constexpr berth_interest_v1 k_interests[] = {{BERTH_KIND_NODE, BERTH_ACTION_ADD, 0, 1}};
constexpr berth_requeue_ops_v1 k_requeue{sizeof(berth_requeue_ops_v1), 1, k_interests, &hint};
constexpr berth_point_v1 k_points[] = {{"berth.filter/1", &k_filter},
                                       {"berth.score/1", &k_score},
                                       {"berth.prepare/1", &k_prepare},
                                       {"berth.requeue/1", &k_requeue}};
constexpr berth_reason_text_v1 k_reasons[] = {
    {"", ""}, {"node(s) are in a bad zone", "BadZone"}, {"node(s) have too little cpu", "LittleCpu"}};
constexpr const char* k_services[] = {"berth.sets/1", "berth.intern/1", "berth.reasons/1"};
constexpr berth_plugin_v1 k_plugin{sizeof(berth_plugin_v1),
                                   0,
                                   "example.com/Tried",
                                   "1.0.0",
                                   "A plugin of a test.",
                                   nullptr,
                                   k_points,
                                   k_reasons,
                                   k_services,
                                   4,
                                   3,
                                   3,
                                   BERTH_DEP_POD_SPEC | BERTH_DEP_NODE_STATIC | BERTH_DEP_NODE_USAGE,
                                   &create,
                                   &destroy};
constexpr const berth_plugin_v1* k_plugins[] = {&k_plugin};
constexpr berth_library_v1 k_library{sizeof(berth_library_v1), BERTH_ABI_MINOR, BERTH_MINOR_REQUIRED, 1, 0, k_plugins};

}  // namespace

extern "C" BERTH_EXPORT const berth_library_v1* berth_library_entry_v1() { return &k_library; }

BERTH_NOTE(
    tried,
    "plugin=example.com/Tried\0version=1.0.0\0points=berth.filter/1\0points=berth.score/1\0points=berth.prepare/1\0"
    "points=berth.requeue/1\0"
    "service=berth.sets/1\0service=berth.intern/1\0service=berth.reasons/1\0")
