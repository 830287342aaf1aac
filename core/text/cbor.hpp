// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "text/value.hpp"

namespace berth::text {

/// The value in CBOR (RFC 8949) as Kubernetes' API writes it: behind the tag of self-described CBOR, strings and keys as
/// byte strings, members in document order. A number that is no int64 becomes a double.
/// Source: kubernetes v1.36 apimachinery/pkg/runtime/serializer/cbor.
std::string to_cbor(const Value& value);

}  // namespace berth::text
