// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "text/value.hpp"

namespace berth::config {

/// Appends `value` as YAML in block form, each line indented by `indent` spaces, ending with a newline. What it writes
/// reads back as the same value: strings that YAML would take for something else are quoted. Empty mappings and
/// sequences and scalars are written on one line.
void append_yaml(std::string& out, const text::Value& value, std::size_t indent);

/// A string as one YAML scalar, quoted where needed.
std::string yaml_string(std::string_view text);

}  // namespace berth::config
