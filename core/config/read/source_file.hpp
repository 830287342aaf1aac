// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "base/result.hpp"
#include "config/legacy/translate.hpp"

namespace berth::config {

/// The whole of a file; "-" is standard input. Fails when it cannot be read (ErrorCode::unreadable: it is not there or not
/// ours to read), or is larger than any configuration.
Result<std::string> read_source_file(const std::string& path);

/// A Policy in a file; one in a ConfigMap is an error. For those who have no cluster to ask.
Result<std::string> read_policy_file(const PolicyLocation& location);

}  // namespace berth::config
