// SPDX-License-Identifier: Apache-2.0
/// What searches found, kept between pods that ask for the same: by shape of the claims and by node, for as long as the node's
/// pools and the devices in use among theirs stay as they were. What is found again is what a new search would find: the same
/// devices in the same order. Errors and searches that were broken off are never kept.
///
/// A shape is what determines a search, as texts: the specs of the claims to allocate, in order, and the versions of the classes
/// that they name. Names of claims are no part of it, so errors of a shape name the claims that it was made of.
#pragma once
#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "../../guarded.hpp"
#include "allocator.hpp"

namespace berth::dra {

/// Of all shapes of a ClaimShapes. Threads: any.
struct ClaimShapeUse {
  std::atomic<std::size_t> bytes{0};
};

/// Threads: prepare() one, while no other call runs; find() and keep() any, each slot by one thread at a time.
class ClaimShape {
 public:
  using Classes = std::vector<std::pair<std::string, std::shared_ptr<const DeviceClass>>>;

  ClaimShape(std::vector<std::shared_ptr<const PreparedClaim>> claims, Classes classes,
             std::shared_ptr<ClaimShapeUse> use, std::size_t bytes_max, std::size_t own_bytes);
  ~ClaimShape();
  ClaimShape(const ClaimShape&) = delete;
  ClaimShape& operator=(const ClaimShape&) = delete;

  const std::vector<std::shared_ptr<const PreparedClaim>>& claims() const { return claims_; }
  /// By name, as they were; null: there was none.
  const Classes& classes() const { return classes_; }

  struct Kept {
    std::uint64_t pools = 0;  ///< serial; 0: nothing is kept
    std::uint64_t changed = 0;
    Outcome::Kind kind = Outcome::Kind::no_solution;
    std::shared_ptr<const Allocation> allocation;
  };
  /// Makes room for the slots. Only what has room is kept.
  void prepare(std::size_t slots);
  /// Null: a search is necessary.
  const Kept* find(std::size_t slot, const NodePools& pools, const AllocatedState& state) const;
  /// Takes an outcome that may be kept, and nothing else.
  void keep(std::size_t slot, const NodePools& pools, const AllocatedState& state, const Outcome& outcome);

 private:
  const std::vector<std::shared_ptr<const PreparedClaim>> claims_;
  const Classes classes_;
  const std::shared_ptr<ClaimShapeUse> use_;
  const std::size_t bytes_max_;
  std::atomic<std::size_t> bytes_{0};
  std::vector<Kept> by_slot_;
};

/// The shapes of a plugin instance, at most so many bytes: those that were used last. Threads: any.
class ClaimShapes {
 public:
  static constexpr std::size_t k_bytes_max = std::size_t{64} << 20;
  static constexpr std::size_t k_shapes_max = 256;
  static constexpr std::size_t k_program_bytes_max = std::size_t{16} << 20;  ///< of their compiled selectors
  static constexpr std::size_t k_key_bytes_max = std::size_t{64} << 10;

  /// `bytes_max` 0: nothing is kept, every search is made.
  explicit ClaimShapes(std::size_t bytes_max = k_bytes_max)
      : bytes_max_(bytes_max), use_(std::make_shared<ClaimShapeUse>()) {}

  /// The shape of claims with these specs; made of `claims` if there is none, or if a class has changed. Never null.
  std::shared_ptr<ClaimShape> get(const std::vector<std::string_view>& specs,
                                  const std::vector<std::shared_ptr<const Claim>>& claims, const ClassLookup& classes,
                                  cel::ProgramCache& programs);
  /// Forgets what was found with another inventory.
  void use(const std::shared_ptr<const Inventory>& inventory);
  /// Of all shapes together, those included that a cycle still uses.
  std::size_t bytes() const { return use_->bytes.load(std::memory_order_relaxed); }

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<ClaimShape> shape;
    std::size_t program_bytes = 0;
  };
  void make_room() REQUIRES(mutex_);

  const std::size_t bytes_max_;
  const std::shared_ptr<ClaimShapeUse> use_;
  guarded::Mutex mutex_;
  std::shared_ptr<const Inventory> inventory_ GUARDED_BY(mutex_);
  std::list<Entry> entries_ GUARDED_BY(mutex_);  // the last used first
  std::size_t program_bytes_ GUARDED_BY(mutex_) = 0;
  std::unordered_map<std::string_view, std::list<Entry>::iterator> by_key_ GUARDED_BY(mutex_);
};

}  // namespace berth::dra
