// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>
#include <vector>

#include "base/symbols.hpp"
#include "cache/cluster_cache.hpp"
#include "cluster/kube/read/kube_reader.hpp"
#include "decode/object_decoder.hpp"

namespace berth::app {

/// The cluster as a running scheduler believes it at this moment, for who asks about a pod of a namespace: nodes, pods where they
/// are counted (also those on their way there), what plugins watch, and pods of that namespace that wait; in this order.
///
/// Cost:    a pointer per object under the locks of cache and reader, the rest without one; objects are shared, not copied.
/// Threads: any. Requires: a SymbolCollection of the calling thread that lives as long as what is returned.
std::vector<decode::Decoded> cluster_moment(const cache::ClusterCache& cache, const cluster::kube::KubeReader& reader,
                                            SymbolTable& symbols, std::string_view ns);

}  // namespace berth::app
