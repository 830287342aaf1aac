// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "config/features.hpp"
#include "framework/services/object_store.hpp"
#include "model/object.hpp"

namespace berth::scheduler {

/// project_fields() without the fields whose feature gate is off: they look as if no object had them.
framework::Projector make_projector(const config::Features& features);

/// Cuts fields out of an object's JSON. A path descends by '.'; keys with dots cannot be named.
/// A field that is missing, null, or not of its type is not present.
std::vector<framework::FieldValue> project_fields(const model::Object& object,
                                                  const std::vector<framework::Field>& fields);

}  // namespace berth::scheduler
