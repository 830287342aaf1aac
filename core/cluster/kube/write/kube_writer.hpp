// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "cluster/binding_gate.hpp"
#include "cluster/cluster_writer.hpp"
#include "cluster/kube/write/event_recorder.hpp"
#include "cluster/kube/write/pod_serial_queues.hpp"
#include "cluster/kube/write/status_writes.hpp"
#include "net/http_client.hpp"

namespace berth::cluster::kube {

struct KubeWriterOptions {
  net::HttpClientOptions writes = {};
  net::HttpClientOptions events = {};
  std::string host_name;
  /// Asked about each binding right before it is sent; stop() stops it. Null: all are sent.
  std::shared_ptr<BindingGate> gate = {};
};

/// A live cluster as a ClusterWriter.
///
/// Lifetime: I/O threads, clock and what find_pod uses outlive it.
/// Threads:  any; no call waits. `done` is called on an I/O thread, by stop(), or, for a patch that says what the pod has
///           just been told, by the call itself. Writes about one pod reach the server in the order of the calls.
/// Order:    what pods are told waits until bindings, evictions and patches of other objects have gone; patches of one
///           pod's status that wait are sent as one. Of bindings and evictions that wait, those for pods of higher
///           priority go first, and no others wait for ever; patches of other objects count as for priority 0.
/// Failure:  a binding whose answer got lost is asked again, and then the pod is looked at, until the server says how it
///           is: `done` says what is so, not what was heard. After stop(): ErrorCode::stopped.
/// Source:   kubernetes v1.36 pkg/scheduler/framework/plugins/defaultbinder, pkg/scheduler/util/utils.go
///           (PatchPodStatus). Departs: uids are preconditions of every write.
class KubeWriter final : public ClusterWriter {
 public:
  KubeWriter(net::IoThreads& threads, std::shared_ptr<net::Endpoint> endpoint, const Clock& clock, FindPod find_pod,
             KubeWriterOptions options);
  ~KubeWriter() override;

  void bind(const PodRef& pod, std::string_view node_name, Done done) override;
  void patch_pod_status(const PodRef& pod, const PodStatusPatch& patch, Done done) override;
  bool is_patching_status(const PodRef& pod) const override { return statuses_.has(pod); }
  void patch_pod_metadata(const PodRef& pod, const PodMetadataPatch& patch, Done done) override;
  void evict(const PodRef& pod, Done done) override;
  void patch_object(const ObjectRef& object, std::string_view merge_patch_json, Done done) override;
  /// Patches of a pod's status go in order with its other writes.
  void write_object(const ObjectWrite& write, ObjectDone done) override;
  void record_event(const EventRecord& event, Done done) override;

  /// Answers everything that is under way; nothing is sent any more.
  void stop() noexcept;
  EventRecorder& events() noexcept { return events_; }

 private:
  std::int32_t priority_of(const PodRef& pod) const;
  void in_order(const PodRef& pod, Done done, std::function<void(Done done)> write);
  struct Binding {
    PodRef pod;
    std::string node_name;
    std::optional<PlacedNode> judged = {};  // by the gate; nothing: it is sent in any case
    std::int64_t wait_end_ns = 0;           // of the gate; 0: it has not waited
    bool may_be_bound = false;              // a try may have been carried out, of which no answer came
  };
  using BindingPtr = std::shared_ptr<Binding>;  // one thing of it happens at a time
  void send_binding(const BindingPtr& binding, Done done);
  void wait_at_gate(const BindingPtr& binding, Done done);
  /// Ends a binding that is not sent again.
  void give_up_binding(const Binding& binding, const Error& error, Done done);
  void send_status(const PodRef& pod, const PodStatusPatch& patch, bool urgent, const StatusWrites::WritePtr& write,
                   Done done);
  void send_eviction(const PodRef& pod, Done done);
  void send_object(const ObjectWrite& write, ObjectDone done);
  std::uint64_t send_patch(const PodRef& pod, std::string_view subresource, std::string content_type, std::string body,
                           bool urgent, Done done);
  void verify_binding(const Binding& binding, Error heard, Done done);

  const Clock& clock_;
  const FindPod find_pod_;
  const std::shared_ptr<BindingGate> gate_;
  PodSerialQueues queues_by_pod_;
  StatusWrites statuses_;
  EventRecorder events_;
  net::HttpClient client_;
};

/// The strategic merge patch of a pod's status that upstream sends. `known` is the pod as last seen, or null: a
/// condition whose status does not change keeps its time of transition.
std::string status_patch_json(const PodRef& pod, const PodStatusPatch& patch, const model::Pod* known,
                              std::int64_t wall_ns);

}  // namespace berth::cluster::kube
