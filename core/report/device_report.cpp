// SPDX-License-Identifier: Apache-2.0
#include "report/device_report.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "model/quantity.hpp"
#include "text/parse.hpp"

namespace berth::report {
namespace {

constexpr std::string_view k_extended = "resource.kubernetes.io/extended-resource-claim";

bool boolean_at(const text::Value& value, std::string_view path) {
  const text::Value* const found = value.find_path(path);
  return found != nullptr && found->boolean();
}
std::int64_t integer_at(const text::Value& value, std::string_view path) {
  const text::Value* const found = value.find_path(path);
  return found == nullptr ? 0 : found->integer().value_or(0);
}
std::span<const text::Value> list_at(const text::Value& value, std::string_view path) {
  const text::Value* const found = value.find_path(path);
  return found == nullptr ? std::span<const text::Value>() : found->elements();
}
std::span<const text::Member> members_at(const text::Value& value, std::string_view path) {
  const text::Value* const found = value.find_path(path);
  return found == nullptr ? std::span<const text::Member>() : found->members();
}

/// Objects that are JSON. Documents keep their addresses when they are moved.
std::vector<text::Document> parsed(std::span<const model::ObjectPtr> objects) {
  std::vector<text::Document> documents;
  documents.reserve(objects.size());
  for (const model::ObjectPtr& object : objects) {
    text::Diagnostics diagnostics;
    for (text::Document& document : text::parse_json(object->json, object->name, diagnostics))
      documents.push_back(std::move(document));
  }
  return documents;
}

ClaimLine describe_claim(const text::Value& root) {
  ClaimLine line;
  line.ns = root.text_at("metadata.namespace");
  line.name = root.text_at("metadata.name");
  const text::Value* const allocation = root.find_path("status.allocation");
  if (allocation != nullptr && allocation->is_mapping()) {
    line.state = ClaimLine::State::idle;
    for (const text::Value& result : list_at(*allocation, "devices.results"))
      line.devices.push_back({std::string(result.text_at("request")), std::string(result.text_at("driver")),
                              std::string(result.text_at("pool")), std::string(result.text_at("device")),
                              boolean_at(result, "adminAccess")});
  }
  for (const text::Value& consumer : list_at(root, "status.reservedFor"))
    line.reserved_for.emplace_back(consumer.text_at("name"));
  if (line.state == ClaimLine::State::idle && !line.reserved_for.empty()) line.state = ClaimLine::State::in_use;
  const text::Value* const annotations = root.find_path("metadata.annotations");
  const text::Value* const mark = annotations == nullptr ? nullptr : annotations->find(k_extended);
  if (mark != nullptr && mark->text() == "true")
    for (const text::Value& owner : list_at(root, "metadata.ownerReferences"))
      if (owner.text_at("kind") == "Pod") line.extended_for = owner.text_at("uid");
  return line;
}

/// Which nodes have a device.
struct Reach {
  std::string node, words;
  friend auto operator<=>(const Reach&, const Reach&) = default;
};

std::string requirement_text(const text::Value& requirement) {
  std::string out(requirement.text_at("key"));
  out += ' ';
  out += requirement.text_at("operator");
  std::string values;
  for (const text::Value& value : list_at(requirement, "values"))
    values += (values.empty() ? "" : ",") + std::string(value.text());
  return values.empty() ? out : out + " (" + values + ")";
}

Reach reach_of(const text::Value& choice) {
  if (const std::string_view node = choice.text_at("nodeName"); !node.empty()) return {std::string(node), {}};
  if (boolean_at(choice, "allNodes")) return {{}, "all nodes"};
  std::string words;
  for (const text::Value& term : list_at(choice, "nodeSelector.nodeSelectorTerms")) {
    const auto expressions = list_at(term, "matchExpressions"), fields = list_at(term, "matchFields");
    if (expressions.empty() && fields.size() == 1 && fields[0].text_at("key") == "metadata.name" &&
        fields[0].text_at("operator") == "In" && list_at(fields[0], "values").size() == 1)
      return {std::string(list_at(fields[0], "values")[0].text()), {}};
    for (const auto& requirements : {expressions, fields})
      for (const text::Value& each : requirements) words += (words.empty() ? "" : ", ") + requirement_text(each);
  }
  return {{}, words.empty() ? "no node" : words};
}

bool is_tainted(const text::Value& device) {
  const auto taints = list_at(device, "taints");
  return std::any_of(taints.begin(), taints.end(), [](const text::Value& taint) {
    const std::string_view effect = taint.text_at("effect");
    return effect == "NoSchedule" || effect == "NoExecute";
  });
}

/// Counters of a pool: how much there is, and how much the allocated devices have of it.
class Counters {
 public:
  /// Fails when it makes the pool invalid.
  Status add_sets(const text::Value& spec) {
    for (const text::Value& set : list_at(spec, "sharedCounters")) {
      const std::string name(set.text_at("name"));
      if (!sets_.insert(name).second) return Error{"counter set " + name + " is there twice"};
      for (const text::Member& counter : members_at(set, "counters"))
        amounts_[{name, std::string(counter.key)}].there = amount(counter.value);
    }
    return Unit{};
  }
  Status check(const text::Value& device) const {
    Status counted = Unit{};
    each_use(device, [&](const Name& name, model::Quantity) {
      if (counted.ok() && !amounts_.contains(name))
        counted = Error{"counter " + name.first + '.' + name.second + " is not there"};
    });
    return counted;
  }
  void take(const text::Value& device) {
    each_use(device, [&](const Name& name, model::Quantity used) { amounts_[name].taken += used; });
  }
  /// Whether there is enough for one more device.
  bool are_left_for(const text::Value& device) const {
    bool is_enough = true;
    each_use(device, [&](const Name& name, model::Quantity used) {
      const auto known = amounts_.find(name);
      if (known == amounts_.end()) return;
      model::Quantity sum = known->second.taken;
      sum += used;
      is_enough = is_enough && !(known->second.there < sum);
    });
    return is_enough;
  }

 private:
  using Name = std::pair<std::string, std::string>;  // of the set and in it
  struct Amount {
    model::Quantity there, taken;
  };
  static model::Quantity amount(const text::Value& counter) {
    const text::Value* const value = counter.find("value");
    const auto read = model::Quantity::parse(value == nullptr ? "0" : value->text());
    return read.ok() ? *read : model::Quantity();
  }
  template <typename Use>
  static void each_use(const text::Value& device, Use&& use) {
    for (const text::Value& set : list_at(device, "consumesCounters"))
      for (const text::Member& counter : members_at(set, "counters"))
        use(Name(set.text_at("counterSet"), counter.key), amount(counter.value));
  }
  std::set<std::string> sets_;
  std::map<Name, Amount> amounts_;
};

using Takers = std::unordered_map<std::string, std::vector<std::string>>;  // claims by ClaimDevice::text()

/// The newest slices of a pool.
struct Pool {
  std::string driver, name;
  std::int64_t generation = 0;
  std::vector<const text::Value*> specs;

  /// Fails when no device of it is given to claims.
  Status usable(Counters& counters) const {
    const std::int64_t complete = integer_at(*specs.front(), "pool.resourceSliceCount");
    if (std::cmp_not_equal(specs.size(), complete))
      return Error{"incomplete: " + std::to_string(specs.size()) + " of " + std::to_string(complete) + " slices"};
    for (const text::Value* spec : specs)
      if (Status added = counters.add_sets(*spec); !added.ok()) return Error{"invalid: " + added.error().message};
    std::set<std::string_view> seen;
    for (const text::Value* spec : specs)
      for (const text::Value& device : list_at(*spec, "devices")) {
        if (!seen.insert(device.text_at("name")).second)
          return Error{"invalid: device " + std::string(device.text_at("name")) + " is there twice"};
        if (Status checked = counters.check(device); !checked.ok()) return Error{"invalid: " + checked.error().message};
      }
    return Unit{};
  }

  void describe(const Takers& takers, const std::function<bool(std::string_view)>& has_node,
                std::vector<DevicePoolLine>& out) const {
    Counters counters;
    const Status state = usable(counters);
    const std::string wrong = state.ok() ? std::string() : state.error().message;
    const auto key = [&](const text::Value& device) {
      return ClaimDevice{{}, driver, name, std::string(device.text_at("name")), false}.text();
    };
    for (const text::Value* spec : specs)
      for (const text::Value& device : list_at(*spec, "devices"))
        if (takers.contains(key(device))) counters.take(device);
    std::map<Reach, std::size_t> places;
    for (const text::Value* spec : specs) {
      const bool by_device = boolean_at(*spec, "perDeviceNodeSelection");
      for (const text::Value& device : list_at(*spec, "devices")) {
        const auto [place, is_new] = places.emplace(reach_of(by_device ? device : *spec), out.size());
        if (is_new) {
          const Reach& reach = place->first;
          out.push_back({reach.node, reach.words, reach.node.empty() || has_node(reach.node), driver, name, {}, wrong});
        }
        DeviceLine& line = out[place->second].devices.emplace_back();
        line.name = device.text_at("name");
        if (const auto taken = takers.find(key(device)); taken != takers.end()) line.claims = taken->second;
        line.is_tainted = is_tainted(device);
        line.is_shareable = boolean_at(device, "allowMultipleAllocations");
        line.is_blocked = !wrong.empty() || (line.claims.empty() && !counters.are_left_for(device));
      }
    }
  }
};

}  // namespace

std::string_view claim_state_name(ClaimLine::State state) noexcept {
  switch (state) {
    case ClaimLine::State::pending:
      return "pending";
    case ClaimLine::State::idle:
      return "idle";
    case ClaimLine::State::in_use:
      return "in use";
  }
  return "";
}

DevicePoolLine::Counts& DevicePoolLine::Counts::operator+=(const Counts& other) noexcept {
  devices += other.devices;
  free += other.free;
  allocated += other.allocated;
  tainted += other.tainted;
  tainted_and_allocated += other.tainted_and_allocated;
  blocked += other.blocked;
  shared += other.shared;
  shares += other.shares;
  return *this;
}

DevicePoolLine::Counts DevicePoolLine::counts() const noexcept {
  Counts counts;
  counts.devices = devices.size();
  for (const DeviceLine& device : devices) {
    counts.free += device.is_free();
    counts.allocated += device.is_allocated();
    counts.tainted += device.is_tainted;
    counts.tainted_and_allocated += device.is_tainted && device.is_allocated();
    counts.blocked += device.is_blocked && !device.is_allocated() && !device.is_tainted;
    if (!device.is_shareable || !device.is_allocated()) continue;
    ++counts.shared;
    counts.shares += device.claims.size();
  }
  return counts;
}

DeviceReport make_device_report(std::span<const model::ObjectPtr> slices, std::span<const model::ObjectPtr> claims,
                                const std::function<bool(std::string_view)>& has_node) {
  DeviceReport report;
  Takers takers;
  for (const text::Document& document : parsed(claims)) {
    const ClaimLine& claim = report.claims.emplace_back(describe_claim(document.root()));
    for (const ClaimDevice& device : claim.devices)
      if (!device.is_admin_access) takers[device.text()].push_back(claim.ns + '/' + claim.name);
  }
  const std::vector<text::Document> documents = parsed(slices);
  std::map<std::pair<std::string, std::string>, Pool> pools;
  for (const text::Document& document : documents) {
    const text::Value* const spec = document.root().find("spec");
    if (spec == nullptr) continue;
    const std::string driver(spec->text_at("driver")), name(spec->text_at("pool.name"));
    Pool& pool = pools[{driver, name}];
    const std::int64_t generation = integer_at(*spec, "pool.generation");
    if (pool.specs.empty()) {
      pool = {driver, name, generation, {}};
    } else if (generation < pool.generation) {
      continue;
    } else if (generation > pool.generation) {
      pool.generation = generation;
      pool.specs.clear();
    }
    pool.specs.push_back(spec);
  }
  for (const auto& [key, pool] : pools) pool.describe(takers, has_node, report.pools);
  std::stable_sort(report.pools.begin(), report.pools.end(), [](const DevicePoolLine& a, const DevicePoolLine& b) {
    const auto key = [](const DevicePoolLine& line) {
      return std::tuple(line.node.empty(), std::string_view(line.node), std::string_view(line.driver),
                        std::string_view(line.pool));
    };
    return key(a) < key(b);
  });
  return report;
}

}  // namespace berth::report
