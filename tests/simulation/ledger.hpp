// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "simulation/kernel.hpp"
#include "support/api_server/api_store.hpp"

/// What the API server holds, as its history of changes tells it, and the rules that scheduling has to keep.
namespace berth::simulation {

struct Amount {
  std::int64_t cpu_m = 0, memory_mi = 0, pods = 0;
  Amount& operator+=(const Amount& more) noexcept;
  bool fits_into(const Amount& room) const noexcept;
};

struct PodState {
  std::string uid, name, node, zone;  // zone: of its node selector; empty: any
  Amount wants;
  std::int64_t created_ns = 0, bound_ns = 0, ends_ns = k_never;
  std::int32_t priority = 0;
  bool is_over = false, is_leaving = false, is_running = false;
};

struct NodeState {
  std::string name, zone;
  Amount has;
  bool is_closed = false;
  std::int64_t changed_ns = 0;  // when it came, or when it became smaller
};

/// A binding as a replica sent it.
struct SentBinding {
  const Machine* by = nullptr;
  std::int64_t sent_ns = 0;
  std::string pod, node;  // by name
};

class Ledger {
 public:
  /// `report`: a rule is broken. Times are those of the world.
  Ledger(tests::ApiStore& store, std::function<void(const std::string& rule, const std::string& what)> report,
         std::function<void(const std::string& line)> tell);

  /// Takes over what has changed at the server, in its order. Requires: the server has not forgotten it.
  void catch_up();
  std::uint64_t version() const noexcept { return version_; }
  /// Requires: all changes were taken over.
  void skip_what_is_forgotten() { version_ = store_.version(); }
  /// What `machine` is about to send is a binding.
  void sending(const Machine& machine, std::string_view request);
  /// Reports pods that would fit and are not bound.
  void judge_liveness(std::int64_t patience_ns);

  const std::map<std::string, PodState>& pods() const noexcept { return pods_; }  // by name
  const std::map<std::string, NodeState>& nodes() const noexcept { return nodes_; }
  const std::string& holder() const noexcept { return holder_; }
  std::size_t bound_count() const noexcept { return bound_count_; }
  std::size_t waiting_count() const;
  Amount used_on(const std::string& node, const std::string& but_for = {}) const;
  bool has_room_for(const PodState& pod) const;

 private:
  void take(const tests::ApiResource& resource, const tests::Change& change);
  void take_pod(const tests::Change& change, std::int64_t now_ns);
  void take_node(const tests::Change& change, std::int64_t now_ns);
  void take_lease(const tests::Change& change, std::int64_t now_ns);
  void judge_binding(const PodState& pod, std::int64_t now_ns);
  void judge_sent(const SentBinding& sent);

  tests::ApiStore& store_;
  const std::function<void(const std::string&, const std::string&)> report_;
  const std::function<void(const std::string&)> tell_;
  std::uint64_t version_ = 0;
  std::map<std::string, PodState> pods_;
  std::map<std::string, NodeState> nodes_;
  std::map<std::string, std::int64_t> gone_nodes_;                            // when
  std::map<std::string, std::vector<std::pair<SentBinding, bool>>> on_node_;  // last bindings; whether it came late
  std::deque<SentBinding> sent_;                                              // not yet judged
  std::map<std::string, std::vector<SentBinding>> sent_for_;                  // by pod
  std::string holder_;
  std::int64_t held_since_ns_ = 0, renewed_ns_ = 0, lease_length_ns_ = 0;
  struct Reign {
    std::string holder;
    std::int64_t from_ns = 0, renewed_ns = 0, until_ns = k_never;  // until: another held it, or it was given back
  };
  std::vector<Reign> reigns_;
  std::size_t bound_count_ = 0;
};

}  // namespace berth::simulation
