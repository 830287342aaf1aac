// SPDX-License-Identifier: Apache-2.0
#include "config/legacy/converted.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "config/read/load_parts.hpp"

namespace berth::config {
namespace {

const text::Value* root_of_kind(const RawConfiguration& raw, std::string_view kind) {
  for (const text::Document& document : raw.documents)
    if (const text::Value* found = document.root().find("kind"); found != nullptr && found->text() == kind)
      return &document.root();
  return nullptr;
}

/// The BerthConfiguration that was written, with what an old configuration adds to it.
Tree berth_document(const RawConfiguration& raw) {
  Tree tree = Tree::mapping({});
  if (const text::Value* written = root_of_kind(raw, k_berth_kind)) {
    tree = Tree::copy_of(*written);
  } else {
    tree.put("apiVersion", Tree::string(k_berth_api, {}));
    tree.put("kind", Tree::string(k_berth_kind, {}));
  }
  if (Tree* legacy = tree.find("legacy"); legacy != nullptr && legacy->find("maxNodeScore") != nullptr)
    legacy->put("maxNodeScore", Tree::number(raw.values.legacy.max_node_score, {}));
  if (raw.converted && raw.values.legacy.check_all_filters)
    tree.mapping_at("legacy").put("alwaysCheckAllPredicates", Tree::boolean(true, {}));
  // The plugins that are written out do it.
  if (Tree* legacy = tree.find("legacy"); legacy != nullptr && !raw.values.legacy.balance_volumes)
    legacy->take("balanceAttachedNodeVolumes");
  return tree;
}

}  // namespace

std::string converted_yaml(const RawConfiguration& raw) {
  std::string out;
  for (const text::Diagnostic& note : raw.notes.all()) {
    const std::string line = std::to_string(note.position.line);
    out += fmt::format("# line {}: {}{}{}\n", line, note.path, note.path.empty() ? "" : ": ", note.message);
  }
  const text::Value* scheduler = root_of_kind(raw, k_scheduler_kind);
  if (raw.converted)
    out += to_yaml(*raw.converted);
  else if (scheduler != nullptr)
    out += to_yaml(Tree::copy_of(*scheduler));
  const bool has_berth = root_of_kind(raw, k_berth_kind) != nullptr;
  if (has_berth || (raw.converted && raw.values.legacy.check_all_filters)) {
    if (!out.empty()) out += "---\n";
    out += to_yaml(berth_document(raw));
  }
  return out;
}

}  // namespace berth::config
