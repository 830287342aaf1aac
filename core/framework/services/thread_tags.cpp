// SPDX-License-Identifier: Apache-2.0
#include "framework/services/thread_tags.hpp"

#include <spdlog/fmt/fmt.h>

#include "framework/plugin_instance.hpp"
#include "framework/services/log_service.hpp"

namespace berth::framework {
namespace {

using observe::Point;

/// The tags of a call of that point, as the headers say.
std::uint32_t tags_of(Point point) noexcept {
  switch (point) {
    case Point::create:
    case Point::destroy:
      return tags::load;
    case Point::queue_key:
    case Point::queue_less:
    case Point::pre_enqueue:
    case Point::hint:
      return tags::watch;
    case Point::pre_filter:
    case Point::post_filter:
    case Point::pre_score:
    case Point::normalize_score:
    case Point::reserve:
    case Point::unreserve:
    case Point::permit:
    case Point::quorum:
      return tags::cycle;
    case Point::add_pod:
    case Point::remove_pod:
    case Point::state_clone:
      return tags::cycle | tags::worker;
    case Point::filter:
    case Point::score:
      return tags::worker;
    case Point::pre_bind_check:
    case Point::pre_bind:
    case Point::bind:
    case Point::post_bind:
    case Point::task:
      return tags::binder;
    case Point::none:
    case Point::loading:
    case Point::entry:
    case Point::state_free:
    case Point::group_of:
      break;
  }
  return 0;
}

std::string tag_names(std::uint32_t where) {
  constexpr const char* k_names[] = {"[load]", "[cycle]", "[worker]", "[binder]", "[watch]"};
  std::string out;
  for (std::size_t i = 0; i < std::size(k_names); ++i)
    if ((where >> i & 1) != 0) out += (out.empty() ? "" : " ") + std::string(k_names[i]);
  return out;
}

}  // namespace

bool is_allowed(const PluginInstance& plugin, std::string_view function, std::uint32_t where) {
  if (plugin.crumb().file == nullptr) return true;
  const observe::CrumbOwner* const owner = observe::t_breadcrumb.owner.load(std::memory_order_relaxed);
  // A host function that another plugin called has come back to this one: its own rules hold.
  if (owner != nullptr && owner != &plugin.crumb()) return true;
  const Point point = observe::current_point();
  if ((tags_of(point) & where) != 0) return true;
  log_misuse(plugin, Misuse::denied_call,
             fmt::format("{} was denied {}: it may be called from {}", function,
                         owner == nullptr ? std::string("in a thread of the plugin's own")
                                          : fmt::format("in {}", observe::point_name(point)),
                         tag_names(where)));
  return false;
}

}  // namespace berth::framework
