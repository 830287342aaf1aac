// SPDX-License-Identifier: Apache-2.0
/// The objects of a watch, each decoded once per version, and indexes of them by fields of what they were decoded to.
///
///     struct Slice { std::string name, node; … };
///     berth::DecodedObjects<Slice> slices_(objects, watch, [](const berth_object_v1& object) { return …; });
///     const std::size_t by_node_ = slices_.add_index([](const Slice& slice, auto&& add) { add(slice.node); });
///     …
///     slices_.refresh();                                             // before anything that must be up to date
///     slices_.each_of(by_node_, "node-1", [](const Slice& slice) { … });
///
/// Follows Objects::changes, so a refresh costs what has changed, and what is assumed counts as the service says.
/// Threads: one at a time; the caller's lock guards it where there are several. The host is asked by read() and refresh() only:
/// a policy whose lock must not be held meanwhile calls read() without it and take() with it.
/// Source: kubernetes client-go tools/cache (Indexer), as an idea.
/// Errors:  what Decode throws; std::bad_alloc. After any of them a refresh begins where it began before.
/// Lifetime: objects are shared: a Pointer that was taken stays as it is, whatever comes later.
#pragma once
#include <berth/services.hpp>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth {
inline namespace sdk {

/// T is what a policy makes of an object, immutable. Owns the decoded objects and the indexes, which hold pointers to
/// the same.
template <class T>
class DecodedObjects {
 public:
  using Pointer = std::shared_ptr<const T>;  ///< what was decoded; good for as long as it is held
  /// Null: the object counts as not there. May throw: then nothing of the batch is taken, and the next refresh begins where this
  /// one did. [any]
  using Decode = std::function<Pointer(const berth_object_v1&)>;
  using Key = std::pair<std::string, std::string>;    ///< namespace and name
  using Add = std::function<void(std::string_view)>;  ///< borrowed text, copied by the index
  /// Calls add(text) for each text under which the object is to be found; none: it is not in the index.
  using Keys = std::function<void(const T& object, const Add& add)>;

  /// What has happened since some refresh, decoded.
  /// Made by read(), taken by take(): what lies between needs no lock. Holds the decoded objects.
  class Batch {
   public:
    /// Nothing has happened.
    bool empty() const noexcept { return changes_.empty(); }

   private:
    friend DecodedObjects;
    // starts_over: all that is known is forgotten; key and now mean nothing then.
    struct Change {
      Key key;
      bool starts_over = false;
      Pointer now;
    };
    std::uint64_t since_ = 0, next_ = 0;
    std::vector<Change> changes_;
  };

  /// `watch` is what Objects::watch returned. Nothing is read yet.
  DecodedObjects(Objects objects, std::uint32_t watch, Decode decode)
      : objects_(objects), watch_(watch), decode_(std::move(decode)) {}

  /// Before the first refresh. Returns the number of the index for each_of(). Keys is asked about an object when it
  /// comes and again when it goes, and must say the same.
  std::size_t add_index(Keys keys) {
    indexes_.push_back({std::move(keys), {}});
    return indexes_.size() - 1;
  }

  /// Asks the host what is new, and decodes it. Any thread, while any other function runs, except the destructor.
  Batch read() const {
    Batch batch;
    // No lock is held: what another take() does meanwhile shows when this batch is taken.
    batch.since_ = batch.next_ = seen_.load(std::memory_order_acquire);
    if (batch.since_ != 0 && objects_.epoch(watch_) == batch.since_) return batch;
    batch.next_ = objects_.changes(watch_, batch.since_, [&](auto ns, auto name, const berth_object_v1* now) {
      typename Batch::Change& change = batch.changes_.emplace_back();
      change.key = {std::string(ns), std::string(name)};
      // The host has forgotten too much: all objects follow.
      change.starts_over = name.empty() && now == nullptr;
      if (now != nullptr) change.now = decode_(*now);
    });
    return batch;
  }

  /// Takes up what read() found. False, and nothing is taken, when another batch was taken since: read again.
  /// on_change(const Key&, const Pointer& before, const Pointer& now) hears of each object that was, is, or both, after the indexes
  /// have it; a fresh start is told as the end of each object.
  template <class OnChange>
  bool take(Batch batch, OnChange&& on_change) {
    if (batch.since_ != seen_.load(std::memory_order_relaxed)) return false;
    for (typename Batch::Change& change : batch.changes_) {
      if (change.starts_over) {
        // Indexes first: on_change may look things up.
        for (auto& index : indexes_) index.entries.clear();
        for (const auto& [key, gone] : std::exchange(objects_by_key_, {})) on_change(key, gone, Pointer());
        continue;
      }
      put(change.key, std::move(change.now), on_change);
    }
    seen_.store(batch.next_, std::memory_order_release);
    return true;
  }

  /// read() and take(). Whether anything has changed. on_change as of take(); it must not throw.
  template <class OnChange>
  bool refresh(OnChange&& on_change) {
    Batch batch = read();
    const bool has_changes = !batch.empty();
    take(std::move(batch), on_change);
    return has_changes;
  }
  /// For policies that look things up only.
  bool refresh() {
    return refresh([](const Key&, const Pointer&, const Pointer&) {});
  }

  /// Objects that Decode accepted, as of the last refresh.
  std::size_t size() const noexcept { return objects_by_key_.size(); }
  /// Null: there is none. ns is empty for cluster-wide objects.
  Pointer find(std::string_view ns, std::string_view name) const {
    const auto at = objects_by_key_.find(View(ns, name));
    return at == objects_by_key_.end() ? nullptr : at->second;
  }
  /// visit(const Key&, const Pointer&) in namespace/name order.
  template <class Visit>
  void each(Visit&& visit) const {
    for (const auto& [key, object] : objects_by_key_) visit(key, object);
  }
  /// visit(const T&) of the objects that the index has under that text, in namespace/name order. Throws
  /// std::out_of_range for a number that add_index() did not return. visit must not refresh.
  template <class Visit>
  void each_of(std::size_t index, std::string_view text, Visit&& visit) const {
    const auto at = indexes_.at(index).entries.find(text);
    if (at == indexes_[index].entries.end()) return;
    for (const auto& [key, object] : at->second) visit(*object);
  }

 private:
  using View = std::pair<std::string_view, std::string_view>;
  // Finds by views, so that a look-up copies no text.
  struct Less {
    using is_transparent = void;
    static View view(const Key& key) noexcept { return {key.first, key.second}; }
    static View view(const View& key) noexcept { return key; }
    template <class A, class B>
    bool operator()(const A& a, const B& b) const noexcept {
      return view(a) < view(b);
    }
  };
  using ByKey = std::map<Key, Pointer, Less>;
  // By text, then by namespace and name, which is the order of visits.
  struct Index {
    Keys keys;
    std::map<std::string, ByKey, std::less<>> entries;
  };

  /// One object as it is now, in the map and the indexes.
  template <class OnChange>
  void put(const Key& key, Pointer now, OnChange& on_change) {
    const auto at = objects_by_key_.find(key);
    const Pointer before = at == objects_by_key_.end() ? nullptr : at->second;
    // It came and went in between, or Decode does not take it.
    if (before == nullptr && now == nullptr) return;
    for (Index& index : indexes_) {
      // Out of the index where it was, into it where it is now.
      if (before != nullptr)
        index.keys(*before, [&](std::string_view text) {
          const auto entry = index.entries.find(text);
          if (entry == index.entries.end()) return;
          entry->second.erase(key);
          if (entry->second.empty()) index.entries.erase(entry);
        });
      if (now != nullptr) index.keys(*now, [&](std::string_view text) { index.entries[std::string(text)][key] = now; });
    }
    if (now == nullptr) {
      objects_by_key_.erase(at);
    } else {
      objects_by_key_[key] = now;
    }
    on_change(key, before, now);
  }

  const Objects objects_;
  const std::uint32_t watch_;
  const Decode decode_;
  std::atomic<std::uint64_t> seen_{0};  ///< what changes() returned for the last batch taken
  // Guarded by the caller, as the indexes are; read() touches neither.
  ByKey objects_by_key_;
  std::vector<Index> indexes_;
};

}  // namespace sdk
}  // namespace berth
