// SPDX-License-Identifier: Apache-2.0
#include "api_objects.hpp"

#include <algorithm>
#include <ctime>

namespace devices {
namespace {

using berth::Json;
using berth::JsonWriter;

std::string text_at(const Json& object, std::string_view key) {
  const Json& value = object[key];
  return value.is_string() ? value.string(key) : std::string();
}

std::int64_t number_at(const Json& object, std::string_view key) {
  const Json& value = object[key];
  std::int64_t number = 0;
  const std::string_view text = value.number_text();
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

bool flag_at(const Json& object, std::string_view key) { return object[key].is_bool() && object[key].boolean(key); }

template <class Read>
auto list_at(const Json& object, std::string_view key, Read read) {
  std::vector<decltype(read(object))> made;
  made.reserve(object[key].items().size());
  for (const Json& each : object[key].items()) made.push_back(read(each));
  return made;
}

std::string text_of(const Json& value) { return value.is_string() ? value.string("") : std::string(); }

std::vector<std::string> texts_at(const Json& object, std::string_view key) { return list_at(object, key, text_of); }

std::optional<std::string> amount_at(const Json& object, std::string_view key) {
  const Json& value = object[key];
  if (value.is_string()) return value.string(key);
  if (value.is_number()) return std::string(value.number_text());
  return std::nullopt;
}

/// Quantities by name, as texts or as objects with a `value`; sorted, since a map has no order.
std::vector<dra::NamedAmount> amounts_at(const Json& object, std::string_view key) {
  std::vector<dra::NamedAmount> made;
  for (const auto& [name, value] : object[key].members()) {
    auto amount = value.is_object() ? amount_at(value, "value") : amount_at(object[key], name);
    made.push_back({name, amount ? *amount : std::string()});
  }
  std::sort(made.begin(), made.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return made;
}

dra::NodeRequirement requirement_of(const Json& value) {
  return {text_at(value, "key"), text_at(value, "operator"), texts_at(value, "values")};
}

dra::NodeSelector selector_of(const Json& value) {
  return {list_at(value, "nodeSelectorTerms", [](const Json& term) {
    return dra::NodeSelectorTerm{list_at(term, "matchExpressions", requirement_of),
                                 list_at(term, "matchFields", requirement_of)};
  })};
}

dra::NodeChoice choice_of(const Json& value) {
  dra::NodeChoice made{text_at(value, "nodeName"), flag_at(value, "allNodes"), std::nullopt};
  if (value["nodeSelector"].is_object()) made.selector = selector_of(value["nodeSelector"]);
  return made;
}

dra::NamedAttribute attribute_of(const std::string& name, const Json& value) {
  using Type = berth::cel::Attribute::Type;
  dra::NamedAttribute made;
  made.name = name;
  if (value["int"].is_number()) {
    made.type = Type::integer;
    made.integer = number_at(value, "int");
  } else if (value["bool"].is_bool()) {
    made.type = Type::boolean;
    made.integer = flag_at(value, "bool") ? 1 : 0;
  } else if (value["string"].is_string()) {
    made.type = Type::string;
    made.text = text_at(value, "string");
  } else if (value["version"].is_string()) {
    made.type = Type::version;
    made.text = text_at(value, "version");
  }
  return made;
}

dra::NamedCapacity capacity_of(const std::string& name, const Json& value) {
  dra::NamedCapacity made{name, amount_at(value, "value").value_or(std::string()), std::nullopt};
  const Json& policy = value["requestPolicy"];
  if (!policy.is_object()) return made;
  dra::RequestPolicy& read = made.policy.emplace();
  read.default_amount = amount_at(policy, "default");
  for (const Json& each : policy["validValues"].items())
    read.valid_values.push_back(each.is_string() ? each.string("") : std::string(each.number_text()));
  if (const Json& range = policy["validRange"]; range.is_object())
    read.valid_range.emplace(
        dra::RequestPolicy::Range{amount_at(range, "min"), amount_at(range, "max"), amount_at(range, "step")});
  return made;
}

dra::Device device_of(const Json& value) {
  dra::Device made;
  made.name = text_at(value, "name");
  for (const auto& [name, each] : value["attributes"].members()) made.attributes.push_back(attribute_of(name, each));
  for (const auto& [name, each] : value["capacity"].members()) made.capacity.push_back(capacity_of(name, each));
  made.consumes_counters = list_at(value, "consumesCounters", [](const Json& each) {
    return dra::CounterSet{text_at(each, "counterSet"), amounts_at(each, "counters")};
  });
  made.nodes = choice_of(value);
  made.taints = list_at(value, "taints", [](const Json& each) {
    return dra::DeviceTaint{text_at(each, "key"), text_at(each, "value"), text_at(each, "effect")};
  });
  made.binding_conditions = texts_at(value, "bindingConditions");
  made.binding_failure_conditions = texts_at(value, "bindingFailureConditions");
  made.binds_to_node = flag_at(value, "bindsToNode");
  made.allow_multiple_allocations = flag_at(value, "allowMultipleAllocations");
  return made;
}

std::vector<std::optional<std::string>> selectors_at(const Json& object) {
  return list_at(object, "selectors", [](const Json& each) {
    return each["cel"].is_object() ? std::optional(text_at(each["cel"], "expression")) : std::nullopt;
  });
}

dra::OpaqueConfig opaque_of(const Json& value) {
  const Json& opaque = value["opaque"];
  const Json& parameters = opaque["parameters"];
  return {text_at(opaque, "driver"), parameters.is_null() ? std::string() : berth::json_of(parameters)};
}

dra::Toleration toleration_of(const Json& value) {
  dra::Toleration made{text_at(value, "key"), text_at(value, "operator"), text_at(value, "value"),
                       text_at(value, "effect"), std::nullopt};
  if (value["tolerationSeconds"].is_number()) made.toleration_seconds = number_at(value, "tolerationSeconds");
  return made;
}

dra::DeviceRequest device_request_of(const Json& value) {
  dra::DeviceRequest made;
  made.name = text_at(value, "name");
  made.class_name = text_at(value, "deviceClassName");
  made.selectors = selectors_at(value);
  made.allocation_mode = text_at(value, "allocationMode");
  if (made.allocation_mode.empty()) made.allocation_mode = "ExactCount";
  made.count = number_at(value, "count");
  if (made.allocation_mode == "ExactCount" && !value["count"].is_number()) made.count = 1;
  made.admin_access = flag_at(value, "adminAccess");
  made.tolerations = list_at(value, "tolerations", toleration_of);
  made.capacity = amounts_at(value["capacity"], "requests");
  return made;
}

dra::Request request_of(const Json& value) {
  dra::Request made;
  made.name = text_at(value, "name");
  if (value["exactly"].is_object()) made.exactly = device_request_of(value["exactly"]);
  made.first_available = list_at(value, "firstAvailable", device_request_of);
  return made;
}

dra::Constraint constraint_of(const Json& value) {
  dra::Constraint made;
  made.requests = texts_at(value, "requests");
  if (value["matchAttribute"].is_string()) made.match_attribute = text_at(value, "matchAttribute");
  if (value["distinctAttribute"].is_string()) made.distinct_attribute = text_at(value, "distinctAttribute");
  return made;
}

std::shared_ptr<const dra::Claim> wanted_of(const ClaimObject& claim, const Json& spec) {
  auto made = std::make_shared<dra::Claim>();
  const Json& devices = spec["devices"];
  made->claim_namespace = claim.ns;
  made->name = claim.name;
  made->requests = list_at(devices, "requests", request_of);
  made->constraints = list_at(devices, "constraints", constraint_of);
  made->config = list_at(devices, "config", [](const Json& each) {
    return dra::ClaimConfig{texts_at(each, "requests"), opaque_of(each)};
  });
  return made;
}

/// Seconds since 1970 of an RFC 3339 time in UTC, as the API server writes it, in nanoseconds; nothing for another text.
std::optional<std::int64_t> time_of(const Json& value) {
  if (!value.is_string()) return std::nullopt;
  std::tm parts{};
  const std::string& text = value.string("");
  const char* const rest = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (rest == nullptr) return std::nullopt;
  return static_cast<std::int64_t>(timegm(&parts)) * 1'000'000'000;
}

ResultObject result_of(const Json& value) {
  ResultObject made{text_at(value, "request"),
                    text_at(value, "driver"),
                    text_at(value, "pool"),
                    text_at(value, "device"),
                    flag_at(value, "adminAccess"),
                    std::nullopt,
                    std::nullopt,
                    texts_at(value, "bindingConditions"),
                    texts_at(value, "bindingFailureConditions")};
  if (value["shareID"].is_string()) made.share_id = text_at(value, "shareID");
  if (value["consumedCapacity"].is_object()) made.consumed = amounts_at(value, "consumedCapacity");
  return made;
}

std::shared_ptr<const AllocationObject> allocation_of(const Json& value) {
  if (!value.is_object()) return nullptr;
  auto made = std::make_shared<AllocationObject>();
  const Json& devices = value["devices"];
  const Json& results = devices["results"];
  const Withheld unknown = withheld_on(value["nodeSelector"]);
  for (const Json& each : results.items()) add_result(each, unknown, *made);
  if ((!devices.is_null() && !devices.is_object()) || (!results.is_null() && !results.is_array()))
    made->withheld.push_back(unknown);
  made->time_ns = time_of(value["allocationTimestamp"]);
  if (value["nodeSelector"].is_object()) {
    made->nodes.selector = selector_of(value["nodeSelector"]);
    made->matcher = std::make_unique<dra::NodeMatcher>(made->nodes);
  }
  return made;
}

DeviceStatus device_status_of(const Json& value) {
  return {text_at(value, "driver"), text_at(value, "pool"), text_at(value, "device"),
          list_at(value, "conditions", [](const Json& each) {
            return DeviceStatus::Condition{text_at(each, "type"), text_at(each, "status"), text_at(each, "reason"),
                                           text_at(each, "message")};
          })};
}

void read_metadata(const Json& metadata, ClaimObject& claim) {
  claim.ns = text_at(metadata, "namespace");
  claim.name = text_at(metadata, "name");
  claim.uid = text_at(metadata, "uid");
  claim.generate_name = text_at(metadata, "generateName");
  claim.is_deleting = metadata["deletionTimestamp"].is_string();
  for (const Json& each : metadata["finalizers"].items())
    if (text_of(each) == k_finalizer) claim.has_finalizer = true;
  for (const Json& each : metadata["ownerReferences"].items()) {
    if (!flag_at(each, "controller")) continue;
    claim.controller_uid = text_at(each, "uid");
    claim.controller_name = text_at(each, "name");
    break;
  }
  claim.is_extended = text_at(metadata["annotations"], k_extended_annotation) == "true";
}

ClaimPtr claim_of(const Json& metadata, const Json& spec, const Json& status, ClaimObject texts) {
  auto made = std::make_shared<ClaimObject>(std::move(texts));
  read_metadata(metadata, *made);
  made->wanted = wanted_of(*made, spec);
  made->allocation = allocation_of(status["allocation"]);
  for (const Json& each : status["reservedFor"].items()) made->reserved_for.push_back(text_at(each, "uid"));
  made->devices = list_at(status, "devices", device_status_of);
  return made;
}

Json parsed(std::string_view text) { return text.empty() ? Json() : Json::parse(text); }

std::string texts_json(const std::vector<std::string>& texts) {
  JsonWriter out = JsonWriter::list();
  for (const std::string& each : texts) out.text_item(each);
  return out.done();
}

std::string requirement_json(const dra::NodeRequirement& requirement) {
  JsonWriter out = JsonWriter::object();
  out.text("key", requirement.key).text("operator", requirement.operation);
  if (!requirement.values.empty()) out.json("values", texts_json(requirement.values));
  return out.done();
}

std::string requirements_json(const std::vector<dra::NodeRequirement>& requirements) {
  JsonWriter out = JsonWriter::list();
  for (const auto& each : requirements) out.item(requirement_json(each));
  return out.done();
}

std::string selector_json(const dra::NodeSelector& selector) {
  JsonWriter terms = JsonWriter::list();
  for (const dra::NodeSelectorTerm& term : selector.terms) {
    JsonWriter out = JsonWriter::object();
    if (!term.match_expressions.empty()) out.json("matchExpressions", requirements_json(term.match_expressions));
    if (!term.match_fields.empty()) out.json("matchFields", requirements_json(term.match_fields));
    terms.item(out.done());
  }
  return JsonWriter::object().json("nodeSelectorTerms", terms.done()).done();
}

std::string toleration_json(const dra::Toleration& toleration) {
  JsonWriter out = JsonWriter::object();
  out.text_if_any("key", toleration.key).text_if_any("operator", toleration.operation);
  out.text_if_any("value", toleration.value).text_if_any("effect", toleration.effect);
  if (toleration.toleration_seconds) out.json("tolerationSeconds", std::to_string(*toleration.toleration_seconds));
  return out.done();
}

std::string result_json(const dra::ClaimAllocation::Result& result) {
  JsonWriter out = JsonWriter::object();
  out.text("request", result.request).text("driver", result.driver).text("pool", result.pool);
  out.text("device", result.device);
  if (result.admin_access) out.json("adminAccess", "true");
  if (!result.tolerations.empty()) {
    JsonWriter list = JsonWriter::list();
    for (const dra::Toleration& each : result.tolerations) list.item(toleration_json(each));
    out.json("tolerations", list.done());
  }
  if (!result.binding_conditions.empty()) out.json("bindingConditions", texts_json(result.binding_conditions));
  if (!result.binding_failure_conditions.empty())
    out.json("bindingFailureConditions", texts_json(result.binding_failure_conditions));
  if (result.share_id) out.text("shareID", *result.share_id);
  if (!result.consumed_capacity.empty()) {
    JsonWriter consumed = JsonWriter::object();
    for (const dra::NamedAmount& each : result.consumed_capacity) consumed.text(each.name, each.amount);
    out.json("consumedCapacity", consumed.done());
  }
  return out.done();
}

std::string config_json(const dra::ClaimAllocation::Config& config) {
  JsonWriter out = JsonWriter::object();
  out.text("source", config.is_from_class ? "FromClass" : "FromClaim");
  if (!config.requests.empty()) out.json("requests", texts_json(config.requests));
  JsonWriter opaque = JsonWriter::object();
  opaque.text("driver", config.driver);
  if (!config.parameters.empty()) opaque.json("parameters", config.parameters);
  return out.json("opaque", opaque.done()).done();
}

}  // namespace

Withheld withheld_on(const Json& node_selector) {
  Withheld made;
  if (!node_selector.is_null() && !node_selector.is_object()) return made;
  // A device of one node is allocated with that node's name, and with nothing else.
  made.nodes = Withheld::Nodes::shared;
  const dra::NodeSelector selector = selector_of(node_selector);
  if (selector.terms.size() != 1 || selector.terms[0].match_fields.size() != 1) return made;
  const dra::NodeRequirement& field = selector.terms[0].match_fields[0];
  if (field.key != "metadata.name" || field.operation != "In" || field.values.size() != 1) return made;
  made.nodes = Withheld::Nodes::one;
  made.node = field.values[0];
  return made;
}

void add_result(const Json& value, const Withheld& unknown, AllocationObject& to) {
  ResultObject result = result_of(value);
  const Json& share = value["shareID"];
  const Json& consumed = value["consumedCapacity"];
  const bool is_whole = !result.driver.empty() && !result.pool.empty() && !result.device.empty() &&
                        (share.is_null() || share.is_string()) && (consumed.is_null() || consumed.is_object());
  if (!is_whole && !result.admin_access) {
    Withheld entry = unknown;
    entry.driver = result.driver;
    entry.pool = result.pool;
    entry.device = result.device;
    to.withheld.push_back(std::move(entry));
    return;
  }
  to.results.push_back(std::move(result));
}

bool AllocationObject::has_same_devices(const AllocationObject& other) const {
  return withheld.empty() && std::equal(results.begin(), results.end(), other.results.begin(), other.results.end(),
                                        [](const ResultObject& a, const ResultObject& b) {
                                          return a.request == b.request && a.driver == b.driver && a.pool == b.pool &&
                                                 a.device == b.device && a.share_id == b.share_id;
                                        });
}

bool AllocationObject::has_binding_conditions() const {
  return std::any_of(results.begin(), results.end(),
                     [](const ResultObject& each) { return !each.binding_conditions.empty(); });
}

bool ClaimObject::is_reserved_for(std::string_view pod_uid) const {
  return std::find(reserved_for.begin(), reserved_for.end(), pod_uid) != reserved_for.end();
}

std::string ClaimObject::json(std::string_view with_metadata, std::string_view with_status) const {
  JsonWriter out = JsonWriter::object();
  out.text("apiVersion", "resource.k8s.io/v1").text("kind", "ResourceClaim").json("metadata", with_metadata);
  out.json("spec", spec.empty() ? std::string_view("{}") : std::string_view(spec));
  if (!with_status.empty()) out.json("status", with_status);
  return out.done();
}

ClaimPtr read_claim(std::string_view metadata, std::string_view spec, std::string_view status) {
  ClaimObject texts;
  texts.metadata = metadata;
  texts.spec = spec;
  texts.status = status;
  return claim_of(parsed(metadata), parsed(spec), parsed(status), std::move(texts));
}

ClaimPtr read_whole_claim(std::string_view json) {
  const Json whole = Json::parse(json);
  ClaimObject texts;
  texts.metadata = berth::json_of(whole["metadata"]);
  texts.spec = berth::json_of(whole["spec"]);
  if (whole["status"].is_object()) texts.status = berth::json_of(whole["status"]);
  return claim_of(whole["metadata"], whole["spec"], whole["status"], std::move(texts));
}

dra::Slice read_slice(std::string_view name, std::string_view spec_text) {
  const Json spec = parsed(spec_text);
  const Json& pool = spec["pool"];
  dra::Slice made;
  made.name = name;
  made.driver = text_at(spec, "driver");
  made.pool = text_at(pool, "name");
  made.generation = number_at(pool, "generation");
  made.slice_count = number_at(pool, "resourceSliceCount");
  made.nodes = choice_of(spec);
  made.per_device_node_selection = flag_at(spec, "perDeviceNodeSelection");
  made.devices = list_at(spec, "devices", device_of);
  made.shared_counters = list_at(spec, "sharedCounters", [](const Json& each) {
    return dra::CounterSet{text_at(each, "name"), amounts_at(each, "counters")};
  });
  return made;
}

std::shared_ptr<const ClassObject> read_class(std::string_view metadata_text, std::string_view spec_text) {
  const Json metadata = parsed(metadata_text), spec = parsed(spec_text);
  auto made = std::make_shared<ClassObject>();
  made->device_class = {text_at(metadata, "name"), selectors_at(spec), list_at(spec, "config", opaque_of)};
  made->extended_resource = text_at(spec, "extendedResourceName");
  made->created_ns = time_of(metadata["creationTimestamp"]).value_or(0);
  return made;
}

std::string allocation_json(const dra::ClaimAllocation& allocation) {
  JsonWriter devices = JsonWriter::object();
  if (!allocation.results.empty()) {
    JsonWriter results = JsonWriter::list();
    for (const auto& each : allocation.results) results.item(result_json(each));
    devices.json("results", results.done());
  }
  if (!allocation.config.empty()) {
    JsonWriter config = JsonWriter::list();
    for (const auto& each : allocation.config) config.item(config_json(each));
    devices.json("config", config.done());
  }
  JsonWriter out = JsonWriter::object();
  out.json("devices", devices.done());
  if (allocation.node_selector) out.json("nodeSelector", selector_json(*allocation.node_selector));
  return out.done();
}

std::shared_ptr<const AllocationObject> allocation_object(const dra::ClaimAllocation& allocation) {
  auto made = std::make_shared<AllocationObject>();
  for (const auto& each : allocation.results) {
    ResultObject& result = made->results.emplace_back(
        ResultObject{each.request, each.driver, each.pool, each.device, each.admin_access, each.share_id, std::nullopt,
                     each.binding_conditions, each.binding_failure_conditions});
    if (!each.consumed_capacity.empty()) result.consumed = each.consumed_capacity;
  }
  made->nodes.selector = allocation.node_selector;
  if (allocation.node_selector) made->matcher = std::make_unique<dra::NodeMatcher>(made->nodes);
  return made;
}

std::string time_text(std::int64_t wall_ns) {
  const std::time_t seconds = wall_ns / 1'000'000'000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

}  // namespace devices
