// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "support/api_server/api_objects.hpp"

namespace berth::tests {

/// One version of one object.
struct Stored {
  std::string ns, name, uid;
  std::uint64_t version = 0;
  std::string text;         // JSON, with the version in it
  std::string phase, node;  // pods: what field selectors ask for
};
using StoredPtr = std::shared_ptr<const Stored>;

struct Change {
  std::uint64_t version = 0;
  StoredPtr before, after;   // no before: created; no after: deleted
  std::int64_t wall_ns = 0;  // when
};

/// A refusal, as the Status object that a server answers with.
struct Refusal {
  int code = 500;
  std::string reason, message;
  std::string text() const;
};
template <typename T>
struct Outcome {
  std::optional<T> value;
  Refusal refusal = {};
  bool ok() const noexcept { return value.has_value(); }
};

struct BindRecord {
  std::string ns, name, uid, node;
  std::int64_t wall_ns = 0;
};

/// The objects of the test API server, with versions and history. Threads: any.
class ApiStore {
 public:
  explicit ApiStore(std::function<void(const ApiResource*)> on_change);

  const ApiResource* find(std::string_view group, std::string_view version, std::string_view plural) const;
  void add_resource(ApiResource resource);
  std::vector<const ApiResource*> resources() const;

  Outcome<StoredPtr> get(const ApiResource& resource, std::string_view ns, std::string_view name) const;
  Outcome<StoredPtr> create(const ApiResource& resource, std::string_view ns, json::value object);
  /// `subresource`: empty, or "status". Claims keep their status in writes of the object, and all else in writes of the status.
  /// `may_bind`: the writer may change allocations and reservations of claims.
  Outcome<StoredPtr> update(const ApiResource& resource, std::string_view ns, std::string_view name, json::value object,
                            std::string_view subresource = {}, bool may_bind = true);
  Outcome<StoredPtr> patch(const ApiResource& resource, std::string_view ns, std::string_view name,
                           const json::value& patch, bool strategic, bool status_only, bool may_bind = true);
  Outcome<StoredPtr> remove(const ApiResource& resource, std::string_view ns, std::string_view name,
                            const json::value& options);
  Outcome<StoredPtr> bind(std::string_view ns, std::string_view name, const json::value& binding);
  /// Pods whose grace period a kubelet would end.
  std::size_t finish_deletions();

  struct Page {
    std::vector<StoredPtr> objects;  // in the order of their keys
    std::uint64_t version = 0;
    std::string next_key;  // of the first object that was left out; empty: complete
  };
  Page list(const ApiResource& resource, std::string_view ns, std::string_view from_key, std::size_t limit) const;
  /// Changes after `version`, oldest first, at most `count`; nothing when they are not known any more.
  std::optional<std::vector<Change>> changes_after(const ApiResource& resource, std::uint64_t version,
                                                   std::size_t count) const;
  std::uint64_t version() const;
  /// Forgets history: a reader that is behind has to list again.
  void compact();

  std::vector<BindRecord> bindings() const;

 private:
  struct Collection {
    std::map<std::string, StoredPtr> objects;  // by "ns/name"
    std::deque<Change> history;
    std::uint64_t oldest_version = 0;  // changes up to it may be forgotten
  };
  static std::string key(const ApiResource& resource, std::string_view ns, std::string_view name);
  Outcome<StoredPtr> commit(const ApiResource& resource, Collection& collection, const StoredPtr& before,
                            json::value object);
  Outcome<StoredPtr> not_found(const ApiResource& resource, std::string_view name) const;
  void erase(const ApiResource& resource, Collection& collection, const StoredPtr& before);
  void record(const ApiResource& resource, Collection& collection, StoredPtr before, StoredPtr after);
  /// An object without finalizers that is being deleted goes with the write that takes the last one away.
  Outcome<StoredPtr> commit_or_erase(const ApiResource& resource, Collection& collection, const StoredPtr& before,
                                     json::value object);
  template <typename Apply>
  Outcome<StoredPtr> change(const ApiResource& resource, std::string_view ns, std::string_view name,
                            std::string_view verb_missing, Apply&& apply);

  const std::function<void(const ApiResource*)> on_change_;
  mutable std::mutex mutex_;  // guards all below
  std::deque<ApiResource> resources_;
  std::map<const ApiResource*, Collection> collections_;
  std::uint64_t version_ = 100;
  std::uint64_t next_uid_ = 1;
  std::vector<BindRecord> bindings_;
};

}  // namespace berth::tests
