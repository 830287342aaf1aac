// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/symbols.hpp"
#include "decode/cursor.hpp"
#include "model/node.hpp"

namespace berth::decode {

/// A v1 Node. Internal to core/decode. `make_uid`: it has none and gets one. Nothing else is filled in, in particular
/// not allocatable from capacity: a node without allocatable has nothing to give, as upstream's scheduler sees it.
/// `annotations`: keys of those that are kept, or all.
model::Node decode_node(const Cursor& object, bool make_uid, const std::optional<std::vector<std::string>>& annotations,
                        SymbolTable& symbols);

}  // namespace berth::decode
