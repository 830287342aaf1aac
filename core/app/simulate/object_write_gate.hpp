// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>
#include <utility>

#include "cluster/cluster_writer.hpp"

namespace berth::app {

/// A cluster's writer that can be told to carry out no writes of objects for a while: they are answered as if they had been.
///
/// Place:   behind SinglePass, which tries pods without giving up anything for those that do not fit. Threads: one.
class ObjectWriteGate final : public cluster::ClusterWriter {
 public:
  explicit ObjectWriteGate(cluster::ClusterWriter& writer) : writer_(writer) {}

  /// Runs `body`; what it writes to objects does not happen.
  template <typename Body>
  auto closed(Body&& body) {
    struct Reopen {
      bool& is_closed;
      ~Reopen() { is_closed = false; }
    } reopen{is_closed_};
    is_closed_ = true;
    return body();
  }

  void bind(const cluster::PodRef& pod, std::string_view node_name, Done done) override {
    writer_.bind(pod, node_name, std::move(done));
  }
  void patch_pod_status(const cluster::PodRef& pod, const cluster::PodStatusPatch& patch, Done done) override {
    writer_.patch_pod_status(pod, patch, std::move(done));
  }
  void patch_pod_metadata(const cluster::PodRef& pod, const cluster::PodMetadataPatch& patch, Done done) override {
    writer_.patch_pod_metadata(pod, patch, std::move(done));
  }
  void evict(const cluster::PodRef& pod, Done done) override { writer_.evict(pod, std::move(done)); }
  void patch_object(const cluster::ObjectRef& object, std::string_view merge_patch_json, Done done) override {
    if (is_closed_) return done(Unit{});
    writer_.patch_object(object, merge_patch_json, std::move(done));
  }
  void write_object(const cluster::ObjectWrite& write, ObjectDone done) override {
    if (is_closed_) return done(write.body);
    writer_.write_object(write, std::move(done));
  }
  void record_event(const cluster::EventRecord& event, Done done) override {
    writer_.record_event(event, std::move(done));
  }

 private:
  cluster::ClusterWriter& writer_;
  bool is_closed_ = false;
};

}  // namespace berth::app
