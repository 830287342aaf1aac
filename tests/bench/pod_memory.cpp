// SPDX-License-Identifier: Apache-2.0
// What a bound pod costs in memory: pods are decoded as they come from an API server and put into the cache, and the
// heap is asked what is in use, with what malloc adds to each block.
#include <malloc.h>

#include <CLI/CLI.hpp>
#include <iostream>

#include "bench/random.hpp"
#include "cache/cluster_cache.hpp"
#include "decode/object_decoder.hpp"
#include "text/parse.hpp"

namespace berth::bench {
namespace {

std::size_t bytes_in_use() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

std::string text_of(Random& random, std::size_t length) {
  std::string out;
  for (std::size_t i = 0; i < length; ++i)
    out += "bcdfghjklmnpqrstvwxz2456789"[static_cast<std::size_t>(random.below(27))];
  return out;
}

std::string uuid_of(Random& random) {
  const auto part = [&](int bits) { return static_cast<std::uint64_t>(random.below(std::int64_t{1} << bits)); };
  return fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}", part(32), part(16), part(12), 0x8000 | part(14), part(48));
}

/// A replica as a Deployment makes it and a kubelet reports it; `with_token`: with the volume of its service account's
/// token, whose name is the pod's own.
std::string replica(Random& random, std::int64_t workload, std::int64_t i, bool with_token) {
  const std::string hash = fmt::format("7d4b9c{:04d}", workload % 10'000);
  const std::string volumes =
      with_token ? R"("volumes":[{"name":"kube-api-access-)" + text_of(random, 5) + R"(","projected":{}}],)" : "";
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"web-{0}-{1}-{2}","namespace":"ns-{3}","uid":"{4}",)"
      R"("resourceVersion":"{5}","generation":1,"creationTimestamp":"2026-01-02T03:04:05Z","labels":{{"app":"web-{0}",)"
      R"("pod-template-hash":"{1}"}},"annotations":{{"example.com/team":"t{3}"}},"ownerReferences":[{{"apiVersion":)"
      R"("apps/v1","kind":"ReplicaSet","name":"web-{0}-{1}","uid":"00000000-0000-4000-8000-{0:012d}","controller":true}}]}},)"
      R"("spec":{{{6}"nodeName":"node-{7}","schedulerName":"default-scheduler","containers":[{{"name":"web","image":)"
      R"("registry.example.com/web-{0}:1.2.3","resources":{{"requests":{{"cpu":"100m","memory":"128Mi"}},"limits":)"
      R"({{"memory":"256Mi"}}}}}}],"tolerations":[{{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":)"
      R"("NoExecute","tolerationSeconds":300}}]}},"status":{{"phase":"Running","startTime":"2026-01-02T03:04:06Z",)"
      R"("conditions":[{{"type":"Ready","status":"True"}},{{"type":"PodScheduled","status":"True"}}]}}}})",
      workload, hash, text_of(random, 5), workload % 50, uuid_of(random), 1'000'000 + 3 * i, volumes, i % 5000);
}

struct Options {
  std::int64_t pods = 150'000, replicas = 100;
  bool with_token = false;
};

int run(const Options& options) {
  SymbolTable symbols;
  const decode::ObjectDecoder decoder(symbols, {});
  cache::ClusterCache cache(symbols);
  Random random(1);
  std::vector<model::PodPtr> pods;
  pods.reserve(static_cast<std::size_t>(options.pods));
  const std::size_t before = bytes_in_use();
  for (std::int64_t i = 0; i < options.pods; ++i) {
    text::Diagnostics problems;
    const auto documents =
        text::parse_json(replica(random, i / options.replicas, i, options.with_token), "pod", problems);
    const auto decoded = decoder.decode(documents.at(0), documents.at(0).root(), problems);
    if (!decoded) throw std::runtime_error(problems.render());
    pods.push_back(std::get<model::PodPtr>(*decoded));
  }
  const std::size_t decoded = bytes_in_use();
  for (const model::PodPtr& pod : pods)
    if (const Status added = cache.add_pod(pod); !added.ok()) throw std::runtime_error(added.error().message);
  const std::size_t cached = bytes_in_use();
  const auto each = [&](std::size_t bytes) { return static_cast<double>(bytes) / static_cast<double>(options.pods); };
  std::cout << fmt::format("{} pods of {} replicas{}: {:.0f} bytes each, {:.0f} more in the cache; sizeof(Pod) is {}\n",
                           options.pods, options.replicas, options.with_token ? " with token volumes" : "",
                           each(decoded - before), each(cached - decoded), sizeof(model::Pod));
  return 0;
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) {
  CLI::App app("what a bound pod costs in memory");
  berth::bench::Options options;
  app.add_option("--pods", options.pods, "How many")->check(CLI::PositiveNumber);
  app.add_option("--replicas", options.replicas, "How many of them are of one workload")->check(CLI::PositiveNumber);
  app.add_flag("--with-token", options.with_token, "Each has a volume with a name of its own");
  CLI11_PARSE(app, argc, argv);
  try {
    return berth::bench::run(options);
  } catch (const std::exception& error) {
    std::cerr << "pod_memory: " << error.what() << '\n';
    return 1;
  }
}
