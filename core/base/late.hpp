// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <optional>
#include <utility>

#include "base/check.hpp"
#include "base/guarded.hpp"

namespace berth {

/// A part that is made after those that call it, and ends before them: plugins call the queue that stands on them.
///
/// Place:   made first and whole; those that call the part are given this. Until the part is there, and after it, a
///          call finds nothing.
/// Threads: any. No lock is held during a call.
template <typename Part>
class Late {
 public:
  Late() = default;
  Late(const Late&) = delete;
  Late& operator=(const Late&) = delete;

  /// Calls use(const Part&) if the part is there; says whether it is.
  template <typename Use>
  bool with(Use&& use) const {
    const Visit visit(*this);
    if (visit.part() == nullptr) return false;
    std::forward<Use>(use)(*visit.part());
    return true;
  }

  /// While it lives, the part is there. Its end waits for the calls that are inside.
  class Presence {
   public:
    Presence(Late& late, Part part) : late_(late) {
      const Lock lock(late_.mutex_);
      BERTH_CHECK(!late_.part_, "it is there already");
      late_.part_.emplace(std::move(part));
      late_.is_there_ = true;
    }
    ~Presence() {
      UniqueLock lock(late_.mutex_);
      late_.is_there_ = false;
      late_.left_.wait(lock, [this]() REQUIRES(late_.mutex_) { return late_.inside_ == 0; });
      late_.part_.reset();
    }
    Presence(const Presence&) = delete;
    Presence& operator=(const Presence&) = delete;

   private:
    Late& late_;
  };

 private:
  class Visit {
   public:
    explicit Visit(const Late& late) : late_(late) {
      const Lock lock(late_.mutex_);
      if (!late_.is_there_) return;
      part_ = &*late_.part_;
      ++late_.inside_;
    }
    ~Visit() {
      if (part_ == nullptr) return;
      const Lock lock(late_.mutex_);
      if (--late_.inside_ == 0) late_.left_.notify_all();
    }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;
    const Part* part() const noexcept { return part_; }

   private:
    const Late& late_;
    const Part* part_ = nullptr;
  };

  mutable Mutex mutex_;  // a leaf
  mutable ConditionVariable left_;
  std::optional<Part> part_ GUARDED_BY(mutex_);  // stays as it is while calls are inside
  bool is_there_ GUARDED_BY(mutex_) = false;
  mutable std::size_t inside_ GUARDED_BY(mutex_) = 0;
};

}  // namespace berth
