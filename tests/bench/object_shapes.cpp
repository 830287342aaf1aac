// SPDX-License-Identifier: Apache-2.0
// What an object of one megabyte takes to read, by what it is full of: as an event of a watch, from the bytes of the
// server to the decoded object, in JSON and in protobuf. CPU time of the thread; medians of five runs.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <ctime>
#include <functional>
#include <iostream>

#include "cluster/kube/read/answer_body.hpp"
#include "cluster/kube/read/protobuf_frames.hpp"
#include "decode/object_decoder.hpp"
#include "support/protobuf_writer.hpp"

namespace berth::bench {
namespace {

constexpr std::size_t k_bytes = 1'000'000;
constexpr std::size_t k_runs = 5;

/// An object that is full of one thing: `before`, then `item` as often as it takes, each with its number in the place of
/// every '#', then `after`.
struct Shape {
  std::string_view kind, name, before, item, after;
};

constexpr std::string_view k_pod =
    R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"d","uid":"u","resourceVersion":"1")";
constexpr std::string_view k_node = R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n","resourceVersion":"1")";
constexpr std::string_view k_claim =
    R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"name":"c","namespace":"d","uid":"u")";
constexpr std::string_view k_slice =
    R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"s")";

constexpr Shape k_shapes[] = {
    {k_pod, "labels", R"(,"labels":{)", R"("l#":"v#")", R"(}},"spec":{"containers":[{"name":"c"}]}})"},
    {k_pod, "annotations", R"(,"annotations":{)", R"("l#":"v#")", R"(}},"spec":{"containers":[{"name":"c"}]}})"},
    {k_pod, "owners", R"(,"ownerReferences":[)", R"({"apiVersion":"v1","kind":"X","name":"o#","uid":"u#"})",
     R"(]},"spec":{"containers":[{"name":"c"}]}})"},
    {k_pod, "containers", R"(},"spec":{"containers":[)", R"({"name":"c#","image":"i#"})", R"(]}})"},
    {k_pod, "containers' requests", R"(},"spec":{"containers":[)",
     R"({"name":"c#","resources":{"requests":{"cpu":"1m","memory":"1Mi"},"limits":{"memory":"2Mi"}}})", R"(]}})"},
    {k_pod, "requests", R"(},"spec":{"containers":[{"name":"c","resources":{"requests":{)", R"("x.io/r#":"#")",
     R"(}}}]}})"},
    {k_pod, "init containers", R"(},"spec":{"containers":[{"name":"c"}],"initContainers":[)",
     R"({"name":"c#","restartPolicy":"Always","resources":{"requests":{"cpu":"1m"}}})", R"(]}})"},
    {k_pod, "ports", R"(},"spec":{"containers":[{"name":"c","ports":[)", R"({"containerPort":80,"hostPort":#})",
     R"(]}]}})"},
    {k_pod, "environment", R"(},"spec":{"containers":[{"name":"c","env":[)", R"({"name":"E#","value":"v"})",
     R"(]}]}})"},
    {k_pod, "tolerations", R"(},"spec":{"containers":[{"name":"c"}],"tolerations":[)",
     R"({"key":"k#","operator":"Exists","effect":"NoSchedule"})", R"(]}})"},
    {k_pod, "node selector", R"(},"spec":{"containers":[{"name":"c"}],"nodeSelector":{)", R"("k#":"v#")", R"(}}})"},
    {k_pod, "node terms",
     R"(},"spec":{"containers":[{"name":"c"}],"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[)",
     R"({"matchExpressions":[{"key":"k#","operator":"In","values":["v#"]}]})", R"(]}}}}})"},
    {k_pod, "values of a node term",
     R"(},"spec":{"containers":[{"name":"c"}],"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"k","operator":"In","values":[)",
     R"("v#")", R"(]}]}]}}}}})"},
    {k_pod, "anti-affinity terms",
     R"(},"spec":{"containers":[{"name":"c"}],"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[)",
     R"({"topologyKey":"k","labelSelector":{"matchLabels":{"a":"v#"}}})", R"(]}}}})"},
    {k_pod, "spread constraints", R"(},"spec":{"containers":[{"name":"c"}],"topologySpreadConstraints":[)",
     R"({"maxSkew":1,"topologyKey":"k#","whenUnsatisfiable":"DoNotSchedule","labelSelector":{"matchLabels":{"a":"b"}}})",
     R"(]}})"},
    {k_pod, "volumes of claims", R"(},"spec":{"containers":[{"name":"c"}],"volumes":[)",
     R"({"name":"v#","persistentVolumeClaim":{"claimName":"c#"}})", R"(]}})"},
    {k_pod, "volumes of secrets", R"(},"spec":{"containers":[{"name":"c"}],"volumes":[)",
     R"({"name":"v#","secret":{"secretName":"c#"}})", R"(]}})"},
    {k_pod, "inline volumes", R"(},"spec":{"containers":[{"name":"c"}],"volumes":[)",
     R"({"name":"v#","csi":{"driver":"d"}})", R"(]}})"},
    {k_pod, "gates", R"(},"spec":{"containers":[{"name":"c"}],"schedulingGates":[)", R"({"name":"g.io/#"})", R"(]}})"},
    {k_pod, "claims", R"(},"spec":{"containers":[{"name":"c"}],"resourceClaims":[)",
     R"({"name":"c#","resourceClaimName":"r#"})", R"(]}})"},
    {k_pod, "conditions", R"(},"spec":{"containers":[{"name":"c"}]},"status":{"conditions":[)",
     R"({"type":"T#","status":"True"})", R"(]}})"},
    {k_pod, "container statuses", R"(},"spec":{"containers":[{"name":"c"}]},"status":{"containerStatuses":[)",
     R"({"name":"c#","ready":true,"restartCount":1,"image":"i"})", R"(]}})"},
    {k_pod, "claim statuses", R"(},"spec":{"containers":[{"name":"c"}]},"status":{"resourceClaimStatuses":[)",
     R"({"name":"c#","resourceClaimName":"r#"})", R"(]}})"},
    {k_pod, "short labels", R"(,"labels":{)", R"("#":"")", R"(}},"spec":{"containers":[{"name":"c"}]}})"},
    {k_pod, "short requests", R"(},"spec":{"containers":[{"name":"c","resources":{"requests":{)", R"("#":"1")",
     R"(}}}]}})"},
    {k_pod, "short limits", R"(},"spec":{"containers":[{"name":"c","resources":{"limits":{)", R"("#":"1")",
     R"(}}}]}})"},
    {k_pod, "overhead", R"(},"spec":{"containers":[{"name":"c"}],"overhead":{)", R"("#":"1")", R"(}}})"},
    {k_pod, "requests in many containers", R"(},"spec":{"containers":[)",
     R"({"name":"#","resources":{"requests":{"x.io/#":"1"}}})", R"(]}})"},
    {k_pod, "restartable init containers", R"(},"spec":{"containers":[{"name":"c"}],"initContainers":[)",
     R"({"name":"#","restartPolicy":"Always","resources":{"requests":{"x.io/#":"1"}}})", R"(]}})"},
    {k_pod, "short containers", R"(},"spec":{"containers":[)", R"({"name":"#"})", R"(]}})"},
    {k_pod, "short tolerations", R"(},"spec":{"containers":[{"name":"c"}],"tolerations":[)", R"({"key":"#"})",
     R"(]}})"},
    {k_pod, "preferred node terms",
     R"(},"spec":{"containers":[{"name":"c"}],"affinity":{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[)",
     R"({"weight":1,"preference":{"matchExpressions":[{"key":"#","operator":"Exists"}]}})", R"(]}}}})"},
    {k_pod, "preferred affinity terms",
     R"(},"spec":{"containers":[{"name":"c"}],"affinity":{"podAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[)",
     R"({"weight":1,"podAffinityTerm":{"topologyKey":"#","labelSelector":{}}})", R"(]}}}})"},
    {k_pod, "expressions of one affinity term",
     R"(},"spec":{"containers":[{"name":"c"}],"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"k","labelSelector":{"matchExpressions":[)",
     R"({"key":"#","operator":"Exists"})", R"(]}}]}}}})"},
    {k_pod, "short inline volumes", R"(},"spec":{"containers":[{"name":"c"}],"volumes":[)",
     R"({"name":"#","csi":{"driver":"#"}})", R"(]}})"},
    {k_pod, "ephemeral volumes", R"(},"spec":{"containers":[{"name":"c"}],"volumes":[)",
     R"({"name":"#","ephemeral":{"volumeClaimTemplate":{"spec":{}}}})", R"(]}})"},
    {k_pod, "requests of container statuses",
     R"(},"spec":{"containers":[{"name":"c"}]},"status":{"containerStatuses":[{"name":"c","resources":{"requests":{)",
     R"("#":"1")", R"(}}}]}})"},
    {k_node, "short allocatable", R"(},"status":{"allocatable":{)", R"("#":"1")", R"(}}})"},
    {k_node, "short labels", R"(,"labels":{)", R"("#":"")", R"(}}})"},
    {k_node, "labels", R"(,"labels":{)", R"("l#":"v#")", R"(}}})"},
    {k_node, "annotations", R"(,"annotations":{)", R"("l#":"v#")", R"(}}})"},
    {k_node, "taints", R"(},"spec":{"taints":[)", R"({"key":"k#","effect":"NoSchedule"})", R"(]}})"},
    {k_node, "allocatable", R"(},"status":{"allocatable":{)", R"("x.io/r#":"#")", R"(}}})"},
    {k_node, "images", R"(},"status":{"images":[)", R"({"names":["i.io/#:1"],"sizeBytes":1000})", R"(]}})"},
    {k_node, "conditions", R"(},"status":{"conditions":[)", R"({"type":"T#","status":"True"})", R"(]}})"},
    {k_node, "addresses", R"(},"status":{"addresses":[)", R"({"type":"InternalIP","address":"a#"})", R"(]}})"},
    {k_node, "volumes attached", R"(},"status":{"volumesAttached":[)", R"({"name":"v#","devicePath":""})", R"(]}})"},
    {k_claim, "labels", R"(,"labels":{)", R"("l#":"v#")", R"(}}})"},
    {k_claim, "requests", R"(},"spec":{"devices":{"requests":[)",
     R"({"name":"r#","exactly":{"deviceClassName":"c","allocationMode":"ExactCount","count":1}})", R"(]}}})"},
    {k_claim, "selectors",
     R"(},"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"c","selectors":[)",
     R"({"cel":{"expression":"device.driver == \"d#\""}})", R"(]}}]}}})"},
    {k_claim, "results", R"(},"status":{"allocation":{"devices":{"results":[)",
     R"({"request":"r","driver":"d.io","pool":"p","device":"d#"})", R"(]}}}})"},
    {k_claim, "consumers", R"(},"status":{"reservedFor":[)", R"({"resource":"pods","name":"p#","uid":"u#"})", R"(]}})"},
    {k_slice, "devices",
     R"(},"spec":{"driver":"d.io","pool":{"name":"p","generation":1,"resourceSliceCount":1},"nodeName":"n","devices":[)",
     R"({"name":"d#","attributes":{"model":{"string":"m#"}},"capacity":{"memory":{"value":"1Gi"}}})", R"(]}})"},
    {k_slice, "attributes",
     R"(},"spec":{"driver":"d.io","pool":{"name":"p","generation":1,"resourceSliceCount":1},"nodeName":"n","devices":[{"name":"d","attributes":{)",
     R"("a#":{"int":#})", R"(}}]}})"},
    {k_slice, "counters",
     R"(},"spec":{"driver":"d.io","pool":{"name":"p","generation":1,"resourceSliceCount":1},"nodeName":"n","sharedCounters":[{"name":"s","counters":{)",
     R"("c#":{"value":"#"})", R"(}}]}})"},
    {k_slice, "taints",
     R"(},"spec":{"driver":"d.io","pool":{"name":"p","generation":1,"resourceSliceCount":1},"nodeName":"n","devices":[{"name":"d","taints":[)",
     R"({"key":"k#","effect":"NoSchedule"})", R"(]}]}})"},
};

/// As an event of a watch.
std::string event_of(const Shape& shape, std::size_t items) {
  std::string out = R"({"type":"ADDED","object":)";
  out.append(shape.kind).append(shape.before);
  for (std::size_t i = 0; i < items; ++i) {
    if (i != 0) out += ',';
    for (const char c : shape.item) c == '#' ? void(out.append(std::to_string(i + 1))) : out.push_back(c);
  }
  return out.append(shape.after).append("}\n");
}

std::string encoded(const Shape& shape, std::size_t items, bool as_protobuf) {
  std::string json = event_of(shape, items);
  if (!as_protobuf) return json;
  std::optional<std::string> frames = tests::to_protobuf_frames(json);
  if (!frames) throw std::runtime_error(std::string(shape.name) + " has no protobuf");
  return *std::move(frames);
}

double cpu_ms() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

struct Cost {
  double ms_per_mb = 0;
  std::string problem;  // not empty: the object is refused
};

Cost measure(const Shape& shape, bool as_protobuf, const decode::DecodeOptions& options) {
  std::size_t items = 1000;
  for (int i = 0; i < 3; ++i)
    items = std::max<std::size_t>(1, items * k_bytes / encoded(shape, items, as_protobuf).size());
  const std::string bytes = encoded(shape, items, as_protobuf);
  const decode::WireLayout layout = decode::wire_layout("v1", "Pod");  // of a watch each event says its own
  Cost cost;
  std::array<double, k_runs> runs{};
  for (double& run : runs) {
    SymbolTable symbols;
    const decode::ObjectDecoder decoder(symbols, options);
    std::optional<decode::Decoded> decoded;
    const auto body = cluster::kube::make_watch_body(
        as_protobuf ? cluster::kube::k_protobuf : std::string_view("application/json"), layout, "watch",
        [&](std::string_view, const text::Document* document, const text::Value* object,
            const text::Diagnostics& problems) {
          text::Diagnostics own = problems;
          if (object != nullptr) decoded = decoder.decode(*document, *object, own);
          if (!own.empty()) cost.problem = own.render().substr(0, 120);
        });
    const double before = cpu_ms();
    if (const Status taken = body->add(bytes); !taken.ok()) throw std::runtime_error(taken.error().message);
    run = (cpu_ms() - before) * 1e6 / static_cast<double>(bytes.size());
    if (!decoded && cost.problem.empty()) cost.problem = "not decoded";
  }
  std::nth_element(runs.begin(), runs.begin() + k_runs / 2, runs.end());
  cost.ms_per_mb = runs[k_runs / 2];
  return cost;
}

std::string_view kind_of(const Shape& shape) {
  return shape.kind == k_pod     ? "Pod"
         : shape.kind == k_node  ? "Node"
         : shape.kind == k_claim ? "ResourceClaim"
                                 : "ResourceSlice";
}

void run(const std::string& only, bool keep_bodies) {
  decode::DecodeOptions options;
  if (keep_bodies) options.keeps_pod_body = [](const model::Pod&) { return true; };
  options.keep_node_bodies = keep_bodies;
  double worst = 0;
  for (const Shape& shape : k_shapes) {
    const std::string name = fmt::format("{}: {}", kind_of(shape), shape.name);
    if (name.find(only) == name.npos) continue;
    const Cost json = measure(shape, false, options), protobuf = measure(shape, true, options);
    worst = std::max({worst, json.ms_per_mb, protobuf.ms_per_mb});
    std::cout << fmt::format("{:<32} JSON {:6.1f}  protobuf {:6.1f} ms/MB  {}\n", name, json.ms_per_mb,
                             protobuf.ms_per_mb, json.problem);
  }
  std::cout << fmt::format("worst: {:.1f} ms/MB\n", worst);
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) {
  CLI::App app("what an object of one megabyte takes to read, by what it is full of");
  std::string only;
  bool keep_bodies = false;
  app.add_option("--only", only, "Shapes whose name has this in it");
  app.add_flag("--keep-bodies", keep_bodies, "Keep the bodies of pods and nodes too, as for extenders");
  CLI11_PARSE(app, argc, argv);
  try {
    berth::bench::run(only, keep_bodies);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "object_shapes: " << error.what() << '\n';
    return 1;
  }
}
