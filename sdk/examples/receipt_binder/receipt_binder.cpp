// SPDX-License-Identifier: Apache-2.0
/// example.com/ReceiptBinder: binds pods that ask for a receipt, after it was written on them.
///
/// Assumes: a pod asks by the annotation example.com/receipt, whatever its value. All others go to the next bind
///          plugin.
/// Steps:   two writes, one after the other, and no thread that waits for them: the annotation that says when and
///          where, then the binding. If the first fails there is no second, and the pod is tried again.
#include <berth/plugin.hpp>

#include <array>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>

namespace {

constexpr std::string_view k_wanted = "example.com/receipt";
constexpr std::string_view k_written = "example.com/bound-to";

/// 2026-01-31T12:00:00Z
std::string rfc3339(std::int64_t wall_ns) {
  const std::time_t seconds = wall_ns / 1'000'000'000;
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

berth_code ok_or_error(berth_code code) {
  return code == BERTH_OK ? static_cast<berth_code>(BERTH_OK) : static_cast<berth_code>(BERTH_ERROR);
}

/// What the second write needs when the first has been answered. The pod is borrowed for the call of bind() only.
struct Binding {
  berth::Writes writes;
  std::string ns, name, uid;
  berth::BindCall call;
};

class ReceiptBinder {
 public:
  static constexpr berth::Identity identity{.name = "example.com/ReceiptBinder",
                                            .version = "1.0.0",
                                            .summary = "Binds pods that ask for a receipt, and writes it on them.",
                                            .deps = BERTH_DEP_POD_IDENTITY};
  static constexpr const char* services[] = {berth::Intern::id, berth::Clock::id, berth::Writes::id};
  // Each write needs its rule; `berth plugin inspect --rbac` prints the role for them.
  static constexpr const char* rbac[] = {"patch core/pods", "create core/pods/binding"};
  static constexpr std::array<berth::Interest, 0> interests{};

  explicit ReceiptBinder(berth::Setup& setup)
      : intern_(setup.service<berth::Intern>()),
        clock_(setup.service<berth::Clock>()),
        writes_(setup.service<berth::Writes>()),
        wanted_(intern_(k_wanted)) {
    setup.pod_fields(BERTH_POD_IDENTITY | BERTH_POD_NAMESPACE | BERTH_POD_ANNOTATIONS);
  }

  berth::Verdict bind(const berth::Cycle& cycle, berth::BindCall call) const {
    const berth::Pod pod = cycle.pod();
    if (!wants_receipt(pod)) return berth::Verdict::skip();
    auto binding = std::make_unique<Binding>(
        Binding{writes_, std::string(intern_.text(pod.ns())), std::string(pod.name()), std::string(pod.uid()), call});
    const std::string patch = R"({"metadata":{"annotations":{")" + std::string(k_written) + R"(":")" +
                              std::string(call.node_name()) + " at " + rfc3339(clock_.wall_ns()) + R"("}}})";
    const berth_code taken =
        writes_.patch_pod_metadata(binding->ns, binding->name, binding->uid, patch, &receipt_written, binding.get());
    if (taken != BERTH_OK) return berth::Verdict::error("the host does not take the receipt");
    binding.release();  // receipt_written() has it
    return berth::Verdict::async();
  }

 private:
  bool wants_receipt(berth::Pod pod) const {
    for (const berth::Label& annotation : pod.annotations())
      if (annotation.key == wanted_) return true;
    return false;
  }

  /// On any thread, perhaps before bind() has returned.
  static void receipt_written(void* arg, berth_code code, berth_str text) {
    const std::unique_ptr<Binding> binding(static_cast<Binding*>(arg));
    if (code != BERTH_OK) return binding->call.complete(BERTH_ERROR, berth::view(text));
    const berth_code taken = binding->writes.table().bind(
        binding->writes.ctx(), berth::borrow(binding->ns), berth::borrow(binding->name), berth::borrow(binding->uid),
        berth::borrow(binding->call.node_name()), &bound, binding->call.raw());
    if (taken != BERTH_OK) binding->call.complete(BERTH_ERROR, "the host does not take the binding");
  }
  static void bound(void* call, berth_code code, berth_str text) {
    berth::BindCall(static_cast<berth_bind_call_v1*>(call)).complete(ok_or_error(code), berth::view(text));
  }

  berth::Intern intern_;
  berth::Clock clock_;
  berth::Writes writes_;
  berth::Id wanted_;
};

}  // namespace

BERTH_PLUGIN(ReceiptBinder)
