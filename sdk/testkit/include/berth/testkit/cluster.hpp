// SPDX-License-Identifier: Apache-2.0
/// FakeCluster: placed pods, API objects and whole-snapshot columns for policies that look beyond one node: the
/// services objects, pod_index and nodes.
///
///   Policy policy(tested_library(), args, FakeCluster::install);
///   FakeCluster& cluster = FakeCluster::of(policy);
///   cluster.place({.labels = {{"app", "web"}}}, {{0, 2}, {3, 1}});
///   cluster.put("core/v1/services", "default", "web", {R"({"app":"web"})"});
///   Attempt attempt(policy, pod, cluster.nodes = {...});
#pragma once
#include <berth/testkit/policy.hpp>

#include <list>

namespace berth::testkit {

class FakeCluster {
 public:
  /// For Policy's `prepare`.
  static void install(FakeHost& host) {
    static const berth_objects_v1 objects{sizeof objects, 0, &watch, &get, &each_object, &epoch, nullptr};
    static const berth_pod_index_v0 pods{sizeof pods, 0, &each_shape, &count_shapes};
    static const berth_nodes_v0 columns{sizeof columns, 0, &column};
    host.companion = std::make_shared<FakeCluster>(host);
    host.extra_services["berth.objects/1"] = &objects;
    host.extra_services["berth.draft.pod_index/0"] = &pods;
    host.extra_services["berth.draft.nodes/0"] = &columns;
  }
  static FakeCluster& of(FakeHost& host) { return *static_cast<FakeCluster*>(host.companion.get()); }
  static FakeCluster& of(Policy& policy) { return of(policy.host()); }

  explicit FakeCluster(FakeHost& host) : host_(host) {}

  /// The nodes of the attempt at hand, by slot.
  std::vector<NodeSpec> nodes;

  struct Place {
    berth_slot slot;
    std::uint32_t count = 1;
  };
  /// Pods that are alike, as one shape.
  void place(const PodSpec& pod, const std::vector<Place>& where, bool terminating = false) {
    Shape& shape = shapes_.emplace_back();
    shape.pod = std::make_unique<PodRecord>(host_, pod, BERTH_POD_NAMESPACE | BERTH_POD_LABELS | BERTH_POD_AFFINITY);
    for (const Place& each : where) shape.nodes.push_back({each.slot, each.count});
    const berth_affinity_v1& affinity = *shape.pod->raw()->affinity;
    if (terminating) shape.flags |= BERTH_SHAPE_TERMINATING;
    if (affinity.present != 0) shape.flags |= BERTH_SHAPE_HAS_AFFINITY;
    if (affinity.anti_required_count != 0) shape.flags |= BERTH_SHAPE_HAS_REQUIRED_ANTI;
  }
  void remove_pods() { shapes_.clear(); }

  /// Adds or replaces an object. values: one per field of the watch, as JSON; "" is absent.
  void put(const std::string& resource, const std::string& ns, const std::string& name,
           std::vector<std::string> values) {
    objects_[resource][{ns, name}] = {std::move(values), ++version_};
  }
  void remove(const std::string& resource, const std::string& ns, const std::string& name) {
    objects_[resource].erase({ns, name});
    ++version_;
  }

 private:
  struct Shape {
    std::unique_ptr<PodRecord> pod;
    std::vector<berth_shape_node_v1> nodes;
    std::uint32_t flags = 0;
  };
  struct Object {
    std::vector<std::string> values;
    std::uint64_t version = 0;
  };
  using Key = std::pair<std::string, std::string>;

  static FakeCluster& self(void* ctx) { return of(*static_cast<FakeHost*>(ctx)); }

  static berth_code watch(void* ctx, berth_str resource, const berth_field_v1*, std::uint32_t, std::uint32_t* number,
                          berth_note_v1*) {
    auto& watches = self(ctx).watches_;
    *number = static_cast<std::uint32_t>(watches.size());
    watches.push_back(text_of(resource));
    return BERTH_OK;
  }
  template <class Use>
  static auto show(const Key& key, const Object& object, Use&& use) {
    std::vector<berth_value_v1> values;
    for (const std::string& value : object.values)
      values.push_back({BERTH_FIELD_JSON, value.empty() ? 0u : 1u, 0, str(value)});
    const berth_object_v1 raw{sizeof raw,      static_cast<std::uint32_t>(values.size()),
                              str(key.first),  str(key.second),
                              str(key.second), object.version,
                              values.data()};
    return use(&raw);
  }
  static berth_code get(void* ctx, std::uint32_t watch, berth_str ns, berth_str name,
                        void (*use)(void*, const berth_object_v1*), void* arg) {
    const auto& objects = self(ctx).objects_[self(ctx).watches_.at(watch)];
    const auto at = objects.find({text_of(ns), text_of(name)});
    if (at == objects.end()) return BERTH_NOT_FOUND;
    show(at->first, at->second, [&](const berth_object_v1* raw) { use(arg, raw); });
    return BERTH_OK;
  }
  static void each_object(void* ctx, std::uint32_t watch, berth_str ns,
                          std::uint32_t (*visit)(void*, const berth_object_v1*), void* arg) {
    for (const auto& [key, object] : self(ctx).objects_[self(ctx).watches_.at(watch)]) {
      if (ns.len != 0 && key.first != text_of(ns)) continue;
      if (show(key, object, [&](const berth_object_v1* raw) { return visit(arg, raw); }) == 0) return;
    }
  }
  static std::uint64_t epoch(void* ctx, std::uint32_t) { return self(ctx).version_; }

  static bool belongs(const Shape& shape, std::uint32_t which) {
    return which == BERTH_SHAPES_ALL ||
           (which == BERTH_SHAPES_WITH_AFFINITY && (shape.flags & BERTH_SHAPE_HAS_AFFINITY) != 0) ||
           (which == BERTH_SHAPES_WITH_REQUIRED_ANTI && (shape.flags & BERTH_SHAPE_HAS_REQUIRED_ANTI) != 0);
  }
  static void each_shape(void* ctx, const berth_cycle_v1*, std::uint32_t which, berth_id ns,
                         std::uint32_t (*visit)(void*, const berth_shape_v1*), void* arg) {
    std::uint32_t number = 0;
    for (const Shape& shape : self(ctx).shapes_) {
      const berth_pod_v1& pod = *shape.pod->raw();
      const berth_shape_v1 raw{sizeof raw,
                               shape.flags,
                               number++,
                               pod.ns,
                               pod.labels,
                               pod.affinity,
                               shape.nodes.data(),
                               pod.label_count,
                               static_cast<std::uint32_t>(shape.nodes.size())};
      if (belongs(shape, which) && (ns == 0 || ns == pod.ns) && visit(arg, &raw) == 0) return;
    }
  }
  static std::uint32_t count_shapes(void* ctx, const berth_cycle_v1*, std::uint32_t which) {
    std::uint32_t count = 0;
    for (const Shape& shape : self(ctx).shapes_) count += belongs(shape, which) ? 1 : 0;
    return count;
  }

  static const void* column(void* ctx, const berth_cycle_v1*, std::uint32_t index) {
    FakeCluster& c = self(ctx);
    if (index >= c.host_.columns.size()) return nullptr;
    return c.blocks_.emplace_back(c.host_, c.nodes).raw()->columns[index];
  }

  FakeHost& host_;
  std::list<Shape> shapes_;
  std::map<std::string, std::map<Key, Object>> objects_;
  std::vector<std::string> watches_;
  std::uint64_t version_ = 1;
  std::list<BlockRecord> blocks_;
};

}  // namespace berth::testkit
