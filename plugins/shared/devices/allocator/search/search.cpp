// SPDX-License-Identifier: Apache-2.0
#include "search.hpp"

#include <algorithm>
#include <map>

#include "diagnosis.hpp"

namespace berth::dra {
namespace {

/// A search that succeeds seldom takes so many.
constexpr std::uint64_t k_steps_before_doubt = 4'096;
constexpr std::string_view k_aborted = "filter operation aborted: ";

std::string_view cause_of(Limits::Stop stop) {
  return stop == Limits::Stop::cancelled ? "context canceled" : "context deadline exceeded";
}

Outcome::Kind kind_of(Limits::Stop stop) {
  return stop == Limits::Stop::cancelled ? Outcome::Kind::cancelled : Outcome::Kind::deadline_exceeded;
}

std::int64_t saturating_count(std::int64_t left, std::int64_t right) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(left, right, &sum) ? INT64_MAX : sum;
}

/// What one allocation takes of a capacity when it asks for `wanted`; null: it does not ask.
Amount amount_taken(const PreparedCapacity& capacity, const WantedAmount* wanted) {
  if (wanted == nullptr) return capacity.default_amount ? *capacity.default_amount : capacity.value;
  const Amount& asked = wanted->amount;
  if (capacity.has_range && capacity.min) {
    if (asked.nano < capacity.min->nano) return *capacity.min;
    const std::int64_t step = capacity.step ? whole_value(capacity.step->nano) : 0;
    if (step <= 0) return asked;
    const Nano least = whole_value(capacity.min->nano);
    const Nano beyond = whole_value(asked.nano) - least;
    const Nano steps = beyond / step + (beyond % step != 0);
    return {(least + steps * step) * k_nano, Amount::Notation::binary};
  }
  if (capacity.has_range) return asked;
  const Amount* smallest = nullptr;
  for (const Amount& value : capacity.valid_values)
    if (value.nano >= asked.nano && (smallest == nullptr || value.nano < smallest->nano)) smallest = &value;
  return smallest == nullptr ? asked : *smallest;
}

bool violates_policy(const PreparedCapacity& capacity, const Amount& amount) {
  if (!capacity.has_policy) return false;
  if (capacity.default_amount && capacity.default_amount->nano == amount.nano) return false;
  if (capacity.has_range) {
    if (capacity.max && amount.nano > capacity.max->nano) return true;
    const std::int64_t step = capacity.step ? whole_value(capacity.step->nano) : 0;
    const Nano least = capacity.min ? whole_value(capacity.min->nano) : 0;
    return step > 0 && (Nano{whole_value(amount.nano)} - least) % step != 0;
  }
  return !capacity.valid_values.empty() && std::none_of(capacity.valid_values.begin(), capacity.valid_values.end(),
                                                        [&](const Amount& value) { return value.nano == amount.nano; });
}

struct StopQuestion {
  const Limits* limits;
  Limits::Stop* answer;
};

bool is_stopped(void* context) {
  const auto* question = static_cast<StopQuestion*>(context);
  *question->answer = question->limits->stop(question->limits->context);
  return *question->answer != Limits::Stop::go_on;
}

}  // namespace

bool is_tolerating(const Toleration& toleration, const DeviceTaint& taint) {
  if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
  if (!toleration.key.empty() && toleration.key != taint.key) return false;
  if (toleration.operation.empty() || toleration.operation == "Equal") return toleration.value == taint.value;
  return toleration.operation == "Exists";
}

Search::Search(const std::shared_ptr<const NodePools>& pools,
               std::span<const std::shared_ptr<const PreparedClaim>> claims, const AllocatedState& state,
               CounterTables& tables, const Limits& limits, cel::Evaluator& evaluator)
    : node_(pools), claims_(claims), state_(state), tables_(tables), limits_(limits), evaluator_(evaluator) {
  devices_.reserve(node_->positions());
  for (const auto& pool : node_->pools) devices_.insert(devices_.end(), pool->devices.begin(), pool->devices.end());
  placed_count_.resize(devices_.size());
  booked_.resize(node_->pools.size());
  results_of_claim_.resize(claims_.size());
  placed_for_claim_.resize(claims_.size());
  for (std::uint32_t claim = 0; claim < claims_.size(); ++claim) {
    const PreparedClaim& prepared = *claims_[claim];
    first_query_.push_back(static_cast<std::uint32_t>(queries_.size()));
    bool has_admin_access = false;
    for (std::uint32_t index = 0; index < prepared.queries().size(); ++index) {
      const Query& query = prepared.queries()[index];
      has_admin_access = has_admin_access || query.object->admin_access;
      QueryState& made = queries_.emplace_back();
      made.query = &query;
      made.claim = claim;
      made.index = index;
    }
    if (has_admin_access) placed_for_claim_[claim].resize(devices_.size());
    chosen_.emplace_back(prepared.requests().size());
    auto& constraints = constraints_.emplace_back();
    for (const PreparedConstraint& constraint : prepared.constraints())
      constraints.emplace_back(constraint, node_->positions());
  }
}

Outcome Search::run() {
  Outcome outcome = search();
  outcome.steps = steps_ + looks_;
  outcome.selector_steps = selector_steps_;
  return outcome;
}

Outcome Search::search() {
  if (!check_claims()) return std::move(outcome_);
  switch (next_request(0, 0)) {
    case Step::solved:
      return solution();
    case Step::error:
      return std::move(outcome_);
    case Step::no:
    case Step::too_many:
      break;
  }
  if (node_->has_invalid_pool) return {Outcome::Kind::invalid_pools, "invalid resource pools were encountered", {}};
  return {Outcome::Kind::no_solution, {}, {}};
}

void Search::fail(Outcome::Kind kind, std::string error) { outcome_ = {kind, std::move(error), {}}; }

bool Search::check_claims() {
  for (std::uint32_t claim = 0; claim < claims_.size(); ++claim)
    if (!check_claim(claim)) return false;
  return true;
}

bool Search::check_claim(std::uint32_t claim) {
  const PreparedClaim& prepared = *claims_[claim];
  std::int64_t sum = 0;
  for (const PreparedClaim::RequestQueries& request : prepared.requests()) {
    std::int64_t least = INT64_MAX;
    for (std::uint32_t i = 0; i < request.count; ++i) {
      QueryState& query = queries_[first_query_[claim] + request.first + i];
      if (!query.query->error.empty()) {
        fail(Outcome::Kind::failed, query.query->error);
        return false;
      }
      query.need = query.query->count;
      if (query.query->takes_all && !collect_all(query)) return false;
      least = std::min(least, query.need);
    }
    sum = saturating_count(sum, least);
  }
  if (sum > k_claim_devices_max) {
    fail(Outcome::Kind::failed, "claim " + prepared.name() + ": number of requested devices " + std::to_string(sum) +
                                    " exceeds the claim limit of " + std::to_string(k_claim_devices_max));
    return false;
  }
  if (!prepared.error().empty()) fail(Outcome::Kind::failed, prepared.error());
  return prepared.error().empty();
}

bool Search::collect_all(QueryState& query) {
  const PreparedClaim& claim = *claims_[query.claim];
  for (std::uint32_t pool = 0; pool < node_->pools.size(); ++pool) {
    const Pool& each = *node_->pools[pool];
    if (each.condition != Pool::Condition::usable) {
      const Query& wanted = *query.query;
      const std::string& called = wanted.is_sub ? wanted.object->name : claim.object().requests[wanted.request].name;
      fail(Outcome::Kind::failed, "claim " + claim.name() + ", request " + called +
                                      ": asks for all devices, but resource pool " + std::string(each.driver) + '/' +
                                      std::string(each.name) + " is currently " +
                                      (each.condition == Pool::Condition::invalid ? "invalid" : "being updated"));
      return false;
    }
    for (std::uint32_t position = node_->first_position[pool]; position < node_->first_position[pool + 1]; ++position) {
      const std::optional<bool> selectable = is_selectable(query, position);
      if (!selectable) return false;
      if (*selectable && fits(query, position, false)) query.all.push_back(position);
    }
  }
  query.need = static_cast<std::int64_t>(query.all.size());
  return true;
}

bool Search::may_go_on() {
  if (steps_ % 16 == 0 && limits_.stop != nullptr) {
    stopped_ = limits_.stop(limits_.context);
    if (stopped_ != Limits::Stop::go_on) {
      fail(kind_of(stopped_), std::string(k_aborted) + std::string(cause_of(stopped_)));
      return false;
    }
  }
  if (++steps_ == k_steps_before_doubt && is_hopeless()) {
    fail(node_->has_invalid_pool ? Outcome::Kind::invalid_pools : Outcome::Kind::no_solution, {});
    return false;
  }
  if (steps_ + looks_ <= limits_.steps_max) return true;
  fail(Outcome::Kind::gave_up, std::string(k_aborted) + "no devices found in " + std::to_string(limits_.steps_max) +
                                   " steps; ask for fewer devices, or with narrower selectors");
  return false;
}

bool Search::is_hopeless() {
  const Outcome before = outcome_;
  bool is_hopeless = false;
  for (std::uint32_t claim = 0; claim < claims_.size(); ++claim)
    for (const PreparedClaim::RequestQueries& request : claims_[claim]->requests()) {
      bool is_possible = false;
      for (std::uint32_t i = 0; i < request.count; ++i) {
        const std::optional<bool> enough = has_enough(queries_[first_query_[claim] + request.first + i]);
        if (!enough) {  // the search may end with an error
          outcome_ = before;
          return false;
        }
        is_possible = is_possible || *enough;
      }
      is_hopeless = is_hopeless || !is_possible;
    }
  return is_hopeless;
}

std::optional<bool> Search::has_enough(QueryState& query) {
  if (query.query->takes_all) return std::nullopt;
  std::int64_t count = 0;
  for (std::uint32_t position = 0; position < devices_.size(); ++position) {
    if (position % 256 == 255 && limits_.stop != nullptr && limits_.stop(limits_.context) != Limits::Stop::go_on)
      return std::nullopt;
    const std::optional<bool> selectable = is_selectable(query, position);
    if (!selectable) return std::nullopt;
    if (*selectable && (query.query->object->admin_access || !state_.is_in_use(at(position).device->id)) &&
        is_tolerated(query, position) && fits(query, position, false))
      ++count;
  }
  return count >= query.need;
}

Search::Step Search::next_request(std::uint32_t claim, std::uint32_t request) {
  if (!may_go_on()) return Step::error;
  if (claim == claims_.size()) return Step::solved;
  const auto& requests = claims_[claim]->requests();
  if (request == requests.size()) {
    const Step step = next_request(claim + 1, 0);
    return step == Step::too_many ? Step::no : step;
  }
  const std::uint32_t first = first_query_[claim] + requests[request].first;
  chosen_[claim][request] = first;
  if (!requests[request].has_subs) return next_device(first, 0, 0);
  bool all_too_many = true;
  for (std::uint32_t query = first; query < first + requests[request].count; ++query) {
    chosen_[claim][request] = query;
    const Step step = next_device(query, 0, 0);
    if (step == Step::too_many) continue;
    all_too_many = false;
    if (step != Step::no) return step;
  }
  return all_too_many ? Step::too_many : Step::no;
}

Search::Step Search::next_device(std::uint32_t query_index, std::int64_t k, std::uint32_t start) {
  if (!may_go_on()) return Step::error;
  const QueryState& query = queries_[query_index];
  if (query.query->takes_all && query.all.empty()) return Step::no;
  if (k == query.need) return next_request(query.claim, query.query->request + 1);
  if (results_of_claim_[query.claim] > k_claim_devices_max - (query.need - k)) return Step::too_many;
  if (!query.query->takes_all) return try_devices(query_index, k, start);
  switch (place(query_index, query.all[static_cast<std::size_t>(k)], true)) {
    case Placing::error:
      return Step::error;
    case Placing::no:
      return Step::no;
    case Placing::yes:
      break;
  }
  const Step step = next_device(query_index, k + 1, 0);
  if (step != Step::solved) undo();
  return step;
}

Search::Step Search::try_devices(std::uint32_t query_index, std::int64_t k, std::uint32_t start) {
  QueryState& query = queries_[query_index];
  const bool has_admin_access = query.query->object->admin_access;
  for (std::uint32_t position = start; position < devices_.size(); ++position) {
    // A long stretch of devices that do not fit is a long time too.
    ++looks_;
    if (position % 256 == 255 && !may_go_on()) return Step::error;
    if (has_admin_access ? placed_for_claim_[query.claim][position] : is_in_use(position)) continue;
    const std::optional<bool> selectable = is_selectable(query, position);
    if (!selectable) return Step::error;
    if (!*selectable || !fits(query, position, true)) continue;
    const Placing placing = place(query_index, position, false);
    if (placing == Placing::error) return Step::error;
    if (placing == Placing::no) continue;
    const Step step = next_device(query_index, k + 1, position + 1);
    if (step == Step::solved) return step;
    undo();
    if (step != Step::no) return step;
  }
  return Step::no;
}

Search::Placing Search::place(std::uint32_t query_index, std::uint32_t position, bool must) {
  QueryState& query = queries_[query_index];
  const PooledDevice& pooled = at(position);
  const Device& object = *pooled.device->object;
  const bool is_shared = object.allow_multiple_allocations;
  if (query.query->object->admin_access) {
    if (!is_shared && placed_for_claim_[query.claim][position]) return Placing::no;
  } else if (is_in_use(position)) {
    return Placing::no;
  }
  // From here on a failure leaves traces, as upstream: what is booked stays booked.
  if (!book_counters(position)) {
    note_refusal(query_index, position, Obstacle::counters);
    return Placing::no;
  }
  if (!is_tolerated(query, position)) return Placing::no;
  auto& constraints = constraints_[query.claim];
  for (std::size_t i = 0; i < constraints.size(); ++i) {
    if (constraints[i].add(query.index, query.query->request, position, pooled)) continue;
    if (must) {
      const PreparedClaim& claim = *claims_[query.claim];
      const Slice& slice = pooled.slice->object();
      const std::string& called =
          query.query->is_sub ? query.query->object->name : claim.object().requests[query.query->request].name;
      fail(Outcome::Kind::failed, "claim " + claim.name() + ", request " + called + ": cannot add device " +
                                      slice.driver + '/' + slice.pool + '/' + object.name +
                                      " because a claim constraint would not be satisfied");
      return Placing::error;
    }
    note_refusal(query_index, position, Obstacle::constraint, i);
    while (i-- > 0) constraints[i].remove(query.index, query.query->request);
    return Placing::no;
  }
  if (!is_shared) mark(query, position, true);
  if (!fits(query, position, true)) {
    note_refusal(query_index, position, Obstacle::capacity);
    return Placing::no;
  }
  if (is_shared) {
    const Demand& wanted = demand(query, position);
    auto& taken = taken_[position];
    taken.resize(wanted.amounts.size());
    for (std::size_t i = 0; i < taken.size(); ++i) taken[i] = saturating_sum(taken[i], wanted.amounts[i].nano);
  }
  placed_.push_back({query_index, position});
  ++results_of_claim_[query.claim];
  return Placing::yes;
}

void Search::undo() {
  const Placed last = placed_.back();
  placed_.pop_back();
  QueryState& query = queries_[last.query];
  --results_of_claim_[query.claim];
  for (ConstraintState& constraint : constraints_[query.claim]) constraint.remove(query.index, query.query->request);
  const PreparedDevice& device = *at(last.position).device;
  if (!device.object->allow_multiple_allocations) {
    mark(query, last.position, false);
    if (!device.counters.empty()) booked(last.position).give_back(counter_uses(last.position));
    return;
  }
  // Counters of such a device stay booked, and a device without capacity stays among those that took some, as upstream.
  if (device.capacity.empty()) return;
  const Demand& wanted = demand(query, last.position);
  const auto taken = taken_.find(last.position);
  for (std::size_t i = 0; i < wanted.amounts.size(); ++i)
    taken->second[i] = saturating_sum(taken->second[i], -wanted.amounts[i].nano);
  if (std::all_of(taken->second.begin(), taken->second.end(), [](Nano nano) { return nano == 0; })) taken_.erase(taken);
}

void Search::mark(const QueryState& query, std::uint32_t position, bool placed) {
  placed_count_[position] = static_cast<std::uint16_t>(placed_count_[position] + (placed ? 1 : -1));
  if (!placed_for_claim_[query.claim].empty()) placed_for_claim_[query.claim][position] = placed;
}

bool Search::is_in_use(std::uint32_t position) const {
  return placed_count_[position] != 0 || state_.is_in_use(at(position).device->id);
}

std::optional<bool> Search::is_selectable(QueryState& query, std::uint32_t position) {
  if (query.selectable.empty()) query.selectable.resize(devices_.size(), VerdictRow::unknown);
  std::uint8_t& known = query.selectable[position];
  if (known == VerdictRow::unknown) {
    const std::optional<bool> verdict = judge(query, position);
    if (!verdict) return std::nullopt;
    known = *verdict ? VerdictRow::yes : VerdictRow::no;
  }
  return known == VerdictRow::yes;
}

std::optional<bool> Search::judge(QueryState& query, std::uint32_t position) {
  const PooledDevice& pooled = at(position);
  const auto& of_class = query.query->device_class->selectors;
  const auto& of_request = query.query->selectors;
  query.rows.resize(of_class.size() + of_request.size());
  for (std::size_t i = 0; i < query.rows.size(); ++i) {
    const bool is_class = i < of_class.size();
    const PreparedSelector& selector = is_class ? of_class[i] : of_request[i - of_class.size()];
    const auto wrong = [&](std::string_view what, std::string_view why) {
      return (is_class ? "class " + query.query->device_class->name : "claim " + claims_[query.claim]->name()) +
             ": selector #" + std::to_string(is_class ? i : i - of_class.size()) + ": CEL " + std::string(what) +
             " error: " + std::string(why);
    };
    if (selector.program == nullptr) {
      fail(Outcome::Kind::failed, wrong("compile", selector.compile_error));
      return std::nullopt;
    }
    SelectorRow& row = query.rows[i];
    if (row.slice != pooled.slice) row = {pooled.slice, pooled.slice->verdicts(selector.program->serial())};
    std::atomic<std::uint8_t>& verdict = row.row->verdicts[pooled.device->index];
    std::uint8_t known = verdict.load(std::memory_order_relaxed);
    if (known == VerdictRow::unknown) known = pooled.device->content->verdict(selector.program->serial());
    if (known == VerdictRow::unknown) {
      if (selector_steps_spent() >= limits_.selector_steps_max) {
        fail(Outcome::Kind::failed,
             wrong("runtime", "too expensive: the selectors of the pod take more steps than an attempt may, " +
                                  std::to_string(k_selector_steps_max)));
        return std::nullopt;
      }
      StopQuestion question{&limits_, &stopped_};
      cel::Limits bounds;
      if (limits_.stop != nullptr) {
        bounds.interrupted = &is_stopped;
        bounds.context = &question;
      }
      const cel::Outcome outcome = evaluator_.evaluate(*selector.program, pooled.device->content->device(), bounds);
      spend_selector_steps(outcome.steps);
      if (outcome.verdict == cel::Verdict::error && stopped_ != Limits::Stop::go_on) {
        fail(kind_of(stopped_), wrong("runtime", std::string(outcome.error) + ": " + std::string(cause_of(stopped_))));
        return std::nullopt;
      }
      known = DeviceContent::verdict_of(outcome);
      if (known == VerdictRow::unknown) {
        fail(Outcome::Kind::failed, wrong("runtime", outcome.error));
        return std::nullopt;
      }
      pooled.device->content->remember(selector.program->serial(), known);
    }
    verdict.store(known, std::memory_order_relaxed);
    if (known >= VerdictRow::stopped) {
      fail(Outcome::Kind::failed, wrong("runtime", cel::text_of(DeviceContent::stop_of(known))));
      return std::nullopt;
    }
    if (known != VerdictRow::no) continue;
    refusing_selector_ = i;
    return false;
  }
  refusing_selector_ = query.rows.size();
  return node_->reachable.empty() || node_->reachable[position];
}

const Search::Demand& Search::demand(QueryState& query, std::uint32_t position) {
  const auto [known, is_new] = query.demands.try_emplace(position, demands_.size());
  if (!is_new) return demands_[known->second];
  const PreparedDevice& device = *at(position).device;
  Demand& made = demands_.emplace_back();
  std::size_t found = 0;
  for (const PreparedCapacity& capacity : device.capacity) {
    const auto& asked = query.query->capacity;
    const auto wanted =
        std::find_if(asked.begin(), asked.end(), [&](const WantedAmount& each) { return each.name == capacity.name; });
    found += wanted != asked.end();
    made.amounts.push_back(amount_taken(capacity, wanted == asked.end() ? nullptr : &*wanted));
    if (violates_policy(capacity, made.amounts.back())) made.is_possible = false;
  }
  if (found != query.query->capacity.size()) made.is_possible = false;  // asks for what the device does not have
  return made;
}

bool Search::fits(QueryState& query, std::uint32_t position, bool with_taken) {
  const PreparedDevice& device = *at(position).device;
  const auto taken = with_taken && !taken_.empty() ? taken_.find(position) : taken_.end();
  const auto* committed = state_.consumed(device.id);
  // Most devices: nothing is asked, nothing is taken, so its whole capacity is there.
  if (query.query->capacity.empty() && !device.has_policies && committed == nullptr && taken == taken_.end())
    return true;
  const Demand& wanted = demand(query, position);
  if (!wanted.is_possible) return false;
  for (std::size_t i = 0; i < wanted.amounts.size(); ++i) {
    Nano sum = wanted.amounts[i].nano;
    if (committed != nullptr) {
      for (const AllocatedState::Consumed& each : *committed)
        if (each.name == device.capacity[i].name) sum = saturating_sum(sum, each.nano);
    }
    if (taken != taken_.end()) sum = saturating_sum(sum, taken->second[i]);
    if (sum > device.capacity[i].value.nano) return false;
  }
  return true;
}

std::uint32_t Search::pool_at(std::uint32_t position) const {
  const auto& first = node_->first_position;
  return static_cast<std::uint32_t>(std::upper_bound(first.begin(), first.end(), position) - first.begin()) - 1;
}

BookedCounters& Search::booked(std::uint32_t position) {
  const std::uint32_t pool = pool_at(position);
  if (booked_[pool] == nullptr) {
    const auto& counted = node_->pools[pool];
    auto& by_name = booked_by_name_[counted->name];
    if (by_name == nullptr) by_name = std::make_unique<BookedCounters>(tables_.of(counted, state_));
    booked_[pool] = by_name.get();
  }
  return *booked_[pool];
}

const std::vector<BookedCounters::Use>& Search::counter_uses(std::uint32_t position) {
  const auto [known, is_new] = uses_.try_emplace(position);
  if (is_new) known->second = booked(position).resolve(at(position).device->counters);
  return known->second;
}

bool Search::book_counters(std::uint32_t position) {
  const PreparedDevice& device = *at(position).device;
  if (device.counters.empty()) return true;
  if (device.object->allow_multiple_allocations && (taken_.contains(position) || state_.consumed(device.id) != nullptr))
    return true;
  return booked(position).book(counter_uses(position));
}

bool Search::is_tolerated(const QueryState& query, std::uint32_t position) const {
  const auto& tolerations = query.query->object->tolerations;
  return std::all_of(at(position).device->taints.begin(), at(position).device->taints.end(),
                     [&](const DeviceTaint* taint) {
                       return std::any_of(tolerations.begin(), tolerations.end(),
                                          [&](const Toleration& each) { return is_tolerating(each, *taint); });
                     });
}

Outcome Search::solution() {
  std::vector<std::vector<PlacedDevice>> placed(claims_.size());
  for (const Placed& each : placed_) {
    QueryState& query = queries_[each.query];
    PlacedDevice& made = placed[query.claim].emplace_back();
    made.query = query.query;
    made.device = at(each.position);
    made.is_share = made.device.device->object->allow_multiple_allocations;
    if (!made.is_share) continue;
    const Demand& taken = demand(query, each.position);
    for (std::size_t i = 0; i < taken.amounts.size(); ++i)
      made.consumed.push_back({made.device.device->capacity[i].name, taken.amounts[i]});
  }
  std::vector<std::vector<const Query*>> chosen(claims_.size());
  for (std::size_t claim = 0; claim < claims_.size(); ++claim) {
    for (const std::uint32_t query : chosen_[claim]) chosen[claim].push_back(queries_[query].query);
    for (const PlacedDevice& each : placed[claim]) {
      const Slice& slice = each.device.slice->object();
      const NodeChoice& nodes = slice.per_device_node_selection ? each.device.device->object->nodes : slice.nodes;
      if (!nodes.node_name.empty() || each.device.device->object->binds_to_node) break;
      if (!nodes.selector || nodes.selector->terms.size() <= 1) continue;
      return {Outcome::Kind::failed,
              "create NodeSelector for claim " + claims_[claim]->object().name +
                  ": unsupported ResourceSlice.NodeSelector with " + std::to_string(nodes.selector->terms.size()) +
                  " terms",
              {}};
    }
  }
  std::vector<std::shared_ptr<const PreparedClaim>> kept(claims_.begin(), claims_.end());
  return {Outcome::Kind::allocated,
          {},
          std::make_shared<Allocation>(node_, std::move(kept), std::move(placed), std::move(chosen))};
}

std::vector<Refusal> Search::diagnose() {
  for (std::size_t query = 0; query < queries_.size(); ++query) refused_.emplace_back(devices_.size());
  const Outcome outcome = search();
  if (outcome.kind == Outcome::Kind::allocated) return {};
  if (outcome.kind == Outcome::Kind::failed) return {{outcome.error, 0}};
  std::vector<Refusal> refusals;
  for (const auto& pool : node_->pools)
    if (pool->condition != Pool::Condition::usable) refusals.push_back({unusable(*pool), 0});
  for (std::size_t i = 0; i < queries_.size(); ++i) {
    QueryState& query = queries_[i];
    const PreparedClaim& claim = *claims_[query.claim];
    const std::string whose = "claim " + claim.name() + ", request " + claim.result_name(*query.query) + ": ";
    std::map<std::string, std::uint64_t> counts;
    for (std::uint32_t position = 0; position < devices_.size(); ++position) {
      if (position % 256 == 0 && limits_.stop != nullptr && limits_.stop(limits_.context) != Limits::Stop::go_on) break;
      if (std::string obstacle = obstacle_to(query, position, refused_[i][position]); !obstacle.empty())
        ++counts[std::move(obstacle)];
    }
    if (counts.empty()) refusals.push_back({whose + "the node has no devices", 0});
    for (const auto& [text, count] : counts) refusals.push_back({whose + text, count});
  }
  return refusals;
}

std::string Search::obstacle_to(QueryState& query, std::uint32_t position, const Refused& refused) {
  if (!node_->reachable.empty() && !node_->reachable[position]) return {};
  const PreparedDevice& device = *at(position).device;
  if (!query.query->object->admin_access && state_.is_in_use(device.id)) return "in use";
  const std::optional<bool> selectable = judge(query, position);
  if (!selectable) return "selectors cannot be evaluated: " + outcome_.error;
  if (!*selectable) return refused_by_selector(*query.query, refusing_selector_);
  if (!fits(query, position, false)) return "too little capacity is left, or none that may be asked for";
  for (const DeviceTaint* taint : device.taints) {
    const auto& tolerations = query.query->object->tolerations;
    if (std::any_of(tolerations.begin(), tolerations.end(),
                    [&](const Toleration& each) { return is_tolerating(each, *taint); }))
      continue;
    return tainted(*taint);
  }
  switch (refused.obstacle) {
    case Obstacle::counters:
      return "shared counters are used up";
    case Obstacle::capacity:
      return "other requests leave too little capacity";
    case Obstacle::constraint:
      return refused_by_constraint(*claims_[query.claim], refused.constraint);
    case Obstacle::none:
      break;
  }
  return "suitable, and not enough";
}

}  // namespace berth::dra
