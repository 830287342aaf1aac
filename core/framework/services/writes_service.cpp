// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "framework/plugin_call.hpp"
#include "framework/plugin_instance.hpp"
#include "framework/services/log_service.hpp"
#include "framework/services/service_tables.hpp"
#include "framework/services/thread_tags.hpp"

namespace berth::framework {
namespace {

/// A plugin that is linked in has no note and is trusted like the host's own code.
bool permitted(const PluginInstance& plugin, std::string_view rule) {
  if (plugin.crumb().file == nullptr) return true;
  if (std::find(plugin.rbac().begin(), plugin.rbac().end(), rule) != plugin.rbac().end()) return true;
  write_log(plugin, BERTH_LOG_ERROR, fmt::format("a write was denied: the file's note lacks \"rbac={}\"", rule));
  return false;
}

WritesPort::PodRef pod_ref(berth_str ns, berth_str name, berth_str uid) {
  return {std::string(from_abi(ns)), std::string(from_abi(name)), std::string(from_abi(uid))};
}

WriteDone completion(void* ctx, berth_write_done_v1 done, void* arg) {
  return [plugin = &plugin_of(ctx), done, arg](const Status& status) {
    if (done == nullptr) return;
    const observe::BreadcrumbNesting nesting;
    observe::enter_plugin(plugin->crumb(), observe::Point::task);
    if (status.ok()) return done(arg, BERTH_OK, berth_str{nullptr, 0});
    done(arg, write_code(status.error()), to_abi(status.error().message));
  };
}

/// A patch that is none was not taken: there is no note to say why in, so the log does.
berth_code taken(void* ctx, const Status& status) {
  if (status.ok()) return BERTH_OK;
  write_log(plugin_of(ctx), BERTH_LOG_ERROR, fmt::format("a patch was not taken: {}", status.error().message));
  return BERTH_BAD_ARGS;
}

bool complete(const WritesPort::PodRef& pod) noexcept { return !pod.ns.empty() && !pod.name.empty(); }

berth_code bind(void* ctx, berth_str ns, berth_str name, berth_str uid, berth_str node, berth_write_done_v1 done,
                void* arg) {
  if (!is_allowed(plugin_of(ctx), "bind() of berth.writes/1", tags::binder)) return BERTH_DENIED;
  if (!permitted(plugin_of(ctx), "create core/pods/binding")) return BERTH_DENIED;
  const auto pod = pod_ref(ns, name, uid);
  if (!complete(pod) || node.len == 0) return BERTH_BAD_ARGS;
  plugin_of(ctx).host().ports.writes.bind(pod, std::string(from_abi(node)), completion(ctx, done, arg));
  return BERTH_OK;
}

berth_code patch_status(void* ctx, berth_str ns, berth_str name, berth_str uid, berth_str patch,
                        berth_write_done_v1 done, void* arg) {
  if (!is_allowed(plugin_of(ctx), "patch_pod_status() of berth.writes/1", tags::binder | tags::watch))
    return BERTH_DENIED;
  if (!permitted(plugin_of(ctx), "patch core/pods/status")) return BERTH_DENIED;
  const auto pod = pod_ref(ns, name, uid);
  if (!complete(pod) || patch.len == 0) return BERTH_BAD_ARGS;
  return taken(ctx, plugin_of(ctx).host().ports.writes.patch_status(pod, std::string(from_abi(patch)),
                                                                    completion(ctx, done, arg)));
}

berth_code patch_metadata(void* ctx, berth_str ns, berth_str name, berth_str uid, berth_str patch,
                          berth_write_done_v1 done, void* arg) {
  if (!is_allowed(plugin_of(ctx), "patch_pod_metadata() of berth.writes/1", tags::binder | tags::watch))
    return BERTH_DENIED;
  if (!permitted(plugin_of(ctx), "patch core/pods")) return BERTH_DENIED;
  const auto pod = pod_ref(ns, name, uid);
  if (!complete(pod) || patch.len == 0) return BERTH_BAD_ARGS;
  return taken(ctx, plugin_of(ctx).host().ports.writes.patch_metadata(pod, std::string(from_abi(patch)),
                                                                      completion(ctx, done, arg)));
}

berth_code evict(void* ctx, berth_str ns, berth_str name, berth_str uid, berth_str message, berth_write_done_v1 done,
                 void* arg) {
  if (!is_allowed(plugin_of(ctx), "evict() of berth.writes/1", tags::binder | tags::watch)) return BERTH_DENIED;
  if (!permitted(plugin_of(ctx), "delete core/pods")) return BERTH_DENIED;
  const auto pod = pod_ref(ns, name, uid);
  if (!complete(pod)) return BERTH_BAD_ARGS;
  plugin_of(ctx).host().ports.writes.evict(pod, clean_text(from_abi(message)), plugin_of(ctx).profile(),
                                           completion(ctx, done, arg));
  return BERTH_OK;
}

/// "core/v1/persistentvolumes" -> "patch core/persistentvolumes". Nothing for what is no resource, and for pods.
std::optional<std::string> patch_rule(std::string_view resource) {
  const std::size_t first = resource.find('/'), last = resource.rfind('/');
  if (first == std::string_view::npos || first == last || last + 1 == resource.size()) return std::nullopt;
  const std::string_view group = resource.substr(0, first), plural = resource.substr(last + 1);
  if (group == "core" && plural == "pods") return std::nullopt;
  return fmt::format("patch {}/{}", group, plural);
}

berth_code patch_object(void* ctx, berth_str resource, berth_str ns, berth_str name, berth_str patch,
                        berth_write_done_v1 done, void* arg) {
  const std::optional<std::string> rule = patch_rule(from_abi(resource));
  if (!rule || name.len == 0 || patch.len == 0) return BERTH_BAD_ARGS;
  if (!is_allowed(plugin_of(ctx), "patch_object() of berth.writes/1", tags::binder)) return BERTH_DENIED;
  if (!permitted(plugin_of(ctx), *rule)) return BERTH_DENIED;
  return taken(ctx, plugin_of(ctx).host().ports.writes.patch_object(
                        std::string(from_abi(resource)), std::string(from_abi(ns)), std::string(from_abi(name)),
                        std::string(from_abi(patch)), completion(ctx, done, arg)));
}

constexpr berth_writes_v1 k_writes{sizeof(berth_writes_v1), 0,      &bind,        &patch_status,
                                   &patch_metadata,         &evict, &patch_object};

}  // namespace

const void* writes_service() noexcept { return &k_writes; }

}  // namespace berth::framework
