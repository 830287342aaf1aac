// SPDX-License-Identifier: Apache-2.0
#include "framework/open_calls.hpp"

#include <algorithm>
#include <utility>

#include "base/guarded.hpp"

namespace berth::framework {

OpenCalls::Scope::Scope(OpenCalls* calls, model::PodPtr pod, const std::atomic<const model::Pod*>* at,
                        const char* point)
    : calls_(calls), pod_(std::move(pod)), at_(at), point_(point) {
  if (calls_ == nullptr) return;
  const Lock lock(calls_->mutex_);
  began_ns_ = calls_->clock_.monotonic_ns();
  before_ = calls_->last_;
  (before_ == nullptr ? calls_->first_ : before_->after_) = this;
  calls_->last_ = this;
}

OpenCalls::Scope::~Scope() {
  if (calls_ == nullptr) return;
  const Lock lock(calls_->mutex_);
  (before_ == nullptr ? calls_->first_ : before_->after_) = after_;
  (after_ == nullptr ? calls_->last_ : after_->before_) = before_;
}

std::string OpenCalls::Scope::pod_key() const {
  const model::Pod* const pod = at_ == nullptr ? pod_.get() : at_->load(std::memory_order_acquire);
  return pod == nullptr ? std::string() : pod->key();
}

std::vector<OpenCall> OpenCalls::all() const {
  std::vector<std::pair<const observe::Breadcrumb*, OpenCall>> found;
  {
    const Lock lock(mutex_);
    const std::int64_t now_ns = clock_.monotonic_ns();
    for (const Scope* scope = first_; scope != nullptr; scope = scope->after_) {
      // The thread is inside the scope, so its breadcrumb is there; whose it is may change at any moment.
      const observe::CrumbOwner* const owner = scope->crumb_->owner.load(std::memory_order_relaxed);
      if (owner == nullptr || owner->plugin == nullptr) continue;
      const observe::Point point = scope->crumb_->point.load(std::memory_order_relaxed);
      std::erase_if(found, [scope](const auto& outer) { return outer.first == scope->crumb_; });
      found.push_back({scope->crumb_,
                       {scope->point_ != nullptr ? scope->point_ : observe::point_name(point), owner->plugin,
                        scope->pod_key(), now_ns - scope->began_ns_}});
    }
  }
  std::vector<OpenCall> out;
  for (auto& [crumb, call] : found) out.push_back(std::move(call));
  std::stable_sort(out.begin(), out.end(), [](const OpenCall& a, const OpenCall& b) { return a.age_ns > b.age_ns; });
  return out;
}

}  // namespace berth::framework
