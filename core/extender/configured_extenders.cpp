// SPDX-License-Identifier: Apache-2.0
#include "extender/configured_extenders.hpp"

#include <algorithm>

#include "base/product.hpp"
#include "base/url_text.hpp"
#include "extender/http_extender.hpp"

namespace berth::extender {

Result<std::unique_ptr<ConfiguredExtenders>, text::Diagnostics> ConfiguredExtenders::make(
    const config::Configuration& configuration, SymbolTable& symbols, std::function<void(bool waits)> on_wait) {
  if (configuration.extenders.empty()) return std::unique_ptr<ConfiguredExtenders>();
  text::Diagnostics diagnostics;
  std::unique_ptr<ConfiguredExtenders> made(
      new ConfiguredExtenders(configuration, symbols, std::move(on_wait), diagnostics));
  if (!diagnostics.empty()) return diagnostics;
  return made;
}

ConfiguredExtenders::ConfiguredExtenders(const config::Configuration& configuration, SymbolTable& symbols,
                                         std::function<void(bool waits)> on_wait, text::Diagnostics& diagnostics)
    : io_(1, "extenders"),
      all_(those_of(configuration, symbols, diagnostics), configuration.legacy.max_node_score, std::move(on_wait)) {}

/// Those that can be used. Requires: clock and I/O threads are there.
std::vector<std::unique_ptr<Extender>> ConfiguredExtenders::those_of(const config::Configuration& configuration,
                                                                     SymbolTable& symbols,
                                                                     text::Diagnostics& diagnostics) {
  const HttpExtender::Parts parts{io_,
                                  clock_,
                                  symbols,
                                  process_environment(),
                                  user_agent(),
                                  std::make_shared<NodeBodies>(),
                                  configuration.legacy.max_node_score == k_extender_score_max};
  std::vector<std::unique_ptr<Extender>> extenders;
  for (const config::Extender& extender : configuration.extenders) {
    Result<std::unique_ptr<HttpExtender>> one = HttpExtender::make(extender, parts);
    if (one.ok())
      extenders.push_back(std::move(*one));
    else
      diagnostics.add(fmt::format("{}: extender {} cannot be used: {}", extender.where,
                                  url_without_password(extender.url_prefix), one.error().message));
  }
  return extenders;
}

}  // namespace berth::extender
