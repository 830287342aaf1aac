// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "berth/abi/host.h"

namespace berth::loader {

/// Whether this host calls the point.
bool is_known_point(std::string_view id);

/// Which functions the ops table of a known point lacks, one sentence each; empty when it can be called.
/// Requires: `ops` is readable for struct_size bytes.
std::vector<std::string> missing_functions(std::string_view id, const void* ops);

/// The bits of the table's flags that this host does not know; 0 for a point without flags. They change behaviour, so a host
/// that ignored them would run the plugin otherwise than its author meant. Requires: as above.
std::uint32_t unknown_flags(std::string_view id, const void* ops);

}  // namespace berth::loader
