// SPDX-License-Identifier: Apache-2.0
#include "decode/pod/requests.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "decode/names.hpp"
#include "decode/selectors/labels.hpp"
#include "model/quantity.hpp"

namespace berth::decode {
namespace {

using model::Quantity;

constexpr std::string_view k_cpu = "cpu";
constexpr std::string_view k_memory = "memory";
constexpr std::string_view k_storage = "ephemeral-storage";
constexpr std::int64_t k_default_cpu_milli = 100;
constexpr std::int64_t k_default_memory_bytes = std::int64_t{200} * 1024 * 1024;

/// Amounts by name; names live as long as the document. A few are looked through, many are indexed.
class Amounts {
 public:
  struct Entry {
    std::string_view name;
    Quantity amount;
  };
  const Quantity* find(std::string_view name) const noexcept {
    if (const std::size_t at = place(name); at < entries_.size()) return &entries_[at].amount;
    return nullptr;
  }
  void set(std::string_view name, Quantity amount) { at(name, amount) = amount; }
  void add(const Amounts& other) {
    if (entries_.empty()) {
      *this = other;
      return;
    }
    for (const Entry& entry : other.entries_) at(entry.name, {}) += entry.amount;
  }
  void add(Amounts&& other) {
    if (entries_.empty()) {
      *this = std::move(other);
      return;
    }
    add(std::as_const(other));
  }
  void raise_to(const Amounts& other) {
    for (const Entry& entry : other.entries_) raise(entry.name, entry.amount);
  }
  /// Raises to what `other` has, as far as `names` has the name.
  void raise_to(const Amounts& names, const Amounts& other) {
    for (const Entry& entry : names.entries_)
      if (const Quantity* amount = other.find(entry.name)) raise(entry.name, *amount);
  }
  /// Raises to a + b, of the names of a. Requires: this was raised to b.
  void raise_to_sum(const Amounts& a, const Amounts& b) {
    for (const Entry& entry : a.entries_) {
      Quantity sum = entry.amount;
      if (const Quantity* other = b.find(entry.name)) sum += *other;
      raise(entry.name, sum);
    }
  }
  bool empty() const noexcept { return entries_.empty(); }
  const std::vector<Entry>& entries() const noexcept { return entries_; }

 private:
  static constexpr std::size_t k_few = 16;
  void raise(std::string_view name, Quantity amount) {
    Quantity& own = at(name, amount);
    if (own < amount) own = amount;
  }
  /// The amount of that name; `unless_there` when there was none.
  Quantity& at(std::string_view name, Quantity unless_there) {
    if (entries_.size() <= k_few) {
      if (const std::size_t known = place(name); known < entries_.size()) return entries_[known].amount;
    } else if (const auto [known, is_new] = by_name_.try_emplace(name, entries_.size()); !is_new) {
      return entries_[known->second].amount;
    }
    entries_.push_back({name, unless_there});
    if (entries_.size() == k_few + 1)
      for (std::size_t i = 0; i < entries_.size(); ++i) by_name_.emplace(entries_[i].name, i);
    return entries_.back().amount;
  }
  /// Where the name stands; entries_.size(): nowhere.
  std::size_t place(std::string_view name) const noexcept {
    if (entries_.size() > k_few) {
      const auto found = by_name_.find(name);
      return found == by_name_.end() ? entries_.size() : found->second;
    }
    std::size_t at = 0;
    while (at < entries_.size() && entries_[at].name != name) ++at;
    return at;
  }
  std::vector<Entry> entries_;
  boost::unordered_flat_map<std::string_view, std::size_t> by_name_;  // once there are more than k_few
};

/// A container, its spec and what its status says about its resources.
struct Container {
  Amounts spec;
  Amounts limits;
  bool restartable = false;  // an init container that keeps running while the others run
  bool has_status = false;   // with non-null resources
  Amounts actual;            // status: the greater of resources.requests and allocatedResources
  std::string name;          // where it asks for a resource with a domain
};

/// Everything the sums are made of, read once.
struct Input {
  std::vector<Container> init_containers, containers;
  Amounts pod_level;  // names that may be given for the pod as a whole; empty: not used
  bool has_pod_status = false;
  Amounts pod_actual;
  bool resize_infeasible = false;
  Amounts overhead;
};

/// A negative amount is a problem where a user wrote it, in upstream's words (apimachinery/pkg/api/validation,
/// ValidateNonnegativeQuantity); a kubelet's is 0. Neither makes room on a node.
Amounts read_amounts(const Cursor& list, bool defaulting, bool is_users = true) {
  Amounts amounts;
  list.each_member([&](std::string_view name, const Cursor& cursor) {
    Quantity quantity = decode_quantity(cursor);
    if (quantity.is_negative()) {
      if (is_users)
        cursor.add_error(
            fmt::format("invalid value \"{}\": must be greater than or equal to 0", cursor.value().text()));
      quantity = {};
    }
    amounts.set(name, defaulting ? quantity.rounded_to_milli() : quantity);
  });
  return amounts;
}

void fill_from(Amounts& requests, const Amounts& limits) {
  for (const auto& entry : limits.entries())
    if (requests.find(entry.name) == nullptr) requests.set(entry.name, entry.amount);
}

/// spec.containers[].resources: requests, filled from limits by the API server (SetDefaults_Pod).
Amounts read_container_requests(const Cursor& container, bool defaulting, Amounts& most) {
  const Cursor resources = container.mapping("resources");
  const Cursor requests = resources.mapping("requests");
  const Cursor limits = resources.mapping("limits");
  Amounts amounts = read_amounts(requests, defaulting);
  most = read_amounts(limits, defaulting);
  if (defaulting) fill_from(amounts, most);
  return amounts;
}

/// The greater of status.resources.requests and status.allocatedResources.
Amounts read_actual(const Cursor& status, bool& present) {
  const Cursor resources = status.mapping("resources");
  present = resources.present();
  if (!present) return {};
  const Cursor requests = resources.mapping("requests");
  const Cursor allocated = status.mapping("allocatedResources");
  Amounts amounts = read_amounts(requests, false, false);
  amounts.raise_to(read_amounts(allocated, false, false));
  return amounts;
}

/// What the statuses say, by the names of the containers; of several for one name the last that says something of its
/// resources, or that says nothing.
class ContainerStatuses {
 public:
  explicit ContainerStatuses(const Cursor& status) {
    // Both lists are looked at by name, that of init containers last.
    for (const std::string_view key : {"containerStatuses", "initContainerStatuses"}) {
      const Cursor list = status.sequence(key);
      list.each([&](const Cursor& cursor) {
        const Cursor name = cursor.child("name");
        Actual& actual = by_name_[name.string_or({})];
        actual.amounts = read_actual(cursor, actual.is_present);
      });
    }
  }
  /// Containers have names of their own; so many that share one are a problem.
  void give(const Cursor& name, Container& container) {
    constexpr int k_namesakes_max = 16;
    const auto found = by_name_.find(name.string_or({}));
    if (found == by_name_.end()) return;
    Actual& actual = found->second;
    if (++actual.given > k_namesakes_max) {
      name.add_error("stands for too many containers");
      return;
    }
    container.has_status = actual.is_present;
    container.actual = actual.amounts;
  }

 private:
  struct Actual {
    bool is_present = false;
    Amounts amounts;
    int given = 0;
  };
  boost::unordered_flat_map<std::string_view, Actual> by_name_;
};

std::vector<Container> read_containers(const Cursor& spec, std::string_view key, bool init, ContainerStatuses& statuses,
                                       bool defaulting) {
  std::vector<Container> containers;
  const Cursor list = spec.sequence(key);
  list.each([&](const Cursor& cursor) {
    Container container;
    container.spec = read_container_requests(cursor, defaulting, container.limits);
    const auto& asked = container.spec.entries();
    if (std::any_of(asked.begin(), asked.end(),
                    [](const auto& entry) { return entry.name.find('/') != std::string_view::npos; })) {
      const Cursor name = cursor.child("name");
      container.name = name.string_or({});
    }
    const Cursor policy = cursor.child("restartPolicy");
    container.restartable = init && policy.string_or({}) == "Always";
    // Init containers that end have no say after that.
    if (!init || container.restartable) {
      const Cursor name = cursor.child("name");
      statuses.give(name, container);
    }
    containers.push_back(std::move(container));
  });
  return containers;
}

bool read_infeasible(const Cursor& status) {
  std::optional<bool> infeasible;
  const Cursor conditions = status.sequence("conditions");
  conditions.each([&](const Cursor& condition) {
    const Cursor type = condition.child("type");
    const Cursor reason = condition.child("reason");
    if (!infeasible && type.string_or({}) == "PodResizePending") infeasible = reason.string_or({}) == "Infeasible";
  });
  return infeasible.value_or(false);
}

/// Which of upstream's options a sum is made with.
struct Options {
  bool status = false;
  bool pod_level = true;
  bool default_cpu = false;  // 100m for every container that names no cpu; 0 counts as named
  bool default_memory = false;
};

Amounts container_amounts(const Container& container, const Input& input, const Options& options) {
  Amounts amounts = container.spec;
  if (options.status && container.has_status) {
    if (input.resize_infeasible) {
      amounts = container.actual;
    } else {
      amounts.raise_to(container.actual);
    }
  }
  if (options.default_cpu && amounts.find(k_cpu) == nullptr)
    amounts.set(k_cpu, Quantity::from_milli(k_default_cpu_milli));
  if (options.default_memory && amounts.find(k_memory) == nullptr)
    amounts.set(k_memory, Quantity::from_units(k_default_memory_bytes));
  return amounts;
}

Amounts sum_of_containers(const Input& input, const Options& options) {
  Amounts total;
  for (const Container& container : input.containers) total.add(container_amounts(container, input, options));
  if (input.init_containers.empty()) return total;
  Amounts sidecars, most;
  for (const Container& container : input.init_containers) {
    Amounts amounts = container_amounts(container, input, options);
    if (container.restartable) {
      total.add(std::as_const(amounts));
      sidecars.add(std::as_const(amounts));
      most.raise_to(amounts, sidecars);
    } else {
      most.raise_to_sum(amounts, sidecars);  // those that were started before it
    }
  }
  total.raise_to(most);
  return total;
}

/// Whether Options::status makes a difference.
bool has_statuses(const Input& input) {
  const auto has = [](const Container& container) { return container.has_status; };
  return input.has_pod_status || std::any_of(input.containers.begin(), input.containers.end(), has) ||
         std::any_of(input.init_containers.begin(), input.init_containers.end(), has);
}

Amounts sum(const Input& input, const Options& options) {
  Amounts total = sum_of_containers(input, options);
  if (options.pod_level && !input.pod_level.empty()) {
    Amounts whole = input.pod_level;
    if (options.status && input.has_pod_status) {
      if (input.resize_infeasible) whole = {};
      whole.raise_to(input.pod_actual);
      // Of the names that the spec gives: one that the status does not have counts as 0 then, not as the sum of the
      // containers; one that only the status has stays that sum.
    }
    for (const auto& entry : input.pod_level.entries()) {
      const Quantity* amount = whole.find(entry.name);
      total.set(entry.name, amount == nullptr ? Quantity() : *amount);
    }
  }
  total.add(input.overhead);
  return total;
}

Amounts supported_at_pod_level(const Amounts& amounts) {
  Amounts out;
  for (const auto& entry : amounts.entries())
    if (is_pod_level_resource(entry.name)) out.set(entry.name, entry.amount);
  return out;
}

/// spec.resources.requests. The API server fills it where spec.resources.limits is given (defaultPodRequests): cpu and
/// memory from the containers, then whatever is still missing from the limits. Huge pages need no look at the
/// containers: they end as equal.
Amounts read_pod_level(const Cursor& spec, const Input& input, bool defaulting) {
  const Cursor resources = spec.mapping("resources");
  const Cursor requests_list = resources.mapping("requests");
  const Cursor limits_list = resources.mapping("limits");
  Amounts requests = read_amounts(requests_list, defaulting);
  const Amounts limits = read_amounts(limits_list, defaulting);
  if (defaulting && !limits.empty()) {
    const Amounts containers = sum_of_containers(input, {});
    for (const std::string_view name : {k_cpu, k_memory})
      if (const Quantity* amount = containers.find(name); amount != nullptr && requests.find(name) == nullptr)
        requests.set(name, *amount);
    fill_from(requests, limits);
  }
  return supported_at_pod_level(requests);
}

Input read_input(const Cursor& spec, const Cursor& status, bool defaulting, const FieldGates& gates) {
  Input input;
  ContainerStatuses statuses(status);
  input.init_containers = read_containers(spec, "initContainers", true, statuses, defaulting);
  input.containers = read_containers(spec, "containers", false, statuses, defaulting);
  if (gates.pod_level_resources) input.pod_level = read_pod_level(spec, input, defaulting);
  if (gates.pod_level_resources && gates.pod_level_resize) input.pod_actual = read_actual(status, input.has_pod_status);
  input.resize_infeasible = read_infeasible(status);
  const Cursor overhead = spec.mapping("overhead");
  input.overhead = read_amounts(overhead, defaulting);
  return input;
}

std::int64_t rounded(std::string_view name, const Quantity& amount) {
  return name == k_cpu ? amount.milli_value() : amount.value();
}

std::int64_t rounded(const Amounts& amounts, std::string_view name) {
  const Quantity* amount = amounts.find(name);
  if (amount == nullptr) return 0;
  return rounded(name, *amount);
}

/// What a node is charged with for scoring: like `effective`, with the defaults only where cpu or memory are asked for
/// nowhere in a pod that has requests of its own, and per container otherwise.
Amounts nonzero(const Input& input, const Amounts& effective) {
  Options options{.status = true, .default_cpu = true, .default_memory = true};
  if (!input.pod_level.empty()) {
    options.default_cpu = effective.find(k_cpu) == nullptr;
    options.default_memory = effective.find(k_memory) == nullptr;
    if (!options.default_cpu && !options.default_memory) return effective;
  }
  return sum(input, options);
}

/// Requests and limits side by side, each rounded by itself.
std::vector<model::ContainerAmount> side_by_side(const Amounts& requests, const Amounts& limits, SymbolTable& symbols) {
  std::vector<model::ContainerAmount> out;
  out.reserve(requests.entries().size());
  for (const auto& entry : requests.entries()) {
    const Quantity* const limit = limits.find(entry.name);
    out.push_back({symbols.intern(entry.name), true, limit != nullptr, rounded(entry.name, entry.amount),
                   limit == nullptr ? 0 : rounded(entry.name, *limit)});
  }
  for (const auto& entry : limits.entries())
    if (requests.find(entry.name) == nullptr)
      out.push_back({symbols.intern(entry.name), false, true, 0, rounded(entry.name, entry.amount)});
  return out;
}

std::vector<model::ContainerResources> per_container(const Input& input, SymbolTable& symbols) {
  using ContainerKind = model::ContainerResources::Kind;
  std::vector<model::ContainerResources> out;
  for (const Container& each : input.init_containers)
    out.push_back({each.restartable ? ContainerKind::sidecar : ContainerKind::init,
                   side_by_side(each.spec, each.limits, symbols), each.name});
  for (const Container& each : input.containers)
    out.push_back({ContainerKind::app, side_by_side(each.spec, each.limits, symbols), each.name});
  return out;
}

bool is_zero(const Quantity* amount) { return amount == nullptr || amount->is_zero(); }

/// Whether cpu and memory have limits, and requests that are equal to them.
bool guarantees(const Amounts& requests, const Amounts& limits) {
  for (const std::string_view name : {k_cpu, k_memory}) {
    const Quantity* const limit = limits.find(name);
    const Quantity* const request = requests.find(name);
    if (is_zero(limit) || is_zero(request) || !(*request == *limit)) return false;
  }
  return true;
}

/// Source: kubernetes v1.36 pkg/apis/core/v1/helper/qos/qos.go (ComputePodQOS): what is given for the pod as a whole counts
/// instead of the containers, and sums of all containers are compared, as far as each of them has limits.
model::Qos qos_of(const Input& input, bool has_pod_level, const Amounts& pod_limits) {
  const auto asks = [](const Amounts& amounts) {
    return !is_zero(amounts.find(k_cpu)) || !is_zero(amounts.find(k_memory));
  };
  if (has_pod_level) {
    if (!asks(input.pod_level) && !asks(pod_limits)) return model::Qos::best_effort;
    return guarantees(input.pod_level, pod_limits) ? model::Qos::guaranteed : model::Qos::burstable;
  }
  Amounts requests, limits;
  bool is_limited = true, asks_for_some = false;
  for (const auto* list : {&input.init_containers, &input.containers})
    for (const Container& container : *list) {
      requests.add(std::as_const(container.spec));
      limits.add(std::as_const(container.limits));
      asks_for_some = asks_for_some || asks(container.spec) || asks(container.limits);
      is_limited = is_limited && !is_zero(container.limits.find(k_cpu)) && !is_zero(container.limits.find(k_memory));
    }
  if (!asks_for_some) return model::Qos::best_effort;
  return is_limited && guarantees(requests, limits) ? model::Qos::guaranteed : model::Qos::burstable;
}

}  // namespace

model::PodRequests decode_requests(const Cursor& spec, const Cursor& status, bool defaulting, const FieldGates& gates,
                                   SymbolTable& symbols) {
  const Input input = read_input(spec, status, defaulting, gates);
  const Amounts request = sum(input, {});
  const bool says_status = has_statuses(input);
  const Amounts effective = says_status ? sum(input, {.status = true}) : request;
  const Amounts scoring = sum(input, {.pod_level = false, .default_cpu = true, .default_memory = true});

  std::vector<std::string_view> names = {k_cpu, k_memory, k_storage};
  constexpr std::size_t k_first_scalar = 3;
  for (const Amounts* amounts : {&request, &effective, &scoring})
    for (const auto& entry : amounts->entries())
      if (entry.name != k_cpu && entry.name != k_memory && entry.name != k_storage &&
          (amounts == &request || request.find(entry.name) == nullptr) && is_scalar_resource(entry.name))
        names.push_back(entry.name);
  std::sort(names.begin() + k_first_scalar, names.end());
  names.erase(std::unique(names.begin() + k_first_scalar, names.end()), names.end());

  model::PodRequests out;
  std::vector<model::PodResource> resources;
  resources.reserve(names.size());
  for (std::size_t i = 0; i < names.size(); ++i)
    resources.push_back({.name = symbols.intern(names[i]),
                         .scalar = i >= k_first_scalar,
                         .extended = i >= k_first_scalar && is_extended_resource(names[i]),
                         .request = std::max<std::int64_t>(0, rounded(request, names[i])),
                         .effective = rounded(effective, names[i]),
                         .scoring = rounded(scoring, names[i])});
  out.resources = std::move(resources);
  out.containers = per_container(input, symbols);
  out.overhead = side_by_side(input.overhead, {}, symbols);
  Amounts pod_limits;
  bool has_pod_level = false;
  if (gates.pod_level_resources) {
    const Cursor whole = spec.mapping("resources");
    has_pod_level = whole.present();
    pod_limits = supported_at_pod_level(read_amounts(whole.mapping("limits"), defaulting));
    out.whole = side_by_side({}, pod_limits, symbols);
  }
  out.qos = qos_of(input, has_pod_level, pod_limits);
  const bool is_scored = !says_status && input.pod_level.empty();  // the same sum
  const Amounts charged = is_scored ? scoring : nonzero(input, effective);
  out.nonzero_cpu_milli = rounded(charged, k_cpu);
  out.nonzero_memory_bytes = rounded(charged, k_memory);
  return out;
}

}  // namespace berth::decode
