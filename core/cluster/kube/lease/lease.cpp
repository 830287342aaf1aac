// SPDX-License-Identifier: Apache-2.0
#include "cluster/kube/lease/lease.hpp"

#include <algorithm>
#include <limits>

#include "text/json_object.hpp"

namespace berth::cluster::kube {
namespace {

using text::JsonObject;
constexpr std::int64_t k_number_max = std::numeric_limits<std::int32_t>::max();

std::int64_t number_at(const text::Value& root, std::string_view path) {
  const text::Value* const value = root.find_path(path);
  return value == nullptr ? 0 : std::clamp<std::int64_t>(value->integer().value_or(0), 0, k_number_max);
}

}  // namespace

std::int64_t Lease::transitions_of_next() const noexcept { return std::min(record.transitions + 1, k_number_max); }

Lease lease_of(const text::Value& root) {
  Lease out;
  out.record = {std::string(root.text_at("spec.holderIdentity")), number_at(root, "spec.leaseDurationSeconds"),
                std::string(root.text_at("spec.acquireTime")), std::string(root.text_at("spec.renewTime")),
                number_at(root, "spec.leaseTransitions")};
  out.version = root.text_at("metadata.resourceVersion");
  if (const text::Value* metadata = root.find("metadata"); metadata != nullptr && metadata->is_mapping())
    out.metadata_json = text::to_json(*metadata);
  return out;
}

Result<Lease> read_lease(const std::string& json) {
  text::Diagnostics diagnostics;
  const auto documents = text::parse_json(json, "lease", diagnostics);
  if (documents.empty()) return Error{"the lease is not JSON: " + diagnostics.render()};
  return lease_of(documents.front().root());
}

std::string lease_json(const std::string& ns, const std::string& name, const std::string& metadata_json,
                       const LeaseRecord& record) {
  JsonObject spec, own, out;
  spec.text("holderIdentity", record.holder).number("leaseDurationSeconds", record.duration_s);
  spec.text("acquireTime", record.acquired).text("renewTime", record.renewed);
  spec.number("leaseTransitions", record.transitions);
  own.text("name", name).text("namespace", ns);
  out.text("apiVersion", "coordination.k8s.io/v1").text("kind", "Lease");
  out.json("metadata", metadata_json.empty() ? own.done() : metadata_json);
  return out.json("spec", spec.done()).done();
}

}  // namespace berth::cluster::kube
