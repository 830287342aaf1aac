// SPDX-License-Identifier: Apache-2.0
// "berth.executor/1".
#include "framework/plugin_call.hpp"
#include "framework/plugin_instance.hpp"
#include "framework/services/instance_tasks.hpp"
#include "framework/services/log_service.hpp"
#include "framework/services/service_tables.hpp"
#include "framework/services/thread_tags.hpp"

namespace berth::framework {
namespace {

using Task = void (*)(void*);

/// Runs a task of a plugin with its breadcrumb and an exception barrier.
void run_task(const PluginInstance& plugin, Task task, void* arg) noexcept {
  const observe::BreadcrumbNesting nesting;
  observe::enter_plugin(plugin.crumb(), observe::Point::task);
  try {
    task(arg);
  } catch (const std::exception& e) {
    write_log(plugin, BERTH_LOG_ERROR, fmt::format("a task ended with an exception: {}", clean_text(e.what())));
  } catch (...) {
    write_log(plugin, BERTH_LOG_ERROR, "a task ended with an unknown exception");
  }
}

/// What the host posts: the instance may be gone by the time it runs.
std::function<void()> posted(PluginInstance& plugin, InstanceTasks::Handle handle, Task task, void* arg) {
  return [tasks = plugin.tasks(), &plugin, handle, task, arg] {
    tasks->run(handle, [&] { run_task(plugin, task, arg); });
  };
}

void repeat(PluginInstance& plugin, InstanceTasks::Handle handle, std::uint32_t period_ms, Task task, void* arg) {
  plugin.host().ports.tasks.every(
      period_ms, [tasks = plugin.tasks(), handle] { return tasks->waits(handle); }, posted(plugin, handle, task, arg));
}

berth_code submit(void* ctx, Task task, void* arg) {
  if (task == nullptr) return BERTH_BAD_ARGS;
  const InstanceTasks::Handle handle = plugin_of(ctx).tasks()->add(false);
  if (handle == 0) return BERTH_DENIED;
  plugin_of(ctx).host().ports.tasks.submit(posted(plugin_of(ctx), handle, task, arg));
  return BERTH_OK;
}

void parallel_for(void* ctx, std::uint32_t count, void (*body)(void*, std::uint32_t), void* arg) {
  const PluginInstance& plugin = plugin_of(ctx);
  if (!is_allowed(plugin, "parallel_for() of berth.executor/1", tags::cycle | tags::binder)) return;
  const observe::Point point = observe::current_point();
  plugin.host().ports.tasks.parallel_for(count, [&](std::uint32_t i) {
    const observe::BreadcrumbNesting nesting;  // a body is where its caller is, on whatever thread it runs
    observe::enter_plugin(plugin.crumb(), point);
    body(arg, i);
  });
}

berth_code start(void* ctx, std::uint32_t delay_ms, std::uint32_t period_ms, Task task, void* arg,
                 std::uint64_t* handle_out) {
  PluginInstance& plugin = plugin_of(ctx);
  if (period_ms != 0 && !is_allowed(plugin, "start() of berth.executor/1 with a period", tags::load))
    return BERTH_DENIED;
  if (task == nullptr || handle_out == nullptr) return BERTH_BAD_ARGS;
  const InstanceTasks::Handle handle = plugin.tasks()->add(period_ms != 0);
  if (handle == 0) return BERTH_DENIED;
  *handle_out = handle;
  if (period_ms == 0) {
    plugin.host().ports.tasks.after(delay_ms, posted(plugin, handle, task, arg));
    return BERTH_OK;
  }
  if (delay_ms == period_ms) {  // one timer does for both
    repeat(plugin, handle, period_ms, task, arg);
    return BERTH_OK;
  }
  plugin.host().ports.tasks.after(delay_ms, [tasks = plugin.tasks(), &plugin, handle, period_ms, task, arg] {
    // The next turns are asked for while the instance waits for this one.
    tasks->run(handle, [&] {
      run_task(plugin, task, arg);
      if (tasks->waits(handle)) repeat(plugin, handle, period_ms, task, arg);
    });
  });
  return BERTH_OK;
}

berth_code cancel(void* ctx, std::uint64_t handle) {
  return plugin_of(ctx).tasks()->cancel(handle) ? BERTH_OK : BERTH_NOT_FOUND;
}

constexpr berth_executor_v1 k_executor{sizeof(berth_executor_v1), 0, &submit, &parallel_for, &start, &cancel};

}  // namespace

const void* executor_service() noexcept { return &k_executor; }

}  // namespace berth::framework
