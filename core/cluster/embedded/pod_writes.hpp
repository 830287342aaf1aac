// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string_view>

#include "base/result.hpp"
#include "base/symbols.hpp"
#include "cluster/cluster_writer.hpp"
#include "model/pod.hpp"

/// What an API server makes of a write to a pod. Pure: the pod before in, the pod after out. Internal to
/// core/cluster/embedded. Pod::json, where it is kept, is changed along.
namespace berth::cluster {

/// Source: kubernetes v1.36 pkg/registry/core/pod/storage/storage.go (BindingREST: setPodNodeAndMetadata).
Result<model::Pod> bound(const model::Pod& pod, const PodRef& ref, std::string_view node_name, SymbolTable& symbols);
Result<model::Pod> with_status(const model::Pod& pod, const PodStatusPatch& patch, SymbolTable& symbols);
Result<model::Pod> with_metadata(const model::Pod& pod, const PodMetadataPatch& patch, SymbolTable& symbols);
model::Pod terminating(const model::Pod& pod);

/// An error when `ref` names another pod of that name.
Status check_uid(const model::Pod& pod, const PodRef& ref, std::string_view resource);
Error not_found(std::string_view name);

}  // namespace berth::cluster
