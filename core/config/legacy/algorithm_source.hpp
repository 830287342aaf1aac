// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "config/legacy/policy.hpp"
#include "config/legacy/translate.hpp"
#include "config/read/fields.hpp"

namespace berth::config {

/// `algorithmSource` of v1alpha1 and v1alpha2: a provider by name, or where a Policy is.
struct AlgorithmSource {
  std::string provider;  // empty: not said
  std::optional<PolicyLocation> policy;
  Place place;
};

AlgorithmSource read_algorithm_source(const text::Value& value, const Source& source);

/// The Policy at a location; nothing, with the reason reported, when it cannot be read or is malformed. The outcome
/// stands where the location was written, since positions in another file mean nothing there.
std::optional<PolicyProfile> fetch_policy(const AlgorithmSource& algorithm, const Source& source,
                                          const ReadPolicy& read, const PolicyContext& context,
                                          text::Diagnostics& notes);

}  // namespace berth::config
