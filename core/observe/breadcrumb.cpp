// SPDX-License-Identifier: Apache-2.0
#include "observe/breadcrumb.hpp"

namespace berth::observe {

const char* point_name(Point point) noexcept {
  switch (point) {
    case Point::none:
      return "none";
    case Point::loading:
      return "loading";
    case Point::entry:
      return "entry";
    case Point::create:
      return "create";
    case Point::destroy:
      return "destroy";
    case Point::queue_key:
      return "queue_key";
    case Point::queue_less:
      return "queue_less";
    case Point::pre_enqueue:
      return "pre_enqueue";
    case Point::pre_filter:
      return "pre_filter";
    case Point::add_pod:
      return "add_pod";
    case Point::remove_pod:
      return "remove_pod";
    case Point::state_clone:
      return "state_clone";
    case Point::state_free:
      return "state_free";
    case Point::filter:
      return "filter";
    case Point::post_filter:
      return "post_filter";
    case Point::pre_score:
      return "pre_score";
    case Point::score:
      return "score";
    case Point::normalize_score:
      return "normalize_score";
    case Point::reserve:
      return "reserve";
    case Point::unreserve:
      return "unreserve";
    case Point::permit:
      return "permit";
    case Point::pre_bind_check:
      return "pre_bind_check";
    case Point::pre_bind:
      return "pre_bind";
    case Point::bind:
      return "bind";
    case Point::post_bind:
      return "post_bind";
    case Point::hint:
      return "hint";
    case Point::task:
      return "task";
    case Point::group_of:
      return "group_of";
    case Point::quorum:
      return "quorum";
  }
  return "unknown";
}

}  // namespace berth::observe
