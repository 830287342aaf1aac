// SPDX-License-Identifier: Apache-2.0
#include "app/recording/description.hpp"

#include <functional>
#include <map>

#include "base/product.hpp"
#include "base/url_text.hpp"
#include "config/completed.hpp"
#include "recording/frames.hpp"
#include "text/json_writer.hpp"
#include "text/parse.hpp"

namespace berth::app {

config::Configuration without_secrets(config::Configuration configuration) {
  for (config::Extender& extender : configuration.extenders) {
    extender.url_prefix = url_without_password(extender.url_prefix);
    if (extender.tls && !extender.tls->key_data.empty()) extender.tls->key_data = "REDACTED";
  }
  return configuration;
}

std::string description_json(const config::RawConfiguration& raw, const config::Configuration& configuration,
                             const PluginLibrary& plugins) {
  text::JsonWriter out;
  out.begin_object();
  out.key("format").number(recording::k_version);
  out.key("berth").text(product_version());
  out.key("upstream").text(k_upstream_version);
  out.key("plugins").begin_list();
  for (const auto& [library, plugin] : plugins.plugins.all()) {
    out.begin_object();
    out.key("name").text(plugin->name);
    out.key("file").text(std::string_view(library->path).substr(library->path.rfind('/') + 1));
    out.key("sha256").text(library->sha256);
    out.end_object();
  }
  out.end_list();
  out.key("configuration").text(config::completed_yaml(raw, without_secrets(configuration)));
  out.end_object();
  return out.take();
}

std::string recorded_configuration(const std::string& description) {
  text::Diagnostics malformed;
  const auto documents = text::parse_json(description, "description", malformed);
  return documents.empty() ? std::string() : std::string(documents.front().root().text_at("configuration"));
}

std::vector<std::string> changed_plugins(const std::string& description, const PluginLibrary& plugins) {
  std::map<std::string, std::string, std::less<>> recorded;
  text::Diagnostics malformed;
  const auto documents = text::parse_json(description, "description", malformed);
  if (documents.empty()) return {};
  if (const text::Value* const list = documents.front().root().find("plugins"); list != nullptr && list->is_sequence())
    for (const text::Value& plugin : list->elements())
      if (const auto* name = plugin.find("name"), *sha256 = plugin.find("sha256");
          name != nullptr && sha256 != nullptr && name->is_string() && sha256->is_string())
        recorded.emplace(name->text(), sha256->text());
  std::vector<std::string> changed;
  for (const auto& [library, plugin] : plugins.plugins.all())
    if (const auto known = recorded.find(std::string_view(plugin->name));
        known != recorded.end() && known->second != library->sha256)
      changed.emplace_back(plugin->name);
  return changed;
}

}  // namespace berth::app
