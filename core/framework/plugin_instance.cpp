// SPDX-License-Identifier: Apache-2.0
#include "framework/plugin_instance.hpp"

#include <algorithm>

#include "base/process/explained_end.hpp"
#include "base/process/process_time_limit.hpp"
#include "framework/plugin_call.hpp"
#include "framework/services/log_service.hpp"
#include "framework/services/service_tables.hpp"
#include "observe/exit_report.hpp"

namespace berth::framework {

const void* Host::find_service(std::string_view id) const noexcept {
  for (const HostService& service : more_services)
    if (service.id == id) return service.table;
  return own_service(id);
}

void* Host::state_of(std::string_view id) const noexcept {
  for (const HostService& service : more_services)
    if (service.id == id) return service.state;
  return nullptr;
}

namespace {

using cache::ColumnKind;
using cache::ColumnSpec;

template <typename Ops>
const Ops* ops_of(const berth_plugin_v1& plugin, std::string_view id) noexcept {
  for (std::uint32_t i = 0; i < plugin.point_count; ++i)
    if (plugin.points[i].id != nullptr && id == plugin.points[i].id)
      return static_cast<const Ops*>(plugin.points[i].ops);
  return nullptr;
}

PluginInstance& instance(void* ctx) noexcept { return *static_cast<PluginInstance*>(ctx); }

}  // namespace

/// The functions behind berth_binder_v1; ctx is the instance that is being created.
struct BinderCalls {
  static bool is_withheld(const PluginInstance& self) noexcept { return self.host_.withheld.plugin == self.name_; }

  static std::uint32_t add(PluginInstance& self, BoundColumn column) {
    self.columns_.push_back(column);
    return static_cast<std::uint32_t>(self.columns_.size() - 1);
  }

  static std::uint32_t column(void* ctx, std::uint32_t kind, berth_str key_text) {
    PluginInstance& self = instance(ctx);
    Host& host = self.host_;
    const std::string_view key = from_abi(key_text);
    if (is_withheld(self) && self.columns_asked_++ == host.withheld.column) return BERTH_NO_COLUMN;
    switch (kind) {
      case BERTH_COL_POD_FREE:
      case BERTH_COL_POD_ALLOCATABLE:
        self.pod_bound_ = true;
        self.fields_.groups |= BERTH_POD_REQUESTS;
        return add(self,
                   {kind == BERTH_COL_POD_FREE ? BoundColumn::Kind::pod_free : BoundColumn::Kind::pod_allocatable, 0});
      case BERTH_COL_FREE:
      case BERTH_COL_ALLOCATABLE:
      case BERTH_COL_REQUESTED:
      case BERTH_COL_NONZERO: {
        if (kind == BERTH_COL_ALLOCATABLE && key == "pods")
          return add(self, {BoundColumn::Kind::plain, host.snapshot.ensure_column({ColumnKind::allowed_pods})});
        ColumnSpec spec{static_cast<ColumnKind>(kind)};
        spec.resource = host.resources.keep(host.symbols.intern(key));
        return add(self, {BoundColumn::Kind::plain, host.snapshot.resource_column(spec.kind, spec.resource)});
      }
      case BERTH_COL_LABEL:
      case BERTH_COL_ANNOTATION:
      case BERTH_COL_CONDITION: {
        ColumnSpec spec{static_cast<ColumnKind>(kind)};
        spec.key = host.symbols.intern(key);
        return add(self, {BoundColumn::Kind::plain, host.snapshot.ensure_column(spec)});
      }
      case BERTH_COL_LISTED:
      case BERTH_COL_STATUS_CAPACITY:
      case BERTH_COL_HAS_ALLOCATABLE:
      case BERTH_COL_HAS_STATUS_CAPACITY: {
        if (kind == BERTH_COL_HAS_ALLOCATABLE && key == "pods")
          return add(self, {BoundColumn::Kind::plain, host.snapshot.ensure_column({ColumnKind::lists_pods})});
        const ColumnSpec spec{static_cast<ColumnKind>(kind), 0, host.symbols.intern(key)};
        return add(self, {BoundColumn::Kind::plain, host.snapshot.ensure_column(spec)});
      }
      case BERTH_COL_PODS:
      case BERTH_COL_TAINT_SET:
      case BERTH_COL_NAME:
      case BERTH_COL_UNSCHEDULABLE:
      case BERTH_COL_IMAGE_SET:
      case BERTH_COL_PORT_SET:
      case BERTH_COL_FEATURE_SET:
      case BERTH_COL_LABEL_SET:
      case BERTH_COL_VOLUME_SET:
        return add(self, {BoundColumn::Kind::plain, host.snapshot.ensure_column({static_cast<ColumnKind>(kind)})});
      default:
        return BERTH_NO_COLUMN;
    }
  }

  static std::uint32_t request(void* ctx, berth_str resource) {
    PluginInstance& self = instance(ctx);
    const Symbol name = self.host_.symbols.intern(from_abi(resource));
    auto& list = self.fields_.requests;
    const auto at = std::find(list.begin(), list.end(), name);
    if (at != list.end()) return static_cast<std::uint32_t>(at - list.begin());
    list.push_back(name);
    return static_cast<std::uint32_t>(list.size() - 1);
  }

  static std::uint64_t pod_fields(void* ctx, std::uint64_t groups) {
    PluginInstance& self = instance(ctx);
    if (is_withheld(self) && self.host_.withheld.pod_fields) return 0;
    self.fields_.groups |= groups & k_pod_groups;
    return groups & k_pod_groups;
  }

  static void pod_label(void* ctx, berth_str key) {
    PluginInstance& self = instance(ctx);
    self.fields_.labels.push_back(self.host_.symbols.intern(from_abi(key)));
  }
};

config::PointSet points_of(const berth_plugin_v1& p) noexcept {
  using config::Point;
  config::PointSet set = 0;
  const auto offer = [&](Point point, bool has) {
    if (has) set |= config::bit_of(point);
  };
  if (const auto* q = ops_of<berth_queue_ops_v1>(p, "berth.queue/1")) {
    offer(Point::queue_sort, q->key != nullptr || q->less != nullptr);
    offer(Point::pre_enqueue, q->pre_enqueue != nullptr);
  }
  if (const auto* prepare = ops_of<berth_prepare_ops_v1>(p, "berth.prepare/1")) {
    offer(Point::pre_filter, prepare->pre_filter != nullptr);
    offer(Point::pre_score, prepare->pre_score != nullptr);
  }
  offer(Point::filter, ops_of<berth_filter_ops_v1>(p, "berth.filter/1") != nullptr);
  offer(Point::post_filter, ops_of<berth_post_filter_ops_v1>(p, "berth.post_filter/1") != nullptr);
  offer(Point::score, ops_of<berth_score_ops_v1>(p, "berth.score/1") != nullptr);
  offer(Point::reserve, ops_of<berth_reserve_ops_v1>(p, "berth.reserve/1") != nullptr);
  offer(Point::permit, ops_of<berth_permit_ops_v1>(p, "berth.permit/1") != nullptr);
  if (const auto* bind = ops_of<berth_bind_ops_v1>(p, "berth.bind/1")) {
    offer(Point::pre_bind, bind->pre_bind != nullptr);
    offer(Point::bind, bind->bind != nullptr);
    offer(Point::post_bind, bind->post_bind != nullptr);
  }
  return set;
}

PluginInstance::PluginInstance(PluginSource source, Host& host, std::size_t ordinal, std::string profile)
    : source_(std::move(source)),
      host_(host),
      ordinal_(ordinal),
      name_(source_.descriptor->name),
      version_(source_.descriptor->version != nullptr ? source_.descriptor->version : ""),
      profile_(std::move(profile)),
      index_(host.names.index_of(name_)),
      ids_(host.symbols) {
  crumb_ = {name_.c_str(), version_.c_str(), source_.file.empty() ? nullptr : source_.file.c_str(),
            source_.build_id.empty() ? nullptr : source_.build_id.c_str()};
  counters_.fill(host.counters.define(name_, "other", profile_));
  resolve_points();
}

void PluginInstance::resolve_points() {
  const berth_plugin_v1& d = *source_.descriptor;
  queue = ops_of<berth_queue_ops_v1>(d, "berth.queue/1");
  prepare = ops_of<berth_prepare_ops_v1>(d, "berth.prepare/1");
  filter = ops_of<berth_filter_ops_v1>(d, "berth.filter/1");
  post_filter = ops_of<berth_post_filter_ops_v1>(d, "berth.post_filter/1");
  score = ops_of<berth_score_ops_v1>(d, "berth.score/1");
  reserve = ops_of<berth_reserve_ops_v1>(d, "berth.reserve/1");
  permit = ops_of<berth_permit_ops_v1>(d, "berth.permit/1");
  bind = ops_of<berth_bind_ops_v1>(d, "berth.bind/1");
  requeue = ops_of<berth_requeue_ops_v1>(d, "berth.requeue/1");
  group = ops_of<berth_group_ops_v1>(d, k_groups_id);
  domains = ops_of<berth_domain_ops_v1>(d, k_domains_id);
  points_ = points_of(d);
  const auto own = [&](const auto* ops) { return ops != nullptr && ops->deps != 0 ? ops->deps : d.deps; };
  filter_deps_ = own(filter);
  score_deps_ = own(score);
  settle_reuse();

  using observe::Point;
  const auto count = [&](Point point, bool offered) {
    if (offered)
      counters_[static_cast<std::size_t>(point)] = host_.counters.define(name_, observe::point_name(point), profile_);
  };
  count(Point::create, true);
  if (queue != nullptr) {
    count(Point::queue_key, queue->key != nullptr);
    count(Point::queue_less, queue->less != nullptr);
    count(Point::pre_enqueue, queue->pre_enqueue != nullptr);
  }
  if (prepare != nullptr) {
    count(Point::pre_filter, prepare->pre_filter != nullptr);
    count(Point::pre_score, prepare->pre_score != nullptr);
    count(Point::state_clone, prepare->state_clone != nullptr);
    count(Point::state_free, prepare->state_free != nullptr);
    count(Point::add_pod, prepare->pod_added != nullptr);
    count(Point::remove_pod, prepare->pod_removed != nullptr);
  }
  count(Point::filter, filter != nullptr);
  count(Point::post_filter, post_filter != nullptr);
  count(Point::score, score != nullptr);
  count(Point::normalize_score, score != nullptr);
  count(Point::reserve, reserve != nullptr);
  count(Point::unreserve, reserve != nullptr);
  count(Point::permit, permit != nullptr);
  if (bind != nullptr) {
    count(Point::pre_bind_check, true);
    count(Point::pre_bind, true);
    count(Point::bind, true);
    count(Point::post_bind, true);
  }
  count(Point::hint, requeue != nullptr);
  count(Point::group_of, group != nullptr);
  count(Point::quorum, group != nullptr);
}

namespace {

constexpr std::uint32_t k_announced_deps = BERTH_DEP_OBJECTS | BERTH_DEP_CLOCK | BERTH_DEP_EXTERNAL;

bool is_by_row(std::uint32_t deps) noexcept {
  constexpr std::uint32_t k_row =
      BERTH_DEP_POD_SPEC | BERTH_DEP_NODE_STATIC | BERTH_DEP_NODE_USAGE | BERTH_DEP_ANNOUNCED;
  return (deps & ~(k_row | ((deps & BERTH_DEP_ANNOUNCED) != 0 ? k_announced_deps : 0))) == 0;
}

bool follows_watches(std::uint32_t deps) noexcept {
  return deps != BERTH_DEP_EVERYTHING && (deps & BERTH_DEP_ANNOUNCED) != 0 && (deps & BERTH_DEP_OBJECTS) != 0;
}

}  // namespace

void PluginInstance::settle_reuse() noexcept {
  // A filter that remembers a decision per node has to be called, and what it remembers is read by score.
  const bool records = filter != nullptr && (filter->flags & BERTH_FILTER_RECORDS) != 0;
  // A plugin that asks for what only one pod has cannot share verdicts between pods.
  const bool is_of_one_pod = (fields_.groups & (BERTH_POD_IDENTITY | BERTH_POD_JSON)) != 0;
  filter_reusable_ = is_by_row(filter_deps_) && !records && !is_of_one_pod;
  score_reusable_ = is_by_row(score_deps_) && !records && !is_of_one_pod;
}

std::uint64_t PluginInstance::epoch() const {
  std::uint64_t epoch = epoch_.load(std::memory_order_acquire);
  if (follows_watches(filter_deps_) || follows_watches(score_deps_))
    for (const ObjectStore::WatchId watch : watches_) epoch += host_.objects.epoch(watch);
  return epoch;
}

namespace {

/// What is said when create() never comes back.
std::string create_report(const PluginInstance& plugin, std::chrono::milliseconds limit) {
  const std::string& file = plugin.file();
  return fmt::format(
      "BERTH-P052 create took too long\n{}  plugin:    {}\n  evidence:  create has run for {} ms; the limit is "
      "reached and the process ends\n  do:        move slow work to a task of berth.executor/1, or do it at first "
      "use\n",
      file.empty() ? "" : "  file:      " + file + "\n", plugin.name(), limit.count());
}

}  // namespace

Result<std::unique_ptr<PluginInstance>> PluginInstance::create(PluginSource source, std::string_view args_json,
                                                               Host& host, std::size_t ordinal, std::string profile) {
  std::unique_ptr<PluginInstance> made(new PluginInstance(std::move(source), host, ordinal, std::move(profile)));
  made->abi_host_ = {sizeof(berth_host_v1),
                     BERTH_ABI_MINOR,
                     BERTH_DATA_MODEL,
                     made.get(),
                     to_abi(host.product),
                     [](void* ctx, const char* id) -> const void* {
                       return id == nullptr ? nullptr : static_cast<PluginInstance*>(ctx)->host().find_service(id);
                     },
                     host.score_max};
  const berth_binder_v1 binder{
      sizeof(berth_binder_v1), 0, made.get(), &BinderCalls::column, &BinderCalls::request, &BinderCalls::pod_fields,
      &BinderCalls::pod_label};
  Note note;
  const ProcessTimeLimit time_limit(host.create_limit, create_report(*made, host.create_limit));
  const observe::RunningPlugin running(made->crumb_);
  const Code code = call_plugin(*made, observe::Point::create, note, [&] {
    return made->descriptor().create(&made->abi_host_, &binder, to_abi(args_json), &made->self_, note.abi());
  });
  if (code != Code::success) {
    made->self_ = nullptr;
    std::string text = note.text();
    if (text.empty()) text = fmt::format("create returned {}", static_cast<std::uint32_t>(code));
    return Error{std::move(text)};
  }
  if (made->filter != nullptr && made->filter->budget_ns != nullptr) {
    const observe::RunningPlugin asked(made->crumb_);
    constexpr std::uint64_t k_longest_ns = std::uint64_t{1} << 60;  // 36 years
    made->filter_budget_ns_ = static_cast<std::int64_t>(std::min(made->filter->budget_ns(made->self_), k_longest_ns));
  }
  made->loading_ = false;
  std::sort(made->fields_.labels.begin(), made->fields_.labels.end());
  made->fields_.is_trapped = host.traps_unasked_fields;
  made->hint_fields_ = made->fields_;
  made->hint_fields_.groups |= BERTH_POD_IDENTITY | BERTH_POD_PLACEMENT;
  made->settle_reuse();
  return made;
}

std::uint32_t PluginInstance::resource_of(const berth_interest_v1& interest) const noexcept {
  if (interest.resource < BERTH_KIND_OWN_WATCH) return interest.resource;
  const std::uint32_t place = interest.resource - BERTH_KIND_OWN_WATCH;
  return place < watches_.size() ? BERTH_KIND_WATCH + watches_[place]
                                 : interest.resource;  // a watch that was not declared
}

bool declares(const berth_plugin_v1& d, std::string_view service_id) noexcept {
  return std::any_of(d.services, d.services + d.service_count, [&](const char* id) { return id == service_id; });
}

PluginInstance::~PluginInstance() {
  constexpr std::chrono::milliseconds k_task_patience{10'000};
  const bool is_idle = tasks_->close(k_task_patience);
  if (!is_idle) {  // it uses the instance
    write_log(*this, BERTH_LOG_ERROR, "a task does not end: the process ends without destroying the plugin");
    end_is_explained();
    std::_Exit(1);
  }
  if (self_ == nullptr || descriptor().destroy == nullptr) return;
  observe::enter_plugin(crumb_, observe::Point::destroy);
  try {
    descriptor().destroy(self_);
  } catch (...) {  // nothing is left that could fail for it
  }
  observe::leave_plugin();
}

std::string_view PluginInstance::reason_text(berth_reason reason) const noexcept {
  const berth_plugin_v1& d = descriptor();
  if (reason == 0 || reason >= d.reason_count || d.reasons == nullptr || d.reasons[reason].text == nullptr) return {};
  return d.reasons[reason].text;
}

}  // namespace berth::framework
