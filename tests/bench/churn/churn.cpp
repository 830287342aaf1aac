// SPDX-License-Identifier: Apache-2.0
#include "bench/churn/churn.hpp"

#include <malloc.h>
#include <unistd.h>

#include <deque>
#include <fstream>
#include <stdexcept>

#include "cache/cluster_cache.hpp"
#include "decode/object_decoder.hpp"
#include "text/parse.hpp"

namespace berth::bench {
namespace {

std::size_t rss_bytes() {
  std::size_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

std::size_t heap_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

class Cluster {
 public:
  explicit Cluster(const ChurnOptions& options) : options_(options) {
    decode::DecodeOptions decode;
    decode.pod_parts = {false, false};
    decode.node_annotations.emplace();  // no plugin reads any
    decoder_ = std::make_unique<decode::ObjectDecoder>(symbols_, decode);
    for (std::int64_t n = 0; n < options_.nodes; ++n) cache_.add_node(node(n, 0));
    if (options_.standby) cache_.rest(snapshot_);
  }

  void come(std::int64_t i) {
    const bool impossible = i % 20 == 19;
    const model::PodPtr pending = pod(i, {}, "Pending", impossible);
    const std::string node = fmt::format("node-{}", i % options_.nodes);
    std::optional<cache::Assumption> assumption;
    if (!options_.standby) {
      cache_.refresh(snapshot_);
      look(*pending);
      if (!impossible) assumption.emplace(take(cache_.assume(pending, symbols_.find(node))));
    }
    if (impossible) return;
    if (assumption) assumption->confirm();
    take(cache_.add_pod(pod(i, node, "Pending", false)));
    alive_.push_back(pod(i, node, "Running", false));
    take(cache_.update_pod(alive_.back()));
    if (static_cast<std::int64_t>(alive_.size()) > options_.alive) {
      take(cache_.remove_pod(*alive_.front()));
      alive_.pop_front();
    }
    if (i % 50 == 0) cache_.update_node(this->node(i / 50 % options_.nodes, i + 1));
  }

  ChurnSizes sizes(std::int64_t pods) const {
    const SymbolTableSize symbols = symbols_.size();
    const cache::CacheTables tables = cache_.tables();
    return {pods,
            rss_bytes(),
            heap_bytes(),
            {{"symbols", symbols.symbols},
             {"symbol_bytes", symbols.bytes},
             {"pod_slots", tables.pod_slots},
             {"shapes", tables.shapes},
             {"resources", tables.resources},
             {"unoffered_bytes", tables.unoffered_bytes},
             {"list_bytes", tables.list_bytes},
             {"column_bytes", tables.column_bytes}}};
  }

 private:
  static void take(Status status) {
    if (!status.ok()) throw std::runtime_error(status.error().message);
  }
  static cache::Assumption take(Result<cache::Assumption> made) {
    if (!made.ok()) throw std::runtime_error(made.error().message);
    return std::move(made).value();
  }

  /// At the columns that filters look at for this pod.
  void look(const model::Pod& pod) {
    for (const model::PodResource& resource : pod.requests->resources)
      snapshot_.resource_columns(cache_.resources().find(resource.name));
    for (const model::Label& label : pod.node_selection->selector) snapshot_.label_values(label.key);
  }

  template <typename Ptr>
  Ptr decoded(const std::string& json) {
    text::Diagnostics problems;
    const auto documents = text::parse_json(json, "churn", problems);
    const auto object = decoder_->decode(documents.at(0), documents.at(0).root(), problems);
    if (!object) throw std::runtime_error(problems.render());
    return std::get<Ptr>(*object);
  }

  model::PodPtr pod(std::int64_t i, const std::string& node, const char* phase, bool impossible) {
    const std::string selector =
        impossible ? fmt::format(R"("nodeSelector":{{"example.com/only-{0}":"x"}},)", i) : std::string();
    const std::string extra = impossible ? fmt::format(R"(,"example.com/device-{0}":"1")", i) : std::string();
    const std::string on = node.empty() ? std::string() : fmt::format(R"("nodeName":"{}",)", node);
    return decoded<model::PodPtr>(fmt::format(
        R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"job-{0}-x{0}","namespace":"team-{1}","uid":)"
        R"("00000000-0000-4000-8000-{0:012d}","resourceVersion":"{0}","labels":{{"job-name":"job-{0}","controller-uid":)"
        R"("11111111-0000-4000-8000-{0:012d}","example.com/key-{2}":"v"}},"annotations":{{"example.com/trace":)"
        R"("trace-{0}-{3}"}}}},"spec":{{{4}{5}"schedulerName":"default-scheduler","containers":[{{"name":"c","image":)"
        R"("registry.example.com/job:{2}","resources":{{"requests":{{"cpu":"10m","memory":"16Mi"{6}}}}}}}]}},"status":)"
        R"({{"phase":"{3}"}}}})",
        i, i / 10, i / 100, phase, on, selector, extra));
  }

  model::NodePtr node(std::int64_t n, std::int64_t version) {
    return decoded<model::NodePtr>(fmt::format(
        R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"node-{0}","uid":"22222222-0000-4000-8000-{0:012d}",)"
        R"("labels":{{"kubernetes.io/hostname":"node-{0}","topology.kubernetes.io/zone":"z{2}"}},"annotations":)"
        R"({{"example.com/report":"report-{0}-{1}"}}}},"spec":{{"taints":[{{"key":"example.com/seen","value":"v{1}",)"
        R"("effect":"PreferNoSchedule"}}]}},"status":{{"allocatable":{{"cpu":"64","memory":"256Gi","pods":"500"}}}}}})",
        n, version, n % 3));
  }

  const ChurnOptions options_;
  SymbolTable symbols_;
  cache::ClusterCache cache_{symbols_};
  cache::Snapshot snapshot_;
  std::unique_ptr<decode::ObjectDecoder> decoder_;
  std::deque<model::PodPtr> alive_;
};

}  // namespace

void churn(const ChurnOptions& options, std::int64_t step, const std::function<void(const ChurnSizes& sizes)>& report) {
  Cluster cluster(options);
  for (std::int64_t i = 1; i <= options.pods; ++i) {
    cluster.come(i);
    if (i % step == 0) report(cluster.sizes(i));
  }
}

}  // namespace berth::bench
