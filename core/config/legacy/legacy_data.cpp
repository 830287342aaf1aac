// SPDX-License-Identifier: Apache-2.0
#include "config/legacy/legacy_data.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "config/embedded.hpp"
#include "text/parse.hpp"

namespace berth::config {
namespace {

text::Document parse_embedded(std::string_view yaml, const char* file) {
  text::Diagnostics diagnostics;
  std::vector<text::Document> documents = text::parse_yaml(yaml, file, diagnostics);
  BERTH_CHECK(diagnostics.empty() && documents.size() == 1, "embedded {}: {}", file, diagnostics.render());
  return std::move(documents.front());
}

}  // namespace

const text::Value& legacy_versions() {
  static const text::Document document = parse_embedded(embedded::legacy_versions(), "conf/legacy/versions.yaml");
  return document.root();
}

const text::Value& legacy_policy() {
  static const text::Document document = parse_embedded(embedded::legacy_policy(), "conf/legacy/policy.yaml");
  return document.root();
}

const text::Value* element_named(const text::Value* list, std::string_view key, std::string_view text) noexcept {
  if (list == nullptr) return nullptr;
  for (const text::Value& element : list->elements())
    if (const text::Value* value = element.find(key); value != nullptr && value->text() == text) return &element;
  return nullptr;
}

bool lists(const text::Value* list, std::string_view text) noexcept {
  return list != nullptr && std::any_of(list->elements().begin(), list->elements().end(),
                                        [&](const text::Value& element) { return element.text() == text; });
}

}  // namespace berth::config
