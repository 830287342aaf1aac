// SPDX-License-Identifier: Apache-2.0
/// The policies that were linked into this program, by berth_add_static_plugins() of the build.
#pragma once
#include <berth/plugin.h>

#include <span>

namespace berth {

using LibraryEntry = const berth_library_v1* (*)();  ///< the entry of a library that was linked in

/// One entry per library, in the order in which the build met them.
std::span<const LibraryEntry> static_plugins() noexcept;

}  // namespace berth
