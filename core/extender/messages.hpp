// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "extender/extender.hpp"
#include "extender/node_bodies.hpp"

/// What is said to an extender, and what its answers say: JSON as the types of the protocol have it.
/// Failure: an Error for an object whose body was not kept, and for an answer of another form.
/// Source:  kubernetes v1.36 staging/src/k8s.io/kube-scheduler/extender/v1/types.go.
namespace berth::extender {

using extender::Extender;

/// Of filter and prioritize. Without `bodies` the nodes are named: the extender knows them.
Result<std::string> nodes_request(const model::Pod& pod, Extender::Nodes nodes, NodeBodies* bodies);
/// An `Error` in the answer is an Error.
Result<Extender::Filtered> filter_answer(std::string_view body, bool names_only);
Result<std::vector<Extender::HostScore>> prioritize_answer(std::string_view body);

std::string bind_request(const model::Pod& pod, std::string_view node_name);
Status bind_answer(std::string_view body);

/// How victims are shown: by UID where the extender knows the pods of the nodes. Up to v1.16 the pods of a node stood
/// under another name than today.
enum class VictimForm : std::uint8_t { uids, pods, pods_and_old_name };
Result<std::string> preempt_request(const model::Pod& pod, const Extender::ByNode<Extender::Victims>& victims,
                                    VictimForm form);
Result<Extender::ByNode<Extender::MetaVictims>> preempt_answer(std::string_view body);

}  // namespace berth::extender
