// SPDX-License-Identifier: Apache-2.0
// Requests about API objects, and values that the instances of a plugin share.
#include <algorithm>

#include "framework/plugin_call.hpp"
#include "framework/plugin_instance.hpp"
#include "framework/services/log_service.hpp"
#include "framework/services/service_tables.hpp"
#include "framework/services/shared_values.hpp"
#include "framework/services/thread_tags.hpp"

#include "berth/ext/object_writes.h"
#include "berth/ext/shared.h"

namespace berth::framework {
namespace {

using Verb = cluster::ObjectWrite::Verb;

std::string_view rule_verb(Verb verb) noexcept {
  switch (verb) {
    case Verb::create:
      return "create";
    case Verb::update:
      return "update";
    case Verb::merge_patch:
    case Verb::strategic_patch:
      return "patch";
    case Verb::remove:
      return "delete";
    case Verb::read:
      break;
  }
  return "get";
}

/// "update", "resource.k8s.io/v1/resourceclaims", "status" -> "update resource.k8s.io/resourceclaims/status". Nothing for
/// what is no resource.
std::optional<std::string> rule_of(const cluster::ObjectWrite& request) {
  const std::string& resource = request.object.resource;
  const std::size_t first = resource.find('/'), last = resource.rfind('/');
  if (first == std::string::npos || first == last || last + 1 == resource.size()) return std::nullopt;
  std::string rule =
      fmt::format("{} {}/{}", rule_verb(request.verb), resource.substr(0, first), resource.substr(last + 1));
  return request.subresource.empty() ? rule : rule + '/' + request.subresource;
}

bool is_permitted(const PluginInstance& plugin, std::string_view rule) {
  if (plugin.crumb().file == nullptr) return true;  // linked in: trusted like the host's own code
  if (std::find(plugin.rbac().begin(), plugin.rbac().end(), rule) != plugin.rbac().end()) return true;
  write_log(plugin, BERTH_LOG_ERROR, fmt::format("a write was denied: the file's note lacks \"rbac={}\"", rule));
  return false;
}

berth_code send(void* ctx, Verb verb, const berth_object_ref_v1* object, berth_str body, berth_str uid,
                berth_object_done_v1 done, void* arg) {
  if (!is_allowed(plugin_of(ctx), "berth.object_writes/1", tags::cycle | tags::binder)) return BERTH_DENIED;
  if (!has_first_fields(object) || done == nullptr || object->reserved != 0) return BERTH_BAD_ARGS;
  const cluster::ObjectWrite request{
      verb,
      {std::string(from_abi(object->resource)), std::string(from_abi(object->ns)), std::string(from_abi(object->name))},
      std::string(from_abi(object->subresource)),
      std::string(from_abi(body)),
      std::string(from_abi(uid))};
  const std::optional<std::string> rule = rule_of(request);
  const bool is_pod = request.object.resource == "core/v1/pods";
  const bool patches = verb == Verb::merge_patch || verb == Verb::strategic_patch;
  const bool has_body = verb == Verb::create || verb == Verb::update || patches;
  if (!rule || (request.object.name.empty() && verb != Verb::create) || (has_body && request.body.empty()) ||
      (is_pod && !(patches && request.subresource == "status")))
    return BERTH_BAD_ARGS;
  if (!is_permitted(plugin_of(ctx), *rule)) return BERTH_DENIED;
  plugin_of(ctx).host().ports.writes.write_object(
      request, [plugin = &plugin_of(ctx), done, arg](const Result<std::string>& answer) {
        const observe::BreadcrumbNesting nesting;
        observe::enter_plugin(plugin->crumb(), observe::Point::task);
        if (answer.ok()) {
          const berth_object_answer_v1 good{sizeof(berth_object_answer_v1), BERTH_OK, {nullptr, 0}, to_abi(*answer)};
          return done(arg, &good);
        }
        const Error& error = answer.error();
        const berth_object_answer_v1 bad{
            sizeof(berth_object_answer_v1), write_code(error), to_abi(error.message), {nullptr, 0}};
        done(arg, &bad);
      });
  return BERTH_OK;
}

constexpr berth_object_writes_v1 k_object_writes{
    sizeof(berth_object_writes_v1),
    0,
    [](void* ctx, const berth_object_ref_v1* object, berth_str json, berth_object_done_v1 done, void* arg) {
      return send(ctx, Verb::create, object, json, {}, done, arg);
    },
    [](void* ctx, const berth_object_ref_v1* object, berth_str json, berth_object_done_v1 done, void* arg) {
      return send(ctx, Verb::update, object, json, {}, done, arg);
    },
    [](void* ctx, const berth_object_ref_v1* object, std::uint32_t kind, berth_str json, berth_object_done_v1 done,
       void* arg) -> berth_code {
      if (kind != BERTH_PATCH_MERGE && kind != BERTH_PATCH_STRATEGIC) return BERTH_BAD_ARGS;
      const Verb verb = kind == BERTH_PATCH_MERGE ? Verb::merge_patch : Verb::strategic_patch;
      return send(ctx, verb, object, json, {}, done, arg);
    },
    [](void* ctx, const berth_object_ref_v1* object, berth_str uid, berth_object_done_v1 done, void* arg) {
      return send(ctx, Verb::remove, object, {}, uid, done, arg);
    },
    [](void* ctx, const berth_object_ref_v1* object, berth_object_done_v1 done, void* arg) {
      return send(ctx, Verb::read, object, {}, {}, done, arg);
    }};

constexpr berth_shared_v1 k_shared{
    sizeof(berth_shared_v1), 0,
    [](void* ctx, berth_str key, void* (*make)(void*), void* arg, void (*destroy)(void*)) -> void* {
      if (!plugin_of(ctx).loading() || make == nullptr || destroy == nullptr) return nullptr;
      return plugin_of(ctx).host().shared_values.get(plugin_of(ctx).name(), from_abi(key), make, arg, destroy);
    }};

}  // namespace

const void* object_writes_service() noexcept { return &k_object_writes; }
const void* shared_service() noexcept { return &k_shared; }

}  // namespace berth::framework
