// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cluster/cluster_writer.hpp"

namespace berth::cluster {

/// Carries nothing out, and answers that it has: what is written is the object as it is afterwards. For what imagines
/// the cluster's answer, and as a base of writers that do something about some writes. Threads: any, as it has no
/// state.
class AcceptingWriter : public ClusterWriter {
 public:
  void bind(const PodRef&, std::string_view, Done done) override { done(Unit{}); }
  void patch_pod_status(const PodRef&, const PodStatusPatch&, Done done) override { done(Unit{}); }
  void patch_pod_metadata(const PodRef&, const PodMetadataPatch&, Done done) override { done(Unit{}); }
  void evict(const PodRef&, Done done) override { done(Unit{}); }
  void patch_object(const ObjectRef&, std::string_view, Done done) override { done(Unit{}); }
  void write_object(const ObjectWrite& write, ObjectDone done) override { done(write.body); }
  void record_event(const EventRecord&, Done done) override { done(Unit{}); }
};

}  // namespace berth::cluster
