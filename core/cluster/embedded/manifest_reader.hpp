// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <istream>
#include <string>
#include <vector>

#include "base/symbols.hpp"
#include "decode/object_decoder.hpp"
#include "text/diagnostics.hpp"

namespace berth::cluster {

struct SkippedKind {
  std::string api_version, kind;
  std::size_t count = 0;
};

/// What manifests hold, in the order of the files and in each file's own order.
struct Manifests {
  std::vector<decode::Decoded> objects;
  std::vector<SkippedKind> skipped;  // kinds that scheduling does not know; one warning each
  std::size_t file_count = 0;
  std::size_t objects_of_last_file = 0;  // so many of `objects`, at their end
};

/// put(object) of each, in the order in which an API server's lists would be complete: pods last.
template <typename Put>
void in_list_order(const Manifests& manifests, Put&& put) {
  for (const bool pods : {false, true})
    for (const decode::Decoded& object : manifests.objects)
      if (std::holds_alternative<model::PodPtr>(object) == pods) put(object);
}

struct ManifestOptions {
  /// Defaulting, unknown kinds and priority classes are the reader's business; the rest is the caller's.
  decode::DecodeOptions decode = {};
  /// Fill in what an API server would have, for objects without a uid.
  bool defaulting = true;
  std::int64_t now_ns = 0;                 // creation time of such objects
  std::istream* standard_input = nullptr;  // what "-" means; null: std::cin
  /// Lists in JSON that are longer are read item by item, so that they need not be in memory as a whole.
  std::size_t whole_bytes_max = std::size_t{4} << 20;
};

/// Reads objects from files, directories (*.yaml, *.yml, *.json below them, in order of their paths) and "-", as YAML
/// with several documents, JSON, `List` and typed lists (PodList …).
///
/// Memory:  the values of all that is read at once: whatever is YAML, no list, or no longer than whole_bytes_max, and the
///          text of what does not come from a file. Of a longer list in JSON one item at a time, twice.
/// Failure: everything that is wrong goes to `diagnostics` with file, line and column: unreadable files, malformed text,
///          objects that do not decode, two nodes of one name, two pods of one namespace and name. Nothing is
///          half-read: what decodes is returned, and a caller that finds problems stops.
Manifests read_manifests(const std::vector<std::string>& paths, SymbolTable& symbols, const ManifestOptions& options,
                         text::Diagnostics& diagnostics);

}  // namespace berth::cluster
