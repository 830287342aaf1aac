// SPDX-License-Identifier: Apache-2.0
/// Deletes a claim that this policy made: first the finalizer goes, then the claim. Its allocation is not cleared before, as
/// upstream. A claim that is gone already, as after an answer that was lost, is no error: upstream reports one and tries again until
/// its watch has told of the deletion.
#pragma once
#include <berth/object_writes.hpp>

#include "../shared/devices/objects/api_objects.hpp"

namespace devices {

/// `done` gets an empty text, or what went wrong; exactly once, on any thread.
void delete_claim(berth::ObjectWrites writes, ClaimPtr claim, std::function<void(std::string error)> done);

}  // namespace devices
