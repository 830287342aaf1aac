// SPDX-License-Identifier: Apache-2.0
#include "claim_binding.hpp"

#include <algorithm>

#include "../shared/devices/objects/json_text.hpp"

namespace devices {
namespace {

using berth::Json;
using berth::JsonWriter;
using berth::ObjectAnswer;

constexpr int k_attempts_max = 5;  // on conflicts
constexpr std::uint32_t k_conflict_pause_ms = 10;
constexpr std::uint32_t k_release_look_ms = 50;
constexpr std::uint32_t k_poll_ms = 5000;
// How often and how long the watch is asked whether it knows a claim that was created, and the server what became of a write.
constexpr std::uint32_t k_known_look_ms = 1000;
constexpr int k_known_looks_max = 120;

Json status_of(const ClaimObject& claim) { return claim.status.empty() ? Json() : Json::parse(claim.status); }

std::string consumer_json(const PodName& pod) {
  return JsonWriter::object().text("resource", "pods").text("name", pod.name).text("uid", pod.uid).done();
}

/// metadata with the finalizer that keeps an allocated claim.
std::string protected_metadata(const ClaimObject& claim) {
  const Json metadata = Json::parse(claim.metadata);
  JsonWriter finalizers = JsonWriter::list();
  for (const Json& each : metadata["finalizers"].items()) finalizers.item(berth::json_of(each));
  return berth::with_member(metadata, "finalizers", finalizers.text_item(k_finalizer).done());
}

/// The watch may not know a claim yet that was just created. Its devices stay in flight until it does; the pod does not wait.
void assume_created(const BindingServices& services, std::string json, std::string in_flight_uid, int looks_left) {
  const berth::Verdict assumed = services.assume.assume_written(services.cluster.claim_watch(), json);
  if (assumed.code() == BERTH_NOT_FOUND && looks_left > 0) {
    struct Waiting {
      BindingServices services;
      std::string json, in_flight_uid;
      int looks_left;
    };
    services.executor.after(
        k_known_look_ms,
        [](void* arg) {
          const std::unique_ptr<Waiting> its(static_cast<Waiting*>(arg));
          assume_created(its->services, std::move(its->json), std::move(its->in_flight_uid), its->looks_left);
        },
        new Waiting{services, std::move(json), std::move(in_flight_uid), looks_left - 1});
    return;
  }
  if (!assumed.is_ok())
    services.log.write(BERTH_LOG_INFO, "a claim that was created is not assumed: " + assumed.text());
  services.cluster.refresh();
  if (!in_flight_uid.empty()) services.cluster.remove_in_flight(in_flight_uid, false);
}

class ClaimBinding : public std::enable_shared_from_this<ClaimBinding> {
 public:
  ClaimBinding(const BindingServices& services, CycleState& state, PodName pod, berth::BindCall call)
      : services_(services), state_(state), pod_(std::move(pod)), call_(call) {}

  void bind_next() {
    for (; at_ < state_.claims.size() && claim().object->is_reserved_for(pod_.uid); ++at_)
      if (is_given_back()) return guarded([this] { reserve_again(); });
    if (at_ == state_.claims.size()) return begin_waiting();
    attempts_ = 0;
    has_published_ = false;
    written_.clear();
    if (claim().is_in_memory() && claim().publish == nullptr) {  // the node has the resources without devices
      ++at_;
      return bind_next();
    }
    guarded([this] { claim().is_in_memory() ? create() : publish(claim().object); });
  }

 private:
  CycleClaim& claim() { return state_.claims[at_]; }
  berth::ObjectName object_name(std::string_view subresource = {}) {
    return {k_claims, claim().object->ns, claim().object->name, subresource};
  }

  /// No exception of ours may reach the host's thread.
  template <class Step>
  void guarded(Step&& step) {
    try {
      step();
    } catch (const std::exception& e) {
      end(BERTH_ERROR, e.what());
    }
  }

  void end(berth_code code, const std::string& text) {
    if (has_ended_) return;
    has_ended_ = true;
    call_.complete(code, text);
  }

  // One claim.

  /// The attempt before this one, whose binding failed, takes its reservation back, or has done so since this one began.
  /// Departs from upstream, whose unreserve waits for the answer.
  bool is_given_back() const {
    const ClaimObject& object = *state_.claims[at_].object;
    if (services_.releases->is_under_way(object.uid, pod_.uid)) return true;
    services_.cluster.refresh();
    const ClaimPtr now = services_.cluster.claim(object.ns, object.name);
    return now != nullptr && now->uid == object.uid && !now->is_reserved_for(pod_.uid);
  }

  void reserve_again() {
    written_.clear();  // it is of the claim before
    if (call_.cancelled()) return end_claim("context canceled");
    if (services_.releases->is_under_way(claim().object->uid, pod_.uid))
      return later(k_release_look_ms, [](ClaimBinding& self) { self.reserve_again(); });
    attempts_ = 0;
    has_published_ = false;
    read_again();
  }

  void create() {
    if (call_.cancelled()) return end_claim("context canceled");
    if (state_.chosen == nullptr)
      return end_claim("extended resource claim not found for node " + std::string(call_.node_name()));
    services_.writes.create({k_claims, claim().object->ns, {}, {}},
                            extended_claim_json(*claim().object, *state_.chosen),
                            [self = shared_from_this()](ObjectAnswer answer) {
                              self->guarded([&] {
                                self->services_.metrics.count_creation(answer.is_ok());
                                if (!answer.is_ok())
                                  return self->end_claim("create claim for extended resources " +
                                                         self->claim().object->ns + "/: " + answer.text);
                                self->written_ = std::move(answer.json);
                                self->claim().object = read_whole_claim(self->written_);
                                self->publish(self->claim().object);
                              });
                            });
  }

  void write_extended_status() {
    const std::string what = "pod " + pod_.ns + '/' + pod_.name + " ExtendedResourceClaimStatus";
    if (state_.chosen == nullptr || state_.chosen->mappings.empty())
      return end_claim("nil or empty request mappings, no update of " + what);
    services_.writes.patch({"core/v1/pods", pod_.ns, pod_.name, "status"}, BERTH_PATCH_STRATEGIC,
                           extended_status_patch(pod_.uid, *state_.chosen, claim().object->name),
                           [self = shared_from_this(), what](const ObjectAnswer& answer) {
                             self->guarded([&] {
                               self->end_claim(answer.is_ok() ? std::string() : "update " + what + ": " + answer.text);
                             });
                           });
  }

  void publish(const ClaimPtr& now) {
    if (call_.cancelled()) return end_claim("context canceled");
    const std::string name = now->key();
    if (now->is_deleting) return end_claim("claim " + name + " got deleted in the meantime");
    if (claim().publish == nullptr && !now->is_reserved_for(pod_.uid)) return write_status(now);
    if (claim().publish == nullptr) {
      claim().object = now;
      return end_claim({});
    }
    if (now->allocation != nullptr) {
      // Pods of one group share what was decided for the first of them, and any of them may write it.
      if (state_.group.empty() || !now->allocation->has_same_devices(*claim().publish)) {
        claim().object = now;
        return end_claim("claim " + name + " got allocated elsewhere in the meantime");
      }
      claim().publish = nullptr;
      return write_status(now);
    }
    if (now->has_finalizer) return write_status(now);
    services_.writes.update(object_name(), now->json(protected_metadata(*now), now->status),
                            [self = shared_from_this(), name](ObjectAnswer answer) {
                              self->guarded([&] {
                                if (!answer.is_ok())
                                  return self->failed(answer, "add finalizer to claim " + name + ": " + answer.text);
                                self->written_ = std::move(answer.json);
                                self->write_status(read_whole_claim(self->written_));
                              });
                            });
  }

  void write_status(const ClaimPtr& now) {
    const std::string name = now->key();
    const bool allocates = claim().publish != nullptr;
    if (!allocates && now->allocation == nullptr)
      return end_claim("claim " + name + " got deallocated elsewhere in the meantime");
    const Json before = status_of(*now);
    const std::string time = time_text(services_.clock.wall_ns());
    // As it was written: an allocation must not change, and other spaces in its configuration are a change.
    std::string allocation = allocates ? claim().publish_json : std::string(member_of(now->status, "allocation").text);
    const Json parsed = Json::parse(allocation);
    if (!parsed.contains("allocationTimestamp")) {
      std::string quoted;
      berth::append_json_text(quoted, time);
      allocation = with_member_text(allocation, "allocationTimestamp", quoted);
    }
    JsonWriter consumers = JsonWriter::list();
    for (const Json& each : before["reservedFor"].items()) consumers.item(berth::json_of(each));
    consumers.item(consumer_json(pod_));
    const std::string with_allocation = with_member_text(now->status, "allocation", allocation);
    const std::string status = with_member_text(with_allocation, "reservedFor", consumers.done());
    has_published_ = has_published_ || allocates;
    services_.writes.update(object_name("status"), now->json(now->metadata, status),
                            [self = shared_from_this(), name, allocates](ObjectAnswer answer) {
                              self->guarded([&] {
                                if (!answer.is_ok())
                                  return self->failed(answer, (allocates ? "add allocation and reservation to claim "
                                                                         : "add reservation to claim ") +
                                                                  name + ": " + answer.text);
                                self->written(std::move(answer.json));
                              });
                            });
  }

  void written(std::string json) {
    written_ = std::move(json);
    claim().object = read_whole_claim(written_);
    if (claim().is_extended) return write_extended_status();
    end_claim({});
  }

  void failed(const ObjectAnswer& answer, std::string text) {
    if (answer.is_conflict() && ++attempts_ < k_attempts_max)
      return later(k_conflict_pause_ms, [](ClaimBinding& self) { self.read_again(); });
    if (!has_published_) return end_claim(std::move(text));
    error_ = std::move(text);
    looks_left_ = k_known_looks_max;
    find_out();
  }

  /// A write that ended with an error may have been carried out all the same: an earlier try of it, of which the answer was lost.
  /// The watch may tell of it late, and until then the devices must not be anything but in flight. Departs from upstream, which
  /// takes the error for the outcome and may then give the devices to another claim.
  void find_out() {
    services_.writes.read(object_name(), [self = shared_from_this()](ObjectAnswer answer) {
      self->guarded([&] {
        if (!answer.is_ok()) {
          if (answer.code == BERTH_NOT_FOUND || --self->looks_left_ <= 0) return self->end_claim(self->error_);
          return self->later(k_known_look_ms, [](ClaimBinding& again) { again.find_out(); });
        }
        const ClaimPtr now = read_whole_claim(answer.json);
        if (now->uid == self->claim().object->uid && now->is_reserved_for(self->pod_.uid) &&
            now->allocation != nullptr && now->allocation->has_same_devices(*self->claim().publish))
          return self->written(std::move(answer.json));
        self->claim().object = now;
        self->written_ = std::move(answer.json);
        self->end_claim(self->error_);
      });
    });
  }

  void read_again() {
    const std::string name = claim().object->key();
    services_.writes.read(object_name(), [self = shared_from_this(), name](ObjectAnswer answer) {
      self->guarded([&] {
        if (!answer.is_ok()) {
          self->error_ = "get updated claim " + name + " after conflict: " + answer.text;
          self->looks_left_ = k_known_looks_max;
          return self->has_published_ ? self->find_out() : self->end_claim(self->error_);
        }
        self->written_ = std::move(answer.json);
        const ClaimPtr now = read_whole_claim(self->written_);
        // It was this pod's own write, of which the answer was lost.
        if (self->has_published_ && now->is_reserved_for(self->pod_.uid) && now->allocation != nullptr &&
            self->claim().publish != nullptr && now->allocation->has_same_devices(*self->claim().publish))
          return self->written(std::string(self->written_));
        self->publish(now);
      });
    });
  }

  /// Empty: it is written. In either case what was written counts from now on, and only then nothing is in flight any more.
  void end_claim(std::string error) {
    bool is_assumed = false;
    if (claim().is_extended && !written_.empty()) {
      assume_created(services_, written_, claim().is_signalled ? claim().in_flight_uid : std::string(),
                     k_known_looks_max);
      claim().is_signalled = false;
    } else if (!written_.empty()) {
      const berth::Verdict assumed = services_.assume.assume_written(services_.cluster.claim_watch(), written_);
      is_assumed = assumed.is_ok();
      if (!is_assumed)
        services_.log.write(BERTH_LOG_INFO, "claim " + claim().object->key() + " is not assumed: " + assumed.text());
      services_.cluster.refresh();
    }
    if (claim().is_signalled) {
      services_.cluster.remove_in_flight(claim().in_flight_uid, is_assumed && claim().object->allocation != nullptr);
      claim().is_signalled = false;
    }
    if (!error.empty()) return end(BERTH_ERROR, error);
    ++at_;
    bind_next();
  }

  // Devices that have to be prepared.

  void begin_waiting() {
    const bool waits = std::any_of(state_.claims.begin(), state_.claims.end(), [](const CycleClaim& each) {
      return each.object->allocation != nullptr && each.object->allocation->has_binding_conditions();
    });
    if (!waits) return end(BERTH_OK, {});
    berth_event_spec_v1 event{};
    const std::string note = "waiting for binding conditions for device on node " + std::string(call_.node_name());
    event.type = BERTH_EVENT_NORMAL;
    event.regarding_kind = berth::borrow("Pod");
    event.regarding_ns = berth::borrow(pod_.ns);
    event.regarding_name = berth::borrow(pod_.name);
    event.regarding_uid = berth::borrow(pod_.uid);
    event.reason = berth::borrow("BindingConditionsPending");
    event.action = berth::borrow("Scheduling");
    event.note = berth::borrow(note);
    services_.events.record(event);
    wait_began_ns_ = services_.clock.monotonic_ns();
    deadline_ns_ = wait_began_ns_ + services_.binding_timeout_ns;
    guarded([this] { look(); });
  }

  /// Empty: all devices are ready.
  void end_wait(const std::string& error) {
    const auto says = [&](std::string_view what) { return error.find(what) != error.npos; };
    const char* const status = error.empty()                    ? "success"
                               : says("device binding timeout") ? "timeout"
                               : says("device binding failed")  ? "failure"
                                                                : "error";
    const double seconds = static_cast<double>(services_.clock.monotonic_ns() - wait_began_ns_) * 1e-9;
    for (const CycleClaim& each : state_.claims)
      if (each.object->allocation != nullptr)
        for (const ResultObject& result : each.object->allocation->results)
          services_.metrics.count_wait(result.driver, status, seconds, !result.binding_conditions.empty());
    end(error.empty() ? BERTH_OK : BERTH_ERROR, error);
  }

  void look() {
    if (call_.cancelled()) return end_wait("context canceled");
    services_.cluster.refresh();
    for (CycleClaim& each : state_.claims) {
      if (each.is_in_memory()) continue;
      ClaimPtr now = services_.cluster.claim(each.object->ns, each.object->name);
      if (now == nullptr && each.is_extended) now = each.object;  // the watch does not know it yet
      if (now == nullptr) return end_wait("could not find ResourceClaim \"" + each.object->key() + '"');
      each.object = std::move(now);
      if (each.object->allocation == nullptr) continue;
      const Readiness readiness = readiness_of(*each.object);
      if (readiness.kind == Readiness::Kind::failed) return end_wait(readiness.failure);
      if (readiness.kind == Readiness::Kind::ready) continue;
      if (is_overdue(*each.object->allocation, services_.clock.wall_ns(), services_.binding_timeout_ns))
        return end_wait("device binding timeout: claim=" + each.object->name);
      return look_later();
    }
    end_wait({});
  }

  void look_later() {
    const std::int64_t left_ms = (deadline_ns_ - services_.clock.monotonic_ns()) / 1'000'000;
    if (left_ms <= 0) return end_wait("device binding timeout: context deadline exceeded");
    later(static_cast<std::uint32_t>(std::min<std::int64_t>(left_ms, k_poll_ms)),
          [](ClaimBinding& self) { self.look(); });
  }

  void later(std::uint32_t delay_ms, void (*step)(ClaimBinding&)) {
    struct Waiting {
      std::shared_ptr<ClaimBinding> binding;
      void (*step)(ClaimBinding&);
    };
    services_.executor.after(
        delay_ms,
        [](void* arg) {
          const std::unique_ptr<Waiting> waiting(static_cast<Waiting*>(arg));
          waiting->binding->guarded([&] { waiting->step(*waiting->binding); });
        },
        new Waiting{shared_from_this(), step});
  }

  const BindingServices services_;
  CycleState& state_;
  const PodName pod_;
  const berth::BindCall call_;
  std::size_t at_ = 0;
  int attempts_ = 0;
  std::string written_;         // the last answer about the claim at hand
  bool has_published_ = false;  // its allocation was sent
  std::string error_;           // of it, while it is found out what became of that
  int looks_left_ = 0;
  std::int64_t wait_began_ns_ = 0, deadline_ns_ = 0;
  bool has_ended_ = false;
};

}  // namespace

void bind_claims(const BindingServices& services, CycleState& state, PodName pod, berth::BindCall call) {
  std::make_shared<ClaimBinding>(services, state, std::move(pod), call)->bind_next();
}

namespace {

/// Behaves at once as the answer says. Without it, a watch that tells of this late leaves the claim reserved for the pod, whose
/// next attempt would then bind it without reserving.
void take_released(const BindingServices& services, const std::string& key, const ObjectAnswer& answer) {
  if (!answer.is_ok())
    return services.log.write(BERTH_LOG_ERROR, "unreserve of ResourceClaim " + key + ": " + answer.text);
  if (answer.json.empty()) return;
  const berth::Verdict assumed = services.assume.assume_written(services.cluster.claim_watch(), answer.json);
  if (!assumed.is_ok()) services.log.write(BERTH_LOG_INFO, "claim " + key + " is not assumed: " + assumed.text());
  services.cluster.refresh();
}

}  // namespace

void release_claims(const BindingServices& services, CycleState& state, const PodName& pod) {
  for (CycleClaim& each : state.claims) {
    const ClaimObject& object = *each.object;
    if (each.is_signalled) {
      each.is_signalled = false;
      if (services.cluster.remove_in_flight(each.in_flight_uid, false) && !each.is_in_memory())
        services.assume.forget(services.cluster.claim_watch(), object.ns, object.name);
    }
    if (each.is_extended) {
      if (!each.is_in_memory())
        delete_claim(services.writes, each.object, [log = services.log, key = object.key()](const std::string& error) {
          if (!error.empty()) log.write(BERTH_LOG_ERROR, "claim " + key + " is not deleted: " + error);
        });
      continue;
    }
    if (object.allocation == nullptr || !object.is_reserved_for(pod.uid)) continue;
    const std::string reference = JsonWriter::object().text("$patch", "delete").text("uid", pod.uid).done();
    const std::string patch =
        JsonWriter::object()
            .json("metadata", JsonWriter::object().text("uid", object.uid).done())
            .json("status", JsonWriter::object().json("reservedFor", JsonWriter::list().item(reference).done()).done())
            .done();
    auto turn = std::make_shared<const Releases::Turn>(services.releases, object.uid, pod.uid);
    services.writes.patch({k_claims, object.ns, object.name, "status"}, BERTH_PATCH_STRATEGIC, patch,
                          [services, key = object.key(), turn = std::move(turn)](const ObjectAnswer& answer) {
                            try {
                              take_released(services, key, answer);
                            } catch (const std::exception& e) {
                              const berth_kv_v1 fields[] = {{berth::borrow("claim"), berth::borrow(key)}};
                              services.log.write(BERTH_LOG_ERROR, e.what(), fields);
                            }
                          });
  }
}

std::string cleared_status(const ClaimObject& claim) {
  std::string status = berth::with_member(status_of(claim), "reservedFor", {});
  status = berth::with_member(Json::parse(status), "allocation", {});
  return berth::with_member(Json::parse(status), "devices", {});
}

}  // namespace devices
