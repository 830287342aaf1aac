// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

#include "model/node.hpp"
#include "model/object.hpp"
#include "model/pod.hpp"

/// What values take in memory, about: for budgets, so that nothing that can be large is left out.
/// Cost: one look at each part. Threads: any.
namespace berth::model {

/// The object with everything that goes when it goes. What it shares with others counts by their number, so that the
/// sum over objects that share is what they take together.
std::size_t bytes_of(const Pod& pod) noexcept;
std::size_t bytes_of(const Node& node) noexcept;
std::size_t bytes_of(const Object& object) noexcept;
inline std::size_t bytes_of(const auto& pointer) noexcept requires requires { pointer == nullptr; }
{ return pointer == nullptr ? 0 : bytes_of(*pointer); }

/// What a part of a pod keeps, whether others share it or not.
std::size_t kept_bytes(const SharedText& text) noexcept;
std::size_t kept_bytes(const SharedList<Label>& list) noexcept;
std::size_t kept_bytes(const SharedList<Toleration>& list) noexcept;
std::size_t kept_bytes(const SharedList<NodeTerm>& list) noexcept;
std::size_t kept_bytes(const SharedList<AffinityTerm>& list) noexcept;
std::size_t kept_bytes(const SharedList<SpreadConstraint>& list) noexcept;
std::size_t kept_bytes(const SharedList<HostPort>& list) noexcept;
std::size_t kept_bytes(const SharedList<ImageRef>& list) noexcept;
std::size_t kept_bytes(const SharedList<PodVolume>& list) noexcept;
std::size_t kept_bytes(const SharedList<NodeVolume>& list) noexcept;
std::size_t kept_bytes(const SharedList<PodCondition>& list) noexcept;
std::size_t kept_bytes(const SharedList<std::string>& list) noexcept;
std::size_t kept_bytes(const SharedList<PodClaim>& list) noexcept;
std::size_t kept_bytes(const Shared<OwnerReference>& value) noexcept;
std::size_t kept_bytes(const Shared<PodRequests>& value) noexcept;
std::size_t kept_bytes(const Shared<NodeSelection>& value) noexcept;
std::size_t kept_bytes(const Shared<PodSpec>& value) noexcept;

}  // namespace berth::model
