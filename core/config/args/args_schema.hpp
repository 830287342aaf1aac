// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "config/read/fields.hpp"
#include "text/value.hpp"

namespace berth::config {

/// The schema of a plugin's args: what it accepts, and the defaults that it wants filled in.
///
/// A subset of JSON Schema 2020-12. Assertions: type (also a list of types), enum, const, minimum, maximum,
/// exclusiveMinimum, exclusiveMaximum, minLength, maxLength, pattern (ECMAScript, found anywhere), format ("int32",
/// "int64", "go-duration" with formatMinimum and formatMaximum), items, minItems, maxItems, uniqueItems,
/// x-kubernetes-list-map-keys, properties, required, additionalProperties, allOf, anyOf, oneOf, not, if/then/else,
/// nullable, $ref to "#/$defs/…", and true or false as a schema. `errorMessage` replaces the sentence of a failed
/// assertion of the same schema; `default` is filled in where a property is absent. Annotations (title, description,
/// examples, $schema, $id, $comment, deprecated, x-…) are allowed. Any other keyword is an error of the schema: an
/// assertion that is not checked would let wrong arguments pass.
///
/// Departs from JSON Schema as Kubernetes' decoding does: a property whose value is null counts as absent, unless its
/// type names "null" or it is nullable. Immutable; any thread.
class ArgsSchema {
 public:
  /// Fails with one sentence that names the keyword and where in the schema it stands.
  static Result<ArgsSchema> parse(std::string_view text);

  /// Checks `args` (null: none were given, the same as {}) and returns them as compact JSON, defaults filled in,
  /// members in the schema's order. The members apiVersion and kind of the outermost object are not args and left out,
  /// unless the schema has them. Diagnostics are positioned at `place` where no value is there to point at.
  std::string complete(const text::Value* args, const Place& place, const Source& source) const;

 private:
  explicit ArgsSchema(text::Document document) : document_(std::move(document)) {}
  text::Document document_;
};

}  // namespace berth::config
