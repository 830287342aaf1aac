// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <boost/json.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simulation/cluster.hpp"

/// The rules that scheduling has to keep, judged by what an API server holds and by what it is asked for.
namespace berth::simulation {

/// A write as a scheduler sent it.
struct SentWrite {
  enum class Kind : std::uint8_t { binding, eviction };
  Kind kind = Kind::binding;
  std::string by;  // who
  std::int64_t sent_ns = 0;
  std::string ns, pod, node, uid;  // node: of a binding; uid: empty when it names none
};

/// Nothing when the request is neither a binding nor an eviction.
std::optional<SentWrite> read_write(std::string_view method, std::string_view path, std::string_view body);

class Ledger {
 public:
  /// Since when it is known who leads.
  enum class Leaders : std::uint8_t { known_from_the_start, known_from_the_first_lease };
  /// `report`: a rule is broken. Times are those of the caller. Who sends leads when the lease has its name, up to the
  /// first "_".
  Ledger(std::function<void(const std::string& rule, const std::string& what)> report,
         std::function<void(const std::string& line)> tell, Leaders leaders);

  /// The next change at the server: of the resource with that plural. Null: the object is gone.
  void take(std::string_view plural, std::string_view ns, std::string_view name, const boost::json::value* object,
            std::int64_t now_ns);
  /// What was sent before the next change.
  void sent(SentWrite write) { sent_.push_back(std::move(write)); }
  /// Known, and bound before anything was told. Requires: it was taken as a pod that waits.
  void placed_before(std::string_view ns, std::string_view name, const std::string& node);
  /// Nothing goes wrong from now on; k_not_yet: things do.
  void set_quiet_since(std::int64_t time_ns) { quiet_since_ns_ = time_ns; }
  /// Looks at pods that wait, once a second while it is quiet: one that fits all the time is bound soon.
  void look_at_waiting(std::int64_t now_ns);

  const Cluster& cluster() const noexcept { return cluster_; }
  const std::map<std::string, PodState>& pods() const noexcept { return cluster_.pods(); }
  const std::map<std::string, NodeState>& nodes() const noexcept { return cluster_.nodes(); }
  const std::map<std::string, BudgetState>& budgets() const noexcept { return budgets_; }
  const std::string& holder() const noexcept { return holder_; }
  std::size_t bound_count() const noexcept { return bound_count_; }
  std::size_t evicted_count() const noexcept { return evicted_count_; }
  std::size_t waiting_count() const;

 private:
  struct Reign {
    std::string holder;
    std::int64_t from_ns = 0, renewed_ns = 0, until_ns = k_not_yet;  // until: another held it, or it was given back
  };
  /// Evictions that one sender sent within seconds for one node: for one pod, in all likelihood.
  struct Evictions {
    std::string by, node;
    std::int64_t first_ns = 0;
    std::vector<std::string> victims;      // uids
    std::vector<PodState> there, waiting;  // when the first was sent
  };

  void take_pod(std::string_view ns, std::string_view name, const boost::json::value* object, std::int64_t now_ns);
  void take_node(std::string_view name, const boost::json::value* object, std::int64_t now_ns);
  void take_lease(const boost::json::value* object, std::int64_t now_ns);
  void take_budget(std::string_view ns, std::string_view name, const boost::json::value* object);
  void judge_binding(PodState& pod, std::int64_t now_ns);
  void judge_place(const PodState& pod, const SentWrite& by);
  bool may_have_placed(const SentWrite& by, const PodTerm& near) const;
  void judge_room(const PodState& pod, const SentWrite& by);
  void judge_sent(const SentWrite& sent);
  void judge_sender(const SentWrite& sent);
  void judge_eviction(const SentWrite& sent);
  void judge_evictions(const Evictions& evictions);
  void finish_evictions(std::int64_t now_ns);
  bool is_quiet(std::int64_t now_ns) const noexcept;
  /// For how long what happened may be unknown to one who decides at that time.
  std::int64_t excuse_ns(std::int64_t now_ns) const noexcept;

  const std::function<void(const std::string&, const std::string&)> report_;
  const std::function<void(const std::string&)> tell_;
  const Leaders leaders_;
  Cluster cluster_;
  std::map<std::string, BudgetState> budgets_;
  std::map<std::string, std::vector<std::pair<SentWrite, bool>>> on_node_;  // last bindings; whether it came late
  std::deque<SentWrite> sent_;                                              // not yet judged
  std::map<std::string, std::vector<SentWrite>> sent_for_;                  // by pod
  std::vector<Evictions> evictions_;
  std::map<std::string, std::int64_t> shrunk_ns_;  // nodes: when they came again, closed or changed size
  std::string holder_;
  std::int64_t lease_length_ns_ = 0, quiet_since_ns_ = k_not_yet;
  std::vector<Reign> reigns_;
  std::size_t bound_count_ = 0, evicted_count_ = 0;
};

}  // namespace berth::simulation
