// SPDX-License-Identifier: Apache-2.0
#include "decode/selectors/selector_text.hpp"

#include <algorithm>

#include "decode/cursor.hpp"
#include "decode/selectors/selector_decoder.hpp"
#include "text/parse.hpp"

namespace berth::decode {

model::Selector label_selector_of_json(std::string_view json, SymbolTable& symbols) {
  if (json.empty()) return {};
  text::Diagnostics diagnostics;
  const auto documents = text::parse_json(json, "selector", diagnostics);
  if (documents.size() != 1) return {model::Selector::Kind::invalid, {}, diagnostics.render()};
  const Cursor cursor(documents.front(), documents.front().root(), diagnostics);
  model::Selector selector = decode_label_selector(cursor, symbols);
  if (!diagnostics.empty()) return {model::Selector::Kind::invalid, {}, diagnostics.render()};
  return selector;
}

std::vector<std::string> keys_of_json(std::string_view json) {
  std::vector<std::string> keys;
  if (json.empty()) return keys;
  text::Diagnostics diagnostics;
  const auto documents = text::parse_json(json, "object", diagnostics);
  if (documents.size() != 1 || !documents.front().root().is_mapping()) return keys;
  for (const text::Member& member : documents.front().root().members()) keys.emplace_back(member.key);
  std::sort(keys.begin(), keys.end());
  return keys;
}

}  // namespace berth::decode
