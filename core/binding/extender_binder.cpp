// SPDX-License-Identifier: Apache-2.0
#include "binding/extender_binder.hpp"

#include <future>
#include <optional>

#include "cluster/cluster_writer.hpp"
#include "observe/log.hpp"

namespace berth::binding {

using framework::Code;

void ExtenderBinder::bind(std::size_t i, model::PodPtr pod, std::string node_name, framework::BindDone done) const {
  extender::Extender& extender = *bindings_.binders[i];
  if (!extender.is_interested(*pod)) return done({Code::skip, model::k_no_plugin, {}});
  const auto answered = [&extender, pod, done = std::move(done)](const Result<Unit>& bound) {
    if (bound.ok()) return done({});
    // It was not asked.
    if (bound.error().code == ErrorCode::withheld || cluster::is_stopped(bound))
      return done({Code::error, model::k_no_plugin, {bound.error().message}});
    if (!extender.ignorable()) return done({Code::error, model::k_no_plugin, {bound.error().message}});
    observe::warning("Skipping extender in bind as it returned error and has ignorable flag set",
                     {{"err", bound.error().message}, {"extender", extender.name()}, {"pod", *pod}});
    done({Code::skip, model::k_no_plugin, {}});
  };
  if (!bindings_.record) return send({extender, std::move(pod), std::move(node_name), answered});
  std::promise<Result<Unit>> promise;
  extender.bind(*pod, node_name, {}, [&promise](Result<Unit> bound) { promise.set_value(std::move(bound)); });
  const Result<Unit> bound = promise.get_future().get();
  if (!bound.ok()) return answered(bound);
  bindings_.record(*pod, node_name, answered);
}

void ExtenderBinder::send(Call call) const {
  const std::optional<cluster::PlacedNode> node =
      gate_ == nullptr ? std::nullopt : gate_->node_of(call.pod->uid, call.node_name);
  extender::Extender::MayGo may_go;
  if (node) may_go = [gate = gate_, node = *node] { return gate->admit(node); };
  const Call& c = call;
  c.extender.bind(*c.pod, c.node_name, std::move(may_go), [this, call](Result<Unit> bound) mutable {
    if (bound.ok() || bound.error().code != ErrorCode::nodes_unknown) return call.answered(std::move(bound));
    if (call.wait_end_ns == 0) call.wait_end_ns = gate_->wait_end_ns();
    gate_->when_in_step(call.wait_end_ns, [this, call](Status in_step) {
      if (!in_step.ok()) return call.answered(std::move(in_step));
      send(call);
    });
  });
}

}  // namespace berth::binding
