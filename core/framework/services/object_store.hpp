// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/guarded.hpp"
#include "base/result.hpp"
#include "model/object.hpp"

namespace berth::framework {

/// Type of a projected field; numbers of the plugin ABI.
enum class FieldType : std::uint32_t { text = 1, integer = 2, boolean = 3, quantity = 4, json = 5, milli = 6 };
struct Field {
  std::string path;
  FieldType type = FieldType::text;
  friend bool operator==(const Field&, const Field&) = default;
};
struct FieldValue {
  bool present = false;
  std::int64_t number = 0;
  std::string text;
  std::uint32_t type = 0;  // of the field, or k_unreadable: something is there that is not of the type; 0: nothing
  static constexpr std::uint32_t k_unreadable = 0xffffffff;
};
/// What a watcher sees of one object.
struct Projection {
  std::string ns, name, uid;
  std::uint64_t version = 0;
  std::uint64_t resource_version = 0;  // metadata.resourceVersion; 0: none that counts
  std::vector<FieldValue> values;
};
using ProjectionPtr = std::shared_ptr<const Projection>;
/// Cuts fields out of an object's JSON. Passed in, because reading JSON is core/text's.
using Projector = std::function<std::vector<FieldValue>(const model::Object& object, const std::vector<Field>& fields)>;

/// Watched API objects as the fields that plugins asked for, with an overlay of what is assumed to have been written.
///
/// Place:   plugins declare watches at start through berth.objects/1; ingest feeds it. Whole objects are not kept.
/// Threads: synchronises itself. visit and use callbacks run without the lock, on a version that stays alive for them.
class ObjectStore {
 public:
  using WatchId = std::uint32_t;

  /// Hears of what a write answered with, before the watch delivers it; called without a lock. May be empty.
  using OnWritten = std::function<void(const model::ObjectPtr& object)>;

  explicit ObjectStore(Projector projector, OnWritten on_written = {})
      : projector_(std::move(projector)), on_written_(std::move(on_written)) {}

  /// Declares a watch; equal declarations share one. [load]
  WatchId watch(std::string resource, std::vector<Field> fields);
  std::vector<std::string> resources() const;  // distinct, sorted
  /// Paths that watches of the resource ask for; some may stand there twice.
  std::vector<std::string> fields_of(std::string_view resource) const;
  const std::string& resource_of(WatchId watch) const;
  /// Those that follow a resource.
  std::vector<WatchId> watches_of(std::string_view resource) const;

  void apply(const model::Object& object);
  void remove(const model::Object& object);
  /// Projects an object for one watch without storing it (for hints).
  ProjectionPtr project(WatchId watch, const model::Object& object) const;

  ProjectionPtr get(WatchId watch, std::string_view ns, std::string_view name) const;
  /// In namespace/name order; ns empty: all. visit answers whether to go on.
  void each(WatchId watch, std::string_view ns, const std::function<bool(const Projection&)>& visit) const;
  std::uint64_t epoch(WatchId watch) const;
  /// Grows with every change of any watch.
  std::uint64_t epoch() const;

  /// Visits what changed after `since`, each object once and as it is seen now; null: it is gone. Returns the next
  /// `since`. Where the journal does not reach back, the first visit is ("", "", null) and all objects follow.
  std::uint64_t changes(
      WatchId watch, std::uint64_t since,
      const std::function<void(std::string_view ns, std::string_view name, const Projection*)>& visit) const;
  /// What the journals of changes take: k_journal_bytes_max for each watch.
  std::size_t journal_bytes() const;
  static constexpr std::size_t k_journal_bytes_max = std::size_t{1} << 20;
  /// The stored object, whatever is assumed.
  ProjectionPtr actual(WatchId watch, std::string_view ns, std::string_view name) const;

  /// Overlay: NotFound or a version that is not the stored one is refused.
  Status assume(WatchId watch, std::string_view ns, std::string_view name, std::uint64_t version,
                std::vector<FieldValue> values);
  void forget(WatchId watch, std::string_view ns, std::string_view name);
  /// Overlay with the object that a write answered with, until that version or a later one is applied. Refused: NotFound, and
  /// out of sync where what is seen is newer.
  Status assume_written(WatchId watch, std::string json);

 private:
  using Key = std::pair<std::string, std::string>;
  struct Stored {
    ProjectionPtr actual, assumed;
    bool is_written = false;  // what is assumed has a version of its own
    const ProjectionPtr& seen() const noexcept { return assumed ? assumed : actual; }
  };
  struct Watch {
    std::string resource;
    std::vector<Field> fields;
    std::map<Key, Stored> objects;
    std::uint64_t epoch = 1;
    std::deque<std::pair<std::uint64_t, Key>> journal;  // by epoch
    std::uint64_t journal_start = 1;                    // changes after this epoch are in the journal
    std::size_t journal_bytes = 0;

    void note(std::uint64_t now, Key key);
  };
  static constexpr std::size_t k_journal_capacity = 1 << 16;

  static std::size_t bytes_of(const Key& key) noexcept;
  std::shared_ptr<Projection> projected(const model::Object& object, const std::vector<Field>& fields) const;

  Status assume_newer(Watch& watch, const model::Object& object) REQUIRES(mutex_);

  const Projector projector_;
  const OnWritten on_written_;
  mutable SharedMutex mutex_;
  std::vector<std::unique_ptr<Watch>> watches_ GUARDED_BY(mutex_);
  std::uint64_t epoch_ GUARDED_BY(mutex_) = 1;
  std::uint64_t next_version_ GUARDED_BY(mutex_) = 1;
};

}  // namespace berth::framework
