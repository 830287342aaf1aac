// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/symbols.hpp"
#include "decode/cursor.hpp"
#include "model/selectors.hpp"

/// Selectors as upstream's scheduler parses them: what it refuses becomes a selector or term that says why and matches
/// nothing, not a problem of the object. Internal to core/decode.
namespace berth::decode {

/// A metav1.LabelSelector; nothing when absent.
/// Source: kubernetes v1.36 staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/helpers.go (LabelSelectorAsSelector).
model::Selector decode_label_selector(const Cursor& selector, SymbolTable& symbols);
/// Adds `key In [value]` or `key NotIn [value]` for each of the keys that the labels have. Nothing to an absent
/// selector.
void merge_label_keys(model::Selector& selector, const std::vector<Symbol>& keys, const model::Labels& labels,
                      model::Operator op);

/// spec.nodeSelector and spec.affinity.nodeAffinity.
/// Source: kubernetes v1.36 staging/src/k8s.io/component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go.
model::NodeSelection decode_node_selection(const Cursor& spec, SymbolTable& symbols);

/// Go's strconv.ParseInt(text, 10, 64).
std::optional<std::int64_t> parse_go_integer(std::string_view text) noexcept;

/// Several errors as one text: "a", or "[a, b]" without repetitions.
/// Source: kubernetes v1.36 staging/src/k8s.io/apimachinery/pkg/util/errors/errors.go (aggregate).
std::string aggregate(const std::vector<std::string>& errors);

}  // namespace berth::decode
