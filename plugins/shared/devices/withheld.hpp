// SPDX-License-Identifier: Apache-2.0
/// Allocations that cannot be read whole. What can be read of them is in use; where it cannot be read which device is, every device
/// that it may be is withheld: a device that is idle for too long does less harm than one that two pods have.
///
/// Departs from upstream, whose API types read every claim that a server has stored. Values; any thread.
#pragma once
#include "objects/api_objects.hpp"

namespace devices {

/// The allocation in the text of a claim's `status`, of which berth::Json cannot read all: for example because configuration in it
/// is nested too deeply. Null: there is none.
std::shared_ptr<const AllocationObject> read_allocation_partly(std::string_view status);

/// Whether that entry may stand for that device of the slice.
bool withholds(const Withheld& entry, const dra::Slice& slice, std::string_view device);

}  // namespace devices
