// SPDX-License-Identifier: Apache-2.0
#include "extended_resources.hpp"

#include <algorithm>

namespace devices {
namespace {

using berth::JsonWriter;

struct MadeRequest {
  std::string name, device_class;
  std::int64_t count = 0;
};
struct ShortMapping {
  RequestMapping mapping;
  std::size_t own = 0;  // 1 + index among the own requests of short-lived containers; 0: it reuses another's
};

std::string request_name(std::size_t container, std::size_t place) {
  return "container-" + std::to_string(container) + "-request-" + std::to_string(place);
}

const AskedContainer::Amount* amount_of(const AskedContainer& container, const std::string& resource) {
  for (const AskedContainer::Amount& each : container.amounts)
    if (each.resource == resource && each.amount > 0) return &each;
  return nullptr;
}

/// One resource: requests of containers that stay, then those of the ones that end before, which use the same devices.
class ResourceRequests {
 public:
  ResourceRequests(const std::vector<AskedContainer>& containers, const AskedResource& resource)
      : containers_(containers), resource_(resource) {
    for (std::size_t i = 0; i < containers_.size(); ++i)
      if (!containers_[i].is_short_lived) add_long(i);
    for (std::size_t i = 0; i < containers_.size(); ++i)
      if (containers_[i].is_short_lived) add_short(i);
    keep_largest();
  }

  std::vector<MadeRequest> requests;
  std::vector<RequestMapping> long_mappings, short_mappings;

 private:
  struct Long {
    std::size_t container = 0;
    std::int64_t count = 0;
    std::string request;
  };

  void add_long(std::size_t i) {
    const AskedContainer::Amount* const asked = amount_of(containers_[i], resource_.name);
    if (asked == nullptr) return;
    Long& made = longs_.emplace_back(Long{i, asked->amount, request_name(i, asked->place)});
    requests.push_back({made.request, resource_.device_class->device_class.name, asked->amount});
    long_mappings.push_back({containers_[i].name, resource_.name, made.request});
  }

  void add_short(std::size_t i) {
    const AskedContainer::Amount* const asked = amount_of(containers_[i], resource_.name);
    if (asked == nullptr) return;
    std::int64_t left = asked->amount;
    for (const Long& each : longs_) {
      if (each.container < i || left <= 0) continue;
      shorts_.push_back({{containers_[i].name, resource_.name, each.request}, 0});
      left -= each.count;
    }
    if (left <= 0) return;
    own_.push_back({request_name(i, asked->place), resource_.device_class->device_class.name, left});
    shorts_.push_back({{containers_[i].name, resource_.name, own_.back().name}, own_.size()});
  }

  void keep_largest() {
    if (!own_.empty()) {
      const auto largest =
          std::max_element(own_.begin(), own_.end(), [](const auto& a, const auto& b) { return a.count < b.count; });
      for (ShortMapping& each : shorts_)
        if (each.own != 0) each.mapping.request = largest->name;
      requests.push_back(*largest);
    }
    for (ShortMapping& each : shorts_) short_mappings.push_back(std::move(each.mapping));
  }

  const std::vector<AskedContainer>& containers_;
  const AskedResource& resource_;
  std::vector<Long> longs_;
  std::vector<MadeRequest> own_;
  std::vector<ShortMapping> shorts_;
};

std::string spec_json(const std::vector<MadeRequest>& requests) {
  JsonWriter devices = JsonWriter::object();
  if (!requests.empty()) {
    JsonWriter list = JsonWriter::list();
    for (const MadeRequest& each : requests) {
      JsonWriter exactly = JsonWriter::object();
      exactly.text("deviceClassName", each.device_class).text("allocationMode", "ExactCount");
      exactly.json("count", std::to_string(each.count));
      list.item(JsonWriter::object().text("name", each.name).json("exactly", exactly.done()).done());
    }
    devices.json("requests", list.done());
  }
  return JsonWriter::object().json("devices", devices.done()).done();
}

}  // namespace

void ExtendedClasses::put(const ClassPtr& before, const ClassPtr& now) {
  const std::string& name = now->device_class.name;
  if (!now->extended_resource.empty())
    if (const auto known = by_resource_.find(now->extended_resource); known != by_resource_.end()) {
      const ClassObject& has_it = *known->second;
      if (now->created_ns < has_it.created_ns) return;
      if (now->created_ns == has_it.created_ns && name >= has_it.device_class.name) return;
    }
  if (before != nullptr) remove(*before);
  if (!now->extended_resource.empty()) by_resource_[now->extended_resource] = now;
  by_resource_[std::string(k_implied_prefix) + name] = now;
}

void ExtendedClasses::remove(const ClassObject& gone) {
  by_resource_.erase(std::string(k_implied_prefix) + gone.device_class.name);
  if (!gone.extended_resource.empty()) by_resource_.erase(gone.extended_resource);
}

ClassPtr ExtendedClasses::find(std::string_view resource) const {
  const auto found = by_resource_.find(resource);
  return found == by_resource_.end() ? nullptr : found->second;
}

std::shared_ptr<ExtendedCopy> extended_copy(const std::vector<AskedContainer>& containers,
                                            const std::vector<const AskedResource*>& needed) {
  auto made = std::make_shared<ExtendedCopy>();
  std::vector<MadeRequest> requests;
  for (const AskedResource* resource : needed) {
    ResourceRequests each(containers, *resource);
    requests.insert(requests.end(), each.requests.begin(), each.requests.end());
    made->mappings.insert(made->mappings.end(), each.long_mappings.begin(), each.long_mappings.end());
    made->mappings.insert(made->mappings.end(), each.short_mappings.begin(), each.short_mappings.end());
  }
  std::sort(requests.begin(), requests.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  made->has_requests = !requests.empty();
  made->spec = spec_json(requests);
  return made;
}

ClaimPtr new_extended_claim(std::string_view ns, std::string_view pod_name, std::string_view pod_uid, std::string uid) {
  JsonWriter owner = JsonWriter::object();
  owner.text("apiVersion", "v1").text("kind", "Pod").text("name", pod_name).text("uid", pod_uid);
  owner.json("controller", "true");
  const std::string prefix = std::string(pod_name) + "-extended-resources-";
  JsonWriter metadata = JsonWriter::object();
  metadata.text("generateName", prefix).text("namespace", ns);
  metadata.json("annotations", JsonWriter::object().text(k_extended_annotation, "true").done());
  metadata.json("ownerReferences", JsonWriter::list().item(owner.done()).done());
  auto made = std::make_shared<ClaimObject>(*read_claim(metadata.done(), "{}", {}));
  made->name = k_in_memory_name;
  made->uid = std::move(uid);
  return made;
}

std::string extended_claim_json(const ClaimObject& claim, const ExtendedCopy& copy) {
  return JsonWriter::object()
      .text("apiVersion", "resource.k8s.io/v1")
      .text("kind", "ResourceClaim")
      .json("metadata", claim.metadata)
      .json("spec", copy.spec)
      .done();
}

std::string extended_status_patch(std::string_view pod_uid, const ExtendedCopy& copy, std::string_view claim_name) {
  JsonWriter mappings = JsonWriter::list();
  for (const RequestMapping& each : copy.mappings)
    mappings.item(JsonWriter::object()
                      .text("containerName", each.container)
                      .text("resourceName", each.resource)
                      .text("requestName", each.request)
                      .done());
  JsonWriter status = JsonWriter::object();
  status.json("requestMappings", mappings.done()).text("resourceClaimName", claim_name);
  return JsonWriter::object()
      .json("metadata", JsonWriter::object().text("uid", pod_uid).done())
      .json("status", JsonWriter::object().json("extendedResourceClaimStatus", status.done()).done())
      .done();
}

}  // namespace devices
