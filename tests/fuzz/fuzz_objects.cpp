// SPDX-License-Identifier: Apache-2.0
/// Takes arbitrary bytes as what an API server sends and carries its objects into the cache, as a running scheduler
/// does. The first byte says how they come (bit 0: protobuf, bit 1: a watch, above: of what), the second into what
/// pieces they are cut. Nothing may crash; what berth keeps must be text that it can write out; a pod that has a name
/// and a node counts there, however broken it is, until it is gone. Claims, slices and device classes go on into what the
/// policy for devices reads of them: each is read, or refused with a reason.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "allocator/inventory.hpp"
#include "allocator/prepared_slice.hpp"
#include "base/utf8.hpp"
#include "cache/cluster_cache.hpp"
#include "cache/snapshot.hpp"
#include "cluster/kube/read/answer_body.hpp"
#include "cluster/kube/read/protobuf_frames.hpp"
#include "objects/api_objects.hpp"
#include "pieces.hpp"
#include "text/parse.hpp"
#include "withheld.hpp"

namespace {

using namespace berth;

void require(bool holds) {
  if (!holds) std::abort();
}

class World {
 public:
  explicit World(bool of_pods) : of_pods_(of_pods) {}

  void item(const text::Document* document, const text::Value* object, const decode::TypeHint& hint,
            const text::Diagnostics& problems) {
    require((document == nullptr) == (object == nullptr) && (object != nullptr || !problems.empty()));
    if (object == nullptr) return;
    text::Diagnostics own;
    std::optional<decode::Decoded> decoded;
    if (problems.empty()) decoded = decoder_.decode(*document, *object, own, hint);
    require(!decoded || own.empty());
    if (decoded) return take(*decoded);
    const decode::Remains remains = decoder_.remains_of(*document, *object, of_pods_, problems.empty());
    require(remains.pod == nullptr ||
            (!remains.node.empty() && !remains.identity.name.empty() && remains.may_be_bound));
    if (remains.pod == nullptr) return;
    require(remains.pod->name == remains.identity.name && remains.pod->ns == remains.identity.ns);
    take(remains.pod);
  }
  void event(std::string_view type, const text::Document* document, const text::Value* object,
             const text::Diagnostics& problems) {
    if (type == "BOOKMARK" || type == "ERROR") return;
    if (type != "DELETED" || object == nullptr) return item(document, object, {}, problems);
    const decode::ObjectIdentity gone = decode::identity_of(*object, of_pods_);
    if (of_pods_) drop(gone.ns + "/" + gone.name);
  }
  void end() {
    cache_.refresh(snapshot_);
    while (!pods_.empty()) drop(std::string(pods_.begin()->first));
    for (const auto& [name, node] : nodes_) require(cache_.remove_node(*node).ok());
    cache_.refresh(snapshot_);
    require(cache_.counts().pods == 0 && cache_.counts().nodes == 0);
    if (!slices_.empty()) (void)dra::Inventory(std::move(slices_));
  }

 private:
  void take(const decode::Decoded& object) {
    std::visit([this](const auto& one) { take(one); }, object);
  }
  void take(const model::PodPtr& pod) {
    require_json(pod->body);
    for (const model::Label& label : pod->labels)
      require_text(symbols_.text(label.key)), require_text(symbols_.text(label.value));
    const std::string key = pod->key();
    require_text(key);
    if (pod->node_name == k_no_symbol || pod->uid.empty()) return;
    drop(key);
    if (!cache_.add_pod(pod).ok()) return;  // another has its uid
    require(cache_.find_pod(pod->uid).has_value());
    pods_[key] = pod;
  }
  void take(const model::NodePtr& node) {
    require_json(node->body);
    require_text(node->name);
    if (nodes_.count(node->name) == 0)
      cache_.add_node(node);
    else
      cache_.update_node(node);
    nodes_[node->name] = node;
  }
  void take(const model::ObjectPtr& object) {
    text::Diagnostics problems;
    const auto documents = text::parse_json(object->json, "object", problems);
    require(documents.size() == 1);
    const auto part = [&](const char* name) {
      const text::Value* const found = documents.front().root().find(name);
      return found == nullptr ? std::string() : text::to_json(*found);
    };
    take_of_devices(*object, part("metadata"), part("spec"), part("status"));
  }
  /// As the policy does with what its watches tell.
  void take_of_devices(const model::Object& object, const std::string& metadata, const std::string& spec,
                       const std::string& status) {
    try {
      if (object.resource == devices::k_claims) {
        const devices::ClaimPtr claim = devices::read_claim(metadata, spec, status);
        require(claim != nullptr && claim->wanted != nullptr);
      } else if (object.resource == devices::k_classes) {
        require(devices::read_class(metadata, spec) != nullptr);
      } else if (object.resource == devices::k_slices) {
        dra::PreparedSlice::Made made =
            dra::PreparedSlice::prepare(devices::read_slice(object.name, spec), device_ids_);
        require((made.slice == nullptr) != made.error.empty());
        if (made.slice != nullptr) slices_.push_back(std::move(made.slice));
      }
    } catch (const JsonError& refused) {
      require(*refused.what() != 0);
      (void)devices::read_allocation_partly(status);
    }
  }
  void drop(const std::string& key) {
    const auto known = pods_.find(key);
    if (known == pods_.end()) return;
    require(cache_.remove_pod(*known->second).ok());
    pods_.erase(known);
  }
  static void require_text(std::string_view text) { require(find_invalid_utf8(text) == std::string_view::npos); }
  static void require_json(const PackedText& body) {
    text::Diagnostics problems;
    require(body.empty() || text::parse_json(body.text(), "body", problems).size() == 1);
  }

  const bool of_pods_;
  SymbolTable symbols_;
  decode::ObjectDecoder decoder_{symbols_, [] {
                                   decode::DecodeOptions options;
                                   options.keeps_pod_body = [](const model::Pod&) { return true; };
                                   options.keep_node_bodies = true;
                                   return options;
                                 }()};
  cache::ClusterCache cache_{symbols_};
  cache::Snapshot snapshot_;
  std::map<std::string, model::PodPtr> pods_;
  std::map<std::string, model::NodePtr> nodes_;
  dra::DeviceIds device_ids_{10'000};
  std::vector<std::shared_ptr<const dra::PreparedSlice>> slices_;
};

constexpr std::array<std::string_view, 16> k_resources = {
    "core/v1/pods",
    "core/v1/nodes",
    "core/v1/persistentvolumes",
    "core/v1/persistentvolumeclaims",
    "storage.k8s.io/v1/storageclasses",
    "storage.k8s.io/v1/csinodes",
    "resource.k8s.io/v1/resourceclaims",
    "resource.k8s.io/v1/resourceslices",
    "resource.k8s.io/v1/deviceclasses",
    "core/v1/services",
    "storage.k8s.io/v1/csidrivers",
    "storage.k8s.io/v1/csistoragecapacities",
    "storage.k8s.io/v1/volumeattachments",
    "apps/v1/replicasets",
    "policy/v1/poddisruptionbudgets",
    "core/v1/namespaces",
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  const std::size_t piece = piece_of(data[1], bytes);
  const std::string_view resource = k_resources.at((data[0] >> 2U) % k_resources.size());
  const std::string_view content = (data[0] & 1U) != 0 ? cluster::kube::k_protobuf : "application/json";
  const decode::WireLayout layout = decode::wire_layout_of(resource);
  World world(resource == k_resources.front());
  if ((data[0] & 2U) != 0) {
    const auto watch = cluster::kube::make_watch_body(
        content, layout, "input",
        [&](std::string_view type, const text::Document* document, const text::Value* object,
            const text::Diagnostics& problems) { world.event(type, document, object, problems); });
    add_in_pieces(*watch, bytes, piece);
  } else {
    const auto list = cluster::kube::make_list_body(
        content, layout, "input",
        [&](const text::Document* document, const decode::TypeHint& hint, const text::Diagnostics& problems) {
          world.item(document, document == nullptr ? nullptr : &document->root(), hint, problems);
        });
    if (add_in_pieces(*list, bytes, piece)) (void)list->end();
  }
  world.end();
  return 0;
}
