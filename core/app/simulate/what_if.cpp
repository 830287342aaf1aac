// SPDX-License-Identifier: Apache-2.0
#include "app/simulate/what_if.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>

#include "app/simulate/claim_report.hpp"
#include "app/simulate/object_copies.hpp"
#include "cluster/embedded/claim_controller.hpp"
#include "decode/pod/defaulting.hpp"
#include "decode/selectors/label_query.hpp"
#include "model/label_match.hpp"
#include "report/text_table.hpp"
#include "text/json_object.hpp"

namespace berth::app {
namespace {

using report::plural;
using text::JsonObject;

constexpr std::string_view k_csi_nodes = "storage.k8s.io/v1/csinodes";
constexpr std::string_view k_volume_claims = "core/v1/persistentvolumeclaims";
constexpr std::size_t k_names_in_error = 5;

std::optional<std::int64_t> parse_count(std::string_view text) {
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size() || text.empty() || count < 0) return std::nullopt;
  return count;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

/// NS/KIND/NAME=N.
struct Workload {
  std::string ns, kind, name;
  std::int64_t replicas = 0;
};

std::optional<Workload> parse_workload(std::string_view text) {
  const std::size_t first = text.find('/'), second = text.find('/', first + 1), equals = text.rfind('=');
  if (first == std::string_view::npos || second == std::string_view::npos || equals == std::string_view::npos ||
      equals < second)
    return std::nullopt;
  const std::optional<std::int64_t> replicas = parse_count(text.substr(equals + 1));
  Workload workload{std::string(text.substr(0, first)), std::string(text.substr(first + 1, second - first - 1)),
                    std::string(text.substr(second + 1, equals - second - 1)), replicas.value_or(0)};
  if (!replicas || workload.ns.empty() || workload.kind.empty() || workload.name.empty()) return std::nullopt;
  return workload;
}

/// True for pods of that workload. A Deployment's pods are controlled by ReplicaSets, which bear its name and the hash that
/// the pods have as a label.
bool is_of(const model::Pod& pod, const Workload& workload, Symbol hash_label, const SymbolTable& symbols) {
  const model::OwnerReference& controller = pod.controller.get();
  if (pod.ns != workload.ns || controller.kind.empty()) return false;
  if (equal_ignoring_case(controller.kind.get(), workload.kind) && controller.name == workload.name) return true;
  if (!equal_ignoring_case(workload.kind, "Deployment") || controller.kind != "ReplicaSet") return false;
  const auto hash = std::find_if(pod.labels.begin(), pod.labels.end(),
                                 [&](const model::Label& label) { return label.key == hash_label; });
  return hash != pod.labels.end() && controller.name == workload.name + '-' + std::string(symbols.text(hash->value));
}

/// The number at the end of the name of a StatefulSet's pod; -1: there is none.
std::int64_t ordinal(const std::string& name) {
  return parse_count(std::string_view(name).substr(name.rfind('-') + 1)).value_or(-1);
}

/// Those that a controller would delete first, first: not placed before placed, then where many of them share a node, the
/// newest first. Of StatefulSets the highest ordinals.
/// Source: kubernetes v1.36 pkg/controller/controller_utils.go (ActivePodsWithRanks), pkg/controller/statefulset.
void sort_for_deletion(std::vector<model::PodPtr>& pods, bool is_stateful) {
  std::map<Symbol, std::size_t> on_node;
  for (const model::PodPtr& pod : pods) ++on_node[pod->node_name];
  std::stable_sort(pods.begin(), pods.end(), [&](const model::PodPtr& a, const model::PodPtr& b) {
    if (is_stateful) return ordinal(a->name) > ordinal(b->name);
    if ((a->node_name == 0) != (b->node_name == 0)) return a->node_name == 0;
    if (on_node[a->node_name] != on_node[b->node_name]) return on_node[a->node_name] > on_node[b->node_name];
    if (a->creation_ns != b->creation_ns) return a->creation_ns > b->creation_ns;
    return a->name > b->name;
  });
}

}  // namespace

Result<report::ChangeLine> WhatIf::apply(const WhatIfChange& change) {
  report::ChangeLine line;
  line.option = change.option();
  const auto change_it = [&]() -> Status {
    switch (change.kind) {
      case WhatIfChange::Kind::add_nodes:
        return add_nodes(change, line);
      case WhatIfChange::Kind::drain:
        return drain(change, line);
      case WhatIfChange::Kind::remove_pods:
        return remove_pods(change, line);
      case WhatIfChange::Kind::scale:
        return scale(change, line);
    }
    return Unit{};
  };
  if (const Status done = change_it(); !done.ok()) return Error{line.option + ": " + done.error().message};
  return line;
}

model::NodePtr WhatIf::find_node(std::string_view name) const {
  for (const decode::Decoded& object : manifests_.objects)
    if (const auto* node = std::get_if<model::NodePtr>(&object); node != nullptr && (*node)->name == name) return *node;
  return nullptr;
}

Error WhatIf::no_node(std::string_view option, std::string_view name) const {
  std::string known;
  std::size_t count = 0;
  for (const decode::Decoded& object : manifests_.objects)
    if (const auto* node = std::get_if<model::NodePtr>(&object); node != nullptr && ++count <= k_names_in_error)
      known += (known.empty() ? "" : ", ") + (*node)->name;
  if (count > k_names_in_error) known += fmt::format(" and {} more", count - k_names_in_error);
  return Error{fmt::format("the cluster has no node \"{}\": name one of its nodes with {}; it has {}", name, option,
                           known.empty() ? "none" : known)};
}

std::vector<model::PodPtr> WhatIf::pods_where(const PodTest& test) const {
  std::vector<model::PodPtr> pods;
  for (const decode::Decoded& object : manifests_.objects)
    if (const auto* pod = std::get_if<model::PodPtr>(&object); pod != nullptr && test(**pod)) pods.push_back(*pod);
  return pods;
}

std::string WhatIf::free_name(const std::unordered_set<std::string>& taken, const std::string& stem,
                              std::size_t& from) const {
  while (taken.contains(stem + std::to_string(from))) ++from;
  return stem + std::to_string(from++);
}

void WhatIf::release_claims(const model::Pod& pod) {
  if (pod.spec->resource_claims.empty() && pod.claim_statuses->extended.empty()) return;
  std::vector<model::ObjectPtr> claims;
  for (const decode::Decoded& object : manifests_.objects)
    if (const auto* other = std::get_if<model::ObjectPtr>(&object);
        other != nullptr && (*other)->resource == cluster::k_resource_claims && (*other)->ns == pod.ns.get())
      claims.push_back(*other);
  cluster::ClaimController::Released released = cluster::ClaimController::release(pod, claims);
  std::erase_if(manifests_.objects, [&](decode::Decoded& object) {
    auto* other = std::get_if<model::ObjectPtr>(&object);
    if (other == nullptr) return false;
    for (model::Object& changed : released.changed)
      if ((*other)->resource == changed.resource && (*other)->ns == changed.ns && (*other)->name == changed.name)
        *other = std::make_shared<const model::Object>(changed);
    return std::find(released.gone.begin(), released.gone.end(), *other) != released.gone.end();
  });
}

void WhatIf::remove(const std::vector<model::PodPtr>& pods, report::ChangeLine& line) {
  for (const model::PodPtr& pod : pods) release_claims(*pod);
  const std::set<model::PodPtr> gone(pods.begin(), pods.end());
  std::erase_if(manifests_.objects, [&](const decode::Decoded& object) {
    const auto* pod = std::get_if<model::PodPtr>(&object);
    return pod != nullptr && gone.contains(*pod);
  });
  for (const model::PodPtr& pod : pods) line.removed_pods.push_back(pod->key());
}

Status WhatIf::take_room(std::size_t added) {
  if (added > added_left_)
    return Error{
        fmt::format("{} more nodes or pods are too many: {} are left for all changes together", added, added_left_)};
  added_left_ -= added;
  return Unit{};
}

Status WhatIf::add_nodes(const WhatIfChange& change, report::ChangeLine& line) {
  const std::optional<std::int64_t> count = parse_count(change.value);
  if (!count || *count == 0 || *count > k_added_max)
    return Error{fmt::format("\"{}\" is not a number of nodes: write 1 to {}", change.value, k_added_max)};
  const model::NodePtr like = find_node(change.like);
  if (like == nullptr) return no_node("--like", change.like);
  if (const Status room = take_room(static_cast<std::size_t>(*count)); !room.ok()) return room.error();
  std::unordered_set<std::string> taken;
  for (const decode::Decoded& object : manifests_.objects)
    if (const auto* node = std::get_if<model::NodePtr>(&object)) taken.insert((*node)->name);
  std::size_t number = 1;
  for (std::int64_t i = 0; i < *count; ++i) line.nodes.push_back(free_name(taken, like->name + "-new-", number));
  for (const std::string& name : line.nodes) {
    manifests_.objects.emplace_back(new_node_like(*like, name, symbols_));
  }
  // What stands by a node: gathered once, copied for each.
  const std::vector<model::PodPtr> daemons = pods_where([&](const model::Pod& pod) {
    return pod.node_name == like->name_symbol && pod.controller->kind == "DaemonSet" && !pod.finished() &&
           !pod.deleting;
  });
  struct Part {
    model::ObjectPtr object;
    std::string pool = {};  // of a slice
  };
  std::vector<Part> parts;
  for (const decode::Decoded& object : manifests_.objects)
    if (const auto* other = std::get_if<model::ObjectPtr>(&object); other != nullptr) {
      if ((*other)->resource == k_csi_nodes && (*other)->name == like->name) parts.push_back({*other});
      if ((*other)->resource != k_slices) continue;
      text::Diagnostics diagnostics;
      const auto parsed = text::parse_json((*other)->json, (*other)->name, diagnostics);
      if (parsed.empty() || parsed[0].root().text_at("spec.nodeName") != like->name) continue;
      parts.push_back({*other, std::string(parsed[0].root().text_at("spec.pool.name"))});
    }
  for (const std::string& name : line.nodes) {
    for (const auto& [part, pool] : parts) {
      const bool is_slice = part->resource == k_slices;
      const std::string part_name = is_slice ? part->name + "-of-" + name : name;
      JsonObject metadata;
      const std::string uid = decode::Defaulting::make_uid(part->resource, "", part_name);
      metadata.text("name", part_name).text("uid", uid);
      JsonObject patch;
      patch.json("metadata", metadata.done());
      if (is_slice) {  // a pool is one node's: the new node has its own
        const std::string new_pool = JsonObject().text("name", pool + "-of-" + name).done();
        patch.json("spec", JsonObject().text("nodeName", name).json("pool", new_pool).done());
      }
      manifests_.objects.emplace_back(object_like(*part, part_name, uid, patch.done()));
    }
    for (const model::PodPtr& daemon : daemons) {
      const std::string pod_name = daemon->controller->name.get() + '-' + name;
      const model::PodPtr copy = placed_on(*pod_like(*daemon, pod_name, symbols_), name, symbols_);
      manifests_.objects.emplace_back(copy);
      line.added_pods.push_back(copy->key());
    }
  }
  line.effect = fmt::format(
      "{} node{} like {} added{}", *count, plural(line.nodes.size()), like->name,
      daemons.empty() ? std::string()
                      : fmt::format(", each with {} DaemonSet pod{}", daemons.size(), plural(daemons.size())));
  return Unit{};
}

Status WhatIf::drain(const WhatIfChange& change, report::ChangeLine& line) {
  const model::NodePtr node = find_node(change.value);
  if (node == nullptr) return no_node("--drain", change.value);
  std::vector<model::PodPtr> gone;
  std::size_t staying = 0;
  std::vector<model::PodPtr> returning;
  for (const model::PodPtr& pod :
       pods_where([&](const model::Pod& each) { return each.node_name == node->name_symbol && !each.finished(); })) {
    const std::string& kind = pod->controller->kind.get();
    if (kind == "DaemonSet" || kind == "Node")
      ++staying;
    else if (kind.empty() || pod->deleting)
      gone.push_back(pod);
    else
      returning.push_back(pod);
  }
  for (const model::PodPtr& pod : returning) {
    release_claims(*pod);
    line.returned_pods.push_back(pod->key());
  }
  const std::set<model::PodPtr> back(returning.begin(), returning.end());
  for (decode::Decoded& object : manifests_.objects) {
    if (auto* known = std::get_if<model::NodePtr>(&object); known != nullptr && *known == node)
      *known = cordoned(*node, symbols_);
    else if (auto* pod = std::get_if<model::PodPtr>(&object); pod != nullptr && back.contains(*pod))
      *pod = made_again(**pod);
  }
  remove(gone, line);
  line.nodes.push_back(node->name);
  line.effect =
      fmt::format("{} drained: {} pod{} to be scheduled again", node->name, returning.size(), plural(returning.size()));
  if (!gone.empty()) line.effect += fmt::format(", {} without a controller gone", gone.size());
  if (staying != 0) line.effect += fmt::format(", {} of DaemonSets or of the node stay", staying);
  return Unit{};
}

Status WhatIf::remove_pods(const WhatIfChange& change, report::ChangeLine& line) {
  const std::size_t colon = change.value.find(':');
  if (colon == std::string::npos || colon == 0)
    return Error{"no namespace: write NAMESPACE:SELECTOR, as shop:app=web, or *:SELECTOR for pods of every namespace"};
  const std::string ns = change.value.substr(0, colon);
  const Result<model::Selector> selector =
      decode::parse_label_query(std::string_view(change.value).substr(colon + 1), symbols_);
  if (!selector.ok())
    return Error{fmt::format("the selector cannot be read: {}; write it as for kubectl -l", selector.error().message)};
  std::size_t in_namespace = 0;
  const std::vector<model::PodPtr> pods = pods_where([&](const model::Pod& pod) {
    if (ns != "*" && pod.ns != ns) return false;
    ++in_namespace;
    const std::span<const model::Label> labels(pod.labels.data(), pod.labels.size());
    return std::all_of(selector->requirements.begin(), selector->requirements.end(),
                       [&](const model::Requirement& requirement) { return model::holds(requirement, labels); });
  });
  if (pods.empty())
    return Error{in_namespace == 0
                     ? fmt::format("the cluster has no pods{}", ns == "*" ? "" : " in namespace \"" + ns + "\"")
                     : fmt::format("none of {} pod{}{} has such labels", in_namespace, plural(in_namespace),
                                   ns == "*" ? "" : " in namespace \"" + ns + "\"")};
  remove(pods, line);
  line.effect = fmt::format("{} pod{} removed", pods.size(), plural(pods.size()));
  return Unit{};
}

void WhatIf::add_pod_like(const model::PodPtr& pod, const std::string& name, const VolumeClaims& claims,
                          report::ChangeLine& line) {
  const model::PodPtr copy = pod_like(*pod, name, symbols_);
  for (std::size_t i = 0; i < pod->volumes.size() && i < copy->volumes.size(); ++i) {
    const model::PodVolume& after = copy->volumes[i];
    if (after.source == pod->volumes[i].source || after.kind == model::PodVolume::Kind::other) continue;
    const auto claim = claims.find(pod->volumes[i].source);
    // One that is left from a pod of that name before is used again, with its volume.
    if (claim == claims.end() || claims.contains(after.source)) continue;
    JsonObject metadata;
    const std::string uid = decode::Defaulting::make_uid("PersistentVolumeClaim", pod->ns, after.source);
    metadata.text("name", after.source).text("uid", uid);
    metadata.json("annotations", "null");
    if (after.kind == model::PodVolume::Kind::ephemeral) {
      JsonObject owner;
      owner.text("apiVersion", "v1").text("kind", "Pod").text("name", name).text("uid", copy->uid.text());
      metadata.json("ownerReferences", '[' + owner.json("controller", "true").done() + ']');
    }
    JsonObject patch;
    patch.json("metadata", metadata.done()).json("spec", R"({"volumeName":null})");
    manifests_.objects.emplace_back(object_like(*claim->second, after.source, uid,
                                                patch.json("status", R"({"phase":"Pending","capacity":null})").done()));
  }
  manifests_.objects.emplace_back(copy);
  line.added_pods.push_back(copy->key());
}

Status WhatIf::scale(const WhatIfChange& change, report::ChangeLine& line) {
  const std::optional<Workload> workload = parse_workload(change.value);
  if (!workload) return Error{"write NAMESPACE/KIND/NAME=N, as shop/Deployment/web=40, with N a number from 0"};
  if (equal_ignoring_case(workload->kind, "DaemonSet"))
    return Error{"a DaemonSet has a pod on each node: use --add-nodes or --drain"};
  const Symbol hash_label = symbols_.intern("pod-template-hash");
  std::vector<model::PodPtr> pods = pods_where([&](const model::Pod& pod) {
    return !pod.finished() && !pod.deleting && is_of(pod, *workload, hash_label, symbols_);
  });
  if (pods.empty())
    return Error{
        fmt::format("the cluster has no pod of {} {}/{}: pods are made like one that is there; add its "
                    "manifest, with the controller in metadata.ownerReferences",
                    workload->kind, workload->ns, workload->name)};
  const auto wanted = static_cast<std::size_t>(workload->replicas);
  if (wanted > pods.size() && wanted - pods.size() > static_cast<std::size_t>(k_added_max))
    return Error{fmt::format("{} pods more are too many: {} is the limit", wanted - pods.size(), k_added_max)};
  const std::size_t before = pods.size();
  if (wanted > before)
    if (const Status room = take_room(wanted - before); !room.ok()) return room.error();
  const bool is_stateful = equal_ignoring_case(workload->kind, "StatefulSet");
  if (wanted < before) {
    sort_for_deletion(pods, is_stateful);
    pods.resize(before - wanted);
    remove(pods, line);
  } else {
    const model::PodPtr newest = *std::max_element(pods.begin(), pods.end(), [](const auto& a, const auto& b) {
      return a->creation_ns != b->creation_ns ? a->creation_ns < b->creation_ns : a->name < b->name;
    });
    std::unordered_set<std::string> taken;
    for (const model::PodPtr& pod : pods_where([&](const model::Pod& each) { return each.ns == workload->ns; }))
      taken.insert(pod->name);
    const std::string stem = newest->controller->name.get() + (is_stateful ? "-" : "-new-");
    std::size_t number = is_stateful ? 0 : 1;
    VolumeClaims claims;
    for (const decode::Decoded& object : manifests_.objects)
      if (const auto* other = std::get_if<model::ObjectPtr>(&object);
          other != nullptr && (*other)->resource == k_volume_claims && (*other)->ns == workload->ns)
        claims.emplace((*other)->name, *other);
    for (std::size_t i = before; i < wanted; ++i) add_pod_like(newest, free_name(taken, stem, number), claims, line);
  }
  line.effect =
      fmt::format("{} {}/{} scaled from {} to {}", workload->kind, workload->ns, workload->name, before, wanted);
  return Unit{};
}

}  // namespace berth::app
