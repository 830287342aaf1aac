// SPDX-License-Identifier: Apache-2.0
/// FakeCluster: placed pods, API objects, groups and whole-snapshot columns for policies that look beyond one node: the
/// services objects, pod_index, groups and nodes.
///
///   Policy policy(tested_library(), args, FakeCluster::install);
///   FakeCluster& cluster = FakeCluster::of(policy);
///   cluster.place({.labels = {{"app", "web"}}}, {{0, 2}, {3, 1}});
///   cluster.put("core/v1/services", "default", "web", {R"({"app":"web"})"});
///   Attempt attempt(policy, pod, cluster.nodes = {...});
#pragma once
#include <berth/testkit/placed_pods.hpp>
#include <berth/testkit/policy.hpp>

#include <algorithm>
#include <functional>
#include <list>

namespace berth::testkit {

class FakeCluster {
 public:
  /// For Policy's `prepare`.
  static void install(FakeHost& host);
  static FakeCluster& of(FakeHost& host) { return *static_cast<FakeCluster*>(host.companion.get()); }
  static FakeCluster& of(Policy& policy) { return of(policy.host()); }

  explicit FakeCluster(FakeHost& host) : host_(host) {}
  ~FakeCluster();

  /// The nodes of the attempt at hand, by slot.
  std::vector<NodeSpec> nodes;
  /// "namespace/name" of the group that the pod at hand is planned with; empty: it goes by itself.
  std::string planned_group;
  /// Feature gates that the host follows.
  std::map<std::string, bool> gates;

  struct Place {
    berth_slot slot;
    std::uint32_t count = 1;
  };
  /// Pods that are alike, as one shape.
  void place(const PodSpec& pod, const std::vector<Place>& where, bool terminating = false);
  void remove_pods();

  /// What a policy shows at /debug/NAME; empty: nothing, or it failed.
  std::string debug_page(const std::string& name);
  /// Values of metrics in their order, by "name value,value" with the values of the labels.
  std::map<std::string, std::vector<double>> recorded;
  /// What the policy watches, once per watch.
  const std::vector<std::string>& watched() const { return watches_; }
  /// Adds or replaces an object. values: one per field of the watch, as JSON; "" is absent.
  void put(const std::string& resource, const std::string& ns, const std::string& name, std::vector<FieldText> values);
  void remove(const std::string& resource, const std::string& ns, const std::string& name);

  /// A pod of a group: on a node when it names one, gated when it has gates.
  struct Member {
    PodSpec pod;
    bool deleting = false;
    bool foreign = false;  ///< of a scheduler name that no profile has
  };
  /// By namespace and name of the group.
  std::map<std::pair<std::string, std::string>, std::vector<Member>> groups;
  /// Uids that were to be activated.
  std::vector<std::string> activated;

  /// How often the policy announced that answers may have changed, through berth.epoch/1.
  std::uint32_t epoch_bumps = 0;

  /// What was asked of the executor, not run yet.
  struct Task {
    std::int64_t due_ns;
    void (*run)(void*);
    void* arg;
    std::uint64_t handle = 0;
    std::int64_t period_ns = 0;  ///< 0: once
  };
  std::vector<Task> tasks;
  std::int64_t now_ns = 1'000'000'000;
  /// How far each reading moves the clock: for what ends by time while it works.
  std::int64_t ns_per_reading = 0;
  std::int64_t read_clock() { return now_ns += ns_per_reading; }
  /// Moves the clock to the first task and runs it. False without one.
  bool run_next_task();
  struct Patch {
    std::string resource, ns, name, json;
  };
  /// Writes that arrived. Each is answered at once, with patch_answer.
  std::vector<Patch> patches;
  /// Requests of object_writes that arrived, as "update resource/subresource ns/name", and their bodies. Each is answered at once,
  /// with its body.
  std::vector<std::string> requests;
  std::vector<std::string> bodies;
  /// Events of the policy, as "Reason: note".
  std::vector<std::string> events;
  berth_code patch_answer = BERTH_OK;
  /// What a request of object_writes is answered with; empty: patch_answer. A read shows read_object, a patch patched_object, and
  /// any other write, like a patch without it, what was written.
  std::function<berth_code(const std::string& request)> answer_code;
  std::string read_object;
  std::optional<std::string> patched_object;
  /// What was assumed as a write answered with it, as "resource json". Objects are fields here, not JSON: it is not shown.
  std::vector<std::string> assumed_written;
  /// True while berth.assume/1 shows something else than the cluster.
  bool assumed(const std::string& resource, const std::string& ns, const std::string& name);

 private:
  struct Shape {
    std::unique_ptr<PodRecord> pod;
    std::vector<berth_shape_node_v1> nodes;
    std::uint32_t flags = 0;
  };
  struct Page {
    berth_code (*write)(void* arg, berth_page_append_v1 append, void* out, berth_note_v1* note);
    void* arg;
  };
  struct Object {
    ObjectSpec spec;
    std::uint64_t version = 0;
    std::optional<ObjectSpec> overlay;
    const ObjectSpec& seen() const { return overlay ? *overlay : spec; }
  };
  using Key = std::pair<std::string, std::string>;

  static FakeCluster& self(void* ctx) { return of(*static_cast<FakeHost*>(ctx)); }

  static berth_code start_task(void* ctx, std::uint32_t delay_ms, std::uint32_t period_ms, void (*task)(void*),
                               void* arg, std::uint64_t* handle);

  static berth_code watch(void* ctx, berth_str resource, const berth_field_v1*, std::uint32_t, std::uint32_t* number,
                          berth_note_v1*);
  static berth_code get(void* ctx, std::uint32_t watch, berth_str ns, berth_str name,
                        void (*use)(void*, const berth_object_v1*), void* arg);
  static berth_code actual(void* ctx, std::uint32_t watch, berth_str ns, berth_str name,
                           void (*use)(void*, const berth_object_v1*), void* arg);
  Object* find(std::uint32_t watch, berth_str ns, berth_str name);
  static void each_object(void* ctx, std::uint32_t watch, berth_str ns,
                          std::uint32_t (*visit)(void*, const berth_object_v1*), void* arg);
  static std::uint64_t changes(void* ctx, std::uint32_t watch, std::uint64_t since,
                               void (*visit)(void*, berth_str, berth_str, const berth_object_v1*), void* arg);
  static berth_code assume(void* ctx, std::uint32_t watch, berth_str ns, berth_str name, std::uint64_t version,
                           const berth_value_v1* values, std::uint32_t count, berth_note_v1*);
  static void forget(void* ctx, std::uint32_t watch, berth_str ns, berth_str name);
  static berth_code patch_object(void* ctx, berth_str resource, berth_str ns, berth_str name, berth_str json,
                                 berth_write_done_v1 done, void* arg);
  static berth_code write(void* ctx, const char* verb, const berth_object_ref_v1* object, berth_str body,
                          berth_object_done_v1 done, void* arg);
  static berth_code assume_written(void* ctx, std::uint32_t watch, berth_str json, berth_note_v1*);
  static std::uint64_t epoch(void* ctx, std::uint32_t) { return self(ctx).version_; }

  static bool belongs(const Shape& shape, std::uint32_t which);
  static void each_shape(void* ctx, const berth_cycle_v1*, std::uint32_t which, berth_id ns,
                         std::uint32_t (*visit)(void*, const berth_shape_v1*), void* arg);
  static std::uint32_t count_shapes(void* ctx, const berth_cycle_v1*, std::uint32_t which);

  const std::vector<Member>& members_of(berth_id ns, berth_str group);
  static void count_members(void* ctx, berth_id ns, berth_str group, berth_group_count_v1* out);
  static void each_member(void* ctx, berth_id ns, berth_str group, std::uint32_t (*visit)(void*, const berth_pod_v1*),
                          void* arg);
  static const std::int64_t* resource_column(void* ctx, const berth_cycle_v1*, std::uint32_t kind, berth_id resource);

  static const void* column(void* ctx, const berth_cycle_v1*, std::uint32_t index);

  FakeHost& host_;
  std::list<Shape> shapes_;
  std::map<std::string, std::map<Key, Object>> objects_;
  std::vector<std::string> watches_;
  std::map<std::string, std::shared_ptr<void>> shared_;
  std::map<std::string, Page> pages_;
  std::vector<std::string> metric_families_, metric_series_;
  std::map<std::string, std::map<Key, std::uint64_t>> changed_;
  std::uint64_t version_ = 1;
  std::uint64_t last_task_ = 0;
  std::list<std::vector<std::int64_t>> resource_columns_;
  std::list<BlockRecord> blocks_;
};

}  // namespace berth::testkit

#if !defined(BERTH_TESTKIT_COMPILED)
#include <berth/testkit/impl/cluster.ipp>
#endif
