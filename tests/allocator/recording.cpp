// SPDX-License-Identifier: Apache-2.0
#include "recording.hpp"

#include <simdjson.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "support/packed_file.hpp"

namespace berth::dra {
namespace {

using Json = simdjson::dom::element;

std::optional<Json> member(const Json& object, std::string_view name) {
  Json found;
  if (object[name].get(found) != simdjson::SUCCESS || found.is_null()) return std::nullopt;
  return found;
}

std::string text_at(const Json& object, std::string_view name) {
  std::string_view text;
  return object[name].get(text) == simdjson::SUCCESS ? std::string(text) : std::string();
}

std::int64_t number_at(const Json& object, std::string_view name) {
  std::int64_t number = 0;
  return object[name].get(number) == simdjson::SUCCESS ? number : 0;
}

bool is_set(const Json& object, std::string_view name) {
  bool value = false;
  return object[name].get(value) == simdjson::SUCCESS && value;
}

template <class Read>
auto list_at(const Json& object, std::string_view name, Read read) {
  std::vector<decltype(read(object))> made;
  if (const auto list = member(object, name))
    for (const Json each : list->get_array()) made.push_back(read(each));
  return made;
}

template <class Read>
void for_each_entry(const Json& object, std::string_view name, Read read) {
  if (const auto map = member(object, name))
    for (const auto entry : map->get_object()) read(std::string(entry.key), entry.value);
}

std::string text_of(const Json& value) { return std::string(value.get_string().value()); }

std::vector<std::string> texts_at(const Json& object, std::string_view name) { return list_at(object, name, text_of); }

std::optional<std::string> amount_at(const Json& object, std::string_view name) {
  const auto value = member(object, name);
  return value ? std::optional(text_of(*value)) : std::nullopt;
}

/// Quantities by name, as texts or as objects with a `value`; by name, since a map has no order.
std::vector<NamedAmount> amounts_at(const Json& object, std::string_view name) {
  std::vector<NamedAmount> made;
  for_each_entry(object, name, [&](const std::string& key, const Json& value) {
    made.push_back({key, value.is_string() ? text_of(value) : text_at(value, "value")});
  });
  std::sort(made.begin(), made.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return made;
}

NodeRequirement requirement_of(const Json& value) {
  return {text_at(value, "key"), text_at(value, "operator"), texts_at(value, "values")};
}

NodeSelector selector_of(const Json& value) {
  return {list_at(value, "nodeSelectorTerms", [](const Json& term) {
    return NodeSelectorTerm{list_at(term, "matchExpressions", requirement_of),
                            list_at(term, "matchFields", requirement_of)};
  })};
}

NodeChoice choice_of(const Json& value) {
  NodeChoice made{text_at(value, "nodeName"), is_set(value, "allNodes"), std::nullopt};
  if (const auto selector = member(value, "nodeSelector")) made.selector = selector_of(*selector);
  return made;
}

NamedAttribute attribute_of(const std::string& name, const Json& value) {
  NamedAttribute made;
  made.name = name;
  bool boolean = false;
  std::string_view text;
  if (value["int"].get(made.integer) == simdjson::SUCCESS) {
    made.type = cel::Attribute::Type::integer;
  } else if (value["bool"].get(boolean) == simdjson::SUCCESS) {
    made.type = cel::Attribute::Type::boolean;
    made.integer = boolean ? 1 : 0;
  } else if (value["string"].get(text) == simdjson::SUCCESS) {
    made.type = cel::Attribute::Type::string;
  } else if (value["version"].get(text) == simdjson::SUCCESS) {
    made.type = cel::Attribute::Type::version;
  }
  made.text = text;
  return made;
}

NamedCapacity capacity_of(const std::string& name, const Json& value) {
  NamedCapacity made{name, text_at(value, "value"), std::nullopt};
  const auto policy = member(value, "requestPolicy");
  if (!policy) return made;
  RequestPolicy& read = made.policy.emplace();
  read.default_amount = amount_at(*policy, "default");
  read.valid_values = texts_at(*policy, "validValues");
  if (const auto range = member(*policy, "validRange"))
    read.valid_range.emplace(
        RequestPolicy::Range{amount_at(*range, "min"), amount_at(*range, "max"), amount_at(*range, "step")});
  return made;
}

Device device_of(const Json& value) {
  Device made;
  made.name = text_at(value, "name");
  for_each_entry(value, "attributes", [&](const std::string& name, const Json& each) {
    made.attributes.push_back(attribute_of(name, each));
  });
  for_each_entry(value, "capacity",
                 [&](const std::string& name, const Json& each) { made.capacity.push_back(capacity_of(name, each)); });
  made.consumes_counters = list_at(value, "consumesCounters", [](const Json& each) {
    return CounterSet{text_at(each, "counterSet"), amounts_at(each, "counters")};
  });
  made.nodes = choice_of(value);
  made.taints = list_at(value, "taints", [](const Json& each) {
    return DeviceTaint{text_at(each, "key"), text_at(each, "value"), text_at(each, "effect")};
  });
  made.binding_conditions = texts_at(value, "bindingConditions");
  made.binding_failure_conditions = texts_at(value, "bindingFailureConditions");
  made.binds_to_node = is_set(value, "bindsToNode");
  made.allow_multiple_allocations = is_set(value, "allowMultipleAllocations");
  return made;
}

std::string name_of(const Json& object) { return text_at(object["metadata"], "name"); }

Slice slice_of(const Json& value) {
  const Json spec = value["spec"];
  const Json pool = spec["pool"];
  Slice made;
  made.name = name_of(value);
  made.driver = text_at(spec, "driver");
  made.pool = text_at(pool, "name");
  made.generation = number_at(pool, "generation");
  made.slice_count = number_at(pool, "resourceSliceCount");
  made.nodes = choice_of(spec);
  made.per_device_node_selection = is_set(spec, "perDeviceNodeSelection");
  made.devices = list_at(spec, "devices", device_of);
  made.shared_counters = list_at(spec, "sharedCounters", [](const Json& each) {
    return CounterSet{text_at(each, "name"), amounts_at(each, "counters")};
  });
  return made;
}

std::vector<std::optional<std::string>> selectors_at(const Json& object) {
  return list_at(object, "selectors", [](const Json& each) {
    const auto cel = member(each, "cel");
    return cel ? std::optional(text_at(*cel, "expression")) : std::nullopt;
  });
}

OpaqueConfig opaque_of(const Json& value) {
  const Json opaque = value["opaque"];
  const auto parameters = member(opaque, "parameters");
  return {text_at(opaque, "driver"), parameters ? simdjson::minify(*parameters) : std::string()};
}

std::shared_ptr<const DeviceClass> class_of(const Json& value) {
  const Json spec = value["spec"];
  return std::make_shared<DeviceClass>(
      DeviceClass{name_of(value), selectors_at(spec), list_at(spec, "config", opaque_of)});
}

Toleration toleration_of(const Json& value) {
  Toleration made{text_at(value, "key"), text_at(value, "operator"), text_at(value, "value"), text_at(value, "effect"),
                  std::nullopt};
  if (member(value, "tolerationSeconds")) made.toleration_seconds = number_at(value, "tolerationSeconds");
  return made;
}

DeviceRequest device_request_of(const Json& value) {
  DeviceRequest made;
  made.name = text_at(value, "name");
  made.class_name = text_at(value, "deviceClassName");
  made.selectors = selectors_at(value);
  made.allocation_mode = text_at(value, "allocationMode");
  made.count = number_at(value, "count");
  made.admin_access = is_set(value, "adminAccess");
  made.tolerations = list_at(value, "tolerations", toleration_of);
  if (const auto capacity = member(value, "capacity")) made.capacity = amounts_at(*capacity, "requests");
  return made;
}

Request request_of(const Json& value) {
  Request made{text_at(value, "name"), std::nullopt, list_at(value, "firstAvailable", device_request_of)};
  if (const auto exactly = member(value, "exactly")) made.exactly = device_request_of(*exactly);
  return made;
}

std::shared_ptr<const Claim> claim_of(const Json& value) {
  auto made = std::make_shared<Claim>();
  made->claim_namespace = text_at(value["metadata"], "namespace");
  made->name = name_of(value);
  const Json devices = value["spec"]["devices"];
  made->requests = list_at(devices, "requests", request_of);
  made->constraints = list_at(devices, "constraints", [](const Json& each) {
    return Constraint{texts_at(each, "requests"), amount_at(each, "matchAttribute"),
                      amount_at(each, "distinctAttribute")};
  });
  made->config = list_at(devices, "config", [](const Json& each) {
    return ClaimConfig{texts_at(each, "requests"), opaque_of(each)};
  });
  return made;
}

ClaimAllocation allocation_of(const Json& value) {
  ClaimAllocation made;
  if (const auto devices = member(value, "devices")) {
    made.results = list_at(*devices, "results", [](const Json& each) {
      ClaimAllocation::Result result{text_at(each, "request"),
                                     text_at(each, "driver"),
                                     text_at(each, "pool"),
                                     text_at(each, "device"),
                                     is_set(each, "adminAccess"),
                                     list_at(each, "tolerations", toleration_of),
                                     texts_at(each, "bindingConditions"),
                                     texts_at(each, "bindingFailureConditions"),
                                     amount_at(each, "shareID"),
                                     amounts_at(each, "consumedCapacity")};
      return result;
    });
    made.config = list_at(*devices, "config", [](const Json& each) {
      const OpaqueConfig opaque = opaque_of(each);
      return ClaimAllocation::Config{text_at(each, "source") == "FromClass", texts_at(each, "requests"), opaque.driver,
                                     opaque.parameters};
    });
  }
  if (const auto selector = member(value, "nodeSelector")) made.node_selector = selector_of(*selector);
  return made;
}

/// `driver/pool/device[/share]`; pools of the recordings have no slash.
RecordedCase::Taken taken_of(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, '/');) parts.push_back(part);
  if (parts.size() < 3) throw std::runtime_error("not driver/pool/device: " + text);
  return {parts[0], parts[1], parts[2], parts.size() > 3 ? std::optional(parts[3]) : std::nullopt, std::nullopt};
}

RecordedCase case_of(const Json& value) {
  RecordedCase made;
  made.id = text_at(value, "id");
  made.label = text_at(value, "label");
  const Json node = value["node"];
  made.node.name = name_of(node);
  for_each_entry(node["metadata"], "labels", [&](const std::string& key, const Json& each) {
    made.node.labels.push_back({key, text_of(each)});
  });
  made.classes = list_at(value, "classes", class_of);
  made.slices = list_at(value, "slices", slice_of);
  made.claims = list_at(value, "claims", claim_of);
  for (const std::string& each : texts_at(value, "allocatedDevices")) made.taken.push_back(taken_of(each));
  for (const std::string& each : texts_at(value, "allocatedShares")) made.taken.push_back(taken_of(each));
  for_each_entry(value, "consumedCapacity", [&](const std::string& name, const Json&) {
    RecordedCase::Taken taken = taken_of(name);
    taken.share_id = "consumed";
    taken.consumed = amounts_at(value["consumedCapacity"], name);
    made.taken.push_back(taken);
  });
  const Json expected = value["defaultGates"];
  made.error = text_at(expected, "error");
  // Nothing to allocate is recorded as no results.
  if (member(expected, "results") || (made.claims.empty() && made.error.empty()))
    made.results = list_at(expected, "results", allocation_of);
  return made;
}

void print(std::ostream& out, const NodeRequirement& requirement) {
  out << requirement.key << ' ' << requirement.operation;
  for (const std::string& value : requirement.values) out << ' ' << value;
  out << ';';
}

std::string text_of(const ClaimAllocation& allocation) {
  std::ostringstream out;
  for (const auto& each : allocation.results) {
    out << ' ' << each.request << '=' << each.driver << '/' << each.pool << '/' << each.device
        << (each.admin_access ? "(admin)" : "") << (each.share_id ? "(share)" : "");
    for (const NamedAmount& amount : each.consumed_capacity) out << '[' << amount.name << ':' << amount.amount << ']';
    for (const Toleration& toleration : each.tolerations) out << "(tolerates " << toleration.key << ')';
    for (const std::string& condition : each.binding_conditions) out << "(bc " << condition << ')';
    for (const std::string& condition : each.binding_failure_conditions) out << "(bfc " << condition << ')';
  }
  for (const auto& each : allocation.config) {
    out << (each.is_from_class ? " FromClass[" : " FromClaim[");
    for (const std::string& request : each.requests) out << request << ' ';
    out << ']' << each.driver << each.parameters;
  }
  if (!allocation.node_selector) return out.str();
  out << " nodes:";
  for (const NodeSelectorTerm& term : allocation.node_selector->terms) {
    for (const NodeRequirement& each : term.match_expressions) print(out, each);
    out << '|';
    for (const NodeRequirement& each : term.match_fields) print(out, each);
  }
  return out.str();
}

std::string text_of(const std::optional<std::vector<ClaimAllocation>>& results, const std::string& error) {
  if (!error.empty()) return "error: " + error;
  if (!results) return "no solution";
  std::string text;
  for (const ClaimAllocation& each : *results) text += " /" + text_of(each);
  return text;
}

/// What a text has to have in common with the recorded one. What is said of a class that is missing comes from the caller; of a
/// selector that does not compile, which one it is counts.
std::string comparable(const std::string& error) {
  constexpr std::string_view missing = "could not retrieve device class ";
  if (const std::size_t at = error.find(missing); at != std::string::npos)
    return error.substr(0, error.find(": ", at + missing.size()));
  return error.substr(0, error.find("CEL compile error: "));
}

}  // namespace

std::vector<RecordedCase> read_recorded_cases(const std::string& path) {
  simdjson::dom::parser parser;
  const std::string text = berth::tests::read_packed_file(path);
  try {
    return list_at(parser.parse(text), "cases", case_of);
  } catch (const simdjson::simdjson_error& e) {
    throw std::runtime_error(path + ": " + e.what());
  }
}

std::string compare_with_recording(const RecordedCase& recorded) {
  auto ids = std::make_shared<DeviceIds>();
  std::vector<std::shared_ptr<const PreparedSlice>> slices;
  for (const Slice& slice : recorded.slices) {
    PreparedSlice::Made made = PreparedSlice::prepare(slice, *ids);
    if (made.slice == nullptr) return made.error;
    slices.push_back(std::move(made.slice));
  }
  auto state = std::make_shared<AllocatedState>(ids);
  for (const auto& each : recorded.taken) {
    TakenDevice taken{each.driver, each.pool, each.device, false, std::nullopt, each.consumed};
    if (each.share_id) taken.share_id = *each.share_id;
    const std::string wrong = state->add(taken);
    if (!wrong.empty()) return wrong;
  }
  const ClassLookup classes = [&](std::string_view name) -> std::shared_ptr<const DeviceClass> {
    for (const auto& each : recorded.classes)
      if (each->name == name) return each;
    return nullptr;
  };
  cel::ProgramCache programs;
  std::vector<std::shared_ptr<const PreparedClaim>> claims;
  SelectorBudget budget;
  for (const auto& claim : recorded.claims)
    claims.push_back(std::make_shared<PreparedClaim>(claim, classes, programs, budget));
  Workspace workspace;
  const Outcome outcome = Allocator(state).allocate(Inventory(slices).gather(recorded.node), claims, {}, workspace);
  std::optional<std::vector<ClaimAllocation>> results;
  if (outcome.allocation != nullptr) {
    results.emplace();
    for (std::size_t i = 0; i < outcome.allocation->claims(); ++i)
      results->push_back(outcome.allocation->describe(i, [] { return std::string("*"); }));
  }
  if (comparable(outcome.error) == comparable(recorded.error) && results == recorded.results) return {};
  return "recorded " + text_of(recorded.results, recorded.error) + "\n    here     " + text_of(results, outcome.error);
}

}  // namespace berth::dra
