// SPDX-License-Identifier: Apache-2.0
#include "framework/services/debug_pages.hpp"

#include <algorithm>
#include <array>

#include "framework/plugin_call.hpp"
#include "framework/plugin_instance.hpp"
#include "framework/services/service_tables.hpp"

namespace berth::framework {
namespace {

/// The host's own.
constexpr std::array<std::string_view, 5> k_own_pages{"cache", "flags", "plugins", "pods", "queue"};
constexpr std::size_t k_name_bytes_max = 63;

bool is_page_name(std::string_view name) {
  return !name.empty() && name.size() <= k_name_bytes_max && name.front() >= 'a' && name.front() <= 'z' &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
}

struct PageText {
  std::string text;
  bool is_too_long = false;

  static berth_code append(void* out, berth_str piece) {
    auto& page = *static_cast<PageText*>(out);
    if (page.is_too_long || piece.len > DebugPages::k_page_bytes_max - page.text.size()) {
      page.is_too_long = true;
      return BERTH_ERROR;
    }
    page.text.append(piece.ptr, piece.len);
    return BERTH_OK;
  }
};

constexpr berth_debug_pages_v1 k_debug_pages{
    sizeof(berth_debug_pages_v1), 0, [](void* ctx, berth_str name, DebugPages::Write write, void* arg) -> berth_code {
      const auto& plugin = *static_cast<PluginInstance*>(ctx);
      if (!plugin.loading()) return BERTH_DENIED;
      if (write == nullptr) return BERTH_BAD_ARGS;
      switch (plugin.host().debug_pages.offer(plugin, from_abi(name), write, arg)) {
        case DebugPages::Offered::accepted:
          return BERTH_OK;
        case DebugPages::Offered::taken:
          return BERTH_CONFLICT;
        case DebugPages::Offered::not_a_name:
          break;
      }
      return BERTH_BAD_ARGS;
    }};

}  // namespace

const void* debug_pages_service() noexcept { return &k_debug_pages; }

DebugPages::Offered DebugPages::offer(const PluginInstance& by, std::string_view name, Write write, void* arg) {
  if (!is_page_name(name)) return Offered::not_a_name;
  if (std::find(k_own_pages.begin(), k_own_pages.end(), name) != k_own_pages.end()) return Offered::taken;
  const Lock lock(mutex_);
  const auto [page, is_new] = pages_.emplace(name, Page{&by, write, arg});
  return is_new || page->second.by->name() == by.name() ? Offered::accepted : Offered::taken;
}

std::vector<std::string> DebugPages::names() const {
  const Lock lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, page] : pages_) names.push_back(name);
  return names;
}

Result<std::string> DebugPages::render(std::string_view name) const {
  Page page;
  {
    const Lock lock(mutex_);
    const auto known = pages_.find(name);
    if (known == pages_.end()) return Error{fmt::format("no plugin has a page {}", name), ErrorCode::not_found};
    page = known->second;
  }
  const observe::BreadcrumbNesting nesting;
  PageText out;
  Note note;
  const Code code = call_plugin(*page.by, observe::Point::task, note,
                                [&] { return page.write(page.arg, &PageText::append, &out, note.abi()); });
  if (out.is_too_long)
    return Error{fmt::format("plugin {} has more to show than {} MiB", page.by->name(), k_page_bytes_max >> 20)};
  if (code != Code::success) return Error{fmt::format("plugin {} shows no page: {}", page.by->name(), note.text())};
  return std::move(out.text);
}

}  // namespace berth::framework
