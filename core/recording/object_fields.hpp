// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace berth::recording {

/// False for resources whose objects are never recorded, whatever reads them: Secrets.
bool is_recordable(std::string_view resource) noexcept;

/// The JSON object with nothing but the fields of those paths ("spec.drivers"), and without the environment, commands
/// and arguments of containers in them. "{}" for what is no object.
std::string fields_of(const std::string& json, const std::vector<std::string>& paths);

}  // namespace berth::recording
