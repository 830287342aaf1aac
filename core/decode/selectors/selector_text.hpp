// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/symbols.hpp"
#include "model/selectors.hpp"

namespace berth::decode {

/// A metav1.LabelSelector from its JSON; nothing when the text is empty, invalid when it is no selector.
model::Selector label_selector_of_json(std::string_view json, SymbolTable& symbols);
/// The keys of a JSON object, sorted; none for anything else.
std::vector<std::string> keys_of_json(std::string_view json);

}  // namespace berth::decode
