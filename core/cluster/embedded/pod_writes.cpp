// SPDX-License-Identifier: Apache-2.0
#include "cluster/embedded/pod_writes.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "text/parse.hpp"

namespace berth::cluster {
namespace {

Error conflict(std::string_view resource, std::string_view name, const std::string& why) {
  return {fmt::format("Operation cannot be fulfilled on {} \"{}\": {}", resource, name, why), ErrorCode::conflict};
}

std::string json_text(std::string_view text) {
  std::string out;
  text::append_json_string(out, text);
  return out;
}

/// Applies a merge patch to Pod::body where it is kept. `patch` is ours or was checked, so it parses.
void change_body(model::Pod& pod, const std::string& patch) {
  if (pod.body.empty()) return;
  text::Diagnostics diagnostics;
  const auto target = text::parse_json(pod.body.text(), "pod", diagnostics);
  const auto change = text::parse_json(patch, "patch", diagnostics);
  BERTH_CHECK(target.size() == 1 && change.size() == 1, "a pod or a patch of ours is not JSON: {}",
              diagnostics.render());
  pod.body = PackedText(text::merge_json(&target[0].root(), change[0].root()));
}

void put_condition(std::vector<model::PodCondition>& conditions, const model::PodCondition& condition) {
  const auto known = std::find_if(conditions.begin(), conditions.end(),
                                  [&](const model::PodCondition& c) { return c.type == condition.type; });
  if (known == conditions.end()) {
    conditions.push_back(condition);
  } else {
    *known = condition;
  }
}

std::string conditions_json(const std::vector<model::PodCondition>& conditions) {
  std::string out = "[";
  for (const model::PodCondition& c : conditions)
    out += fmt::format("{}{{\"type\":{},\"status\":{},\"reason\":{},\"message\":{}}}", out.size() > 1 ? "," : "",
                       json_text(c.type), json_text(c.status), json_text(c.reason), json_text(c.message));
  return out + "]";
}

std::string status_json(const model::Pod& pod, const SymbolTable& symbols) {
  const std::string nominated = pod.nominated_node == 0 ? "null" : json_text(symbols.text(pod.nominated_node));
  return fmt::format("\"status\":{{\"conditions\":{},\"nominatedNodeName\":{}}}", conditions_json(pod.conditions),
                     nominated);
}

/// The fields of a status that berth keeps; the rest of the patch only reaches Pod::json.
void apply_status_json(model::Pod& pod, const text::Value& patch, SymbolTable& symbols) {
  if (const text::Value* conditions = patch.find("conditions")) {
    pod.conditions.clear();
    for (const text::Value& c : conditions->elements())
      pod.conditions.push_back({std::string(c.text_at("type")), std::string(c.text_at("status")),
                                std::string(c.text_at("reason")), std::string(c.text_at("message"))});
  }
  if (const text::Value* nominated = patch.find("nominatedNodeName"))
    pod.nominated_node = nominated->text().empty() ? k_no_symbol : symbols.intern(nominated->text());
  if (const text::Value* phase = patch.find("phase")) pod.phase = phase->text();
  if (const text::Value* generated = patch.find("resourceClaimStatuses")) {
    pod.claim_statuses.edit().generated.clear();
    for (const text::Value& entry : generated->elements())
      pod.claim_statuses.edit().generated.push_back(
          {std::string(entry.text_at("name")), std::string(entry.text_at("resourceClaimName"))});
  }
  if (const text::Value* extended = patch.find("extendedResourceClaimStatus"))
    pod.claim_statuses.edit().extended = extended->is_null() ? std::string() : text::to_json(*extended);
}

void change_labels(model::Labels& labels, const std::vector<PodMetadataPatch::Entry>& changes, SymbolTable& symbols) {
  for (const PodMetadataPatch::Entry& change : changes) {
    const Symbol key = symbols.intern(change.key);
    const auto at = std::lower_bound(labels.begin(), labels.end(), key,
                                     [](const model::Label& label, Symbol k) { return label.key < k; });
    const bool known = at != labels.end() && at->key == key;
    if (change.value && known) at->value = symbols.intern(*change.value);
    if (change.value && !known) labels.insert(at, {key, symbols.intern(*change.value)});
    if (!change.value && known) labels.erase(at);
  }
}

std::string entries_json(const std::vector<PodMetadataPatch::Entry>& entries) {
  std::string out = "{";
  for (const PodMetadataPatch::Entry& entry : entries)
    out += fmt::format("{}{}:{}", out.size() > 1 ? "," : "", json_text(entry.key),
                       entry.value ? json_text(*entry.value) : "null");
  return out + "}";
}

}  // namespace

Error not_found(std::string_view name) { return {fmt::format("pods \"{}\" not found", name), ErrorCode::not_found}; }

Status check_uid(const model::Pod& pod, const PodRef& ref, std::string_view resource) {
  if (ref.uid.empty() || ref.uid == pod.uid) return Unit{};
  return conflict(
      resource, ref.name,
      fmt::format("Precondition failed: UID in precondition: {}, UID in object meta: {}", ref.uid, pod.uid));
}

Result<model::Pod> bound(const model::Pod& pod, const PodRef& ref, std::string_view node_name, SymbolTable& symbols) {
  if (Status same = check_uid(pod, ref, "pods/binding"); !same.ok()) return same.error();
  if (pod.deleting)
    return conflict("pods/binding", pod.name,
                    fmt::format("pod {} is being deleted, cannot be assigned to a host", pod.name));
  if (pod.node_name != 0)
    return conflict("pods/binding", pod.name,
                    fmt::format("pod {} is already assigned to node \"{}\"", pod.name, symbols.text(pod.node_name)));
  if (!pod.spec->gates.empty())
    return conflict("pods/binding", pod.name, fmt::format("pod {} has non-empty .spec.schedulingGates", pod.name));
  model::Pod out = pod;
  out.node_name = symbols.intern(node_name);
  out.nominated_node = k_no_symbol;  // ClearingNominatedNodeNameAfterBinding
  put_condition(out.conditions.edit(), {"PodScheduled", "True", "", ""});
  change_body(out, fmt::format("{{\"spec\":{{\"nodeName\":{}}},{}}}", json_text(node_name), status_json(out, symbols)));
  return out;
}

Result<model::Pod> with_status(const model::Pod& pod, const PodStatusPatch& patch, SymbolTable& symbols) {
  model::Pod out = pod;
  if (!patch.merge_json.empty()) {
    text::Diagnostics diagnostics;
    const auto documents = text::parse_json(patch.merge_json, "patch", diagnostics);
    if (documents.size() != 1 || !documents[0].root().is_mapping())
      return Error{"the status patch is not a JSON object: " + diagnostics.render(), ErrorCode::invalid};
    apply_status_json(out, documents[0].root(), symbols);
    change_body(out, "{\"status\":" + patch.merge_json + "}");
  }
  for (const model::PodCondition& condition : patch.conditions) put_condition(out.conditions.edit(), condition);
  if (patch.nominated_node)
    out.nominated_node = patch.nominated_node->empty() ? k_no_symbol : symbols.intern(*patch.nominated_node);
  if (!patch.conditions.empty() || patch.nominated_node) change_body(out, "{" + status_json(out, symbols) + "}");
  return out;
}

Result<model::Pod> with_metadata(const model::Pod& pod, const PodMetadataPatch& patch, SymbolTable& symbols) {
  model::Pod out = pod;
  change_labels(out.labels.edit(), patch.labels, symbols);
  change_labels(out.annotations.edit(), patch.annotations, symbols);
  change_body(out, fmt::format("{{\"metadata\":{{\"labels\":{},\"annotations\":{}}}}}", entries_json(patch.labels),
                               entries_json(patch.annotations)));
  return out;
}

model::Pod terminating(const model::Pod& pod) {
  model::Pod out = pod;
  out.deleting = true;
  return out;
}

}  // namespace berth::cluster
