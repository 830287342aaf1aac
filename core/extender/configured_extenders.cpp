// SPDX-License-Identifier: Apache-2.0
#include "extender/configured_extenders.hpp"

#include <algorithm>

#include "base/product.hpp"
#include "base/url_text.hpp"
#include "extender/http_extender.hpp"

namespace berth::extender {

std::unique_ptr<ConfiguredExtenders> ConfiguredExtenders::make(const config::Configuration& configuration,
                                                               SymbolTable& symbols,
                                                               std::function<void(bool waits)> on_wait,
                                                               std::vector<std::string>& complaints) {
  if (configuration.extenders.empty()) return nullptr;
  std::unique_ptr<ConfiguredExtenders> made(new ConfiguredExtenders);
  const extender::HttpExtender::Parts parts{made->io_,
                                            made->clock_,
                                            symbols,
                                            process_environment(),
                                            user_agent(),
                                            std::make_shared<extender::NodeBodies>(),
                                            configuration.legacy.max_node_score == extender::k_extender_score_max};
  std::vector<std::unique_ptr<extender::Extender>> extenders;
  const std::size_t complaints_before = complaints.size();
  for (const config::Extender& extender : configuration.extenders) {
    Result<std::unique_ptr<extender::HttpExtender>> one = extender::HttpExtender::make(extender, parts);
    if (one.ok())
      extenders.push_back(std::move(*one));
    else
      complaints.push_back(fmt::format("{}: extender {} cannot be used: {}", extender.where,
                                       url_without_password(extender.url_prefix), one.error().message));
  }
  if (complaints.size() != complaints_before) return nullptr;
  made->all_ = std::make_unique<extender::Extenders>(std::move(extenders), configuration.legacy.max_node_score,
                                                     std::move(on_wait));
  return made;
}

}  // namespace berth::extender
