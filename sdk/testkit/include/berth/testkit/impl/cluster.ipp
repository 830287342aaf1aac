// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <berth/testkit/cluster.hpp>

namespace berth::testkit {

BERTH_TESTKIT_INLINE void FakeCluster::install(FakeHost& host) {
  static const berth_objects_v1 objects{sizeof objects, 0, &watch, &get, &each_object, &epoch, &changes};
  static const berth_assume_v1 overlay{sizeof overlay, 0, &assume, &forget, &actual, &assume_written};
  static const berth_executor_v1 executor{
      sizeof executor,
      0,
      [](void* ctx, void (*task)(void*), void* arg) -> berth_code {
        std::uint64_t handle = 0;
        return start_task(ctx, 0, 0, task, arg, &handle);
      },
      [](void*, std::uint32_t count, void (*body)(void*, std::uint32_t), void* arg) {
        for (std::uint32_t i = 0; i < count; ++i) body(arg, i);
      },
      &start_task,
      [](void* ctx, std::uint64_t handle) -> berth_code {
        const auto waits = [&](const Task& task) { return task.handle == handle; };
        return std::erase_if(self(ctx).tasks, waits) != 0 ? BERTH_OK : BERTH_NOT_FOUND;
      }};
  static const berth_epoch_v1 epochs{sizeof epochs, 0, [](void* ctx) { ++self(ctx).epoch_bumps; }};
  static const berth_clock_v1 clock{sizeof clock, 0, [](void* ctx) { return self(ctx).read_clock(); },
                                    [](void* ctx) { return self(ctx).read_clock(); }};
  static const berth_writes_v1 writes{sizeof writes, 0, nullptr, nullptr, nullptr, nullptr, &patch_object};
  static const berth_pod_index_v1 pods{sizeof pods, 0, &each_shape, &count_shapes, nullptr, nullptr, nullptr};
  static const berth_nodes_v1 columns{sizeof columns, 0, &column, &resource_column, nullptr, nullptr};
  static const berth_groups_v1 groups{sizeof groups, 0, &count_members, &each_member, [](void* ctx, berth_str* group) {
                                        const std::string& name = self(ctx).planned_group;
                                        *group = {name.data(), name.size()};
                                      }};
  static const berth_gates_v1 gates{sizeof gates, 0, [](void* ctx, berth_str gate) -> std::int32_t {
                                      const auto known = self(ctx).gates.find(text_of(gate));
                                      return known == self(ctx).gates.end() ? -1 : known->second ? 1 : 0;
                                    }};
  static const berth_queue_control_v1 queue{sizeof queue, 0,
                                            [](void* ctx, berth_str uid) -> berth_code {
                                              self(ctx).activated.push_back(text_of(uid));
                                              return BERTH_OK;
                                            },
                                            nullptr};
  static const berth_object_writes_v1 object_writes{
      sizeof object_writes,
      0,
      [](void* ctx, const berth_object_ref_v1* object, berth_str json, berth_object_done_v1 done, void* arg) {
        return write(ctx, "create", object, json, done, arg);
      },
      [](void* ctx, const berth_object_ref_v1* object, berth_str json, berth_object_done_v1 done, void* arg) {
        return write(ctx, "update", object, json, done, arg);
      },
      [](void* ctx, const berth_object_ref_v1* object, std::uint32_t, berth_str json, berth_object_done_v1 done,
         void* arg) { return write(ctx, "patch", object, json, done, arg); },
      [](void* ctx, const berth_object_ref_v1* object, berth_str uid, berth_object_done_v1 done, void* arg) {
        return write(ctx, "delete", object, uid, done, arg);
      },
      [](void* ctx, const berth_object_ref_v1* object, berth_object_done_v1 done, void* arg) {
        return write(ctx, "get", object, {}, done, arg);
      }};
  static const berth_shared_v1 shared{
      sizeof shared, 0, [](void* ctx, berth_str key, void* (*make)(void*), void* arg, void (*destroy)(void*)) -> void* {
        auto& value = self(ctx).shared_[text_of(key)];
        if (value == nullptr) value = std::shared_ptr<void>(make(arg), destroy);
        return value.get();
      }};
  static const berth_debug_pages_v1 debug_pages{
      sizeof debug_pages, 0, [](void* ctx, berth_str name, auto write, void* arg) -> berth_code {
        return self(ctx).pages_.emplace(text_of(name), Page{write, arg}).second ? BERTH_OK : BERTH_CONFLICT;
      }};
  static const berth_events_v1 events{
      sizeof events, 0, [](void* ctx, const berth_event_spec_v1* event) -> berth_code {
        self(ctx).events.push_back(text_of(event->reason) + ": " + text_of(event->note));
        return BERTH_OK;
      }};
  static const berth_metrics_v1 metrics{
      sizeof metrics, 0,
      [](void* ctx, const berth_metric_spec_v1* spec, std::uint32_t* family, berth_note_v1*) -> berth_code {
        auto& families = self(ctx).metric_families_;
        *family = static_cast<std::uint32_t>(families.size());
        families.push_back(text_of(spec->name));
        return BERTH_OK;
      },
      [](void* ctx, std::uint32_t family, const berth_str* values, std::uint32_t count,
         std::uint32_t* series) -> berth_code {
        FakeCluster& c = self(ctx);
        if (family >= c.metric_families_.size()) return BERTH_BAD_ARGS;
        std::string name = c.metric_families_[family];
        for (std::uint32_t i = 0; i < count; ++i) name += (i == 0 ? " " : ",") + text_of(values[i]);
        const auto known = std::find(c.metric_series_.begin(), c.metric_series_.end(), name);
        *series = static_cast<std::uint32_t>(known - c.metric_series_.begin());
        if (known == c.metric_series_.end()) c.metric_series_.push_back(std::move(name));
        return BERTH_OK;
      },
      [](void* ctx, std::uint32_t series, double value) {
        FakeCluster& c = self(ctx);
        if (series < c.metric_series_.size()) c.recorded[c.metric_series_[series]].push_back(value);
      }};
  host.companion = std::make_shared<FakeCluster>(host);
  FakePods::install(host);
  host.extra_services["berth.object_writes/1"] = &object_writes;
  host.extra_services["berth.shared/1"] = &shared;
  host.extra_services["berth.debug_pages/1"] = &debug_pages;
  host.extra_services["berth.events/1"] = &events;
  host.extra_services["berth.metrics/1"] = &metrics;
  host.extra_services["berth.objects/1"] = &objects;
  host.extra_services["berth.assume/1"] = &overlay;
  host.extra_services["berth.executor/1"] = &executor;
  host.extra_services["berth.clock/1"] = &clock;
  host.extra_services["berth.epoch/1"] = &epochs;
  host.extra_services["berth.writes/1"] = &writes;
  host.extra_services["berth.pod_index/1"] = &pods;
  host.extra_services["berth.nodes/1"] = &columns;
  host.extra_services["berth.groups/1"] = &groups;
  host.extra_services["berth.gates/1"] = &gates;
  host.extra_services["berth.queue_control/1"] = &queue;
}

BERTH_TESTKIT_INLINE void FakeCluster::place(const PodSpec& pod, const std::vector<Place>& where, bool terminating) {
  Shape& shape = shapes_.emplace_back();
  shape.pod = std::make_unique<PodRecord>(host_, pod, BERTH_POD_NAMESPACE | BERTH_POD_LABELS | BERTH_POD_AFFINITY);
  for (const Place& each : where) shape.nodes.push_back({each.slot, each.count});
  const berth_affinity_v1& affinity = *shape.pod->raw()->affinity;
  if (terminating) shape.flags |= BERTH_SHAPE_TERMINATING;
  if (affinity.present != 0) shape.flags |= BERTH_SHAPE_HAS_AFFINITY;
  if (affinity.anti_required_count != 0) shape.flags |= BERTH_SHAPE_HAS_REQUIRED_ANTI;
}

BERTH_TESTKIT_INLINE void FakeCluster::remove_pods() { shapes_.clear(); }

BERTH_TESTKIT_INLINE std::string FakeCluster::debug_page(const std::string& name) {
  const auto page = pages_.find(name);
  std::string out;
  if (page == pages_.end()) return out;
  NoteRecord note;
  const berth_code code = page->second.write(
      page->second.arg,
      [](void* text, berth_str piece) -> berth_code {
        *static_cast<std::string*>(text) += text_of(piece);
        return BERTH_OK;
      },
      &out, note.raw());
  return code == BERTH_OK ? out : std::string();
}

BERTH_TESTKIT_INLINE void FakeCluster::put(const std::string& resource, const std::string& ns, const std::string& name,
                                           std::vector<FieldText> values) {
  objects_[resource][{ns, name}] = {{ns, name, std::move(values)}, ++version_, {}};
  changed_[resource][{ns, name}] = version_;
}

BERTH_TESTKIT_INLINE void FakeCluster::remove(const std::string& resource, const std::string& ns,
                                              const std::string& name) {
  objects_[resource].erase({ns, name});
  changed_[resource][{ns, name}] = ++version_;
}

BERTH_TESTKIT_INLINE bool FakeCluster::run_next_task() {
  if (tasks.empty()) return false;
  const Task task = tasks.front();
  tasks.erase(tasks.begin());
  now_ns = std::max(now_ns, task.due_ns);
  if (task.period_ns != 0) {
    tasks.push_back(task);
    tasks.back().due_ns = now_ns + task.period_ns;
  }
  task.run(task.arg);
  return true;
}

BERTH_TESTKIT_INLINE bool FakeCluster::assumed(const std::string& resource, const std::string& ns,
                                               const std::string& name) {
  const auto at = objects_[resource].find({ns, name});
  return at != objects_[resource].end() && at->second.overlay.has_value();
}

BERTH_TESTKIT_INLINE berth_code FakeCluster::start_task(void* ctx, std::uint32_t delay_ms, std::uint32_t period_ms,
                                                        void (*task)(void*), void* arg, std::uint64_t* handle) {
  if (task == nullptr || handle == nullptr) return BERTH_BAD_ARGS;
  FakeCluster& c = self(ctx);
  *handle = ++c.last_task_;
  c.tasks.push_back(
      {c.now_ns + std::int64_t{delay_ms} * 1'000'000, task, arg, *handle, std::int64_t{period_ms} * 1'000'000});
  return BERTH_OK;
}

BERTH_TESTKIT_INLINE berth_code FakeCluster::watch(void* ctx, berth_str resource, const berth_field_v1*, std::uint32_t,
                                                   std::uint32_t* number, berth_note_v1*) {
  auto& watches = self(ctx).watches_;
  *number = static_cast<std::uint32_t>(watches.size());
  watches.push_back(text_of(resource));
  return BERTH_OK;
}

BERTH_TESTKIT_INLINE berth_code FakeCluster::get(void* ctx, std::uint32_t watch, berth_str ns, berth_str name,
                                                 void (*use)(void*, const berth_object_v1*), void* arg) {
  const Object* object = self(ctx).find(watch, ns, name);
  if (object == nullptr) return BERTH_NOT_FOUND;
  use(arg, ObjectRecord(object->seen(), object->version).raw());
  return BERTH_OK;
}

BERTH_TESTKIT_INLINE berth_code FakeCluster::actual(void* ctx, std::uint32_t watch, berth_str ns, berth_str name,
                                                    void (*use)(void*, const berth_object_v1*), void* arg) {
  const Object* object = self(ctx).find(watch, ns, name);
  if (object == nullptr) return BERTH_NOT_FOUND;
  use(arg, ObjectRecord(object->spec, object->version).raw());
  return BERTH_OK;
}

BERTH_TESTKIT_INLINE FakeCluster::Object* FakeCluster::find(std::uint32_t watch, berth_str ns, berth_str name) {
  auto& objects = objects_[watches_.at(watch)];
  const auto at = objects.find({text_of(ns), text_of(name)});
  return at == objects.end() ? nullptr : &at->second;
}

BERTH_TESTKIT_INLINE void FakeCluster::each_object(void* ctx, std::uint32_t watch, berth_str ns,
                                                   std::uint32_t (*visit)(void*, const berth_object_v1*), void* arg) {
  for (const auto& [key, object] : self(ctx).objects_[self(ctx).watches_.at(watch)]) {
    if (ns.len != 0 && key.first != text_of(ns)) continue;
    if (visit(arg, ObjectRecord(object.seen(), object.version).raw()) == 0) return;
  }
}

BERTH_TESTKIT_INLINE std::uint64_t FakeCluster::changes(void* ctx, std::uint32_t watch, std::uint64_t since,
                                                        void (*visit)(void*, berth_str, berth_str,
                                                                      const berth_object_v1*),
                                                        void* arg) {
  FakeCluster& c = self(ctx);
  if (since == 0) visit(arg, {}, {}, nullptr);
  for (const auto& [key, version] : c.changed_[c.watches_.at(watch)]) {
    if (version <= since) continue;
    const Object* object = c.find(watch, str(key.first), str(key.second));
    if (object == nullptr) {
      visit(arg, str(key.first), str(key.second), nullptr);
    } else {
      const ObjectRecord shown(object->seen(), object->version);
      visit(arg, str(key.first), str(key.second), shown.raw());
    }
  }
  return c.version_;
}

BERTH_TESTKIT_INLINE berth_code FakeCluster::assume(void* ctx, std::uint32_t watch, berth_str ns, berth_str name,
                                                    std::uint64_t version, const berth_value_v1* values,
                                                    std::uint32_t count, berth_note_v1*) {
  FakeCluster& c = self(ctx);
  Object* object = c.find(watch, ns, name);
  if (object == nullptr) return BERTH_NOT_FOUND;
  if (object->version != version) return BERTH_UNSCHEDULABLE;
  object->overlay = ObjectSpec{object->spec.ns, object->spec.name, {}};
  for (std::uint32_t i = 0; i < count; ++i) {
    FieldText value(values[i].present != 0 ? text_of(values[i].text) : std::string());
    value.number = values[i].number;
    object->overlay->values.push_back(std::move(value));
  }
  c.changed_[c.watches_.at(watch)][{text_of(ns), text_of(name)}] = ++c.version_;
  return BERTH_OK;
}

BERTH_TESTKIT_INLINE void FakeCluster::forget(void* ctx, std::uint32_t watch, berth_str ns, berth_str name) {
  FakeCluster& c = self(ctx);
  Object* object = c.find(watch, ns, name);
  if (object == nullptr) return;
  object->overlay.reset();
  c.changed_[c.watches_.at(watch)][{text_of(ns), text_of(name)}] = ++c.version_;
}

BERTH_TESTKIT_INLINE berth_code FakeCluster::patch_object(void* ctx, berth_str resource, berth_str ns, berth_str name,
                                                          berth_str json, berth_write_done_v1 done, void* arg) {
  FakeCluster& c = self(ctx);
  c.patches.push_back({text_of(resource), text_of(ns), text_of(name), text_of(json)});
  done(arg, c.patch_answer, c.patch_answer == BERTH_OK ? berth_str{} : str("the server refused"));
  return BERTH_OK;
}

BERTH_TESTKIT_INLINE berth_code FakeCluster::write(void* ctx, const char* verb, const berth_object_ref_v1* object,
                                                   berth_str body, berth_object_done_v1 done, void* arg) {
  FakeCluster& c = self(ctx);
  std::string what = std::string(verb) + " " + text_of(object->resource);
  if (object->subresource.len != 0) what += "/" + text_of(object->subresource);
  c.requests.push_back(what + " " + text_of(object->ns) + "/" + text_of(object->name));
  c.bodies.push_back(text_of(body));
  const berth_code code = c.answer_code ? c.answer_code(c.requests.back()) : c.patch_answer;
  const std::string_view kind = verb;
  const berth_str shown = kind == "get"                         ? str(c.read_object)
                          : kind == "patch" && c.patched_object ? str(*c.patched_object)
                                                                : body;
  const berth_object_answer_v1 answer{sizeof answer, code, code == BERTH_OK ? berth_str{} : str("the server refused"),
                                      shown};
  done(arg, &answer);
  return BERTH_OK;
}

BERTH_TESTKIT_INLINE berth_code FakeCluster::assume_written(void* ctx, std::uint32_t watch, berth_str json,
                                                            berth_note_v1*) {
  FakeCluster& c = self(ctx);
  c.assumed_written.push_back(c.watches_.at(watch) + " " + text_of(json));
  return BERTH_OK;
}

BERTH_TESTKIT_INLINE bool FakeCluster::belongs(const Shape& shape, std::uint32_t which) {
  return which == BERTH_SHAPES_ALL ||
         (which == BERTH_SHAPES_WITH_AFFINITY && (shape.flags & BERTH_SHAPE_HAS_AFFINITY) != 0) ||
         (which == BERTH_SHAPES_WITH_REQUIRED_ANTI && (shape.flags & BERTH_SHAPE_HAS_REQUIRED_ANTI) != 0);
}

BERTH_TESTKIT_INLINE void FakeCluster::each_shape(void* ctx, const berth_cycle_v1*, std::uint32_t which, berth_id ns,
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
                             static_cast<std::uint32_t>(shape.nodes.size()),
                             number};
    if (belongs(shape, which) && (ns == 0 || ns == pod.ns) && visit(arg, &raw) == 0) return;
  }
}

BERTH_TESTKIT_INLINE std::uint32_t FakeCluster::count_shapes(void* ctx, const berth_cycle_v1*, std::uint32_t which) {
  std::uint32_t count = 0;
  for (const Shape& shape : self(ctx).shapes_) count += belongs(shape, which) ? 1 : 0;
  return count;
}

BERTH_TESTKIT_INLINE const std::vector<FakeCluster::Member>& FakeCluster::members_of(berth_id ns, berth_str group) {
  return groups[{host_.text(ns), text_of(group)}];
}

BERTH_TESTKIT_INLINE void FakeCluster::count_members(void* ctx, berth_id ns, berth_str group,
                                                     berth_group_count_v1* out) {
  *out = {out->struct_size, 0, 0, 0, 0, 0};
  for (const Member& member : self(ctx).members_of(ns, group)) {
    ++out->all;
    if (member.deleting) continue;
    if (!member.pod.node_name.empty()) {
      ++out->assigned;
    } else if (!member.foreign) {
      ++(member.pod.gates.empty() ? out->ready : out->gated);
    }
  }
}

BERTH_TESTKIT_INLINE void FakeCluster::each_member(void* ctx, berth_id ns, berth_str group,
                                                   std::uint32_t (*visit)(void*, const berth_pod_v1*), void* arg) {
  FakeCluster& c = self(ctx);
  for (const Member& member : c.members_of(ns, group)) {
    const PodRecord pod(c.host_, member.pod, BERTH_POD_IDENTITY | BERTH_POD_PLACEMENT);
    if (visit(arg, pod.raw()) == 0) return;
  }
}

BERTH_TESTKIT_INLINE const std::int64_t* FakeCluster::resource_column(void* ctx, const berth_cycle_v1*,
                                                                      std::uint32_t kind, berth_id resource) {
  FakeCluster& c = self(ctx);
  auto& column = c.resource_columns_.emplace_back((c.nodes.size() + 63) / 64 * 64, 0);
  const auto amount = [&](const std::map<std::string, std::int64_t>& amounts) {
    const auto at = amounts.find(c.host_.text(resource));
    return at == amounts.end() ? std::int64_t{0} : at->second;
  };
  for (std::size_t slot = 0; slot < c.nodes.size(); ++slot) {
    const std::int64_t capacity = amount(c.nodes[slot].capacity), requested = amount(c.nodes[slot].requested);
    column[slot] = kind == BERTH_COL_ALLOCATABLE ? capacity
                   : kind == BERTH_COL_REQUESTED ? requested
                                                 : capacity - requested;
  }
  return column.data();
}

BERTH_TESTKIT_INLINE const void* FakeCluster::column(void* ctx, const berth_cycle_v1*, std::uint32_t index) {
  FakeCluster& c = self(ctx);
  if (index >= c.host_.columns.size()) return nullptr;
  return c.blocks_.emplace_back(c.host_, c.nodes).raw()->columns[index];
}

BERTH_TESTKIT_INLINE FakeCluster::~FakeCluster() = default;

}  // namespace berth::testkit
