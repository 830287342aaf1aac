// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <atomic>
#include <deque>
#include <optional>
#include <thread>
#include <unordered_map>

#include "base/guarded.hpp"
#include "cluster/embedded/claim_controller.hpp"
#include "cluster/embedded/embedded_cluster.hpp"
#include "cluster/embedded/embedded_store.hpp"
#include "cluster/embedded/pod_writes.hpp"
#include "cluster/embedded/volume_controller.hpp"
#include "text/parse.hpp"

namespace berth::cluster {

inline std::string pod_key(std::string_view ns, std::string_view name) {
  return std::string(ns).append("/").append(name);
}
inline std::string object_key(std::string_view resource, std::string_view ns, std::string_view name) {
  return std::string(resource).append("/").append(pod_key(ns, name));
}
inline std::string key_of_pod(const model::Pod& pod) { return pod.key(); }
inline std::string key_of_node(const model::Node& node) { return node.name; }
inline std::string key_of_object(const model::Object& object) {
  return object_key(object.resource, object.ns, object.name);
}

/// What a watch shows when a pod stood at `before` and now stands at `after`; null is gone. Finished pods are not
/// shown.
inline std::function<void(ClusterSink&)> pod_news(model::PodPtr before, model::PodPtr after) {
  const bool was = before != nullptr && !before->finished();
  const bool is = after != nullptr && !after->finished();
  if (was && is && before->uid != after->uid) {
    return [before = std::move(before), after = std::move(after)](ClusterSink& sink) {
      sink.pod_deleted(before);
      sink.pod_added(after);
    };
  }
  if (was && is)
    return
        [before = std::move(before), after = std::move(after)](ClusterSink& sink) { sink.pod_updated(before, after); };
  if (is) return [after = std::move(after)](ClusterSink& sink) { sink.pod_added(after); };
  if (was) return [before = std::move(before)](ClusterSink& sink) { sink.pod_deleted(before); };
  return nullptr;
}

/// What an embedded cluster holds, and the news of it that were not delivered yet. Internal to core/cluster/embedded.
struct EmbeddedCluster::Store {
  /// Either a change that the sink hears of, or the end of a write.
  struct News {
    std::function<void(ClusterSink&)> change;
    Done done;
    Status outcome = Unit{};
    std::function<void()> answer = nullptr;  // the end of a write that is answered with an object
  };

  Store(SymbolTable& table, const Clock& its_clock, Options its_options)
      : symbols(table), clock(its_clock), options(std::move(its_options)) {}

  // Constant after construction.
  SymbolTable& symbols;
  const Clock& clock;
  const Options options;

  mutable Mutex mutex;  // leaf of the lock order
  OrderedObjects<model::PodPtr, key_of_pod> pods GUARDED_BY(mutex);
  OrderedObjects<model::NodePtr, key_of_node> nodes GUARDED_BY(mutex);
  OrderedObjects<model::ObjectPtr, key_of_object> objects GUARDED_BY(mutex);
  std::deque<News> news GUARDED_BY(mutex);
  std::vector<RecordedWrite> writes GUARDED_BY(mutex);
  ClusterSink* sink GUARDED_BY(mutex) = nullptr;
  std::unordered_map<std::string, std::string> volume_of_claim
      GUARDED_BY(mutex);  // with volume_controller: by "namespace/name"
  struct Deletion {
    std::int64_t due_ns;
    std::string ns, name, uid;
  };
  std::vector<Deletion> deletions GUARDED_BY(mutex);  // of pods that were evicted and are terminating
  std::uint64_t last_version GUARDED_BY(mutex) = 0;
  std::size_t bound_count GUARDED_BY(mutex) = 0;

  Mutex delivering;  // held by the thread in deliver(); taken before `mutex`
  std::atomic<std::thread::id> deliverer{};

  std::string next_version() REQUIRES(mutex) { return std::to_string(++last_version); }
  /// Versions grow, whatever those of the objects are that were put.
  void note_version(std::uint64_t version) REQUIRES(mutex) { last_version = std::max(last_version, version); }

  void tell(std::function<void(ClusterSink&)> change) REQUIRES(mutex) {
    if (sink != nullptr && change) news.push_back({std::move(change), nullptr, Unit{}});
  }
  void replace_pod(const std::string& key, const model::PodPtr& before, model::Pod after) REQUIRES(mutex) {
    after.resource_version = next_version();
    auto shared = std::make_shared<const model::Pod>(std::move(after));
    pods.put(key, shared);
    tell(pod_news(before, std::move(shared)));
  }

  std::optional<Error> refusal(RecordedWrite::Kind kind, std::string_view key) const REQUIRES(mutex) {
    return options.refuse ? options.refuse(kind, key) : std::nullopt;
  }

  void replace_object(model::Object object) REQUIRES(mutex) {
    object.resource_version = next_version();
    object.json = with_version(object);
    auto shared = std::make_shared<const model::Object>(std::move(object));
    const model::ObjectPtr before = objects.put(object_key(shared->resource, shared->ns, shared->name), shared);
    tell([before, shared](ClusterSink& to) {
      before == nullptr ? to.object_added(shared) : to.object_updated(before, shared);
    });
    note_claim(*shared);
  }
  static std::string with_version(const model::Object& object) {
    text::Diagnostics diagnostics;
    const auto target = text::parse_json(object.json, object.name, diagnostics);
    const auto change = text::parse_json(
        fmt::format(R"({{"metadata":{{"resourceVersion":"{}"}}}})", object.resource_version), "patch", diagnostics);
    BERTH_CHECK(target.size() == 1 && change.size() == 1, "{} is kept as JSON that does not parse", object.name);
    return text::merge_json(&target[0].root(), change[0].root());
  }
  /// Remembers which volume names which claim.
  void note_claim(const model::Object& object) REQUIRES(mutex) {
    if (!options.volume_controller || object.resource != k_volumes) return;
    const std::string claim = VolumeController::claim_of(object);
    std::erase_if(volume_of_claim,
                  [&](const auto& entry) { return entry.second == object.name && entry.first != claim; });
    if (!claim.empty()) volume_of_claim[claim] = object.name;
  }
  /// The pod as it is when its claims are made.
  model::PodPtr with_claims(model::PodPtr pod) REQUIRES(mutex) {
    if (!options.claim_controller || pod->spec->resource_claims.empty()) return pod;
    std::uint64_t next = last_version;  // each is stored with a version of its own
    ClaimController::Made made = ClaimController::instantiate(
        *pod,
        [this](std::string_view resource, std::string_view ns, std::string_view name)
            REQUIRES(mutex) { return objects.find(object_key(resource, ns, name)); },
        [&next] { return ++next; });
    for (model::Object& claim : made.claims) replace_object(std::move(claim));
    return made.pod == nullptr ? pod : made.pod;
  }
  /// What a pod that is gone had reserved is free.
  void release_claims(const model::Pod& pod) REQUIRES(mutex) {
    if (!options.claim_controller) return;
    std::vector<model::ObjectPtr> claims = objects.all();
    std::erase_if(claims, [&](const model::ObjectPtr& object) {
      return object->resource != k_resource_claims || object->ns != pod.ns.get();
    });
    ClaimController::Released released = ClaimController::release(pod, claims);
    for (model::Object& claim : released.changed) replace_object(std::move(claim));
    for (const model::ObjectPtr& claim : released.gone) {
      objects.remove(object_key(claim->resource, claim->ns, claim->name));
      tell([claim](ClusterSink& to) { to.object_deleted(claim); });
    }
  }
  /// The controllers' answer to a new state of an object.
  void control_volumes(const model::Object& object) REQUIRES(mutex) {
    if (!options.volume_controller) return;
    const VolumeController::Cluster cluster{
        [this](std::string_view resource, std::string_view ns, std::string_view name)
            REQUIRES(mutex) { return objects.find(object_key(resource, ns, name)); },
        [this](std::string_view ns, std::string_view name) REQUIRES(mutex) {
          const auto found = volume_of_claim.find(pod_key(ns, name));
          return found == volume_of_claim.end() ? std::string() : found->second;
        },
        [this](std::string_view node, std::string_view key) REQUIRES(mutex) -> std::string {
          const model::NodePtr found = nodes.find(std::string(node));
          if (found == nullptr) return {};
          const Symbol symbol = symbols.intern(key);
          for (const model::Label& label : found->labels)
            if (label.key == symbol) return std::string(symbols.text(label.value));
          return {};
        }};
    for (VolumeController::Change& change : VolumeController::react(object, cluster)) {
      model::Object next;
      next.resource = std::move(change.resource);
      next.ns = std::move(change.ns);
      next.name = std::move(change.name);
      next.uid = std::move(change.uid);
      next.json = std::move(change.json);
      replace_object(std::move(next));
    }
  }
  /// What an API server makes of a write to an object. Defined in object_writes.cpp.
  Result<std::string> write_object(const ObjectWrite& write) REQUIRES(mutex);
  Result<std::string> create_object(const ObjectWrite& write) REQUIRES(mutex);
  Result<std::string> change_object(const ObjectWrite& write, const model::Object& before) REQUIRES(mutex);
  Result<std::string> remove_object(const ObjectWrite& write, const model::Object& before) REQUIRES(mutex);
  Result<std::string> patch_pod_status(const ObjectWrite& write) REQUIRES(mutex);
  std::string store_object(model::Object object, std::string json) REQUIRES(mutex);

  Status patch(const ObjectRef& ref, std::string_view merge_patch_json) REQUIRES(mutex) {
    const model::ObjectPtr before = objects.find(object_key(ref.resource, ref.ns, ref.name));
    const std::string plural = ref.resource.substr(ref.resource.rfind('/') + 1);
    if (before == nullptr) return Error{fmt::format("{} \"{}\" not found", plural, ref.name), ErrorCode::not_found};
    text::Diagnostics diagnostics;
    const auto target = text::parse_json(before->json, ref.name, diagnostics);
    const auto change = text::parse_json(merge_patch_json, "patch", diagnostics);
    if (target.size() != 1 || change.size() != 1 || !change[0].root().is_mapping())
      return Error{"the patch is not a JSON object: " + diagnostics.render(), ErrorCode::invalid};
    const auto differs = [&](std::string_view path, const std::string& now) {
      const text::Value* wanted = change[0].root().find_path(path);
      return wanted != nullptr && !wanted->text().empty() && wanted->text() != now;
    };
    if (differs("metadata.resourceVersion", before->resource_version) || differs("metadata.uid", before->uid))
      return Error{
          fmt::format("Operation cannot be fulfilled on {} \"{}\": the object has been modified; please apply your "
                      "changes to the latest version and try again",
                      plural, ref.name),
          ErrorCode::conflict};
    model::Object after = *before;
    after.json = text::merge_json(&target[0].root(), change[0].root());
    replace_object(std::move(after));
    control_volumes(*objects.find(object_key(ref.resource, ref.ns, ref.name)));
    return Unit{};
  }

  /// One write: `change` gets the pod and the lock, and returns what the pod becomes. The outcome is queued before the news.
  template <typename Change>
  void write(RecordedWrite record, Done done, Change&& change) {
    {
      const Lock lock(mutex);
      const std::string key = pod_key(record.pod.ns, record.pod.name);
      const model::PodPtr before = pods.find(key);
      Status outcome = Unit{};
      const auto error = refusal(record.kind, key);
      const std::size_t answer = news.size();
      news.push_back({nullptr, std::move(done), Unit{}});
      if (error) {
        outcome = *error;
      } else if (before == nullptr) {
        outcome = not_found(record.pod.name);
      } else {
        outcome = change(key, before);
      }
      news[answer].outcome = outcome;
      keep(std::move(record), outcome);
    }
    wake();
  }

  void keep(RecordedWrite record, const Status& outcome) REQUIRES(mutex) {
    if (!options.record_writes) return;
    record.outcome = outcome;
    record.wall_ns = clock.wall_ns();
    writes.push_back(std::move(record));
  }

  void wake() const {
    if (options.wake) options.wake();
  }
};

}  // namespace berth::cluster
