// SPDX-License-Identifier: Apache-2.0
#include "cluster/kube/read/undecodable.hpp"

#include <spdlog/fmt/fmt.h>

#include "base/utf8.hpp"
#include "observe/log.hpp"

namespace berth::cluster::kube {
namespace {

constexpr std::size_t k_said_bytes_max = 512;

/// What is wrong first, and how much else is.
std::string first_of(const text::Diagnostics& diagnostics) {
  if (diagnostics.empty()) return {};
  text::Diagnostics first;
  first.add(diagnostics.all().front());
  std::string out = first.render();
  while (!out.empty() && out.back() == '\n') out.pop_back();
  if (out.size() > k_said_bytes_max) out.resize(k_said_bytes_max);
  if (diagnostics.size() > 1) out += fmt::format(" (and {} more)", diagnostics.size() - 1);
  return out;
}

}  // namespace

void UndecodableLog::note(Undecodable reason, const decode::ObjectIdentity& identity,
                          const text::Diagnostics& diagnostics) {
  const auto index = static_cast<std::size_t>(reason);
  counts_.at(index).fetch_add(1, std::memory_order_relaxed);
  if (named_.size() >= k_named_max) return;
  std::string key = fmt::format("{}/{}/{}", identity.ns, identity.name, identity.uid);
  if (key.size() > k_said_bytes_max) key.resize(k_said_bytes_max);
  if (!named_.insert(std::move(key)).second) return;
  const std::string ns = excerpt(identity.ns, k_said_bytes_max), name = excerpt(identity.name, k_said_bytes_max);
  observe::error("An object cannot be read", {{"err", first_of(diagnostics)},
                                              {"resource", resource_},
                                              {"object", observe::ObjectName{ns, name}},
                                              {"reason", k_undecodable_words.at(index)}});
  if (named_.size() == k_named_max)
    observe::error("No more objects that cannot be read are named; berth_undecodable_objects_total goes on",
                   {{"resource", resource_}});
}

UndecodableCounts UndecodableLog::counts() const noexcept {
  UndecodableCounts out{};
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = counts_[i].load(std::memory_order_relaxed);
  return out;
}

}  // namespace berth::cluster::kube
