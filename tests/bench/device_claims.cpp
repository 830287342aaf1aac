// SPDX-License-Identifier: Apache-2.0
#include "bench/device_claims.hpp"

#include <spdlog/fmt/fmt.h>

#include <utility>

namespace berth::bench {
namespace {

constexpr int k_gpus = 8, k_nics = 4, k_gpus_of_root = 2, k_gpus_of_numa = 4;

model::ObjectPtr make_object(std::string resource, std::string ns, std::string name, std::string spec) {
  auto object = std::make_shared<model::Object>();
  object->resource = std::move(resource);
  object->ns = std::move(ns);
  object->name = std::move(name);
  object->uid = "uid-" + object->name;
  object->json =
      fmt::format(R"({{"metadata":{{"name":"{}",{}"uid":"{}","resourceVersion":"1"}},"spec":{}}})", object->name,
                  object->ns.empty() ? "" : fmt::format(R"("namespace":"{}",)", object->ns), object->uid, spec);
  return object;
}

std::string exactly(std::string_view name, std::string_view device_class, int count, std::string_view selector = "") {
  std::string selectors;
  if (!selector.empty()) selectors = fmt::format(R"(,"selectors":[{{"cel":{{"expression":"{}"}}}}])", selector);
  return fmt::format(
      R"({{"name":"{}","exactly":{{"deviceClassName":"{}","allocationMode":"ExactCount","count":{}{}}}}})", name,
      device_class, count, selectors);
}

std::string one_root(std::string_view attribute) { return fmt::format(R"([{{"matchAttribute":"{}"}}])", attribute); }

constexpr std::string_view k_large = R"(device.attributes['gpu.example.com'].model == 'h100' && )"
                                     R"(device.capacity['gpu.example.com'].memory.compareTo(quantity('40Gi')) >= 0)";

std::string spec_of(DeviceClaims asks) {
  std::string requests, constraints = "[]";
  switch (asks) {
    case DeviceClaims::none:
      break;
    case DeviceClaims::one:
      requests = exactly("gpu", "gpu", 1);
      break;
    case DeviceClaims::selector:
      requests = exactly("gpu", "gpu", 1, k_large);
      break;
    case DeviceClaims::pairs:
      requests = exactly("gpu", "gpu", 1) + ',' + exactly("nic", "nic", 1);
      constraints = one_root("resource.kubernetes.io/pcieRoot");
      break;
    case DeviceClaims::numa:
      requests = exactly("gpus", "gpu", 4);
      constraints = one_root("gpu.example.com/numa");
      break;
    case DeviceClaims::alternatives:
      requests = fmt::format(
          R"({{"name":"gpu","firstAvailable":[{{"name":"two","deviceClassName":"gpu","allocationMode":"ExactCount",)"
          R"("count":2,"selectors":[{{"cel":{{"expression":"{}"}}}}]}},{{"name":"one","deviceClassName":"gpu",)"
          R"("allocationMode":"ExactCount","count":1}}]}})",
          k_large);
      break;
    case DeviceClaims::many:
      requests = exactly("gpus", "gpu", 2, k_large) + ',' +
                 exactly("nic", "nic", 1, "device.attributes['nic.example.com'].speed >= 200");
      break;
    case DeviceClaims::partitions:
      requests = exactly("half", "half", 1);
      break;
  }
  return fmt::format(R"({{"devices":{{"requests":[{}],"constraints":{}}}}})", requests, constraints);
}

std::string slice_spec(std::string_view driver, std::string_view node, int slices, std::string_view content) {
  return fmt::format(
      R"({{"driver":"{}","nodeName":"{}","pool":{{"name":"{}","generation":1,"resourceSliceCount":{}}},{}}})", driver,
      node, node, slices, content);
}

std::string gpu_json(std::string_view node, int gpu, std::string_view kind, int part, int parts, bool counts) {
  const std::string name = kind == "gpu" ? fmt::format("gpu-{}", gpu) : fmt::format("gpu-{}-half-{}", gpu, part);
  std::string counters;
  if (counts)
    counters = fmt::format(
        R"(,"consumesCounters":[{{"counterSet":"gpu-{}","counters":{{"memory":{{"value":"{}Gi"}},"slices":{{"value":"{}"}}}}}}])",
        gpu, 80 / parts, 8 / parts);
  return fmt::format(
      R"({{"name":"{}","attributes":{{"kind":{{"string":"{}"}},"model":{{"string":"{}"}},"uuid":{{"string":"{}-{}"}},)"
      R"("index":{{"int":{}}},"numa":{{"int":{}}},"resource.kubernetes.io/pcieRoot":{{"string":"pci0000:{}0"}}}},)"
      R"("capacity":{{"memory":{{"value":"{}Gi"}}}}{}}})",
      name, kind, gpu % 2 == 0 ? "a100" : "h100", node, name, gpu, gpu / k_gpus_of_numa, gpu / k_gpus_of_root,
      80 / parts, counters);
}

void add_slices(const std::string& node, Workload& w) {
  const std::string resource = "resource.k8s.io/v1/resourceslices";
  const bool counts = w.device_claims == DeviceClaims::partitions;
  std::string gpus, nics, counters;
  for (int gpu = 0; gpu < k_gpus; ++gpu) {
    gpus += (gpu == 0 ? "" : ",") + gpu_json(node, gpu, "gpu", 0, 1, counts);
    for (int part = 0; counts && part < 2; ++part) gpus += ',' + gpu_json(node, gpu, "half", part, 2, true);
    counters +=
        fmt::format(R"({}{{"name":"gpu-{}","counters":{{"memory":{{"value":"80Gi"}},"slices":{{"value":"8"}}}}}})",
                    gpu == 0 ? "" : ",", gpu);
  }
  for (int nic = 0; nic < k_nics; ++nic)
    nics += fmt::format(R"({}{{"name":"nic-{}","attributes":{{"kind":{{"string":"nic"}},"speed":{{"int":{}}},)"
                        R"("resource.kubernetes.io/pcieRoot":{{"string":"pci0000:{}0"}}}}}})",
                        nic == 0 ? "" : ",", nic, nic % 2 == 0 ? 400 : 100, nic);
  w.objects.push_back(make_object(resource, "", node + "-gpus",
                                  slice_spec("gpu.example.com", node, counts ? 2 : 1, R"("devices":[)" + gpus + ']')));
  if (counts)
    w.objects.push_back(make_object(resource, "", node + "-counters",
                                    slice_spec("gpu.example.com", node, 2, R"("sharedCounters":[)" + counters + ']')));
  w.objects.push_back(
      make_object(resource, "", node + "-nics", slice_spec("nic.example.com", node, 1, R"("devices":[)" + nics + ']')));
}

int first_free(const bool* used, int count, int from = 0) {
  while (from < count && used[from]) ++from;
  return from;
}

}  // namespace

DeviceClaims device_claims_named(std::string_view word) {
  constexpr std::pair<std::string_view, DeviceClaims> words[] = {{"one", DeviceClaims::one},
                                                                 {"selector", DeviceClaims::selector},
                                                                 {"pairs", DeviceClaims::pairs},
                                                                 {"numa", DeviceClaims::numa},
                                                                 {"alternatives", DeviceClaims::alternatives},
                                                                 {"many", DeviceClaims::many},
                                                                 {"partitions", DeviceClaims::partitions}};
  for (const auto& [name, asks] : words)
    if (name == word) return asks;
  return DeviceClaims::none;
}

void add_device_claim(model::Pod& pod, Workload& w) {
  const std::string claim = "claim-of-" + pod.name;
  pod.spec.edit().resource_claims.edit().push_back({"devices", claim, ""});
  w.objects.push_back(make_object("resource.k8s.io/v1/resourceclaims", pod.ns, claim, spec_of(w.device_claims)));
}

void add_devices(Workload& w) {
  for (const char* kind : {"gpu", "half", "nic"}) {
    const std::string_view driver = std::string_view(kind) == "nic" ? "nic.example.com" : "gpu.example.com";
    w.objects.push_back(make_object("resource.k8s.io/v1/deviceclasses", "", kind,
                                    fmt::format(R"({{"selectors":[{{"cel":{{"expression":"device.driver == '{0}' && )"
                                                R"(device.attributes['{0}'].kind == '{1}'"}}}}]}})",
                                                driver, kind)));
  }
  for (const model::NodePtr& node : w.nodes) add_slices(node->name, w);
}

bool NodeDevices::allocate(DeviceClaims asks, bool keeps) {
  std::vector<bool*> taken;
  switch (asks) {
    case DeviceClaims::none:
    case DeviceClaims::alternatives:
      return true;
    case DeviceClaims::one:
      if (const int gpu = first_free(used_gpus_, k_gpus); gpu < k_gpus) taken = {&used_gpus_[gpu]};
      break;
    case DeviceClaims::selector:
      for (int gpu = 1; gpu < k_gpus && taken.empty(); gpu += 2)
        if (!used_gpus_[gpu]) taken = {&used_gpus_[gpu]};
      break;
    case DeviceClaims::pairs:
      for (int gpu = 0; gpu < k_gpus && taken.empty(); ++gpu)
        for (int nic = 0; nic < k_nics && taken.empty(); ++nic)
          if (!used_gpus_[gpu] && !used_nics_[nic] && nic == gpu / k_gpus_of_root)
            taken = {&used_gpus_[gpu], &used_nics_[nic]};
      break;
    case DeviceClaims::numa:
      for (int numa = 0; numa < k_gpus / k_gpus_of_numa && taken.empty(); ++numa) {
        for (int gpu = numa * k_gpus_of_numa; gpu < (numa + 1) * k_gpus_of_numa; ++gpu)
          if (!used_gpus_[gpu]) taken.push_back(&used_gpus_[gpu]);
        if (taken.size() < 4) taken.clear();
      }
      break;
    case DeviceClaims::many: {
      for (int gpu = 1; gpu < k_gpus && taken.size() < 2; gpu += 2)
        if (!used_gpus_[gpu]) taken.push_back(&used_gpus_[gpu]);
      if (taken.size() < 2) return false;
      int nic = 0;
      while (nic < k_nics && used_nics_[nic]) nic += 2;
      if (nic >= k_nics) return false;
      taken.push_back(&used_nics_[nic]);
      break;
    }
    case DeviceClaims::partitions:
      if (const int half = first_free(used_halves_, 2 * k_gpus); half < 2 * k_gpus) taken = {&used_halves_[half]};
      break;
  }
  if (keeps)
    for (bool* each : taken) *each = true;
  return !taken.empty();
}

}  // namespace berth::bench
