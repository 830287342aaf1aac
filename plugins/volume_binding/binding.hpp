// SPDX-License-Identifier: Apache-2.0
/// What is done about a pod's claims once it has a node: assumed in reserve, written and awaited in pre-bind.
///
/// A binding in progress is an object of its own that lives until it has answered, and holds no thread while it waits.
/// Source: kubernetes v1.36 pkg/scheduler/framework/plugins/volumebinding/binder.go (AssumePodVolumes, BindPodVolumes).
#pragma once
#include "planner.hpp"

#include <memory>

namespace volume_binding {

inline constexpr std::uint32_t k_poll_ms = 1000;

/// A write that was decided on: assumed, and not in the cluster yet.
struct Write {
  std::uint32_t watch = 0;
  std::string_view resource;
  std::string ns, name;
  std::uint64_t version = 0;  // of what was read: the cluster must have moved on from it
  std::string patch;
  bool assumed = false;
  std::string claim_ns, claim_name;  // whose volume this is about
};
/// Shared by the state of an attempt and the binding that it may become.
struct Work {
  bool all_bound = true;
  bool chosen = false;  // a node's entry exists
  std::vector<Write> volumes, claims;
  std::string node;
};

inline std::string quote(std::string_view text) {
  constexpr const char* k_hex = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20) {
      out += "\\u00";
      out += k_hex[c >> 4];
      out += k_hex[c & 15];
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}
inline std::string object_of(const storage::Pairs& pairs) {
  std::string out = "{";
  for (const auto& [key, value] : pairs) out += (out.size() > 1 ? "," : "") + quote(key) + ":" + quote(value);
  return out + "}";
}
inline std::string precondition(const std::string& resource_version) {
  return resource_version.empty() ? std::string() : ",\"resourceVersion\":" + quote(resource_version);
}

struct Services {
  berth::Objects objects;
  berth::Assume assume;
  berth::Writes writes;
  berth::Executor executor;
  berth::Clock clock;
  berth::Sets sets;
  berth::Intern intern;
  berth::IdColumn label_set;
  std::uint32_t claim_watch, volume_watch;
  std::int64_t timeout_ns;
};

/// Replaces one field of an object in the overlay; the others stay as they are.
struct Replacement {
  std::size_t field;
  std::string text;
};
inline berth::Verdict assume(const Services& services, const Write& write, const std::vector<Replacement>& replaced) {
  berth::Verdict verdict = berth::Verdict::error("");
  const bool known = services.objects.get(write.watch, write.ns, write.name, [&](const berth_object_v1& object) {
    std::vector<berth_value_v1> values(object.values, object.values + object.value_count);
    for (const Replacement& r : replaced) {
      values[r.field].present = 1;
      values[r.field].text = berth::borrow(r.text);
    }
    verdict = services.assume.assume(write.watch, write.ns, write.name, write.version, values);
  });
  if (!known) return berth::Verdict::error("could not find \"" + write.name + "\"");
  return verdict;
}

inline void forget(const Services& services, const std::vector<Write>& writes, std::size_t from = 0) {
  for (std::size_t i = from; i < writes.size(); ++i)
    if (writes[i].assumed) services.assume.forget(writes[i].watch, writes[i].ns, writes[i].name);
}

/// Reserve. An error reverts what was assumed.
inline berth::Verdict take(const Services& services, const Choice& choice, const std::string& node, Work& work) {
  work.node = node;
  work.chosen = true;
  work.all_bound = choice.bindings.empty() && choice.provisions.empty();
  const auto failed = [&](const berth::Verdict& verdict) {
    forget(services, work.volumes);
    forget(services, work.claims);
    work.volumes.clear();
    work.claims.clear();
    return berth::Verdict::error(verdict.text());
  };
  for (const Choice::Binding& binding : choice.bindings) {
    const storage::Volume& volume = *binding.volume;
    const storage::Claim& claim = *binding.claim;
    const std::string ref =
        "{\"kind\":\"PersistentVolumeClaim\",\"apiVersion\":\"v1\",\"namespace\":" + quote(claim.ns) +
        ",\"name\":" + quote(claim.name) + ",\"uid\":" + quote(claim.uid) + precondition(claim.resource_version) + "}";
    // A volume that was made for the claim keeps saying who made it so.
    storage::Pairs annotations;
    if (!volume.is_for(claim)) annotations.emplace_back(storage::k_bound_by_controller, "yes");
    Write& write = work.volumes.emplace_back();
    write.watch = services.volume_watch;
    write.resource = storage::k_volumes;
    write.name = volume.name;
    write.version = volume.version;
    write.claim_ns = claim.ns;
    write.claim_name = claim.name;
    write.patch = "{\"metadata\":{\"annotations\":" + object_of(annotations) + precondition(volume.resource_version) +
                  "},\"spec\":{\"claimRef\":" + ref + "}}";
    const bool dirty = !(volume.is_for(claim) && volume.claim_ref.uid == claim.uid);
    if (!dirty) continue;
    storage::Pairs all = volume.annotations;
    all.insert(all.end(), annotations.begin(), annotations.end());
    const berth::Verdict assumed =
        assume(services, write,
               {{storage::volume_field::claim_ref, ref}, {storage::volume_field::annotations, object_of(all)}});
    if (!assumed.is_ok()) return failed(assumed);
    write.assumed = true;
  }
  for (const storage::Claim* claim : choice.provisions) {
    storage::Pairs annotations = claim->annotations;
    std::erase_if(annotations, [](const auto& entry) { return entry.first == storage::k_selected_node; });
    annotations.emplace_back(storage::k_selected_node, node);
    Write& write = work.claims.emplace_back();
    write.watch = services.claim_watch;
    write.resource = storage::k_claims;
    write.ns = claim->ns;
    write.name = claim->name;
    write.version = claim->version;
    write.patch = "{\"metadata\":{\"annotations\":" + object_of({{std::string(storage::k_selected_node), node}}) +
                  precondition(claim->resource_version) + "}}";
    const berth::Verdict assumed =
        assume(services, write, {{storage::claim_field::annotations, object_of(annotations)}});
    if (!assumed.is_ok()) return failed(assumed);
    write.assumed = true;
  }
  return berth::Verdict::ok();
}

/// Pre-bind of one pod: writes one after the other, then looks once per second. Deletes itself after answering.
class Binding {
 public:
  static void start(const Services& services, std::shared_ptr<Work> work, berth::BindCall call, std::string pod_name) {
    auto* const binding = new Binding(services, std::move(work), call, std::move(pod_name));
    binding->write_next();
  }

 private:
  Binding(const Services& services, std::shared_ptr<Work> work, berth::BindCall call, std::string pod_name)
      : services_(services), work_(std::move(work)), call_(call), pod_name_(std::move(pod_name)) {}

  void end(berth_code code, const std::string& text) {
    call_.complete(code, text);
    delete this;
  }

  const Write* write_at(std::size_t i) const {
    if (i < work_->volumes.size()) return &work_->volumes[i];
    i -= work_->volumes.size();
    return i < work_->claims.size() ? &work_->claims[i] : nullptr;
  }

  void write_next() {
    const Write* write = write_at(written_);
    if (write == nullptr) return begin_waiting();
    const berth_code code = services_.writes.patch_object(
        write->resource, write->ns, write->name, write->patch,
        [](void* arg, berth_code answer, berth_str text) {
          static_cast<Binding*>(arg)->wrote(answer, std::string(berth::view(text)));
        },
        this);
    if (code != BERTH_OK) wrote(code, "the write of " + write->name + " was refused");
  }
  void wrote(berth_code code, const std::string& text) {
    if (code == BERTH_OK) {
      ++written_;
      return write_next();
    }
    // What was not written is not assumed any more.
    for (std::size_t i = written_; const Write* write = write_at(i); ++i)
      if (write->assumed) services_.assume.forget(write->watch, write->ns, write->name);
    end(BERTH_ERROR, text);
  }

  void begin_waiting() {
    deadline_ns_ = services_.clock.monotonic_ns() + services_.timeout_ns;
    if (services_.timeout_ns == 0) return end(BERTH_ERROR, "binding volumes: context deadline exceeded");
    look_later();
  }
  void look_later() {
    const std::int64_t left_ms = (deadline_ns_ - services_.clock.monotonic_ns()) / 1'000'000;
    services_.executor.after(
        static_cast<std::uint32_t>(std::clamp<std::int64_t>(left_ms, 0, k_poll_ms)),
        [](void* arg) { static_cast<Binding*>(arg)->look(); }, this);
  }
  void look() {
    if (call_.cancelled()) return end(BERTH_ERROR, "binding volumes: context canceled");
    if (services_.clock.monotonic_ns() >= deadline_ns_)
      return end(BERTH_ERROR, "binding volumes: context deadline exceeded");
    std::string error;
    bool done = false;
    try {
      done = all_bound(error);
    } catch (const std::exception& e) {
      error = e.what();
    }
    if (!error.empty()) return end(BERTH_ERROR, "binding volumes: " + error);
    if (done) return end(BERTH_OK, "");
    look_later();
  }

  bool all_bound(std::string& error) const {
    bool done = true;
    const bool node_known = call_.node([&](berth::Row node) {
      const auto value_of = [&](const std::string& key) -> std::optional<std::string_view> {
        for (const berth::Label& label : services_.sets.labels(node[services_.label_set]))
          if (services_.intern.text(label.key) == key) return services_.intern.text(label.value);
        return std::nullopt;
      };
      if (!call_.pod_exists()) {
        error = "pod does not exist any more: pod \"" + pod_name_ + "\" not found";
        return;
      }
      for (const Write& write : work_->volumes)
        if (error.empty() && !volume_bound(write, value_of, error)) done = false;
      for (const Write& write : work_->claims)
        if (error.empty() && !claim_bound(write, value_of, error)) done = false;
    });
    if (!node_known) error = "failed to get node \"" + work_->node + "\": node \"" + work_->node + "\" not found";
    return done && error.empty();
  }

  template <class ValueOf>
  bool volume_bound(const Write& write, ValueOf&& value_of, std::string& error) const {
    bool done = false;
    const bool known = services_.assume.actual(write.watch, {}, write.name, [&](const berth_object_v1& object) {
      if (object.version <= write.version) return;  // what was written has not come back yet
      const storage::Volume volume = storage::read_volume(object);
      if (!check_affinity(volume, value_of, error)) return;
      if (!volume.claim_ref.present || volume.claim_ref.uid.empty()) {
        error = "ClaimRef got reset for pv \"" + volume.name + "\"";
        return;
      }
      services_.assume.actual(services_.claim_watch, write.claim_ns, write.claim_name,
                              [&](const berth_object_v1& claim) { done = storage::read_claim(claim).bound(); });
    });
    if (!known) error = "failed to check pv \"" + write.name + "\": persistentvolume \"" + write.name + "\" not found";
    return done;
  }

  template <class ValueOf>
  bool claim_bound(const Write& write, ValueOf&& value_of, std::string& error) const {
    bool done = false;
    const bool known = services_.assume.actual(write.watch, write.ns, write.name, [&](const berth_object_v1& object) {
      if (object.version <= write.version) return;
      const storage::Claim claim = storage::read_claim(object);
      if (!storage::present(object, storage::claim_field::annotations)) {
        error = "selectedNode annotation reset for PVC \"" + claim.name + "\"";
        return;
      }
      const std::string* selected = storage::find(claim.annotations, storage::k_selected_node);
      if (selected == nullptr || *selected != work_->node) {
        error = "provisioning failed for PVC \"" + claim.name + "\"";
        return;
      }
      if (!claim.volume.empty()) {
        bool fits = false;
        services_.assume.actual(services_.volume_watch, {}, claim.volume, [&](const berth_object_v1& volume) {
          fits = check_affinity(storage::read_volume(volume), value_of, error);
        });
        if (!fits) return;  // the volume's coming may be noticed later than the claim's binding
      }
      done = claim.bound();
    });
    if (!known)
      error = "failed to get pvc \"" + write.ns + "/" + write.name + "\": " + storage::claim_not_found(write.name);
    return done;
  }

  template <class ValueOf>
  bool check_affinity(const storage::Volume& volume, ValueOf&& value_of, std::string& error) const {
    if (storage::matches(volume.affinity, value_of)) return true;
    error = "pv \"" + volume.name + "\" node affinity doesn't match node \"" + work_->node +
            "\": no matching NodeSelectorTerms";
    return false;
  }

  const Services services_;
  const std::shared_ptr<Work> work_;
  const berth::BindCall call_;
  const std::string pod_name_;
  std::size_t written_ = 0;
  std::int64_t deadline_ns_ = 0;
};

}  // namespace volume_binding
