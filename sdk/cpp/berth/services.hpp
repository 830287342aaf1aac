// SPDX-License-Identifier: Apache-2.0
/// The host's services with C++ types. Resolved once, in the constructor:
///
///   explicit MyPolicy(berth::Setup& setup) : intern_(setup.service<berth::Intern>()) {}
///
/// A service object is two pointers, copied freely. The C headers say next to each function on which threads it may be
/// called. Iteration callbacks are lambdas; a lambda that throws ends the iteration and the exception goes on in the
/// policy, never through the host.
///
/// Lifetime: a service is good until the instance is destroyed. What a visit or use shows is borrowed for it: copy what is kept.
/// Errors:   a call on a thread that it is not for is denied, which the host's log says with the plugin's name: it answers
///           BERTH_DENIED, or 0, null or nothing where it has no code. A callback that throws ends the iteration.
/// Source:   ext/services.h and the header that each class names; ids and tables are those of the C ABI.
#pragma once
#include <berth/columns.hpp>
#include <berth/cycle.hpp>

#include <exception>
#include <optional>
#include <type_traits>

namespace berth {
inline namespace sdk {
namespace detail {

/// Carries a lambda through a C callback and its exception back.
template <class Visit>
struct Visitor {
  Visit& visit;
  std::exception_ptr thrown;

  /// 1: go on, as a lambda that returns nothing always does. After an exception 0.
  template <class... Args>
  std::uint32_t operator()(Args&&... args) noexcept {
    try {
      if constexpr (std::is_same_v<decltype(visit(std::forward<Args>(args)...)), bool>) {
        return visit(std::forward<Args>(args)...) ? 1 : 0;
      } else {
        visit(std::forward<Args>(args)...);
        return 1;
      }
    } catch (...) {
      thrown = std::current_exception();
      return 0;
    }
  }
  /// Behind the host's frames, in the caller's.
  void rethrow() const {
    if (thrown) std::rethrow_exception(thrown);
  }
};
template <class Visit>
Visitor(Visit&, std::exception_ptr) -> Visitor<Visit>;

/// A note of 256 bytes for a host function to explain itself in; T is berth_note_v1.
template <class T>
struct NoteBuffer {
  char text[256];  ///< longer texts are cut
  T raw{sizeof(T), 0, text, sizeof text, 0};
  std::string str() const { return std::string(text, std::min<std::size_t>(sizeof text, raw.text_len)); }
};

}  // namespace detail

/// What services have in common: the table of the host, and the instance in whose name it is called. Limits,
/// permissions and attribution come from it, so a service must not be handed to another instance.
template <class TableType>
class Service {
 public:
  using Table = TableType;
  /// Setup::service() does it. Requires: neither is null.
  Service(void* ctx, const Table* table) noexcept : ctx_(ctx), table_(table) {}
  /// For what the class does not show. Lives as long as the process.
  const Table& table() const noexcept { return *table_; }
  /// The first argument of each function of the table.
  void* ctx() const noexcept { return ctx_; }

 protected:
  void* ctx_;
  const Table* table_;
};

/// Lines in the host's log, with the plugin's name. ext/services.h. [any]
class Log : public Service<berth_log_v1> {
 public:
  static constexpr const char* id = "berth.log/1";
  using Service::Service;
  /// severity: BERTH_LOG_*. Ask before a text is made: a disabled line then costs nothing.
  bool enabled(std::uint32_t severity) const noexcept { return table_->enabled(ctx_, severity) != 0; }
  /// Texts are copied. The host lets 20 lines a second of one message through, per instance, and counts the rest:
  /// keep what varies in `fields`.
  void write(std::uint32_t severity, std::string_view message,
             std::span<const berth_kv_v1> fields = {}) const noexcept {
    if (enabled(severity)) {
      table_->write(ctx_, severity, borrow(message), fields.data(), static_cast<std::uint32_t>(fields.size()));
    }
  }
};

/// Texts as numbers, so that hot calls compare integers. ext/services.h. [load] [cycle] [worker] [watch]; text and
/// pins [any].
class Intern : public Service<berth_intern_v1> {
 public:
  static constexpr const char* id = "berth.intern/1";
  using Service::Service;
  /// For as long as the instance lives, up to 65,536 texts after construction. 0, and a line in the log, where there is
  /// no room. Equal texts have equal ids.
  Id operator()(std::string_view text) const noexcept { return table_->intern(ctx_, borrow(text)); }
  /// For the call or the cycle, unless it is pinned: for texts without end, such as names of pods.
  Id for_cycle(std::string_view text) const noexcept { return table_->intern_for_cycle(ctx_, borrow(text)); }
  /// Valid while the id is; empty for 0.
  std::string_view text(Id id_of_text) const noexcept {
    berth_str out{};
    table_->text(ctx_, id_of_text, &out);
    return view(out);
  }
  /// Keeps an id that the host showed beyond the cycle, until as many calls of unpin().
  void pin(Id id_of_text) const noexcept { table_->pin(ctx_, id_of_text); }
  void unpin(Id id_of_text) const noexcept { table_->unpin(ctx_, id_of_text); }
};

/// Sentences that are known only when a node is judged. ext/services.h. [cycle] [worker]
class Reasons : public Service<berth_reasons_v1> {
 public:
  static constexpr const char* id = "berth.reasons/1";
  using Service::Service;
  /// One id for one or several sentences; valid for the cycle. Equal lists have equal ids; of one cycle 65,536 lists
  /// are told apart.
  Reason make(std::span<const berth_str> texts) const noexcept {
    return table_->make(ctx_, texts.data(), static_cast<std::uint32_t>(texts.size()));
  }
  Reason make(std::string_view text) const noexcept {
    const berth_str one = borrow(text);
    return table_->make(ctx_, &one, 1);
  }
};

/// Members of the sets that set columns number. ext/nodes.h. [any]; a list is valid while the block is, and empty for
/// set 0.
class Sets : public Service<berth_sets_v1> {
 public:
  static constexpr const char* id = "berth.sets/1";
  using Service::Service;
  /// In the node's order.
  std::span<const Taint> taints(std::uint32_t set) const noexcept { return list(table_->taints, set); }
  /// Sorted by name id; sizes in bytes.
  std::span<const berth_image_v1> images(std::uint32_t set) const noexcept { return list(table_->images, set); }
  /// In use on the node.
  std::span<const HostPort> ports(std::uint32_t set) const noexcept { return list(table_->ports, set); }
  /// Declared ones, in the node's order.
  std::span<const Id> features(std::uint32_t set) const noexcept { return list(table_->features, set); }
  /// Sorted by key id.
  std::span<const Label> labels(std::uint32_t set) const noexcept { return list(table_->labels, set); }
  /// One per pod on the node and volume of it, sorted.
  std::span<const NodeVolume> volumes(std::uint32_t set) const noexcept { return list(table_->volumes, set); }
  /// Grows when numbers of sets may stand for other lists than before; within a cycle they do not. [cycle]
  std::uint64_t recycled() const noexcept { return table_->recycled(ctx_); }

 private:
  template <class T>
  std::span<const T> list(const T* (*members)(void*, std::uint32_t, std::uint32_t*), std::uint32_t set) const noexcept {
    if (set == 0) return {};
    std::uint32_t count = 0;
    const T* first = members(ctx_, set, &count);
    return span_of(first, count);
  }
};

/// Labels of nodes for keys that only the pod at hand names; of others ask Setup::label(). ext/labels.h. [cycle]
class Labels : public Service<berth_labels_v1> {
 public:
  static constexpr const char* id = "berth.labels/1";
  using Service::Service;
  /// Value ids by slot, 0: absent; slot_count() of them, padded to 64. Valid for the cycle. The first call for a key
  /// is the dear one.
  const Id* column(const Cycle& cycle, Id key) const noexcept { return table_->column(ctx_, cycle.raw(), key); }
  /// Overwrites `out`, by slot, with the nodes of the snapshot that meet the requirement. False for an operator that
  /// the host does not know. Requires: out is as long as cycle.nodes().
  bool match(const Cycle& cycle, const Requirement& requirement, std::span<std::uint64_t> out) const noexcept {
    return table_->match(ctx_, cycle.raw(), &requirement, out.data(), out.size()) == BERTH_OK;
  }
};

/// API objects as the fields that a policy names. ext/objects.h. Requires: `static constexpr const char* watches[]`
/// lists the resource, by which an operator grants the right to list and watch it.
class Objects : public Service<berth_objects_v1> {
 public:
  static constexpr const char* id = "berth.objects/1";
  using Service::Service;
  /// In the constructor only. `resource` is "core/v1/services", "example.com/v1/widgets"; not pods and nodes. Returns
  /// the number of the watch, for the functions below. Throws Failure when the host cannot watch the resource. [load]
  std::uint32_t watch(std::string_view resource, std::span<const berth_field_v1> fields) const {
    detail::NoteBuffer<berth_note_v1> note;
    std::uint32_t number = 0;
    const berth_code code = table_->watch(ctx_, borrow(resource), fields.data(),
                                          static_cast<std::uint32_t>(fields.size()), &number, &note.raw);
    if (code != BERTH_OK) throw Failure("cannot watch " + std::string(resource) + ": " + note.str());
    return number;
  }
  /// use(const berth_object_v1&), once, in the calling thread. False when there is no such object. What is assumed
  /// wins over what the cluster says (Assume). [any]
  template <class Use>
  bool get(std::uint32_t watch, std::string_view ns, std::string_view name, Use&& use) const {
    detail::Visitor visitor{use, {}};
    using V = decltype(visitor);
    const berth_code code = table_->get(
        ctx_, watch, borrow(ns), borrow(name),
        [](void* arg, const berth_object_v1* object) { (*static_cast<V*>(arg))(*object); }, &visitor);
    visitor.rethrow();
    return code == BERTH_OK;
  }
  /// visit(const berth_object_v1&) [-> bool: go on], in namespace/name order, of the objects as they were when the
  /// call began. An empty namespace means all. [any]
  template <class Visit>
  void each(std::uint32_t watch, std::string_view ns, Visit&& visit) const {
    detail::Visitor visitor{visit, {}};
    using V = decltype(visitor);
    table_->each(
        ctx_, watch, borrow(ns),
        [](void* arg, const berth_object_v1* object) { return (*static_cast<V*>(arg))(*object); }, &visitor);
    visitor.rethrow();
  }
  /// Grows with every change of the watch. [any]
  std::uint64_t epoch(std::uint32_t watch) const noexcept { return table_->epoch(ctx_, watch); }
  /// visit(ns, name, const berth_object_v1* now) for each object that changed after `since` (0: all); nullptr is
  /// gone, and an empty name means: forget everything, all follow. Returns what to pass next time. Not from a visit.
  /// DecodedObjects does the rest. [any]
  template <class Visit>
  std::uint64_t changes(std::uint32_t watch, std::uint64_t since, Visit&& visit) const {
    struct Carrier {
      Visit& visit;
      std::exception_ptr thrown;
    } carrier{visit, {}};
    const std::uint64_t next = table_->changes(
        ctx_, watch, since,
        [](void* arg, berth_str ns, berth_str name, const berth_object_v1* object) {
          auto& c = *static_cast<Carrier*>(arg);
          if (c.thrown) return;
          try {
            c.visit(view(ns), view(name), object);
          } catch (...) {
            c.thrown = std::current_exception();
          }
        },
        &carrier);
    if (carrier.thrown) std::rethrow_exception(carrier.thrown);
    return next;
  }
};

/// Pods that permit let wait, by uid. ext/permit.h. [any]
class Waiting : public Service<berth_waiting_v1> {
 public:
  static constexpr const char* id = "berth.waiting/1";
  using Service::Service;
  /// This policy has nothing against it any more. False: no such pod waits, as is the case within permit about the
  /// pod at hand.
  bool allow(std::string_view uid) const noexcept { return table_->allow(ctx_, borrow(uid)) == BERTH_OK; }
  /// Final, whatever others say. The message becomes part of the pod's. False: no such pod waits.
  bool reject(std::string_view uid, std::string_view message) const noexcept {
    return table_->reject(ctx_, borrow(uid), borrow(message)) == BERTH_OK;
  }
  /// visit(Pod, std::string_view node_name) [-> bool: go on]. Namespace 0 means all. Not from a visit.
  template <class Visit>
  void each(Id ns, Visit&& visit) const {
    detail::Visitor visitor{visit, {}};
    using V = decltype(visitor);
    table_->each(
        ctx_, ns,
        [](void* arg, const berth_pod_v1* pod, berth_str node) {
          return (*static_cast<V*>(arg))(Pod(pod), view(node));
        },
        &visitor);
    visitor.rethrow();
  }
};

/// Time, virtual in tests and simulations: never ask the machine. ext/services.h. [any]
class Clock : public Service<berth_clock_v1> {
 public:
  static constexpr const char* id = "berth.clock/1";
  using Service::Service;
  /// Nanoseconds; for durations and for Cycle::deadline_ns().
  std::int64_t monotonic_ns() const noexcept { return table_->monotonic_ns(ctx_); }
  /// Nanoseconds since 1970, for what is compared with times of objects.
  std::int64_t wall_ns() const noexcept { return table_->wall_ns(ctx_); }
};

/// ext/services.h. Exported as berth_plugin_<plugin>_<name>.
class Metrics : public Service<berth_metrics_v1> {
 public:
  static constexpr const char* id = "berth.metrics/1";
  using Service::Service;
  /// In the constructor only; returns the family. A name that begins with "scheduler_" is exported as it is, unless
  /// berth or another plugin has it. Throws Failure with the host's sentence. [load]
  std::uint32_t define(berth_metric_spec_v1 spec) const {
    spec.struct_size = sizeof spec;
    detail::NoteBuffer<berth_note_v1> note;
    std::uint32_t family = 0;
    if (table_->define(ctx_, &spec, &family, &note.raw) != BERTH_OK)
      throw Failure("cannot define metric: " + note.str());
    return family;
  }
  /// One value per label, in the order of the definition. An empty value of a label "profile" stands for the
  /// instance's profile. Beyond max_series of the family, new values are folded into "other". Throws Failure for what
  /// does not fit the family. [any]
  std::uint32_t series(std::uint32_t family, std::span<const berth_str> labels = {}) const {
    std::uint32_t number = 0;
    if (table_->series(ctx_, family, labels.data(), static_cast<std::uint32_t>(labels.size()), &number) != BERTH_OK) {
      throw Failure("no such metric series");
    }
    return number;
  }
  /// Adds to a counter, sets a gauge, observes in a histogram. [any]
  void record(std::uint32_t series_number, double value) const noexcept { table_->record(ctx_, series_number, value); }
};

/// Events of Kubernetes, aggregated and rate-limited by the host. ext/services.h. [cycle] [binder] [watch]
class Events : public Service<berth_events_v1> {
 public:
  static constexpr const char* id = "berth.events/1";
  using Service::Service;
  /// OK, BAD_ARGS without the kind and name of an object or without a reason, DENIED. Texts are copied, the note cut
  /// at 1,024 bytes.
  berth_code record(berth_event_spec_v1 event) const noexcept {
    event.struct_size = sizeof event;
    return table_->record(ctx_, &event);
  }
};

/// Memory that lives as long as the attempt. ext/services.h, berth.cycle/1.
class CycleMemory : public Service<berth_cycle_services_v1> {
 public:
  static constexpr const char* id = "berth.cycle/1";
  using Service::Service;
  /// Whether the attempt is to be given up; this host lets each run to its end. [cycle] [worker]
  bool cancelled(const Cycle& cycle) const noexcept { return table_->cancelled(ctx_, cycle.raw()) != 0; }
  /// Zeroed memory for trivially destructible values, freed with the cycle. Denied elsewhere: data() is null then.
  /// [cycle]
  template <class T>
  std::span<T> alloc(const Cycle& cycle, std::size_t count) const noexcept {
    static_assert(std::is_trivially_destructible_v<T>, "cycle memory is freed without calling destructors");
    void* memory = table_->alloc(ctx_, cycle.raw(), count * sizeof(T), alignof(T));
    return std::span<T>(static_cast<T*>(memory), count);
  }
};

/// Tasks on the host's threads, as [binder]; what they throw is logged. While the instance is destroyed and
/// afterwards no task of it runs, so `arg` may be the policy. Times are virtual where the clock is. ext/services.h.
class Executor : public Service<berth_executor_v1> {
 public:
  static constexpr const char* id = "berth.executor/1";
  using Service::Service;
  /// As soon as a thread is free. OK; BAD_ARGS without a task; DENIED while the instance is destroyed. [any]
  berth_code submit(void (*task)(void*), void* arg) const noexcept { return table_->submit(ctx_, task, arg); }
  /// Once, delay_ms from now; else as submit(). It may not run any more when berth ends. [any]
  berth_code after(std::uint32_t delay_ms, void (*task)(void*), void* arg) const noexcept {
    std::uint64_t handle = 0;
    return table_->start(ctx_, delay_ms, 0, task, arg, &handle);
  }
  /// As after(), and then every period_ms where that is not 0 (in the constructor only), with a handle for cancel().
  /// Absent when it was not taken. [any]
  std::optional<std::uint64_t> start(std::uint32_t delay_ms, std::uint32_t period_ms, void (*task)(void*),
                                     void* arg) const noexcept {
    std::uint64_t handle = 0;
    if (table_->start(ctx_, delay_ms, period_ms, task, arg, &handle) != BERTH_OK) return std::nullopt;
    return handle;
  }
  /// True: the task does not begin any more. A call that is under way is not waited for. [any]
  bool cancel(std::uint64_t handle) const noexcept { return table_->cancel(ctx_, handle) == BERTH_OK; }
  /// Every period_ms > 0, first after one period. DENIED outside the constructor. [load]
  berth_code every(std::uint32_t period_ms, void (*task)(void*), void* arg) const noexcept {
    std::uint64_t handle = 0;
    return period_ms == 0 ? berth_code{BERTH_BAD_ARGS} : table_->start(ctx_, period_ms, period_ms, task, arg, &handle);
  }
  /// body(i) for i in [0, count), possibly concurrently; returns when all are done. body must be noexcept. [cycle]
  /// [binder]
  template <class Body>
  void parallel_for(std::uint32_t count, Body&& body) const {
    static_assert(noexcept(body(0u)), "the body of parallel_for must be noexcept");
    using B = std::remove_reference_t<Body>;
    table_->parallel_for(
        ctx_, count, [](void* arg, std::uint32_t i) { (*static_cast<B*>(arg))(i); },
        const_cast<std::remove_const_t<B>*>(&body));
  }
};

/// Waiting pods that are to be tried at once, whatever their back-off. ext/services.h. [cycle] [binder]
class QueueControl : public Service<berth_queue_control_v1> {
 public:
  static constexpr const char* id = "berth.queue_control/1";
  using Service::Service;
  /// True: the request was taken; it takes effect after the current call. False from key, less, pre_enqueue and hint.
  bool activate(std::string_view uid) const noexcept { return table_->activate(ctx_, borrow(uid)) == BERTH_OK; }
  /// The same for all pods of a class (Cycle::pod_class).
  bool activate_class(std::uint64_t pod_class) const noexcept {
    return table_->activate_class(ctx_, pod_class) == BERTH_OK;
  }
};

/// Tells berth that answers may have changed, for policies with BERTH_DEP_ANNOUNCED. ext/services.h. [any]
class Epoch : public Service<berth_epoch_v1> {
 public:
  static constexpr const char* id = "berth.epoch/1";
  using Service::Service;
  /// Verdicts and scores of this instance from before are not used again.
  void bump() const noexcept { table_->bump(ctx_); }
};

/// Changes of pods and other objects through the host's client: rate limit, audit and dry run are its own.
/// ext/writes.h.
///
/// All calls: `done` is called exactly once when a write was taken (BERTH_OK), from any thread, possibly before the
/// call returns; never otherwise. It must not throw, and what `arg` points to lives until then. DENIED without the
/// rule in `rbac`, or on another thread; BAD_ARGS for an empty name, and for a patch that is no JSON object or
/// changes what it may not. Texts are copied. `done` hears OK, NOT_FOUND, CONFLICT (another version or uid is there)
/// or ERROR. An empty uid is no precondition.
class Writes : public Service<berth_writes_v1> {
 public:
  static constexpr const char* id = "berth.writes/1";
  using Service::Service;
  /// "create core/pods/binding". The pod shows its name and uid: BERTH_POD_IDENTITY. [binder]
  berth_code bind(Pod pod, std::string_view ns, std::string_view node_name, berth_write_done_v1 done,
                  void* arg) const noexcept {
    return table_->bind(ctx_, borrow(ns), pod.raw()->name, pod.raw()->uid, borrow(node_name), done, arg);
  }
  /// "patch core/pods/status". JSON merge patch of the status subresource. [binder] [watch]
  berth_code patch_pod_status(std::string_view ns, std::string_view name, std::string_view uid, std::string_view json,
                              berth_write_done_v1 done, void* arg) const noexcept {
    return table_->patch_pod_status(ctx_, borrow(ns), borrow(name), borrow(uid), borrow(json), done, arg);
  }
  /// "patch core/pods". JSON merge patch of labels and annotations; other fields are BAD_ARGS. [binder] [watch]
  berth_code patch_pod_metadata(std::string_view ns, std::string_view name, std::string_view uid, std::string_view json,
                                berth_write_done_v1 done, void* arg) const noexcept {
    return table_->patch_pod_metadata(ctx_, borrow(ns), borrow(name), borrow(uid), borrow(json), done, arg);
  }
  /// "delete core/pods". Deletes the pod gracefully, with a DisruptionTarget condition and an event of that message;
  /// one that is gone is OK. [binder] [watch]
  berth_code evict(std::string_view ns, std::string_view name, std::string_view uid, std::string_view message,
                   berth_write_done_v1 done, void* arg) const noexcept {
    return table_->evict(ctx_, borrow(ns), borrow(name), borrow(uid), borrow(message), done, arg);
  }
  /// "patch <group>/<plural>". JSON merge patch of an object that is no pod; ns is empty for cluster-wide ones. A
  /// resourceVersion or uid in the patch is a precondition. [binder]
  berth_code patch_object(std::string_view resource, std::string_view ns, std::string_view name, std::string_view json,
                          berth_write_done_v1 done, void* arg) const noexcept {
    return table_->patch_object(ctx_, borrow(resource), borrow(ns), borrow(name), borrow(json), done, arg);
  }
};

/// The pods of the snapshot by shape: namespace, labels, affinity terms and whether they terminate. Clusters have few
/// shapes and many pods. ext/pod_index.h. [cycle]
class PodIndex : public Service<berth_pod_index_v1> {
 public:
  static constexpr const char* id = "berth.pod_index/1";
  using Service::Service;
  /// visit(const berth_shape_v1&) [-> bool: go on]. `which` is BERTH_SHAPES_*, namespace 0 means all. A shape is
  /// valid for the cycle.
  template <class Visit>
  void each(const Cycle& cycle, std::uint32_t which, Id ns, Visit&& visit) const {
    detail::Visitor visitor{visit, {}};
    using V = decltype(visitor);
    table_->each(
        ctx_, cycle.raw(), which, ns,
        [](void* arg, const berth_shape_v1* shape) { return (*static_cast<V*>(arg))(*shape); }, &visitor);
    visitor.rethrow();
  }
  /// How many shapes each() would visit for all namespaces: with 0 the caller can leave it out.
  std::uint32_t count(const Cycle& cycle, std::uint32_t which) const noexcept {
    return table_->count(ctx_, cycle.raw(), which);
  }
  /// How many changes of pods there have been; absent where the host does not count them. [cycle]
  std::optional<std::uint64_t> position(const Cycle& cycle) const noexcept {
    if (table_->position == nullptr) return std::nullopt;
    return table_->position(ctx_, cycle.raw());
  }
  /// visit(const berth_shape_change_v1&) -> bool: go on; oldest first. False when some are forgotten, or visit said
  /// so: count again with each(). Requires: position() is there. PodJournal does the rest. [cycle]
  template <class Visit>
  bool changes(const Cycle& cycle, std::uint64_t since, Visit&& visit) const {
    detail::Visitor visitor{visit, {}};
    using V = decltype(visitor);
    const std::uint32_t all = table_->changes(
        ctx_, cycle.raw(), since,
        [](void* arg, const berth_shape_change_v1* change) { return (*static_cast<V*>(arg))(*change); }, &visitor);
    visitor.rethrow();
    return all != 0;
  }
  /// visit(const berth_shape_v1&) of the shape of that id, if it has pods; ids come back, incarnations do not.
  /// Requires: position() is there. [cycle]
  template <class Visit>
  bool shape(const Cycle& cycle, std::uint32_t number, Visit&& visit) const {
    detail::Visitor visitor{visit, {}};
    using V = decltype(visitor);
    const std::uint32_t found = table_->shape(
        ctx_, cycle.raw(), number, [](void* arg, const berth_shape_v1* one) { return (*static_cast<V*>(arg))(*one); },
        &visitor);
    visitor.rethrow();
    return found != 0;
  }
};

/// The policy's own columns for the whole snapshot, by slot, before any block comes. ext/all_nodes.h.
class NodeColumns : public Service<berth_nodes_v1> {
 public:
  static constexpr const char* id = "berth.nodes/1";
  using Service::Service;
  /// slot_count() values, padded to 64; valid for the cycle. Slots that are not in cycle.nodes() hold 0 or what a
  /// node had that is gone. Null for columns that follow the pod. [cycle] [worker]
  template <class T>
  const T* column(const Cycle& cycle, Column<T> handle) const noexcept {
    return static_cast<const T*>(table_->column(ctx_, cycle.raw(), handle.index));
  }
  /// As it was: no node has come or gone since, and columns that say nothing of pods are what they were. 0 where the
  /// host does not say. [cycle]
  std::uint64_t facts(const Cycle& cycle) const noexcept {
    return table_->facts != nullptr ? table_->facts(ctx_, cycle.raw()) : 0;
  }
  /// The slot of the node of that name, or BERTH_NO_SLOT; absent where the host does not say. [cycle]
  std::optional<Slot> find(const Cycle& cycle, Id name) const noexcept {
    if (table_->find == nullptr) return std::nullopt;
    return table_->find(ctx_, cycle.raw(), name);
  }
  /// A resource that was not known at construction, by slot, padded; kind: BERTH_COL_FREE, ALLOCATABLE, REQUESTED or
  /// LISTED, else null. Valid for the cycle. The first call for a resource is the dear one. [cycle]
  const std::int64_t* resource(const Cycle& cycle, std::uint32_t kind, Id name) const noexcept {
    return table_->resource(ctx_, cycle.raw(), kind, name);
  }
};

/// Would the pod fit on a node without some pods? Runs all filters of the profile. ext/dry_run.h. In post_filter
/// only. [cycle]
class DryRun : public Service<berth_dry_run_v1> {
 public:
  static constexpr const char* id = "berth.dry_run/1";
  using Service::Service;
  /// visit(Pod) [-> bool: go on] of the pods on the node, with their priority.
  template <class Visit>
  void pods_on(const Cycle& cycle, Slot node, Visit&& visit) const {
    detail::Visitor visitor{visit, {}};
    using V = decltype(visitor);
    table_->pods_on(
        ctx_, cycle.raw(), node, [](void* arg, const berth_pod_v1* pod) { return (*static_cast<V*>(arg))(Pod(pod)); },
        &visitor);
    visitor.rethrow();
  }
  /// ok: it fits; unschedulable or unresolvable: it does not; code() NOT_FOUND: no such node or pod; error with the
  /// text of the policy that failed. Only in post_filter, with the cycle it was given. The uids are borrowed for the call.
  Verdict fits_without(const Cycle& cycle, Slot node, std::span<const berth_str> removed_uids) const {
    detail::NoteBuffer<berth_note_v1> note;
    const berth_code code = table_->fits_without(ctx_, cycle.raw(), node, removed_uids.data(),
                                                 static_cast<std::uint32_t>(removed_uids.size()), &note.raw);
    return Verdict::of(code, note.str());
  }
};

/// Objects as they will be once a write has arrived: get() and each() of Objects show them until the watch delivers
/// another version, or forget(). ext/assume.h. [cycle] [binder]
class Assume : public Service<berth_assume_v1> {
 public:
  static constexpr const char* id = "berth.assume/1";
  using Service::Service;
  /// Values of all fields of the watch, in their order. `version` is that of the object that was read: with another
  /// one there, the answer is unschedulable ("out of sync") and nothing changes. code() NOT_FOUND without the object.
  Verdict assume(std::uint32_t watch, std::string_view ns, std::string_view name, std::uint64_t version,
                 std::span<const berth_value_v1> values) const {
    detail::NoteBuffer<berth_note_v1> note;
    const berth_code code = table_->assume(ctx_, watch, borrow(ns), borrow(name), version, values.data(),
                                           static_cast<std::uint32_t>(values.size()), &note.raw);
    return Verdict::of(code, note.str());
  }
  /// Back to what the cluster says; nothing where nothing was assumed. [any]
  void forget(std::uint32_t watch, std::string_view ns, std::string_view name) const noexcept {
    table_->forget(ctx_, watch, borrow(ns), borrow(name));
  }
  /// The whole object that a write answered with, until the watch delivers that metadata.resourceVersion or a later
  /// one. Unschedulable for an object that is older than what is shown, code() NOT_FOUND for one that the watch does
  /// not know. [cycle] [binder]
  Verdict assume_written(std::uint32_t watch, std::string_view json) const {
    detail::NoteBuffer<berth_note_v1> note;
    const berth_code code = table_->assume_written(ctx_, watch, borrow(json), &note.raw);
    return Verdict::of(code, note.str());
  }
  /// As Objects::get, but what the cluster says, whatever is assumed. [any]
  template <class Use>
  bool actual(std::uint32_t watch, std::string_view ns, std::string_view name, Use&& use) const {
    detail::Visitor visitor{use, {}};
    using V = decltype(visitor);
    const berth_code code = table_->actual(
        ctx_, watch, borrow(ns), borrow(name),
        [](void* arg, const berth_object_v1* object) { (*static_cast<V*>(arg))(*object); }, &visitor);
    visitor.rethrow();
    return code == BERTH_OK;
  }
};

}  // namespace sdk
}  // namespace berth
