// SPDX-License-Identifier: Apache-2.0
/// example.com/PermitGate: an annotation on a namespace opens and closes it for new pods.
///
/// Assumes: the annotation example.com/gate of the pod's namespace says "approve", "wait" or "deny"; anything else, and
///          no annotation at all, is no gate.
/// Steps:   permit answers for the pod at hand. A pod that has to wait keeps its node, and no thread; twice a second
///          (by default) the gate is looked at again for every pod that waits. A pod that was denied, or waited too
///          long, is tried again when the annotation of its namespace changes.
#include <berth/plugin.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

constexpr const char* k_namespaces = "core/v1/namespaces";
constexpr std::string_view k_annotation = "example.com/gate";

enum class Gate { open, waits, closed };

class PermitGate {
 public:
  static constexpr berth::Identity identity{.name = "example.com/PermitGate",
                                            .version = "1.0.0",
                                            .summary = "Lets pods of a namespace through, holds or denies them.",
                                            .deps = BERTH_DEP_OBJECTS};

  static constexpr char args_schema[] = R"({
    "type": "object",
    "additionalProperties": false,
    "properties": {
      "timeoutSeconds": {"type": "integer", "minimum": 1, "maximum": 900, "default": 60,
                         "description": "How long a pod waits for the gate before it gives its node back."},
      "periodMilliseconds": {"type": "integer", "minimum": 10, "maximum": 60000, "default": 500,
                             "description": "How often the gates of waiting pods are looked at."}
    }
  })";

  static constexpr const char* services[] = {berth::Intern::id, berth::Objects::id, berth::Waiting::id,
                                             berth::Executor::id};
  static constexpr const char* watches[] = {k_namespaces};
  static constexpr berth::Interest interests[] = {berth::hinted(BERTH_KIND_OWN_WATCH, BERTH_ACTION_UPDATE)};

  explicit PermitGate(berth::Setup& setup)
      : intern_(setup.service<berth::Intern>()),
        objects_(setup.service<berth::Objects>()),
        waiting_(setup.service<berth::Waiting>()) {
    const berth::Json args = setup.args();
    timeout_ms_ = static_cast<std::uint32_t>(args["timeoutSeconds"].integer_or("timeoutSeconds", 60) * 1000);
    const berth_field_v1 fields[] = {{berth::borrow("metadata.annotations"), BERTH_FIELD_JSON, 0}};
    namespaces_ = objects_.watch(k_namespaces, fields);
    setup.pod_fields(BERTH_POD_NAMESPACE | BERTH_POD_IDENTITY);
    const auto period_ms = args["periodMilliseconds"].integer_or("periodMilliseconds", 500);
    const berth_code code = setup.service<berth::Executor>().every(
        static_cast<std::uint32_t>(period_ms), [](void* self) { static_cast<PermitGate*>(self)->look_again(); }, this);
    if (code != BERTH_OK) throw berth::Failure("the host does not take the task");
  }

  berth::Verdict permit(const berth::Cycle& cycle, berth::Slot, berth::Permit& out) const {
    const std::string_view ns = intern_.text(cycle.pod().ns());
    switch (gate_of(ns)) {
      case Gate::open:
        return berth::Verdict::ok();
      case Gate::waits:
        out.timeout_ms(timeout_ms_);
        return berth::Verdict::wait();
      default:
        return berth::Verdict::unschedulable(denial(ns));
    }
  }

  bool hint(const berth::Event& event, berth::Pod waiting) const {
    const berth_object_v1* const before = event.old_object();
    const berth_object_v1* const now = event.new_object();
    if (now == nullptr || berth::view(now->name) != intern_.text(waiting.ns())) return false;
    return read(*now) != Gate::closed && (before == nullptr || read(*before) != read(*now));
  }

 private:
  static std::string denial(std::string_view ns) { return "the gate of namespace " + std::string(ns) + " is closed"; }

  static Gate read(const berth_object_v1& ns) {
    if (ns.values[0].present == 0) return Gate::open;
    const berth::Json annotations = berth::Json::parse(berth::view(ns.values[0].text));
    const berth::Json& word = annotations[k_annotation];
    const std::string text = word.is_string() ? word.string("gate") : std::string();
    return text == "deny" ? Gate::closed : text == "wait" ? Gate::waits : Gate::open;
  }
  Gate gate_of(std::string_view ns) const {
    Gate gate = Gate::open;
    objects_.get(namespaces_, {}, ns, [&](const berth_object_v1& object) { gate = read(object); });
    return gate;
  }

  /// On a thread of the executor. Sees the pods that other plugins hold as well: allow() is on our behalf only, and a
  /// gate that closes ends their wait too.
  void look_again() const noexcept {
    try {
      std::vector<std::pair<std::string, std::string>> pods;  // uid, namespace: nothing may be decided while visiting
      waiting_.each(0, [&](berth::Pod pod, std::string_view) { pods.emplace_back(pod.uid(), intern_.text(pod.ns())); });
      for (const auto& [uid, ns] : pods) {
        const Gate gate = gate_of(ns);
        if (gate == Gate::open) waiting_.allow(uid);
        if (gate == Gate::closed) waiting_.reject(uid, denial(ns));
      }
    } catch (const std::exception&) {  // memory: the next look does it
    }
  }

  berth::Intern intern_;
  berth::Objects objects_;
  berth::Waiting waiting_;
  std::uint32_t namespaces_ = 0;
  std::uint32_t timeout_ms_ = 0;
};

}  // namespace

BERTH_PLUGIN(PermitGate)
