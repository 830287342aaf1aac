// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/symbols.hpp"
#include "decode/cursor.hpp"
#include "decode/decode_options.hpp"
#include "decode/pod/defaulting.hpp"
#include "model/pod.hpp"

namespace berth::decode {

/// A v1 Pod, all but `unsupported`, `managed_resources` and `body`. `defaulting` is null where nothing is to be filled
/// in. Internal to core/decode.
model::Pod decode_pod(const Cursor& object, const Defaulting* defaulting, const KeptParts& parts,
                      const FieldGates& gates, SymbolTable& symbols);

/// Reads what a node is charged with, for the problems alone.
void decode_charge(const Cursor& object, const FieldGates& gates, SymbolTable& symbols);

// The parts of it, each from spec.
model::PodAffinity decode_pod_affinity(const Cursor& spec, const model::Pod& pod, bool defaulting,
                                       SymbolTable& symbols);
std::vector<model::SpreadConstraint> decode_spread(const Cursor& spec, const model::Pod& pod, bool defaulting,
                                                   const FieldGates& gates, SymbolTable& symbols);
std::vector<model::Toleration> decode_tolerations(const Cursor& spec, bool defaulting, const FieldGates& gates,
                                                  SymbolTable& symbols);
/// `plain`: those of kind other as well.
std::vector<model::PodVolume> decode_volumes(const Cursor& spec, std::string_view pod_name, bool plain);
/// The pod's volumes as its node will know them. Requires: names, uid and volumes are decoded.
std::vector<model::NodeVolume> node_volumes_of(const model::Pod& pod, SymbolTable& symbols);

}  // namespace berth::decode
