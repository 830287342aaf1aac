// SPDX-License-Identifier: Apache-2.0
#include "cluster/kube/write/kube_writer.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <limits>

#include "cluster/kube/read/api_status.hpp"
#include "cluster/kube/read/object_answers.hpp"
#include "text/json_object.hpp"

namespace berth::cluster::kube {
namespace {

using text::JsonObject;

const net::RetryPolicy k_status_retry{3, std::chrono::milliseconds(10), 5, true};
const net::RetryPolicy k_write_retry{6, std::chrono::milliseconds(50), 2, false};

/// Until there is an answer: room that may be taken must not be given away because a server is away.
net::RetryPolicy until_answered() {
  net::RetryPolicy out = k_write_retry;
  out.retries = std::numeric_limits<int>::max();
  out.delay_max = std::chrono::seconds(2);
  out.busy = true;
  return out;
}

std::string pod_path(const PodRef& pod, std::string_view subresource) {
  return fmt::format("/api/v1/namespaces/{}/pods/{}{}", net::percent_encode(pod.ns), net::percent_encode(pod.name),
                     subresource);
}

/// "core/v1/persistentvolumes" -> /api/v1/[namespaces/NS/]persistentvolumes[/NAME]
std::string object_path(const ObjectRef& object) {
  const std::string& resource = object.resource;
  const std::size_t last = resource.rfind('/');
  std::string path =
      (resource.starts_with("core/") ? "/api/" + resource.substr(5, last - 5) : "/apis/" + resource.substr(0, last));
  if (!object.ns.empty()) path += "/namespaces/" + net::percent_encode(object.ns);
  path += "/" + resource.substr(last + 1);
  return object.name.empty() ? path : path + "/" + net::percent_encode(object.name);
}

/// Of a write that is answered with the object, of which whether it was done is all that counts.
net::Request write_request(net::Method method, std::string target, net::RetryPolicy retry) {
  net::Request request;
  request.method = method;
  request.target = std::move(target);
  request.retry = retry;
  request.urgent = true;
  request.accept = k_metadata_only;
  request.answer_bytes_max = k_object_bytes_max;
  return request;
}

Status status_of(Result<net::Response> response) {
  Result<std::string> body = body_of(std::move(response));
  return body.ok() ? Status(Unit{}) : Status(body.error());
}

/// What the API server has in a field of an object; empty when it is not there.
std::string field_of(const std::string& json, std::string_view path) {
  text::Diagnostics ignored;
  const auto documents = text::parse_json(json, "answer", ignored);
  return documents.empty() ? std::string() : std::string(documents.front().root().text_at(path));
}

std::string entries_json(const std::vector<PodMetadataPatch::Entry>& entries) {
  JsonObject out;
  for (const PodMetadataPatch::Entry& entry : entries) {
    if (entry.value)
      out.text(entry.key, *entry.value);
    else
      out.json(entry.key, "null");
  }
  return out.done();
}

/// Where a merged list has what: those that are known first, as they stand, then new ones.
std::string order_json(const model::SharedList<model::PodCondition>& known,
                       const std::vector<model::PodCondition>& written) {
  std::vector<std::string_view> types;
  const auto append = [&](const auto& conditions) {
    for (const model::PodCondition& condition : conditions)
      if (std::find(types.begin(), types.end(), condition.type) == types.end()) types.push_back(condition.type);
  };
  append(known);
  append(written);
  std::string out;
  for (const std::string_view type : types) out += (out.empty() ? "" : ",") + JsonObject().text("type", type).done();
  return "[" + out + "]";
}

std::string uid_json(const PodRef& pod) { return JsonObject().text("uid", pod.uid).done(); }

}  // namespace

std::string status_patch_json(const PodRef& pod, const PodStatusPatch& patch, const model::Pod* known,
                              std::int64_t wall_ns) {
  std::string conditions;
  for (const model::PodCondition& condition : patch.conditions) {
    const bool same_status =
        known != nullptr && known->uid == pod.uid &&
        std::any_of(known->conditions.begin(), known->conditions.end(), [&](const model::PodCondition& c) {
          return c.type == condition.type && c.status == condition.status;
        });
    JsonObject out;
    if (!same_status) out.json("lastProbeTime", "null").text("lastTransitionTime", second_time(wall_ns));
    out.text("message", condition.message);
    if (patch.observed_generation != 0) out.number("observedGeneration", patch.observed_generation);
    out.text("reason", condition.reason).text("status", condition.status).text("type", condition.type);
    conditions += (conditions.empty() ? "" : ",") + out.done();
  }
  JsonObject status;
  if (!conditions.empty()) {
    if (known != nullptr && known->uid == pod.uid && !known->conditions.empty())
      status.json("$setElementOrder/conditions", order_json(known->conditions, patch.conditions));
    status.json("conditions", "[" + conditions + "]");
  }
  if (patch.nominated_node) {
    if (patch.nominated_node->empty())
      status.json("nominatedNodeName", "null");
    else
      status.text("nominatedNodeName", *patch.nominated_node);
  }
  JsonObject out;
  if (!pod.uid.empty()) out.json("metadata", uid_json(pod));
  return out.json("status", status.done()).done();
}

KubeWriter::KubeWriter(net::IoThreads& threads, std::shared_ptr<net::Endpoint> endpoint, const Clock& clock,
                       FindPod find_pod, KubeWriterOptions options)
    : clock_(clock),
      find_pod_(std::move(find_pod)),
      gate_(std::move(options.gate)),
      events_(threads, endpoint, clock, find_pod_, options.host_name, options.events),
      client_(threads, endpoint, options.writes) {}

KubeWriter::~KubeWriter() { stop(); }

void KubeWriter::stop() noexcept {
  if (gate_) gate_->stop();
  client_.stop();
  events_.stop();
}

std::int32_t KubeWriter::priority_of(const PodRef& pod) const {
  if (pod.priority) return *pod.priority;
  const model::PodPtr known = find_pod_(pod.ns, pod.name);
  return known != nullptr && (pod.uid.empty() || known->uid == pod.uid) ? known->priority : 0;
}

void KubeWriter::in_order(const PodRef& pod, Done done, std::function<void(Done done)> write) {
  for (const std::uint64_t request : statuses_.close(pod.ns + "/" + pod.name)) client_.raise_priority(request);
  queues_by_pod_.run(pod.ns + "/" + pod.name,
                     [done = std::move(done), write = std::move(write)](PodSerialQueues::Turn turn) {
                       write([done, turn = std::move(turn)](Status status) {
                         turn.end();
                         done(std::move(status));
                       });
                     });
}

void KubeWriter::bind(const PodRef& pod, std::string_view node_name, Done done) {
  auto binding = std::make_shared<Binding>(Binding{pod, std::string(node_name)});
  // Looked up now: the caller may take the pod for failed while the binding still waits here.
  if (gate_) binding->judged = gate_->node_of(pod.uid, node_name);
  in_order(pod, std::move(done),
           [this, binding = std::move(binding)](Done answered) { send_binding(binding, std::move(answered)); });
}

void KubeWriter::send_binding(const BindingPtr& binding, Done done) {
  const PodRef& pod = binding->pod;
  JsonObject metadata;
  metadata.text("name", pod.name).text("namespace", pod.ns);
  if (!pod.uid.empty()) metadata.text("uid", pod.uid);
  JsonObject body;
  body.text("kind", "Binding").text("apiVersion", "v1").json("metadata", metadata.done());
  body.json("target", JsonObject().text("kind", "Node").text("name", binding->node_name).done());
  net::Request request;
  request.method = net::Method::post;
  request.priority = priority_of(pod);
  request.target = pod_path(pod, "/binding");
  request.body = body.done();
  request.retry = k_write_retry;
  request.urgent = true;
  if (binding->judged)
    request.may_go = [gate = gate_, binding](bool may_be_done) {
      binding->may_be_bound |= may_be_done;
      return gate->admit(*binding->judged);
    };
  client_.send(std::move(request), [this, binding, done = std::move(done)](Result<net::Response> response) {
    const bool was_uncertain = response.ok() && response->was_uncertain;
    Result<std::string> answer = body_of(std::move(response));
    if (answer.ok()) return done(Unit{});
    const Error& error = answer.error();
    if (error.code == ErrorCode::nodes_unknown) return wait_at_gate(binding, done);
    binding->may_be_bound |= was_uncertain || error.code == ErrorCode::connection_broken ||
                             error.code == ErrorCode::internal_error || error.code == ErrorCode::timeout ||
                             error.code == ErrorCode::service_unavailable;
    give_up_binding(*binding, error, done);
  });
}

/// Not in the client: what waits there keeps others from being sent. Also one that may be bound: its room stays taken
/// until it is sent again or looked up.
void KubeWriter::wait_at_gate(const BindingPtr& binding, Done done) {
  if (binding->wait_end_ns == 0) binding->wait_end_ns = gate_->wait_end_ns();
  gate_->when_in_step(binding->wait_end_ns, [this, binding, done = std::move(done)](const Status& in_step) {
    if (!in_step.ok()) return give_up_binding(*binding, in_step.error(), done);
    send_binding(binding, done);
  });
}

void KubeWriter::give_up_binding(const Binding& binding, const Error& error, Done done) {
  if (binding.may_be_bound && error.code != ErrorCode::stopped) return verify_binding(binding, error, std::move(done));
  done(error);
}

/// The answer to a binding got lost, or came to a repetition of it: what is so, the pod says.
void KubeWriter::verify_binding(const Binding& binding, Error heard, Done done) {
  const PodRef& pod = binding.pod;
  net::Request request;
  request.target = pod_path(pod, "");
  request.priority = priority_of(pod);
  request.retry = until_answered();
  request.urgent = true;
  request.answer_bytes_max = k_object_bytes_max;
  client_.send(std::move(request), [pod, node = binding.node_name, heard = std::move(heard),
                                    done = std::move(done)](Result<net::Response> response) {
    const Result<std::string> body = body_of(std::move(response));
    const bool is_bound = body.ok() && field_of(*body, "spec.nodeName") == node &&
                          (pod.uid.empty() || field_of(*body, "metadata.uid") == pod.uid);
    done(is_bound ? Status(Unit{}) : Status(heard));
  });
}

std::uint64_t KubeWriter::send_patch(const PodRef& pod, std::string_view subresource, std::string content_type,
                                     std::string body, bool urgent, Done done) {
  net::Request request = write_request(net::Method::patch, pod_path(pod, subresource), k_status_retry);
  request.priority = priority_of(pod);
  request.content_type = std::move(content_type);
  request.body = std::move(body);
  request.urgent = urgent;
  return client_.send(std::move(request), [done = std::move(done)](Result<net::Response> response) {
    Status status = status_of(std::move(response));
    // How the server says that another pod has that name now.
    if (!status.ok() && status.error().code == ErrorCode::invalid &&
        status.error().message.find("metadata.uid") != std::string::npos)
      status = Error{status.error().message, ErrorCode::conflict};
    done(std::move(status));
  });
}

void KubeWriter::patch_pod_status(const PodRef& pod, const PodStatusPatch& patch, Done done) {
  StatusWrites::WritePtr write = statuses_.add(pod, patch, std::move(done));
  if (patch.urgent)
    for (const std::uint64_t request : statuses_.cancel_wait(pod.ns + "/" + pod.name)) client_.raise_priority(request);
  if (write == nullptr) return;
  queues_by_pod_.run(pod.ns + "/" + pod.name, [this, pod, write](PodSerialQueues::Turn turn) {
    const StatusWrites::Begun begun = statuses_.begin(*write);
    const auto end = [this, write, turn = std::move(turn)](const Status& status) {
      const std::vector<Done> told = statuses_.end(write, status.ok());
      turn.end();
      for (const Done& one : told) one(status);
    };
    if (begun.is_repeated) return end(Unit{});
    send_status(pod, begun.patch, begun.urgent, write, end);
  });
}

void KubeWriter::send_status(const PodRef& pod, const PodStatusPatch& patch, bool urgent,
                             const StatusWrites::WritePtr& write, Done done) {
  if (!patch.merge_json.empty()) {
    JsonObject body;
    if (!pod.uid.empty()) body.json("metadata", uid_json(pod));
    body.json("status", patch.merge_json);
    PodStatusPatch rest = patch;
    rest.merge_json.clear();
    const bool more = !rest.conditions.empty() || rest.nominated_node;
    send_patch(pod, "/status", "application/merge-patch+json", body.done(), true,
               [this, pod, rest, more, write, done = std::move(done)](Status status) {
                 if (!status.ok() || !more) return done(std::move(status));
                 send_status(pod, rest, true, write, done);
               });
    return;
  }
  const model::PodPtr known = find_pod_(pod.ns, pod.name);
  const std::uint64_t request =
      send_patch(pod, "/status", "application/strategic-merge-patch+json",
                 status_patch_json(pod, patch, known.get(), clock_.wall_ns()), urgent, std::move(done));
  if (statuses_.handed_over(*write, request)) client_.raise_priority(request);
}

void KubeWriter::patch_pod_metadata(const PodRef& pod, const PodMetadataPatch& patch, Done done) {
  JsonObject metadata;
  if (!pod.uid.empty()) metadata.text("uid", pod.uid);
  if (!patch.labels.empty()) metadata.json("labels", entries_json(patch.labels));
  if (!patch.annotations.empty()) metadata.json("annotations", entries_json(patch.annotations));
  in_order(pod, std::move(done),
           [this, pod, body = JsonObject().json("metadata", metadata.done()).done()](Done answered) {
             send_patch(pod, "", "application/merge-patch+json", body, true, std::move(answered));
           });
}

void KubeWriter::evict(const PodRef& pod, Done done) {
  in_order(pod, std::move(done), [this, pod](Done answered) { send_eviction(pod, std::move(answered)); });
}

void KubeWriter::send_eviction(const PodRef& pod, Done done) {
  JsonObject body;
  body.text("kind", "DeleteOptions").text("apiVersion", "v1");
  if (!pod.uid.empty()) body.json("preconditions", uid_json(pod));
  net::Request request = write_request(net::Method::del, pod_path(pod, ""), k_write_retry);
  request.priority = priority_of(pod);
  request.body = body.done();
  client_.send(std::move(request),
               [done = std::move(done)](Result<net::Response> response) { done(status_of(std::move(response))); });
}

void KubeWriter::patch_object(const ObjectRef& object, std::string_view merge_patch_json, Done done) {
  net::Request request = write_request(net::Method::patch, object_path(object), k_status_retry);
  request.content_type = "application/merge-patch+json";
  request.body = merge_patch_json;
  request.retry.conflicts = false;
  client_.send(std::move(request),
               [done = std::move(done)](Result<net::Response> response) { done(status_of(std::move(response))); });
}

void KubeWriter::write_object(const ObjectWrite& write, ObjectDone done) {
  if (write.object.resource != "core/v1/pods") return send_object(write, std::move(done));
  const PodRef pod{write.object.ns, write.object.name, {}};
  in_order(
      pod, [](const Status&) {},
      [this, write, done = std::move(done)](Done answered) {
        send_object(write, [answered = std::move(answered), done](Result<std::string> answer) {
          answered(answer.ok() ? Status(Unit{}) : Status(answer.error()));
          done(std::move(answer));
        });
      });
}

void KubeWriter::send_object(const ObjectWrite& write, ObjectDone done) {
  using Verb = ObjectWrite::Verb;
  net::Request request;
  request.target = object_path(write.object);
  if (!write.subresource.empty()) request.target += "/" + write.subresource;
  request.body = write.body;
  request.retry = k_write_retry;
  switch (write.verb) {
    case Verb::create:
      request.method = net::Method::post;
      request.retry = {};  // a server that makes the name would make two
      break;
    case Verb::update:
      request.method = net::Method::put;
      break;
    case Verb::merge_patch:
    case Verb::strategic_patch:
      request.method = net::Method::patch;
      request.content_type =
          write.verb == Verb::merge_patch ? "application/merge-patch+json" : "application/strategic-merge-patch+json";
      break;
    case Verb::remove: {
      request.method = net::Method::del;
      JsonObject body;
      body.text("kind", "DeleteOptions").text("apiVersion", "v1");
      if (!write.uid.empty()) body.json("preconditions", JsonObject().text("uid", write.uid).done());
      request.body = body.done();
      break;
    }
    case Verb::read:
      break;
  }
  request.urgent = true;
  request.answer_bytes_max = k_object_bytes_max;
  client_.send(std::move(request),
               [done = std::move(done)](Result<net::Response> response) { done(body_of(std::move(response))); });
}

void KubeWriter::record_event(const EventRecord& event, Done done) { events_.record(event, std::move(done)); }

}  // namespace berth::cluster::kube
