// SPDX-License-Identifier: Apache-2.0
#include "cluster/embedded/claim_controller.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <optional>

#include "model/uuid.hpp"
#include "text/json_object.hpp"

namespace berth::cluster {
namespace {

using text::JsonObject;

constexpr std::size_t k_generated_name_max = 57;

std::optional<text::Document> parsed_object(const model::Object& object) {
  text::Diagnostics diagnostics;
  std::vector<text::Document> documents = text::parse_json(object.json, object.name, diagnostics);
  if (documents.size() != 1 || !diagnostics.empty()) return std::nullopt;
  return std::move(documents.front());
}

/// metadata.generateName of a claim: the two names, shortened alike where they are too long.
std::string prefix_of(const std::string& pod, const std::string& claim) {
  const std::size_t length = pod.size() + claim.size() + 2;
  if (length <= k_generated_name_max) return pod + '-' + claim + '-';
  return pod.substr(0, pod.size() * k_generated_name_max / length) + '-' +
         claim.substr(0, claim.size() * k_generated_name_max / length);
}

std::string member_json(const text::Value& root, std::string_view path, std::string_view otherwise) {
  const text::Value* value = root.find_path(path);
  return value == nullptr || value->is_null() ? std::string(otherwise) : text::to_json(*value);
}

model::Object claim_of(const model::Pod& pod, const model::PodClaim& entry, const text::Value& its_template,
                       std::uint64_t number) {
  model::Object claim;
  const std::string prefix = prefix_of(pod.name, entry.name);
  claim.resource = k_resource_claims;
  claim.ns = pod.ns.get();
  claim.name = prefix + name_suffix(number);
  claim.uid = make_uuid(number);
  JsonObject owner;
  owner.text("apiVersion", "v1").text("kind", "Pod").text("name", pod.name).text("uid", pod.uid.text());
  owner.json("controller", "true").json("blockOwnerDeletion", "true");
  JsonObject annotations;
  if (const text::Value* known = its_template.find_path("spec.metadata.annotations"))
    for (const text::Member& member : known->members()) annotations.json(member.key, text::to_json(member.value));
  annotations.text("resource.kubernetes.io/pod-claim-name", entry.name);
  JsonObject metadata;
  metadata.text("name", claim.name).text("generateName", prefix).text("namespace", claim.ns).text("uid", claim.uid);
  metadata.json("annotations", annotations.done());
  if (const text::Value* labels = its_template.find_path("spec.metadata.labels"); labels != nullptr)
    metadata.json("labels", text::to_json(*labels));
  metadata.json("ownerReferences", '[' + owner.done() + ']');
  claim.json = JsonObject()
                   .text("apiVersion", "resource.k8s.io/v1")
                   .text("kind", "ResourceClaim")
                   .json("metadata", metadata.done())
                   .json("spec", member_json(its_template, "spec.spec", "{}"))
                   .done();
  return claim;
}

bool is_of_pod(const text::Value& reference, const std::string& uid) {
  const text::Value* value = reference.find("uid");
  return value != nullptr && value->text() == uid;
}

}  // namespace

std::string name_suffix(std::uint64_t number) {
  constexpr std::string_view k_letters = "bcdfghjklmnpqrstvwxz2456789";
  std::string out;
  for (int i = 0; i < 5; ++i, number /= k_letters.size()) out += k_letters[number % k_letters.size()];
  return out;
}

ClaimController::Made ClaimController::instantiate(const model::Pod& pod, const Find& find,
                                                   const std::function<std::uint64_t()>& next_number) {
  Made made;
  model::Shared<model::PodClaimStatuses> statuses = pod.claim_statuses;
  for (const model::PodClaim& entry : pod.spec->resource_claims) {
    if (!entry.claim.empty() || entry.claim_template.empty()) continue;
    const auto& known = pod.claim_statuses->generated;
    if (std::any_of(known.begin(), known.end(), [&](const auto& each) { return each.name == entry.name; })) continue;
    const model::ObjectPtr its_template = find(k_claim_templates, pod.ns, entry.claim_template);
    const auto document = its_template == nullptr ? std::nullopt : parsed_object(*its_template);
    if (!document) continue;
    made.claims.push_back(claim_of(pod, entry, document->root(), next_number()));
    statuses.edit().generated.push_back({entry.name, made.claims.back().name});
  }
  if (made.claims.empty()) return made;
  auto changed = std::make_shared<model::Pod>(pod);
  changed->claim_statuses = std::move(statuses);
  made.pod = std::move(changed);
  return made;
}

ClaimController::Released ClaimController::release(const model::Pod& pod, const std::vector<model::ObjectPtr>& claims) {
  Released released;
  const std::string uid(pod.uid.text());
  for (const model::ObjectPtr& claim : claims) {
    const auto document = parsed_object(*claim);
    if (!document) continue;
    const text::Value* owners = document->root().find_path("metadata.ownerReferences");
    if (owners != nullptr && std::any_of(owners->elements().begin(), owners->elements().end(),
                                         [&](const text::Value& owner) { return is_of_pod(owner, uid); })) {
      released.gone.push_back(claim);
      continue;
    }
    const text::Value* consumers = document->root().find_path("status.reservedFor");
    if (consumers == nullptr) continue;
    std::vector<std::string> left;
    for (const text::Value& each : consumers->elements())
      if (!is_of_pod(each, uid)) left.push_back(text::to_json(each));
    if (left.size() == consumers->elements().size()) continue;
    const std::string list = text::list_json(left, [](std::string& out, const std::string& each) { out += each; });
    const std::string patch = left.empty() ? R"({"status":{"reservedFor":null,"allocation":null,"devices":null}})"
                                           : fmt::format(R"({{"status":{{"reservedFor":{}}}}})", list);
    text::Diagnostics diagnostics;
    const auto change = text::parse_json(patch, "patch", diagnostics);
    model::Object now = *claim;
    now.json = text::merge_json(&document->root(), change.front().root());
    released.changed.push_back(std::move(now));
  }
  return released;
}

}  // namespace berth::cluster
