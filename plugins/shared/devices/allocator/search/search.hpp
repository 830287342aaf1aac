// SPDX-License-Identifier: Apache-2.0
/// One search for devices: depth first, the first complete solution wins.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "../allocator.hpp"
#include "constraint_state.hpp"
#include "counter_tables.hpp"

namespace berth::dra {

bool is_tolerating(const Toleration& toleration, const DeviceTaint& taint);

/// State of one call of Allocator::allocate. Devices are positions: numbers of the node's devices in order of preference.
///
/// A failed attempt to place a device leaves the same traces as upstream's (counters that stay booked, counts of constraints): they
/// decide later attempts of the same call.
class Search {
 public:
  Search(const std::shared_ptr<const NodePools>& pools, std::span<const std::shared_ptr<const PreparedClaim>> claims,
         const AllocatedState& state, CounterTables& tables, const Limits& limits, cel::Evaluator& evaluator);
  Outcome run();
  /// Searches, and says of each request what keeps it from the node's devices. Empty: there is a solution.
  std::vector<Refusal> diagnose();

 private:
  enum class Step : std::uint8_t { solved, no, too_many, error };
  enum class Placing : std::uint8_t { yes, no, error };

  struct SelectorRow {
    const PreparedSlice* slice = nullptr;
    std::shared_ptr<VerdictRow> row;
  };
  struct QueryState {
    const Query* query = nullptr;
    std::uint32_t claim = 0;
    std::uint32_t index = 0;  ///< in the claim
    std::int64_t need = 0;
    std::vector<std::uint32_t> all;  ///< positions, where the query takes all
    std::vector<std::uint8_t> selectable;
    std::vector<SelectorRow> rows;                           ///< the class's selectors, then the request's
    std::unordered_map<std::uint32_t, std::size_t> demands;  ///< by position
  };
  /// What a share of a device would take, per capacity of the device.
  struct Demand {
    bool is_possible = true;
    std::vector<Amount> amounts;
  };
  struct Placed {
    std::uint32_t query = 0;
    std::uint32_t position = 0;
  };

  Outcome search();
  bool check_claims();
  bool check_claim(std::uint32_t claim);
  bool collect_all(QueryState& query);

  Step next_request(std::uint32_t claim, std::uint32_t request);
  Step next_device(std::uint32_t query, std::int64_t k, std::uint32_t start);
  Step try_devices(std::uint32_t query, std::int64_t k, std::uint32_t start);
  Placing place(std::uint32_t query, std::uint32_t position, bool must);
  void undo();

  bool may_go_on();
  /// True when some request has too few devices whatever the others take, and no other end of the search is possible.
  /// Without it a search tries all devices for the requests before that one in each combination.
  bool is_hopeless();
  std::optional<bool> has_enough(QueryState& query);
  bool is_in_use(std::uint32_t position) const;
  /// Nothing: an error, which is noted.
  std::optional<bool> is_selectable(QueryState& query, std::uint32_t position);
  std::optional<bool> judge(QueryState& query, std::uint32_t position);
  bool fits(QueryState& query, std::uint32_t position, bool with_taken);
  const Demand& demand(QueryState& query, std::uint32_t position);
  bool book_counters(std::uint32_t position);
  BookedCounters& booked(std::uint32_t position);
  const std::vector<BookedCounters::Use>& counter_uses(std::uint32_t position);
  bool is_tolerated(const QueryState& query, std::uint32_t position) const;
  void mark(const QueryState& query, std::uint32_t position, bool placed);
  void fail(Outcome::Kind kind, std::string error);

  // Of diagnose() alone.
  enum class Obstacle : std::uint8_t { none, counters, capacity, constraint };
  struct Refused {
    Obstacle obstacle = Obstacle::none;
    std::uint32_t constraint = 0;
  };
  void note_refusal(std::uint32_t query, std::uint32_t position, Obstacle obstacle, std::size_t constraint = 0) {
    if (!refused_.empty()) refused_[query][position] = {obstacle, static_cast<std::uint32_t>(constraint)};
  }
  /// Empty: the device is not one of the node's.
  std::string obstacle_to(QueryState& query, std::uint32_t position, const Refused& refused);

  std::uint64_t selector_steps_spent() const {
    return limits_.selector_steps == nullptr ? selector_steps_
                                             : limits_.selector_steps->load(std::memory_order_relaxed);
  }
  void spend_selector_steps(std::uint64_t steps) {
    selector_steps_ += steps;
    if (limits_.selector_steps != nullptr) limits_.selector_steps->fetch_add(steps, std::memory_order_relaxed);
  }

  std::uint32_t pool_at(std::uint32_t position) const;
  const PooledDevice& at(std::uint32_t position) const { return devices_[position]; }
  Outcome solution();

  const std::shared_ptr<const NodePools> node_;
  const std::span<const std::shared_ptr<const PreparedClaim>> claims_;
  const AllocatedState& state_;
  CounterTables& tables_;
  const Limits& limits_;
  cel::Evaluator& evaluator_;
  std::uint64_t selector_steps_ = 0;

  std::vector<PooledDevice> devices_;
  std::vector<QueryState> queries_;
  std::vector<std::uint32_t> first_query_;                 ///< by claim
  std::vector<std::vector<ConstraintState>> constraints_;  ///< by claim
  std::vector<std::vector<std::uint32_t>> chosen_;         ///< query by claim and request
  std::vector<std::int64_t> results_of_claim_;
  std::vector<Placed> placed_;
  std::vector<std::uint16_t> placed_count_;          ///< by position, shares left out
  std::vector<std::vector<bool>> placed_for_claim_;  ///< by claim and position, where requests have admin access
  std::vector<Demand> demands_;
  std::unordered_map<std::uint32_t, std::vector<Nano>> taken_;  ///< by position: capacity taken in this run
  std::unordered_map<std::string_view, std::unique_ptr<BookedCounters>> booked_by_name_;
  std::vector<BookedCounters*> booked_;  ///< by pool
  std::unordered_map<std::uint32_t, std::vector<BookedCounters::Use>> uses_;
  Outcome outcome_;
  Limits::Stop stopped_ = Limits::Stop::go_on;
  std::uint64_t steps_ = 0;                    ///< attempts to place a device or to begin a request
  std::uint64_t looks_ = 0;                    ///< at devices
  std::size_t refusing_selector_ = 0;          ///< of those of the class, then of the request, that judge() asked last
  std::vector<std::vector<Refused>> refused_;  ///< by query and position; empty: nothing is diagnosed
};

}  // namespace berth::dra
