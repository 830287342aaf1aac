// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cluster/cluster_reader.hpp"
#include "cluster/cluster_writer.hpp"
#include "recording/recorder.hpp"

/// A cluster with a recorder between it and the scheduler: what comes from it that the cache does not hear of, and what
/// is written to it.
namespace berth::scheduler {

/// Records pods without a node and objects, and passes everything on. Pods on nodes, and nodes, are recorded where the
/// cache hears of them. Threads: as ClusterSink. Sink and recorder outlive it.
class RecordedSink final : public cluster::ClusterSink {
 public:
  RecordedSink(cluster::ClusterSink& sink, recording::Recorder& recorder) : sink_(sink), recorder_(recorder) {}

  void pod_added(const model::PodPtr& pod) override;
  void pod_updated(const model::PodPtr& old_pod, const model::PodPtr& new_pod) override;
  void pod_deleted(const model::PodPtr& pod) override;
  void node_added(const model::NodePtr& node) override { sink_.node_added(node); }
  void node_updated(const model::NodePtr& old_node, const model::NodePtr& new_node) override {
    sink_.node_updated(old_node, new_node);
  }
  void node_deleted(const model::NodePtr& node) override { sink_.node_deleted(node); }
  void object_added(const model::ObjectPtr& object) override;
  void object_updated(const model::ObjectPtr& old_object, const model::ObjectPtr& new_object) override;
  void object_deleted(const model::ObjectPtr& object) override;
  void synced() override { sink_.synced(); }

 private:
  void waits(const model::PodPtr& pod);
  void waits_no_more(const model::Pod& pod);
  void object(recording::Kind kind, const model::ObjectPtr& object);

  cluster::ClusterSink& sink_;
  recording::Recorder& recorder_;
};

/// Records bindings, nominations and evictions with what the cluster answered, and passes everything on.
/// Threads: as ClusterWriter. The writer outlives it, the recorder all answers.
class RecordedWriter final : public cluster::ClusterWriter {
 public:
  RecordedWriter(cluster::ClusterWriter& writer, recording::Recorder& recorder)
      : writer_(writer), recorder_(recorder) {}

  void bind(const cluster::PodRef& pod, std::string_view node_name, Done done) override;
  void patch_pod_status(const cluster::PodRef& pod, const cluster::PodStatusPatch& patch, Done done) override;
  bool is_patching_status(const cluster::PodRef& pod) const override { return writer_.is_patching_status(pod); }
  void patch_pod_metadata(const cluster::PodRef& pod, const cluster::PodMetadataPatch& patch, Done done) override {
    writer_.patch_pod_metadata(pod, patch, std::move(done));
  }
  void evict(const cluster::PodRef& pod, Done done) override;
  void patch_object(const cluster::ObjectRef& object, std::string_view merge_patch_json, Done done) override {
    writer_.patch_object(object, merge_patch_json, std::move(done));
  }
  void write_object(const cluster::ObjectWrite& write, ObjectDone done) override {
    writer_.write_object(write, std::move(done));
  }
  void record_event(const cluster::EventRecord& event, Done done) override {
    writer_.record_event(event, std::move(done));
  }

 private:
  Done recorded(const char* what, const cluster::PodRef& pod, std::string node, Done done);

  cluster::ClusterWriter& writer_;
  recording::Recorder& recorder_;
};

}  // namespace berth::scheduler
