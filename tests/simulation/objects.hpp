// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <boost/json.hpp>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

/// What the judge knows of objects, read from their JSON without the host's decoders: what a pod asks of a node and of
/// the pods around it, and what a node offers.
namespace berth::simulation {

inline constexpr std::int64_t k_not_yet = std::numeric_limits<std::int64_t>::max();

struct Amount {
  std::int64_t cpu_m = 0, memory_b = 0, pods = 0;
  Amount& operator+=(const Amount& more) noexcept;
  Amount& operator-=(const Amount& less) noexcept;
  bool fits_into(const Amount& room) const noexcept;
  std::string text() const;
};

using Labels = std::map<std::string, std::string>;

/// A requirement on a label: In, NotIn, Exists, DoesNotExist.
struct Expression {
  std::string key, how;
  std::vector<std::string> values;
  bool holds(const Labels& labels) const;
};
using Expressions = std::vector<Expression>;  // all of them hold
bool all_hold(const Expressions& expressions, const Labels& labels);

/// Required: a pod that the selector names in the same domain, or none such.
struct PodTerm {
  Expressions selector;
  std::string topology_key;
};
struct SpreadTerm {
  Expressions selector;
  std::string topology_key;
  std::int64_t max_skew = 1;
};

struct Taint {
  std::string key, value, effect;
};
struct Toleration {
  std::string key, value, effect, how;
};

struct PodState {
  std::string uid, name, ns, node, nominated, gang, bound_by;
  Labels labels, node_selector;
  std::vector<Expressions> node_terms;  // one of them holds; none: any node
  std::vector<PodTerm> near, apart;
  std::vector<SpreadTerm> spread;
  std::vector<Toleration> tolerations;
  std::vector<std::string> claims;
  Amount wants;
  std::int64_t created_ns = 0, sent_ns = 0, bound_ns = k_not_yet, leaving_ns = k_not_yet, gone_ns = k_not_yet;
  std::int64_t fits_since_ns = k_not_yet;  // in every look since then
  std::int32_t priority = 0;
  bool is_over = false, is_leaving = false, is_running = false, is_gated = false, may_preempt = true;
  bool came_late = false;   // its binding, when it was given up perhaps
  bool is_strange = false;  // no requests can be read from it

  /// No rule about other pods: whether it fits on a node is a matter of that node alone.
  bool is_plain() const noexcept { return near.empty() && apart.empty() && spread.empty(); }
};

struct NodeState {
  std::string name;
  Labels labels;
  std::vector<Taint> taints;
  Amount has;
  bool is_closed = false;
  std::int64_t from_ns = 0, until_ns = k_not_yet;  // this version of it
};

struct BudgetState {
  std::string name, ns;
  Expressions selector;
  std::int64_t allowed = 0;
};

PodState read_pod(const boost::json::value& object);
NodeState read_node(const boost::json::value& object);
BudgetState read_budget(const boost::json::value& object);
/// Where a volume can be reached from: the terms of its node affinity.
std::vector<Expressions> read_volume(const boost::json::value& object);

/// Why that node is none for the pod, whatever runs there; nothing when it is one.
std::optional<std::string> refusal_of_node(const PodState& pod, const NodeState& node);
bool one_holds(const std::vector<Expressions>& terms, const Labels& labels);

}  // namespace berth::simulation
