// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>
#include <vector>

#include "cluster/cluster_reader.hpp"
#include "unit/kube/live.hpp"

namespace berth::tests {

/// Keeps the cluster as the calls describe it, and everything that must not be.
class Mirror final : public cluster::ClusterSink {
 public:
  explicit Mirror(const SymbolTable& symbols) : symbols_(symbols) {}

  void pod_added(const model::PodPtr& pod) override {
    signal.change([&] {
      ++times_added[pod->key()];
      if (!pods.emplace(pod->key(), pod).second) wrong.push_back("added twice: " + pod->key());
    });
  }
  void pod_updated(const model::PodPtr& old_pod, const model::PodPtr& new_pod) override {
    signal.change([&] {
      if (pods[new_pod->key()] != old_pod) wrong.push_back("updated from something else: " + new_pod->key());
      pods[new_pod->key()] = new_pod;
    });
  }
  void pod_deleted(const model::PodPtr& pod) override {
    signal.change([&] {
      if (pods.erase(pod->key()) == 0) wrong.push_back("deleted but not there: " + pod->key());
    });
  }
  void node_added(const model::NodePtr& node) override {
    signal.change([&] { nodes[node->name] = node; });
  }
  void node_updated(const model::NodePtr&, const model::NodePtr& node) override {
    signal.change([&] { nodes[node->name] = node; });
  }
  void node_deleted(const model::NodePtr& node) override {
    signal.change([&] { nodes.erase(node->name); });
  }
  void object_added(const model::ObjectPtr& object) override {
    signal.change([&] { objects[object->resource + " " + object->name] = object; });
  }
  void object_updated(const model::ObjectPtr&, const model::ObjectPtr& object) override {
    signal.change([&] { objects[object->resource + " " + object->name] = object; });
  }
  void object_deleted(const model::ObjectPtr& object) override {
    signal.change([&] { objects.erase(object->resource + " " + object->name); });
  }
  void synced() override {
    signal.change([&] { ++synced_count; });
  }

  std::string node_of(const std::string& key) const {
    const auto found = pods.find(key);
    return found == pods.end() ? "?" : std::string(symbols_.text(found->second->node_name));
  }

  Signal signal;
  std::map<std::string, model::PodPtr> pods;
  std::map<std::string, int> times_added;
  std::map<std::string, model::NodePtr> nodes;
  std::map<std::string, model::ObjectPtr> objects;
  std::vector<std::string> wrong;
  int synced_count = 0;

 private:
  const SymbolTable& symbols_;
};

}  // namespace berth::tests
