// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>

#include "base/guarded.hpp"

// Internal to core/serving.
namespace berth::serving {

/// The connections that are open, and which of them goes when there is no room for another: the oldest of a caller whom
/// the gate has not admitted yet, then the one of an admitted caller that has been idle for the longest time. What is
/// being answered is never ended.
///
/// Threads:  any.
/// Lifetime: outlives the places in it.
class ConnectionTable {
 public:
  enum class Phase : std::uint8_t { shaking_hands, idle, reading, answering, writing };

 private:
  struct Entry {
    std::function<void()> end;
    Phase phase = Phase::shaking_hands;
    bool is_admitted = false, is_ending = false;
    std::uint64_t changed = 0;  // a number that grows with every change of a phase
  };

 public:
  /// `on_leave` is called after each connection that left, on whatever thread it did.
  explicit ConnectionTable(std::function<void()> on_leave) : on_leave_(std::move(on_leave)) {}

  /// A connection's place, until it ends.
  class Place {
   public:
    Place(ConnectionTable& table, std::function<void()> end);
    ~Place();
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    void enter(Phase phase);
    /// The gate has admitted this caller to pages that need credentials.
    void admit();

   private:
    ConnectionTable& table_;
    std::list<Entry>::iterator entry_;
  };

  std::size_t size() const;
  /// Ends the connection that matters least; false when there is none to end.
  bool end_one();

 private:
  const std::function<void()> on_leave_;
  mutable Mutex mutex_;
  std::list<Entry> entries_ GUARDED_BY(mutex_);  // the oldest first
  std::uint64_t changes_ GUARDED_BY(mutex_) = 0;
};

}  // namespace berth::serving
