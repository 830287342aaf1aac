// SPDX-License-Identifier: Apache-2.0
#include "decode/pod/managed_resources.hpp"

#include <algorithm>

namespace berth::decode {
namespace {

bool names(const text::Value& container, std::string_view resource) {
  for (const char* const list : {"resources.requests", "resources.limits"})
    if (const text::Value* amounts = container.find_path(list);
        amounts != nullptr && amounts->find(resource) != nullptr)
      return true;
  return false;
}

bool any_names(const text::Value& pod, std::string_view resource) {
  for (const char* const list : {"spec.containers", "spec.initContainers"}) {
    const text::Value* containers = pod.find_path(list);
    if (containers == nullptr) continue;
    const auto elements = containers->elements();
    if (std::any_of(elements.begin(), elements.end(), [&](const text::Value& c) { return names(c, resource); }))
      return true;
  }
  return false;
}

}  // namespace

ManagedResources::ManagedResources(const std::vector<std::string>& names, SymbolTable& symbols) {
  for (const std::string& name : names) names_.emplace_back(name, symbols.intern(name));
}

std::vector<Symbol> ManagedResources::named_by(const text::Value& pod) const {
  std::vector<Symbol> found;
  for (const auto& [name, symbol] : names_)
    if (any_names(pod, name)) found.push_back(symbol);
  return found;
}

}  // namespace berth::decode
