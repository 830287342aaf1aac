// SPDX-License-Identifier: Apache-2.0
#include "extender/messages.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <utility>

#include "base/utf8.hpp"
#include "extender/json_reading.hpp"
#include "text/json_object.hpp"

namespace berth::extender {
namespace {

using text::JsonObject;

Error not_kept(std::string_view what, std::string_view name) {
  return {fmt::format("the object of {} {} was not kept, so no extender can be shown it", what, name)};
}

/// The pod as it is on a node, which the object may not say yet.
Result<std::string> victim_json(const model::Pod& pod, std::string_view node_name) {
  if (pod.body.empty()) return not_kept("pod", pod.key());
  std::string body = pod.body.text();
  text::Diagnostics diagnostics;
  const auto documents = text::parse_json(body, "pod", diagnostics);
  if (documents.empty()) return Error{diagnostics.render()};
  const text::Value* const known = documents.front().root().find_path("spec.nodeName");
  if (known != nullptr && known->text() == node_name) return body;
  const std::string patch = JsonObject().json("spec", JsonObject().text("nodeName", node_name).done()).done();
  const auto patches = text::parse_json(patch, "patch", diagnostics);
  return text::merge_json(&documents.front().root(), patches.front().root());
}

Result<std::string> victims_json(const Extender::Victims& victims, std::string_view node_name, bool uids_only) {
  std::string pods = "[";
  for (const model::PodPtr& pod : victims.pods) {
    if (pods.size() > 1) pods += ',';
    if (uids_only) {
      pods += JsonObject().text("UID", pod->uid.text()).done();
      continue;
    }
    Result<std::string> whole = victim_json(*pod, node_name);
    if (!whole.ok()) return whole.error();
    pods += *whole;
  }
  return fmt::format(R"({{"Pods":{}],"NumPDBViolations":{}}})", pods, victims.violations);
}

Status read_failures(const text::Value& root, std::string_view name, Extender::Failures& out) {
  return read_mapping(member(root, name), name, [&](std::string_view node, const text::Value& why) -> Status {
    std::string said;
    if (Status good = read(&why, fmt::format("{}[{}]", name, node), said); !good.ok()) return good;
    out[std::string(node)] = excerpt(said);
    return Unit{};
  });
}

Status read_node_list(const text::Value& nodes, std::vector<std::string>& out) {
  if (!nodes.is_mapping()) return Error{"Nodes is not an object"};
  return read_list(member(nodes, "items"), "Nodes.items", [&](const text::Value& node) -> Status {
    if (!node.is_mapping()) return Error{"a node of Nodes.items is not an object"};
    const text::Value* const metadata = member(node, "metadata");
    if (metadata == nullptr || !metadata->is_mapping()) return Error{"a node of Nodes.items has no metadata"};
    return read(member(*metadata, "name"), "Nodes.items[].metadata.name", out.emplace_back());
  });
}

/// Parses an answer that is an object (null is an empty one) and reads it.
template <typename Read>
Status read_answer(std::string_view body, Read&& read_root) {
  Result<text::Document> document = parse_first(body);
  if (!document.ok()) return document.error();
  const text::Value& root = document->root();
  if (!root.is_mapping() && !root.is_null()) return Error{"the answer is not an object"};
  return read_root(root);
}

Status read_error(const text::Value& root) {
  std::string error;
  if (Status done = read(member(root, "Error"), "Error", error); !done.ok()) return done;
  if (!error.empty()) return Error{excerpt(error)};
  return Unit{};
}

}  // namespace

Result<std::string> nodes_request(const model::Pod& pod, Extender::Nodes nodes, NodeBodies* bodies) {
  if (pod.body.empty()) return not_kept("pod", pod.key());
  if (bodies == nullptr) {
    const std::string names = text::list_json(
        nodes, [](std::string& list, const model::NodePtr& node) { text::append_json_string(list, node->name); });
    return JsonObject().json("Pod", pod.body.text()).json("Nodes", "null").json("NodeNames", names).done();
  }
  for (const model::NodePtr& node : nodes)
    if (node->body.empty()) return not_kept("node", node->name);
  std::string whole = R"({"Pod":)" + pod.body.text() + R"(,"Nodes":{"metadata":{},"items":)";
  bodies->append_list(whole, nodes);
  return std::move(whole += R"(},"NodeNames":null})");
}

Result<Extender::Filtered> filter_answer(std::string_view body, bool names_only) {
  Extender::Filtered out;
  const Status done = read_answer(body, [&](const text::Value& root) -> Status {
    if (Status error = read_error(root); !error.ok()) return error;
    for (const auto& [name, into] :
         {std::pair{"FailedNodes", &out.failed}, std::pair{"FailedAndUnresolvableNodes", &out.unresolvable}})
      if (Status failures = read_failures(root, name, *into); !failures.ok()) return failures;
    const text::Value* const names = member(root, "NodeNames");
    const text::Value* const nodes = member(root, "Nodes");
    std::vector<std::string> listed;
    if (Status good =
            read_list(names, "NodeNames",
                      [&](const text::Value& name) { return read(&name, "NodeNames[]", listed.emplace_back()); });
        !good.ok())
      return good;
    if (names_only && names != nullptr) {
      out.passed = std::move(listed);
    } else if (nodes != nullptr) {
      out.as_objects = true;
      return read_node_list(*nodes, out.passed);
    }
    return Unit{};
  });
  if (!done.ok()) return done.error();
  return out;
}

Result<std::vector<Extender::HostScore>> prioritize_answer(std::string_view body) {
  Result<text::Document> document = parse_first(body);
  if (!document.ok()) return document.error();
  std::vector<Extender::HostScore> out;
  const Status done = read_list(&document->root(), "", [&](const text::Value& entry) -> Status {
    if (entry.is_null()) return Unit{};
    if (!entry.is_mapping()) return Error{"a score is not an object"};
    Extender::HostScore& score = out.emplace_back();
    if (Status host = read(member(entry, "Host"), "Host", score.host); !host.ok()) return host;
    return read(member(entry, "Score"), fmt::format("Score of {}", score.host), score.score);
  });
  if (!done.ok()) return done.error();
  return out;
}

std::string bind_request(const model::Pod& pod, std::string_view node_name) {
  JsonObject out;
  out.text("PodName", pod.name).text("PodNamespace", pod.ns).text("PodUID", pod.uid.text());
  return out.text("Node", node_name).done();
}

Status bind_answer(std::string_view body) { return read_answer(body, read_error); }

Result<std::string> preempt_request(const model::Pod& pod, const Extender::ByNode<Extender::Victims>& victims,
                                    VictimForm form) {
  if (pod.body.empty()) return not_kept("pod", pod.key());
  JsonObject by_node;
  for (const auto& [node_name, of_node] : victims) {
    Result<std::string> json = victims_json(of_node, node_name, form == VictimForm::uids);
    if (!json.ok()) return json.error();
    by_node.json(node_name, *json);
  }
  const bool uids_only = form == VictimForm::uids;
  const std::string victims_text = by_node.done();
  JsonObject out;
  out.json("Pod", pod.body.text()).json("NodeNameToVictims", uids_only ? "null" : victims_text);
  if (form == VictimForm::pods_and_old_name) out.json("nodeToVictims", victims_text);
  return out.json("NodeNameToMetaVictims", uids_only ? victims_text : "null").done();
}

Result<Extender::ByNode<Extender::MetaVictims>> preempt_answer(std::string_view body) {
  Extender::ByNode<Extender::MetaVictims> out;
  const Status done = read_answer(body, [&](const text::Value& root) {
    const text::Value* const by_node = member(root, "NodeNameToMetaVictims");
    boost::unordered_flat_map<std::string_view, const text::Value*> last;  // of each name
    if (by_node != nullptr && by_node->is_mapping())
      for (const text::Member& entry : by_node->members()) last[entry.key] = &entry.value;
    return read_mapping(
        by_node, "NodeNameToMetaVictims", [&](std::string_view node, const text::Value& victims) -> Status {
          if (last[node] != &victims) return Unit{};  // a later one of that name counts
          Extender::MetaVictims& read_victims = out.emplace_back(std::string(node), Extender::MetaVictims{}).second;
          if (victims.is_null()) return Unit{};
          if (!victims.is_mapping()) return Error{fmt::format("NodeNameToMetaVictims[{}] is not an object", node)};
          if (Status good = read(member(victims, "NumPDBViolations"), "NumPDBViolations", read_victims.violations);
              !good.ok())
            return good;
          return read_list(member(victims, "Pods"), "Pods", [&](const text::Value& pod) -> Status {
            if (!pod.is_mapping()) return Error{"an entry of Pods is not an object"};
            return read(member(pod, "UID"), "UID", read_victims.uids.emplace_back());
          });
        });
  });
  if (!done.ok()) return done.error();
  return out;
}

}  // namespace berth::extender
