// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

/// What is asked for, and taken, where the API server answers with whole objects: they are as large as a tenant makes them.
/// etcd holds 1.5 MB of each by default, and Go's JSON has six bytes for each control character, '<', '>' and '&' in it.
namespace berth::cluster::kube {

/// One object of an answer, a list or a watch, in either encoding; client-go takes 16 MiB of a frame as well. Lists as a whole
/// have no limit: they are never held.
inline constexpr std::size_t k_object_bytes_max = 16 * 1024 * 1024;

/// Accept headers where names and versions are all that counts: for an object, and for a list. A server that cannot leave the
/// rest out sends whole objects.
/// Source: kubernetes v1.36 staging/src/k8s.io/apiserver/pkg/endpoints/handlers/response.go.
inline constexpr const char* k_metadata_only =
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
inline constexpr const char* k_metadata_only_list =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

}  // namespace berth::cluster::kube
