// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

#include "base/result.hpp"
#include "base/symbols.hpp"
#include "model/selectors.hpp"

namespace berth::decode {

/// Longest text that is read as a label query, in bytes.
inline constexpr std::size_t k_label_query_bytes_max = 64u << 10;

/// A label selector as kubectl's -l takes it: "app=web,tier!=cache,zone in (a, b),zone notin (c),gpu,!spot". The empty
/// text selects everything. Failure: an Error that quotes the part that is wrong; keys and values are not checked
/// further: what no label can be is carried by no object.
/// Source: kubernetes v1.36 staging/src/k8s.io/apimachinery/pkg/labels/selector.go (Parse). Departs: without < and >.
Result<model::Selector> parse_label_query(std::string_view text, SymbolTable& symbols);

}  // namespace berth::decode
