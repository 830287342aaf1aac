// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

#include "text/value.hpp"

namespace berth::text {

/// What a plain YAML scalar stands for.
struct PlainScalar {
  Kind kind = Kind::string;
  std::string text;  // canonical: "true", decimal digits for hexadecimal and octal numbers, empty for null
};

/// Agrees with sigs.k8s.io/yaml (go-yaml v2 resolve.go): null, ~ and nothing; true and false in three spellings;
/// decimal, 0x, 0o, 0b, leading-zero octal and floating numbers, underscores allowed. Departs: yes/no/on/off stay
/// strings, since a boolean field never takes them and a string field wants them; .inf and .nan stay strings, since
/// JSON has neither.
PlainScalar resolve_plain(std::string_view text);

}  // namespace berth::text
