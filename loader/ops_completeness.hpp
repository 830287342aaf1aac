// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "berth/abi/host.h"
#include "berth/ext/requeue.h"

namespace berth::loader {

/// Whether this host calls the point.
bool is_known_point(std::string_view id);
/// struct_size of the point's table in the version that brought it, the least that a plugin may say; 0: unknown.
std::uint32_t first_bytes(std::string_view id);

/// Which functions the ops table of a known point lacks, one sentence each; empty when it can be called.
/// Requires: `ops` is readable for first_bytes(id).
std::vector<std::string> missing_functions(std::string_view id, const void* ops);

/// What a plugin may depend on, as far as this host knows.
inline constexpr std::uint32_t k_known_deps = BERTH_DEP_POD_SPEC | BERTH_DEP_POD_IDENTITY | BERTH_DEP_NODE_STATIC |
                                              BERTH_DEP_NODE_USAGE | BERTH_DEP_OTHER_NODES | BERTH_DEP_OBJECTS |
                                              BERTH_DEP_CLOCK | BERTH_DEP_EXTERNAL | BERTH_DEP_ANNOUNCED;

/// What the table of a known point says that this host does not know, one sentence each: bits of flags and deps, reserved
/// fields. They change behaviour, so a host that ignored them would run the plugin otherwise than its author meant.
/// Requires: as above.
std::vector<std::string> unknown_values(std::string_view id, const void* ops);
/// The same of an interest: an event that this host does not know would never come.
std::vector<std::string> unknown_values(const berth_interest_v1& interest);

}  // namespace berth::loader
