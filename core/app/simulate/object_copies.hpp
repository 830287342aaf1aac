// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

#include "base/symbols.hpp"
#include "model/node.hpp"
#include "model/object.hpp"
#include "model/pod.hpp"

/// Objects as a cluster would have them after a change that is only imagined. Pure: the object before in, the one after
/// out, with Pod::body and Node::body changed along. New names are interned for the life of the table.
namespace berth::app {

/// "NoSchedule" and its like; empty for any effect and for those that are not known.
std::string_view taint_effect_name(model::TaintEffect effect);
/// A node like it that has just joined: its hostname label is its name; it is not cordoned and has no taints that say how
/// a node is doing (node.kubernetes.io/…).
model::NodePtr new_node_like(const model::Node& node, std::string_view name, SymbolTable& symbols);
inline constexpr std::string_view k_cordon_taint = "node.kubernetes.io/unschedulable";
/// The node as `kubectl cordon` leaves it, with the taint that the node controller adds.
model::NodePtr cordoned(const model::Node& node, SymbolTable& symbols);
/// The node as `kubectl uncordon` leaves it.
model::NodePtr uncordoned(const model::Node& node, SymbolTable& symbols);
/// The pod as its controller would make it again: pending, on no node, tried by no scheduler.
model::PodPtr made_again(const model::Pod& pod);
/// Another pod like it, pending. Its ephemeral volumes and those claims of a StatefulSet that bear its name are named after
/// the new one.
model::PodPtr pod_like(const model::Pod& pod, std::string_view name, SymbolTable& symbols);
/// The pod, placed on a node that it need not be able to go to.
model::PodPtr placed_on(const model::Pod& pod, std::string_view node, SymbolTable& symbols);
/// Another object like it: with a merge patch applied, which says its name and uid too. Requires: both are JSON.
model::ObjectPtr object_like(const model::Object& object, std::string_view name, std::string_view uid,
                             const std::string& merge_patch);

}  // namespace berth::app
