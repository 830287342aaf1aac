// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::app {

/// One clause of an Accept header: "application/json;v=v1beta1;q=0.5". Views into the header.
struct MediaRange {
  std::string_view type, subtype;  // "*" for any
  double quality = 1;
  std::vector<std::pair<std::string_view, std::string_view>> parameters = {};  // without q; of a name the last counts

  /// True for "text/plain" with ("text", "plain"), "text/*" and "*/*".
  bool covers(std::string_view of_type, std::string_view of_subtype) const noexcept {
    return (type == of_type || type == "*") && (subtype == of_subtype || subtype == "*");
  }
  /// The parameter's value; null data when it is not given.
  std::string_view parameter(std::string_view name) const noexcept;
};

/// The clauses of an Accept header, best first: by quality, then those without "*", then as they stand. Clauses that
/// are no media type are left out. Cost: linear in the header, which the server bounds.
/// Source: munnerz/goautoneg, which Kubernetes' API machinery negotiates with. Departs: the order of equals is kept.
std::vector<MediaRange> parse_accept(std::string_view header);

}  // namespace berth::app
