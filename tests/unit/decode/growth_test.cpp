// SPDX-License-Identifier: Apache-2.0
// Decoding costs what its bytes cost, whatever the object is made of: sixteen times the size takes about sixteen times as
// long, never 256 times. The factor is large so that caches and page faults, which may double a step, cannot blur it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>

#include "decode/object_decoder.hpp"
#include "decode/wire_schema.hpp"
#include "model/event_diff.hpp"
#include "support/protobuf_writer.hpp"
#include "text/parse.hpp"
#include "text/protobuf.hpp"

namespace berth::tests {
namespace {

/// A member that holds `count` of something, as JSON.
struct Shape {
  std::string name;
  std::function<std::string(std::size_t i)> element;
  std::string before, after;  // around the elements, separated by commas
  bool is_node = false;
};

std::string n(std::size_t i) { return std::to_string(i); }

const std::string k_head = R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"ns","uid":"u")";
const std::string k_spec = R"(},"spec":{"nodeName":"n","containers":[{"name":"c","image":"i"}])";
const std::string k_one_container = R"(},"spec":{"nodeName":"n","containers":[{"name":"c","resources":{)";

std::vector<Shape> shapes() {
  const auto entry = [](std::size_t i) { return "\"k" + n(i) + "\":\"v" + n(i) + "\""; };
  const auto resource = [](std::size_t i) { return "\"example.com/r" + n(i) + "\":\"1\""; };
  const auto in_spec = [&](const std::string& member) { return k_head + k_spec + ",\"" + member + "\":["; };
  const auto in_status = [&](const std::string& member) {
    return k_head + k_spec + "},\"status\":{\"" + member + "\":[";
  };
  const std::string affinity = k_head + k_spec + R"(,"affinity":{"nodeAffinity":{)";
  std::vector<Shape> out = {
      {"labels", entry, k_head + ",\"labels\":{", "}" + k_spec + "}}"},
      {"annotations", entry, k_head + ",\"annotations\":{", "}" + k_spec + "}}"},
      {"node_selector", entry, k_head + k_spec + ",\"nodeSelector\":{", "}}}"},
      {"requests", resource, k_head + k_one_container + "\"requests\":{", "}}}]}}"},
      {"limits", resource, k_head + k_one_container + "\"limits\":{", "}}}]}}"},
      {"overhead", resource, k_head + k_spec + ",\"overhead\":{", "}}}"},
      {"containers",
       [](std::size_t i) {
         return R"({"name":"c)" + n(i) + R"(","image":"i","resources":{"requests":{"cpu":"1m","example.com/r)" + n(i) +
                R"(":"1"}}})";
       },
       k_head + R"(},"spec":{"nodeName":"n","containers":[)", "]}}"},
      {"sidecars",
       [](std::size_t i) {
         return R"({"name":"s)" + n(i) + R"(","restartPolicy":"Always","resources":{"requests":{"example.com/r)" +
                n(i) + R"(":"1"}}})";
       },
       in_spec("initContainers"), "]}}"},
      {"init_containers_and_sidecars",
       [](std::size_t i) {
         return R"({"name":"s)" + n(i) + R"(",)" + (i % 2 == 0 ? R"("restartPolicy":"Always",)" : "") +
                R"("resources":{"requests":{"example.com/r)" + n(i) + R"(":"1"}}})";
       },
       in_spec("initContainers"), "]}}"},
      {"ports", [](std::size_t i) { return R"({"hostPort":)" + n(1 + i % 60000) + R"(,"containerPort":80})"; },
       k_head + R"(},"spec":{"nodeName":"n","containers":[{"name":"c","ports":[)", "]}]}}"},
      {"tolerations", [](std::size_t i) { return R"({"key":"k)" + n(i) + R"(","operator":"Exists"})"; },
       in_spec("tolerations"), "]}}"},
      {"node_terms",
       [](std::size_t i) { return R"({"matchExpressions":[{"key":"k)" + n(i) + R"(","operator":"Exists"}]})"; },
       affinity + R"("requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[)", "]}}}}}"},
      {"bad_node_expressions",
       [](std::size_t i) { return R"({"key":"k)" + n(i) + R"(","operator":"In","values":["*"]})"; },
       affinity + R"("requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[)",
       "]}]}}}}}"},
      {"values_of_one_expression", [](std::size_t i) { return "\"*" + n(i) + "\""; },
       affinity + R"("requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[)" +
           R"({"key":"k","operator":"In","values":[)",
       "]}]}]}}}}}"},
      {"pod_terms",
       [](std::size_t i) { return R"({"topologyKey":"k","labelSelector":{"matchLabels":{"a":"v)" + n(i) + R"("}}})"; },
       k_head + k_spec + R"(,"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[)",
       "]}}}}"},
      {"labels_of_one_selector", entry,
       k_head + k_spec +
           R"(,"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"z","labelSelector":{"matchLabels":{)",
       "}}}]}}"},
      {"spread", [](std::size_t i) { return R"({"maxSkew":1,"topologyKey":"k)" + n(i) + R"("})"; },
       in_spec("topologySpreadConstraints"), "]}}"},
      {"claims",
       [](std::size_t i) {
         return R"({"name":"v)" + n(i) + R"(","persistentVolumeClaim":{"claimName":"c)" + n(i) + "\"}}";
       },
       in_spec("volumes"), "]}}"},
      {"inline_volumes",
       [](std::size_t i) {
         return R"({"name":"v)" + n(i) + R"(","awsElasticBlockStore":{"volumeID":"d)" + n(i) + "\"}}";
       },
       in_spec("volumes"), "]}}"},
      {"gates", [](std::size_t i) { return R"({"name":"g)" + n(i) + "\"}"; }, in_spec("schedulingGates"), "]}}"},
      {"conditions", [](std::size_t i) { return R"({"type":"t)" + n(i) + R"(","status":"True"})"; },
       in_status("conditions"), "]}}"},
      {"owners", [](std::size_t i) { return R"({"kind":"K","name":"o)" + n(i) + R"(","uid":"u"})"; },
       k_head + ",\"ownerReferences\":[", "]" + k_spec + "}}"},
      {"managed_fields", [](std::size_t i) { return R"({"manager":"m)" + n(i) + R"(","fieldsV1":{"f:a":{}}})"; },
       k_head + ",\"managedFields\":[", "]" + k_spec + "}}"},
  };
  const std::string node = R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n","uid":"u")";
  out.push_back({"allocatable", resource, node + R"(},"status":{"allocatable":{)", "}}}", true});
  out.push_back({"node_labels", entry, node + R"(,"labels":{)", "}}}", true});
  out.push_back({"taints", [](std::size_t i) { return R"({"key":"k)" + n(i) + R"(","effect":"NoSchedule"})"; },
                 node + R"(},"spec":{"taints":[)", "]}}", true});
  out.push_back({"images", [](std::size_t i) { return R"({"names":["i)" + n(i) + R"("],"sizeBytes":1})"; },
                 node + R"(},"status":{"images":[)", "]}}", true});
  return out;
}

std::string written(const Shape& shape, std::size_t bytes) {
  std::string out = shape.before;
  for (std::size_t i = 0; out.size() < bytes; ++i) out += (i == 0 ? "" : ",") + shape.element(i);
  return out + shape.after;
}
/// As many containers as statuses: each is looked for by its name.
std::string with_statuses(std::size_t bytes) {
  std::string containers, statuses;
  for (std::size_t i = 0; containers.size() + statuses.size() < bytes; ++i) {
    containers += (i == 0 ? "" : ",") + (R"({"name":"c)" + n(i) + "\"}");
    statuses += (i == 0 ? "" : ",") + (R"({"name":"c)" + n(i) + R"(","resources":{"requests":{"cpu":"1m"}}})");
  }
  return k_head + R"(},"spec":{"nodeName":"n","containers":[)" + containers + R"(]},"status":{"containerStatuses":[)" +
         statuses + "]}}";
}

struct Decoder {
  SymbolTable symbols;
  decode::ObjectDecoder decoder{symbols, [] {
                                  decode::DecodeOptions out;
                                  out.keeps_pod_body = [](const model::Pod&) { return true; };
                                  out.keep_node_bodies = true;
                                  return out;
                                }()};
  decode::Decoded decode(const std::vector<text::Document>& documents, text::Diagnostics& problems) {
    auto out = decoder.decode(documents.at(0), documents.at(0).root(), problems);
    EXPECT_TRUE(out.has_value()) << problems.render().substr(0, 500);
    return out ? *out : decode::Decoded();
  }
  decode::Decoded from_json(const std::string& bytes) {
    text::Diagnostics problems;
    return decode(text::parse_go_json(bytes, "object", problems), problems);
  }
  decode::Decoded from_protobuf(const std::string& bytes, const decode::WireLayout& layout) {
    text::Diagnostics problems;
    return decode(text::parse_protobuf(bytes, *layout.message, layout.api_version, layout.kind, "object", problems),
                  problems);
  }
};

/// The message without its envelope.
std::string protobuf_of(const std::string& json) {
  std::string out;
  Poisons poisons;
  for (const char* const name : {"p", "n"}) poisons[name].damage = [&out](std::string& bytes, bool) { out = bytes; };
  EXPECT_TRUE(to_protobuf(json, poisons).has_value());
  return out;
}

double cpu_s() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Of the processor, the best of several, so that what else the machine does counts little.
double seconds(const std::function<void()>& body) {
  double best = 1e9;
  for (int i = 0; i < 3; ++i) {
    const double start_s = cpu_s();
    body();
    best = std::min(best, cpu_s() - start_s);
  }
  return best;
}

constexpr std::size_t k_small_bytes = 32 << 10, k_large_bytes = 16 * k_small_bytes;
constexpr double k_growth_max = 120;

/// `prepare` makes what `body` is timed with.
template <typename Prepare, typename Body>
void expect_linear(const std::string& what, Prepare&& prepare, Body&& body) {
  double growth = 0, large_s = 0;
  for (int tries = 0; tries < 3; ++tries) {  // a busy machine may disturb all of one side
    const auto small = prepare(k_small_bytes), large = prepare(k_large_bytes);
    const double small_s = seconds([&] { body(small); });
    large_s = seconds([&] { body(large); });
    growth = large_s / small_s;
    if (growth < k_growth_max) break;
  }
  EXPECT_LT(growth, k_growth_max) << what;
  std::printf("%-40s %6.1f ms per MiB, growth %.1f\n", what.c_str(),
              large_s * 1e3 * (1 << 20) / static_cast<double>(k_large_bytes), growth);
}

void expect_linear_decoding(const std::string& name, bool is_node,
                            const std::function<std::string(std::size_t)>& json) {
  expect_linear(name + " as JSON", json, [](const std::string& bytes) { Decoder().from_json(bytes); });
  const decode::WireLayout layout = decode::wire_layout("v1", is_node ? "Node" : "Pod");
  expect_linear(
      name + " as protobuf", [&](std::size_t bytes) { return protobuf_of(json(bytes)); },
      [&](const std::string& bytes) { Decoder().from_protobuf(bytes, layout); });
  // A patch: the object is decoded again where the one before is known, and compared with it.
  expect_linear(name + " patched", json, [](const std::string& bytes) {
    Decoder decoder;
    const decode::Decoded before = decoder.from_json(bytes), after = decoder.from_json(bytes);
    if (const auto* pod = std::get_if<model::PodPtr>(&before))
      (void)model::pod_update_events(**pod, *std::get<model::PodPtr>(after));
    if (const auto* node = std::get_if<model::NodePtr>(&before))
      (void)model::node_update_events(**node, *std::get<model::NodePtr>(after));
  });
}

TEST(Growth, EveryShapeIsDecodedInTimeLinearInItsBytes) {
  for (const Shape& shape : shapes())
    expect_linear_decoding(shape.name, shape.is_node, [&](std::size_t bytes) { return written(shape, bytes); });
  expect_linear_decoding("containers with statuses", false, with_statuses);
}

TEST(Growth, ErrorsAreReportedInTimeLinearInTheirBytes) {
  const Shape bad{"labels", [](std::size_t i) { return "\"k" + n(i) + "\":" + n(i); }, k_head + ",\"labels\":{",
                  "}" + k_spec + "}}"};
  expect_linear(
      "labels that are numbers", [&](std::size_t bytes) { return written(bad, bytes); },
      [](const std::string& bytes) {
        Decoder decoder;
        text::Diagnostics problems;
        const auto documents = text::parse_go_json(bytes, "object", problems);
        EXPECT_FALSE(decoder.decoder.decode(documents.at(0), documents.at(0).root(), problems));
        EXPECT_LE(problems.size(), 1000u);
        EXPECT_NE(decoder.decoder.remains_of(documents.at(0), documents.at(0).root(), true, true).pod, nullptr);
      });
}

TEST(Growth, AMergePatchCostsItsBytesAndThoseOfItsTarget) {
  const Shape labels{"labels", [](std::size_t i) { return "\"k" + n(i) + "\":\"v\""; }, "{", "}"};
  expect_linear(
      "merge patch", [&](std::size_t bytes) { return written(labels, bytes); },
      [](const std::string& bytes) {
        text::Diagnostics problems;
        const auto target = text::parse_json(bytes, "target", problems);
        EXPECT_FALSE(text::merge_json(&target.at(0).root(), target.at(0).root()).empty());
      });
}

}  // namespace
}  // namespace berth::tests
