// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "model/pod.hpp"

namespace berth::cluster {

/// True of a write that failed because what it was about does not exist any more.
inline bool is_gone(const Status& status) { return !status.ok() && status.error().code == ErrorCode::not_found; }

/// Which pod a write is about. The uid is a precondition: a pod of that name with another uid is a Conflict. Empty:
/// none.
struct PodRef {
  std::string ns, name, uid;
  /// Of the pod that waits for the write: among writes that wait, those for higher ones go first. Nothing: the pod's own.
  std::optional<std::int32_t> priority = {};
  static PodRef of(const model::Pod& pod) { return {pod.ns, pod.name, pod.uid, pod.priority}; }
  /// The same pod, for a write that another one waits for.
  PodRef for_sake_of(const model::Pod& other) const { return {ns, name, uid, other.priority}; }
  friend bool operator==(const PodRef& a, const PodRef& b) {
    return a.ns == b.ns && a.name == b.name && a.uid == b.uid;
  }
};

/// Which other object a write is about: "core/v1/persistentvolumes", no namespace for cluster-wide ones.
struct ObjectRef {
  std::string resource, ns, name;
  friend bool operator==(const ObjectRef&, const ObjectRef&) = default;
};

/// A request about one API object, answered with the object as it is afterwards.
struct ObjectWrite {
  enum class Verb : std::uint8_t { create, update, merge_patch, strategic_patch, remove, read };
  Verb verb = Verb::read;
  ObjectRef object = {};         // no name: create() makes one of metadata.generateName, or takes metadata.name
  std::string subresource = {};  // "status", or empty
  std::string body = {};         // JSON; of an update metadata.resourceVersion is what is replaced
  std::string uid = {};          // remove: a precondition; empty: none
};

/// Changes of a pod's status. What is not set stays.
struct PodStatusPatch {
  /// Replaces the condition of that type, or is appended.
  std::vector<model::PodCondition> conditions = {};
  std::int64_t observed_generation = 0;  // of the conditions; 0: none
  /// Empty text clears the nomination.
  std::optional<std::string> nominated_node = {};
  /// A JSON merge patch of the status subresource, in addition to the fields above; empty: none.
  std::string merge_json = {};
  bool urgent = false;  // a pod or a plugin waits for it: it is no mere message
  /// The same content; urgency is none.
  friend bool operator==(const PodStatusPatch& a, const PodStatusPatch& b) {
    return a.conditions == b.conditions && a.observed_generation == b.observed_generation &&
           a.nominated_node == b.nominated_node && a.merge_json == b.merge_json;
  }
};

/// Labels and annotations to set, or to remove where the value is absent.
struct PodMetadataPatch {
  struct Entry {
    std::string key;
    std::optional<std::string> value;
  };
  std::vector<Entry> labels = {};
  std::vector<Entry> annotations = {};
};

/// An events.k8s.io/v1 event about a pod. Repeats are folded by the writer, as upstream's broadcaster does.
struct EventRecord {
  bool warning = false;
  PodRef regarding = {};
  std::string reason = {};      // "Scheduled", "FailedScheduling", "Preempted"
  std::string action = {};      // "Binding", "Scheduling", "Preempting"
  std::string note = {};        // at most 1024 bytes; the caller has cut it
  std::string controller = {};  // reportingController: the profile's name
  std::optional<PodRef> related = {};
  bool is_explained = false;  // the note has a second line: what would make the pod fit
};

/// Everything berth changes in the cluster.
///
/// Each call returns at once; `done` is called exactly once, on any thread, possibly before the call returns. The
/// arguments are copied. The change itself comes back through the ClusterReader, before or after `done`. Threads: any.
/// Failure: an Error whose code is one of `reasons`, and whose message is the API server's.
class ClusterWriter {
 public:
  using Done = std::function<void(Status)>;

  virtual ~ClusterWriter() = default;
  /// Creates a Binding of the pod to the node.
  virtual void bind(const PodRef& pod, std::string_view node_name, Done done) = 0;
  virtual void patch_pod_status(const PodRef& pod, const PodStatusPatch& patch, Done done) = 0;
  /// Whether a patch of that is on its way, so that the cluster may soon show something else than it does.
  virtual bool is_patching_status(const PodRef&) const { return false; }
  virtual void patch_pod_metadata(const PodRef& pod, const PodMetadataPatch& patch, Done done) = 0;
  /// Deletes the pod gracefully. A pod that is gone already is a failure too: not_found.
  virtual void evict(const PodRef& pod, Done done) = 0;
  /// Merge patch of an object that is no pod. metadata.resourceVersion and metadata.uid in it are preconditions.
  virtual void patch_object(const ObjectRef& object, std::string_view merge_patch_json, Done done) = 0;
  /// The object as JSON: empty where the server answers a remove with less. A version that is not the cluster's is a
  /// Conflict, and not tried again.
  using ObjectDone = std::function<void(Result<std::string>)>;
  virtual void write_object(const ObjectWrite& write, ObjectDone done) {
    done(Error{"this writer writes no " + write.object.resource, ErrorCode::invalid});
  }
  /// Best effort: events may be folded or dropped under load.
  virtual void record_event(const EventRecord& event, Done done) = 0;
};

/// True of a write that was not made because this process writes nothing any more: nothing is wrong with it, and the next
/// leader makes it, or another.
inline bool is_stopped(const Status& status) { return !status.ok() && status.error().code == ErrorCode::stopped; }

}  // namespace berth::cluster
