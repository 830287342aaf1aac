// SPDX-License-Identifier: Apache-2.0
#include "framework/plugin_call.hpp"

#include <algorithm>

#include "base/utf8.hpp"

namespace berth::framework {
namespace {

constexpr std::string_view k_replacement = "\xEF\xBF\xBD";
}  // namespace

berth_code answer(berth_note_v1* note, std::string_view text, berth_code code) noexcept {
  if (note != nullptr && note->text != nullptr) {
    std::copy_n(text.data(), std::min<std::size_t>(text.size(), note->text_cap), note->text);
    note->text_len = text.size();
  }
  return code;
}

std::string clean_text(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_length(text.substr(i));
    if (length == 0) {
      out += k_replacement;
      ++i;
    } else if (length == 1 && (static_cast<unsigned char>(text[i]) < 0x20 || text[i] == 0x7f)) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[i]));
      ++i;
    } else {
      out += text.substr(i, length);
      i += length;
    }
  }
  return out;
}

std::string Note::text() const {
  const std::size_t kept = static_cast<std::size_t>(std::min<std::uint64_t>(abi_.text_len, sizeof text_));
  std::string out = clean_text({text_, kept});
  if (abi_.text_len > sizeof text_) out += "…";
  return out;
}

void Note::write(std::string_view text) noexcept {
  const std::size_t kept = std::min(text.size(), sizeof text_);
  std::copy_n(text.data(), kept, text_);
  abi_.text_len = text.size();
}

namespace {

/// A number that stands for no sentence: what a person reads names whose it is.
std::string unknown_reason(const PluginInstance& plugin, berth_reason reason) {
  return fmt::format("plugin {} gave reason {}, which it does not list", plugin.name(),
                     reason & ~ReasonTable::k_composed);
}

}  // namespace

std::vector<std::string> sentences(const PluginInstance& plugin, berth_reason reason) {
  if (reason == 0) return {};
  if ((reason & ReasonTable::k_composed) != 0) {
    const auto texts = plugin.host().reasons.texts(reason);
    if (!texts.empty()) return {texts.begin(), texts.end()};
    return {unknown_reason(plugin, reason)};
  }
  const std::string_view text = plugin.reason_text(reason);
  return {text.empty() ? unknown_reason(plugin, reason) : std::string(text)};
}

std::vector<std::string> sentences(const PluginInstance& plugin, const Note& note) {
  if (note.reason() != 0) return sentences(plugin, note.reason());
  std::string text = note.text();
  if (text.empty()) return {};
  return {std::move(text)};
}

std::string invalid_code(const PluginInstance& plugin, observe::Point point, Code code) {
  const std::string_view name = code_name(code);
  return fmt::format("plugin {} returned {} ({}) from {}, which is not valid there", plugin.name(), name,
                     static_cast<std::uint32_t>(code), observe::point_name(point));
}

}  // namespace berth::framework
