// SPDX-License-Identifier: Apache-2.0
// The tables behind berth_host_v1::service. Each function's first argument is the calling instance.
#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/bitmap.hpp"
#include "framework/cycle_context.hpp"
#include "framework/plugin_call.hpp"
#include "framework/plugin_instance.hpp"
#include "framework/services/log_service.hpp"
#include "framework/services/service_tables.hpp"
#include "framework/services/thread_tags.hpp"

#include "berth/ext/node_order.h"

namespace berth::framework {
namespace {

Host& host(void* ctx) noexcept { return plugin_of(ctx).host(); }

// --- sets ------------------------------------------------------------------------------------------------------------
template <typename Abi, typename T>
const Abi* members(const cache::InternedLists<T>& lists, std::uint32_t set, std::uint32_t* count) noexcept {
  static_assert(sizeof(Abi) == sizeof(T));
  const auto list = lists.members(set);
  *count = static_cast<std::uint32_t>(list.size());
  return reinterpret_cast<const Abi*>(list.data());
}
static_assert(sizeof(berth_image_v1) == sizeof(cache::ImageState));

const berth_taint_v1* taints(void* ctx, std::uint32_t set, std::uint32_t* count) {
  return members<berth_taint_v1>(host(ctx).lists.taints, set, count);
}
const berth_image_v1* images(void* ctx, std::uint32_t set, std::uint32_t* count) {
  return members<berth_image_v1>(host(ctx).lists.images, set, count);
}
const berth_host_port_v1* ports(void* ctx, std::uint32_t set, std::uint32_t* count) {
  return members<berth_host_port_v1>(host(ctx).lists.ports, set, count);
}
const berth_id* features(void* ctx, std::uint32_t set, std::uint32_t* count) {
  return members<berth_id>(host(ctx).lists.features, set, count);
}
const berth_label_v1* labels(void* ctx, std::uint32_t set, std::uint32_t* count) {
  return members<berth_label_v1>(host(ctx).lists.labels, set, count);
}
static_assert(sizeof(berth_node_volume_v1) == sizeof(model::NodeVolume));
const berth_node_volume_v1* volumes(void* ctx, std::uint32_t set, std::uint32_t* count) {
  return members<berth_node_volume_v1>(host(ctx).lists.volumes, set, count);
}
constexpr berth_sets_v1 k_sets{
    sizeof(berth_sets_v1), 0, &taints, &images, &ports, &features, &labels, &volumes, [](void* ctx) {
      return host(ctx).lists.recycled.load(std::memory_order_acquire);
    }};

// --- clock, intern, reasons, cycle, epoch ----------------------------------------------------------------------------
constexpr berth_clock_v1 k_clock{sizeof(berth_clock_v1), 0,
                                 [](void* ctx) { return host(ctx).ports.clock.monotonic_ns(); },
                                 [](void* ctx) { return host(ctx).ports.clock.wall_ns(); }};

constexpr std::uint32_t k_may_intern = tags::load | tags::cycle | tags::worker | tags::watch;

berth_id intern_in(PluginInstance& plugin, std::string_view text, bool for_cycle) {
  try {
    SymbolTable& symbols = plugin.host().symbols;
    if (plugin.loading()) return symbols.intern(text);
    const Symbol symbol = symbols.intern_recent(text);
    if (for_cycle || plugin.ids().keep(symbol)) return symbol;
    if (plugin.ids().is_first_refusal())  // each that follows fares alike
      write_log(plugin, BERTH_LOG_ERROR,
                fmt::format("a text got no id: the instance has interned {} texts; those without end are for "
                            "intern_for_cycle() of berth.intern/1",
                            InstanceIds::k_most));
  } catch (const SymbolTableFull& full) {
    write_log(plugin, BERTH_LOG_ERROR, fmt::format("a text got no id: {}", full.what()));
  }
  return k_no_symbol;
}

berth_id intern_text(void* ctx, berth_str text) {
  if (!is_allowed(plugin_of(ctx), "intern() of berth.intern/1", k_may_intern)) return k_no_symbol;
  return intern_in(plugin_of(ctx), from_abi(text), false);
}
berth_id intern_for_cycle(void* ctx, berth_str text) {
  if (!is_allowed(plugin_of(ctx), "intern_for_cycle() of berth.intern/1", k_may_intern)) return k_no_symbol;
  return intern_in(plugin_of(ctx), from_abi(text), true);
}
constexpr berth_intern_v1 k_intern{
    sizeof(berth_intern_v1),
    0,
    &intern_text,
    [](void* ctx, berth_id id, berth_str* out) { *out = to_abi(host(ctx).symbols.text(id)); },
    [](void* ctx, berth_id id) { host(ctx).symbols.pin(id); },
    [](void* ctx, berth_id id) { host(ctx).symbols.unpin(id); },
    &intern_for_cycle};

berth_reason make_reason(void* ctx, const berth_str* texts, std::uint32_t count) {
  if (!is_allowed(plugin_of(ctx), "make() of berth.reasons/1", tags::cycle | tags::worker)) return 0;
  std::vector<std::string> list;
  list.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) list.push_back(clean_text(from_abi(texts[i])));
  return host(ctx).reasons.make(std::move(list));
}
constexpr berth_reasons_v1 k_reasons{sizeof(berth_reasons_v1), 0, &make_reason};

constexpr berth_cycle_services_v1 k_cycle{
    sizeof(berth_cycle_services_v1), 0,
    [](void*, const berth_cycle_v1*) -> std::uint32_t {
      return 0;
    },  // a cycle runs to its end; binding is cancelled elsewhere
    [](void* ctx, const berth_cycle_v1* cycle, std::uint64_t bytes, std::uint64_t align) -> void* {
      if (!is_allowed(plugin_of(ctx), "alloc() of berth.cycle/1", tags::cycle)) return nullptr;
      return context_of(cycle).arena().allocate(bytes, align);
    }};

constexpr berth_epoch_v1 k_epoch{sizeof(berth_epoch_v1), 0, [](void* ctx) { plugin_of(ctx).bump_epoch(); }};

// --- labels, nodes ---------------------------------------------------------------------------------------------------
const berth_id* label_column(void* ctx, const berth_cycle_v1*, berth_id key) {
  if (!is_allowed(plugin_of(ctx), "column() of berth.labels/1", tags::cycle)) return nullptr;
  return host(ctx).snapshot.label_values(key);
}

/// Whether a label value, 0 when absent, meets a requirement. Integers as Go's ParseInt(…, 10, 64).
bool meets(const SymbolTable& symbols, const berth_requirement_v1& r, berth_id value) {
  const auto listed = [&] { return std::find(r.values, r.values + r.value_count, value) != r.values + r.value_count; };
  switch (r.op) {
    case BERTH_OP_IN:
      return value != 0 && listed();
    case BERTH_OP_NOT_IN:
      return value == 0 || !listed();
    case BERTH_OP_EXISTS:
      return value != 0;
    case BERTH_OP_DOES_NOT_EXIST:
      return value == 0;
    default:
      break;
  }
  if (value == 0) return false;
  std::string_view text = symbols.text(value);
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return false;
  return r.op == BERTH_OP_GT ? number > r.number : number < r.number;
}

berth_code match_labels(void* ctx, const berth_cycle_v1* cycle, const berth_requirement_v1* r, std::uint64_t* out,
                        std::uint64_t word_count) {
  if (!is_allowed(plugin_of(ctx), "match() of berth.labels/1", tags::cycle)) return BERTH_DENIED;
  if (r->op < BERTH_OP_IN || r->op > BERTH_OP_LT || r->reserved != 0) return BERTH_BAD_ARGS;
  const cache::Snapshot& snapshot = host(ctx).snapshot;
  const berth_id* const values = label_column(ctx, cycle, r->key);
  std::fill_n(out, word_count, 0);
  const std::size_t words = std::min<std::size_t>(word_count, snapshot.word_count());
  // Neighbours often share a value: remembering the last answer saves most of the work.
  berth_id last_value = ~berth_id{0};
  bool last_answer = false;
  for (std::size_t w = 0; w < words; ++w) {
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < 64; ++i) {
      const berth_id value = values[w * 64 + i];
      if (value != last_value) {
        last_value = value;
        last_answer = meets(host(ctx).symbols, *r, value);
      }
      bits |= static_cast<std::uint64_t>(last_answer) << i;
    }
    out[w] = bits & snapshot.nodes()[w];
  }
  return BERTH_OK;
}
constexpr berth_labels_v1 k_labels{sizeof(berth_labels_v1), 0, &label_column, &match_labels};

const void* node_column(void* ctx, const berth_cycle_v1*, std::uint32_t index) {
  const PluginInstance& plugin = plugin_of(ctx);
  if (!is_allowed(plugin, "column() of berth.nodes/1", tags::cycle | tags::worker)) return nullptr;
  if (index >= plugin.columns().size() || plugin.columns()[index].kind != BoundColumn::Kind::plain) return nullptr;
  return host(ctx).snapshot.column(plugin.columns()[index].id).data();
}
const std::int64_t* resource_column(void* ctx, const berth_cycle_v1*, std::uint32_t kind, berth_id resource) {
  if (!is_allowed(plugin_of(ctx), "resource() of berth.nodes/1", tags::cycle)) return nullptr;
  if (kind == BERTH_COL_LISTED) {
    cache::Snapshot& snapshot = host(ctx).snapshot;
    const cache::ColumnId column = snapshot.ensure_column({cache::ColumnKind::listed, 0, resource});
    return static_cast<const std::int64_t*>(snapshot.column(column).data());
  }
  if (kind != BERTH_COL_FREE && kind != BERTH_COL_ALLOCATABLE && kind != BERTH_COL_REQUESTED) return nullptr;
  cache::Snapshot& snapshot = host(ctx).snapshot;
  const cache::ColumnId column =
      snapshot.resource_column(static_cast<cache::ColumnKind>(kind), host(ctx).resources.find(resource));
  return static_cast<const std::int64_t*>(snapshot.column(column).data());
}
constexpr berth_nodes_v1 k_nodes{sizeof(berth_nodes_v1),
                                 0,
                                 &node_column,
                                 &resource_column,
                                 [](void* ctx, const berth_cycle_v1*) -> std::uint64_t {
                                   if (!is_allowed(plugin_of(ctx), "facts() of berth.nodes/1", tags::cycle)) return 0;
                                   return host(ctx).snapshot.facts_generation();
                                 },
                                 [](void* ctx, const berth_cycle_v1*, berth_id name) -> berth_slot {
                                   static_assert(cache::k_no_slot == BERTH_NO_SLOT);
                                   if (!is_allowed(plugin_of(ctx), "find() of berth.nodes/1", tags::cycle))
                                     return BERTH_NO_SLOT;
                                   return host(ctx).snapshot.find(name);
                                 }};

constexpr berth_node_order_v1 k_node_order{
    sizeof(berth_node_order_v1), 0, [](void* ctx, const berth_cycle_v1*) -> const berth_slot* {
      return is_allowed(plugin_of(ctx), "order() of berth.node_order/1", tags::cycle)
                 ? host(ctx).snapshot.order().data()
                 : nullptr;
    }};

// --- objects, assume -------------------------------------------------------------------------------------------------
/// "group/version/plural", with "core" for the group without a name; all in lower case, as the API's paths are.
bool names_a_resource(std::string_view resource) {
  const std::size_t first = resource.find('/'), second = resource.find('/', first + 1);
  if (second == std::string_view::npos || first == 0 || second == first + 1 || second + 1 == resource.size())
    return false;
  return std::all_of(resource.begin(), resource.end(),
                     [](char c) {
                       return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '/';
                     }) &&
         resource.find('/', second + 1) == std::string_view::npos;
}

/// Whether a plugin may watch a resource. A watch that the host would never fill is refused here, since a store that stays
/// empty looks like a cluster without such objects.
Status may_watch(const PluginInstance& plugin, std::string_view resource) {
  if (!names_a_resource(resource))
    return Error{fmt::format("\"{}\" is no resource such as \"apps/v1/replicasets\"", clean_text(resource))};
  if (resource == "core/v1/pods" || resource == "core/v1/nodes")
    return Error{fmt::format("{} are not watched as objects: berth.pods/1, columns and interests show them", resource)};
  const std::vector<std::string>& declared = plugin.declared_watches();
  if (plugin.crumb().file != nullptr && std::find(declared.begin(), declared.end(), resource) == declared.end())
    return Error{fmt::format(
        "the file's note lacks \"watch={}\", by which an operator grants the right to list and watch", resource)};
  return Unit{};
}

berth_code watch_objects(void* ctx, berth_str resource, const berth_field_v1* fields, std::uint32_t count,
                         std::uint32_t* watch, berth_note_v1* note) {
  if (!plugin_of(ctx).loading()) return answer(note, "watches are declared in create()", BERTH_DENIED);
  if (const Status permitted = may_watch(plugin_of(ctx), from_abi(resource)); !permitted.ok())
    return answer(note, permitted.error().message, BERTH_BAD_ARGS);
  std::vector<Field> list;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (fields[i].type < BERTH_FIELD_STR || fields[i].type > BERTH_FIELD_MILLI)
      return answer(note, "unknown field type", BERTH_BAD_ARGS);
    if (fields[i].reserved != 0) return answer(note, "the reserved word of a field is not 0", BERTH_BAD_ARGS);
    list.push_back({std::string(from_abi(fields[i].path)), static_cast<FieldType>(fields[i].type)});
  }
  *watch = host(ctx).objects.watch(std::string(from_abi(resource)), std::move(list));
  plugin_of(ctx).add_watch(*watch);
  return BERTH_OK;
}

/// Shows one projection in ABI shape to a callback.
template <typename Use>
auto with_object(const Projection& object, Use&& use) {
  std::vector<berth_value_v1> values;
  values.reserve(object.values.size());
  for (const FieldValue& v : object.values) values.push_back({v.type, v.present ? 1u : 0u, v.number, to_abi(v.text)});
  const berth_object_v1 abi{sizeof(berth_object_v1),
                            static_cast<std::uint32_t>(values.size()),
                            to_abi(object.ns),
                            to_abi(object.name),
                            to_abi(object.uid),
                            object.version,
                            values.data()};
  return use(&abi);
}

berth_code get_object(void* ctx, std::uint32_t watch, berth_str ns, berth_str name,
                      void (*use)(void*, const berth_object_v1*), void* arg) {
  const ProjectionPtr object = host(ctx).objects.get(watch, from_abi(ns), from_abi(name));
  if (!object) return BERTH_NOT_FOUND;
  with_object(*object, [&](const berth_object_v1* abi) { use(arg, abi); });
  return BERTH_OK;
}

void each_object(void* ctx, std::uint32_t watch, berth_str ns, std::uint32_t (*visit)(void*, const berth_object_v1*),
                 void* arg) {
  host(ctx).objects.each(watch, from_abi(ns), [&](const Projection& object) {
    return with_object(object, [&](const berth_object_v1* abi) { return visit(arg, abi) != 0; });
  });
}
std::uint64_t changed_objects(void* ctx, std::uint32_t watch, std::uint64_t since,
                              void (*visit)(void*, berth_str, berth_str, const berth_object_v1*), void* arg) {
  return host(ctx).objects.changes(
      watch, since, [&](std::string_view ns, std::string_view name, const Projection* object) {
        if (object == nullptr) return visit(arg, to_abi(ns), to_abi(name), nullptr);
        with_object(*object, [&](const berth_object_v1* abi) { visit(arg, to_abi(ns), to_abi(name), abi); });
      });
}
constexpr berth_objects_v1 k_objects{sizeof(berth_objects_v1),
                                     0,
                                     &watch_objects,
                                     &get_object,
                                     &each_object,
                                     [](void* ctx, std::uint32_t watch) { return host(ctx).objects.epoch(watch); },
                                     &changed_objects};

berth_code assume_object(void* ctx, std::uint32_t watch, berth_str ns, berth_str name, std::uint64_t version,
                         const berth_value_v1* values, std::uint32_t count, berth_note_v1* note) {
  if (!is_allowed(plugin_of(ctx), "assume() of berth.assume/1", tags::cycle | tags::binder)) return BERTH_DENIED;
  std::vector<FieldValue> list;
  for (std::uint32_t i = 0; i < count; ++i)
    list.push_back({values[i].present != 0, values[i].number, std::string(from_abi(values[i].text)), 0});
  const Status status = host(ctx).objects.assume(watch, from_abi(ns), from_abi(name), version, std::move(list));
  if (status.ok()) return BERTH_OK;
  const ErrorCode code = status.error().code;
  return answer(note, status.error().message,
                code == ErrorCode::not_found     ? berth_code{BERTH_NOT_FOUND}
                : code == ErrorCode::out_of_sync ? berth_code{BERTH_UNSCHEDULABLE}
                                                 : berth_code{BERTH_BAD_ARGS});
}
berth_code actual_object(void* ctx, std::uint32_t watch, berth_str ns, berth_str name,
                         void (*use)(void*, const berth_object_v1*), void* arg) {
  const ProjectionPtr object = host(ctx).objects.actual(watch, from_abi(ns), from_abi(name));
  if (!object) return BERTH_NOT_FOUND;
  with_object(*object, [&](const berth_object_v1* abi) { use(arg, abi); });
  return BERTH_OK;
}
berth_code assume_written(void* ctx, std::uint32_t watch, berth_str json, berth_note_v1* note) {
  if (!is_allowed(plugin_of(ctx), "assume_written() of berth.assume/1", tags::cycle | tags::binder))
    return BERTH_DENIED;
  const Status assumed = host(ctx).objects.assume_written(watch, std::string(from_abi(json)));
  if (assumed.ok()) return BERTH_OK;
  return answer(
      note, assumed.error().message,
      assumed.error().code == ErrorCode::out_of_sync ? berth_code{BERTH_UNSCHEDULABLE} : berth_code{BERTH_NOT_FOUND});
}
constexpr berth_assume_v1 k_assume{sizeof(berth_assume_v1),
                                   0,
                                   &assume_object,
                                   [](void* ctx, std::uint32_t watch, berth_str ns, berth_str name) {
                                     host(ctx).objects.forget(watch, from_abi(ns), from_abi(name));
                                   },
                                   &actual_object,
                                   &assume_written};

// --- waiting, queue, events --------------------------------------------------------------------------------
void each_waiting(void* ctx, berth_id ns, std::uint32_t (*visit)(void*, const berth_pod_v1*, berth_str), void* arg) {
  const PluginInstance& plugin = plugin_of(ctx);
  host(ctx).ports.waiting.each([&](const model::Pod& pod, Symbol node_name) {
    if (ns != 0 && pod.ns_symbol != ns) return true;
    Arena arena;
    PodView view;
    view.reset(pod, arena);
    return visit(arg, view.view(plugin.hint_fields()), to_abi(plugin.host().symbols.text(node_name))) != 0;
  });
}
constexpr berth_waiting_v1 k_waiting{
    sizeof(berth_waiting_v1), 0,
    [](void* ctx, berth_str uid) -> berth_code {
      return host(ctx).ports.waiting.allow(from_abi(uid), plugin_of(ctx).index()) ? BERTH_OK : BERTH_NOT_FOUND;
    },
    [](void* ctx, berth_str uid, berth_str message) -> berth_code {
      return host(ctx).ports.waiting.reject(from_abi(uid), plugin_of(ctx).index(), clean_text(from_abi(message)))
                 ? BERTH_OK
                 : BERTH_NOT_FOUND;
    },
    &each_waiting};

/// The queue's lock is held in [watch] calls; a request from there would come back into it.
bool inside_queue_call() noexcept {
  using observe::Point;
  const Point point = observe::current_point();
  return point == Point::queue_key || point == Point::queue_less || point == Point::pre_enqueue || point == Point::hint;
}
bool may_activate(void* ctx) { return is_allowed(plugin_of(ctx), "berth.queue_control/1", tags::cycle | tags::binder); }
constexpr berth_queue_control_v1 k_queue{sizeof(berth_queue_control_v1), 0,
                                         [](void* ctx, berth_str uid) -> berth_code {
                                           if (inside_queue_call() || !may_activate(ctx)) return BERTH_DENIED;
                                           host(ctx).ports.activation.activate(from_abi(uid));
                                           return BERTH_OK;
                                         },
                                         [](void* ctx, std::uint64_t pod_class) -> berth_code {
                                           if (inside_queue_call() || !may_activate(ctx)) return BERTH_DENIED;
                                           host(ctx).ports.activation.activate_class(pod_class);
                                           return BERTH_OK;
                                         }};

berth_code record_event(void* ctx, const berth_event_spec_v1* e) {
  const observe::Point point = observe::current_point();
  if (point == observe::Point::filter || point == observe::Point::score) return BERTH_DENIED;
  if (!is_allowed(plugin_of(ctx), "record() of berth.events/1", tags::cycle | tags::binder | tags::watch))
    return BERTH_DENIED;
  if (!has_first_fields(e) || e->type > BERTH_EVENT_WARNING) return BERTH_BAD_ARGS;
  PluginEvent event{e->type == BERTH_EVENT_WARNING,
                    clean_text(from_abi(e->regarding_kind)),
                    clean_text(from_abi(e->regarding_ns)),
                    clean_text(from_abi(e->regarding_name)),
                    clean_text(from_abi(e->regarding_uid)),
                    clean_text(from_abi(e->reason)),
                    clean_text(from_abi(e->action)),
                    clean_text(from_abi(e->note)),
                    plugin_of(ctx).profile()};
  if (event.kind.empty() || event.name.empty() || event.reason.empty()) return BERTH_BAD_ARGS;
  host(ctx).ports.events.record(event);
  return BERTH_OK;
}
constexpr berth_events_v1 k_events{sizeof(berth_events_v1), 0, &record_event};

// --- metrics ---------------------------------------------------------------------------------------------------------
/// One of upstream's names as it is, any other with the plugin's before it.
std::string metric_name(const PluginInstance& plugin, std::string_view name) {
  if (name.starts_with(observe::k_upstream_prefix)) return std::string(name);
  std::string out = "berth_plugin_";
  for (const char c : plugin.name()) out += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return out + "_" + std::string(name);
}

berth_code define_metric(void* ctx, const berth_metric_spec_v1* spec, std::uint32_t* family, berth_note_v1* note) {
  if (!plugin_of(ctx).loading()) return answer(note, "metrics are defined in create()", BERTH_DENIED);
  if (!has_first_fields(spec)) return answer(note, "the spec of a metric is too short", BERTH_BAD_ARGS);
  if (spec->kind < BERTH_METRIC_COUNTER || spec->kind > BERTH_METRIC_HISTOGRAM)
    return answer(note, "unknown metric kind", BERTH_BAD_ARGS);
  if (spec->reserved != 0) return answer(note, "the reserved word of a metric is not 0", BERTH_BAD_ARGS);
  observe::MetricSpec own{static_cast<observe::MetricKind>(spec->kind),
                          metric_name(plugin_of(ctx), from_abi(spec->name)),
                          clean_text(from_abi(spec->help)),
                          {},
                          {spec->buckets, spec->buckets + spec->bucket_count},
                          spec->max_series == 0 ? 100 : spec->max_series,
                          std::string(plugin_of(ctx).name())};
  for (std::uint32_t i = 0; i < spec->label_count; ++i) own.labels.emplace_back(from_abi(spec->label_names[i]));
  const auto made = host(ctx).metrics.define(own);
  if (!made) return answer(note, made.error().message, BERTH_BAD_ARGS);
  *family = *made;
  return BERTH_OK;
}
constexpr berth_metrics_v1 k_metrics{
    sizeof(berth_metrics_v1), 0, &define_metric,
    [](void* ctx, std::uint32_t family, const berth_str* values, std::uint32_t count,
       std::uint32_t* series) -> berth_code {
      std::vector<std::string_view> list;
      for (std::uint32_t i = 0; i < count; ++i) list.push_back(from_abi(values[i]));
      const std::vector<std::string> labels = host(ctx).metrics.labels(family);
      for (std::size_t i = 0; i < std::min(list.size(), labels.size()); ++i)
        if (labels[i] == "profile" && list[i].empty()) list[i] = plugin_of(ctx).profile();
      const auto made = host(ctx).metrics.series(family, list);
      if (!made) return BERTH_BAD_ARGS;
      *series = *made;
      return BERTH_OK;
    },
    [](void* ctx, std::uint32_t series, double value) { host(ctx).metrics.record(series, value); }};

const std::array k_services = std::to_array<std::pair<std::string_view, const void*>>({
    {"berth.sets/1", &k_sets},
    {"berth.clock/1", &k_clock},
    {"berth.intern/1", &k_intern},
    {"berth.reasons/1", &k_reasons},
    {"berth.cycle/1", &k_cycle},
    {"berth.epoch/1", &k_epoch},
    {"berth.labels/1", &k_labels},
    {"berth.objects/1", &k_objects},
    {"berth.waiting/1", &k_waiting},
    {"berth.queue_control/1", &k_queue},
    {"berth.executor/1", executor_service()},
    {"berth.pods/1", placed_pods_service()},
    {"berth.events/1", &k_events},
    {"berth.metrics/1", &k_metrics},
    {"berth.log/1", log_service()},
    {"berth.nodes/1", &k_nodes},
    {"berth.node_order/1", &k_node_order},
    {"berth.assume/1", &k_assume},
    {"berth.pod_index/1", pod_index_service()},
    {"berth.writes/1", writes_service()},
    {"berth.object_writes/1", object_writes_service()},
    {"berth.shared/1", shared_service()},
    {"berth.debug_pages/1", debug_pages_service()},
    {k_groups_id, groups_service()},
});

}  // namespace

const std::vector<std::string_view>& own_service_ids() {
  static const std::vector<std::string_view> ids = [] {
    std::vector<std::string_view> list;
    for (const auto& [id, table] : k_services) list.push_back(id);
    return list;
  }();
  return ids;
}

const void* own_service(std::string_view id) noexcept {
  for (const auto& [known, table] : k_services)
    if (known == id) return table;
  return nullptr;
}

}  // namespace berth::framework
