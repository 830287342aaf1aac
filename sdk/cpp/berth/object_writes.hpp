// SPDX-License-Identifier: Apache-2.0
/// API objects created, replaced, patched, deleted and read. Included by the few plugins that need it.
///
/// Threads: [cycle] [binder] for all requests; `done` runs on any thread.
/// Errors:  in ObjectAnswer::code. Nothing is retried after a conflict: the policy knows what its change was about.
/// Source:  ext/object_writes.h, berth.object_writes/1. Each request needs its rule in `rbac`, or is DENIED.
#pragma once
#include <berth/ext/object_writes.h>
#include <berth/services.hpp>

#include <functional>
#include <memory>

namespace berth {
inline namespace sdk {

/// What a request is about. Borrowed for the call.
struct ObjectName {
  std::string_view resource;          ///< "resource.k8s.io/v1/resourceclaims"
  std::string_view ns = {};           ///< empty for cluster-wide objects
  std::string_view name = {};         ///< empty: create with metadata.generateName
  std::string_view subresource = {};  ///< "status", or empty
};

/// What came of it; owns its texts, which are copies.
struct ObjectAnswer {
  berth_code code = BERTH_ERROR;                            ///< OK, CONFLICT, NOT_FOUND, ERROR
  std::string text;                                         ///< unless OK: the server's words
  std::string json;                                         ///< OK: the object as it is now
  bool is_ok() const noexcept { return code == BERTH_OK; }  ///< the API server has it
  /// Another version is there: read, and decide again.
  bool is_conflict() const noexcept { return code == BERTH_CONFLICT; }
};

/// `done` is called exactly once, from any thread, possibly before the call returns, also for a request that the host
/// did not take: with DENIED or BAD_ARGS then, within the call. It must not throw. Bodies are JSON, borrowed for the
/// call. The functions throw std::bad_alloc only.
class ObjectWrites : public Service<berth_object_writes_v1> {
 public:
  /// What `services` lists, for a policy that cannot work without it.
  static constexpr const char* id = "berth.object_writes/1";
  using Service::Service;
  using Done = std::function<void(ObjectAnswer)>;  ///< owned by the request until it was called

  /// "rbac=create <group>/<plural>". The name, or metadata.generateName, may stand in the JSON alone.
  void create(const ObjectName& object, std::string_view json, Done done) const {
    send(object, std::move(done), [&](const berth_object_ref_v1* ref, berth_object_done_v1 call, void* arg) {
      return table_->create(ctx_, ref, borrow(json), call, arg);
    });
  }
  /// "rbac=update …", with "/status" for the subresource. metadata.resourceVersion in the JSON is the version that is
  /// replaced: another one in the cluster is a CONFLICT.
  void update(const ObjectName& object, std::string_view json, Done done) const {
    send(object, std::move(done), [&](const berth_object_ref_v1* ref, berth_object_done_v1 call, void* arg) {
      return table_->update(ctx_, ref, borrow(json), call, arg);
    });
  }
  /// "rbac=patch …". kind: BERTH_PATCH_MERGE or BERTH_PATCH_STRATEGIC. metadata.uid and resourceVersion in it are
  /// preconditions. Of pods the status only.
  void patch(const ObjectName& object, std::uint32_t kind, std::string_view json, Done done) const {
    send(object, std::move(done), [&](const berth_object_ref_v1* ref, berth_object_done_v1 call, void* arg) {
      return table_->patch(ctx_, ref, kind, borrow(json), call, arg);
    });
  }
  /// "rbac=delete …". uid: a precondition, or empty. An object with finalizers stays until they are gone.
  void remove(const ObjectName& object, std::string_view uid, Done done) const {
    send(object, std::move(done), [&](const berth_object_ref_v1* ref, berth_object_done_v1 call, void* arg) {
      return table_->remove(ctx_, ref, borrow(uid), call, arg);
    });
  }
  /// "rbac=get …". What the server has, not what a watch has delivered.
  void read(const ObjectName& object, Done done) const {
    send(object, std::move(done), [&](const berth_object_ref_v1* ref, berth_object_done_v1 call, void* arg) {
      return table_->read(ctx_, ref, call, arg);
    });
  }

 private:
  /// Hands `done` to the host, or calls it when the request was not taken.
  template <class Call>
  static void send(const ObjectName& object, Done done, Call&& call) {
    const berth_object_ref_v1 ref{
        sizeof ref, 0, borrow(object.resource), borrow(object.subresource), borrow(object.ns), borrow(object.name)};
    auto waiting = std::make_unique<Done>(std::move(done));
    const berth_code code = call(
        &ref,
        [](void* arg, const berth_object_answer_v1* answer) {
          const std::unique_ptr<Done> its(static_cast<Done*>(arg));
          (*its)({answer->code, std::string(view(answer->text)), std::string(view(answer->json))});
        },
        waiting.get());
    if (code == BERTH_OK) {
      static_cast<void>(waiting.release());  // the callback has it, or had it
      return;
    }
    (*waiting)({code,
                "the host did not take a request about " + std::string(object.resource) + " " +
                    std::string(object.name) + " (code " + std::to_string(code) + ")",
                {}});
  }
};

}  // namespace sdk
}  // namespace berth
