// SPDX-License-Identifier: Apache-2.0
// What conf/deploy starts, started against the test API server: kubeadm's command line, and the second scheduler's
// configuration, whose requests have to be ones that its roles allow.
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "support/api_server/api_server.hpp"
#include "support/child_process.hpp"
#include "text/parse.hpp"

namespace berth::tests {
namespace {

constexpr std::chrono::seconds k_patience{60};

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// "verb resource" of every rule of a file's roles.
std::set<std::string> rights(const std::string& path) {
  text::Diagnostics problems;
  std::set<std::string> out;
  for (const text::Document& document : text::parse_yaml(read(path), path, problems)) {
    const text::Value* rules = document.root().find("rules");
    if (rules == nullptr) continue;
    for (const text::Value& rule : rules->elements())
      for (const text::Value& resource : rule.find("resources")->elements())
        for (const text::Value& verb : rule.find("verbs")->elements())
          out.insert(std::string(verb.text()) + " " + std::string(resource.text()));
  }
  EXPECT_TRUE(problems.empty()) << problems.render();
  return out;
}

/// The verbs of which one allows a request.
std::vector<std::string> verbs_of(const std::string& method) {
  if (method == "GET") return {"list", "get"};
  if (method == "WATCH") return {"watch"};
  if (method == "POST") return {"create"};
  if (method == "PUT") return {"update"};
  return {method == "PATCH" ? "patch" : "delete"};
}

/// What the API server asks for besides the request itself: a client that changes what a claim is allocated or reserved for.
const char* const k_rights_within_a_request[] = {"patch resourceclaims/binding", "update resourceclaims/binding"};

bool is_allowed(const std::set<std::string>& rights, const std::string& request) {
  const std::size_t blank = request.find(' ');
  if (request[blank + 1] == '/') return request.starts_with("GET ");  // discovery, which everybody known may ask for
  for (const std::string& verb : verbs_of(request.substr(0, blank)))
    if (rights.contains(verb + request.substr(blank))) return true;
  return false;
}

const char* const k_cluster[] = {
    R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"default"}})",
    R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"kube-system"}})",
    R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n"},"status":{"allocatable":{"cpu":"2","memory":"8Gi","pods":"110"}}})",
    R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"late"},"provisioner":"example.com/p","volumeBindingMode":"WaitForFirstConsumer"})",
    R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"c","namespace":"default"},"spec":{"storageClassName":"late","accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}},"status":{"phase":"Pending"}})",
    R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"low","namespace":"default"},"spec":{"schedulerName":"berth","priority":0,"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"1500m"}}}]}})",
    R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"claims","namespace":"default"},"spec":{"schedulerName":"berth","priority":0,"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"c"}}],"containers":[{"name":"c","image":"i"}]}})",
    R"({"apiVersion":"resource.k8s.io/v1","kind":"DeviceClass","metadata":{"name":"gpu"},"spec":{"extendedResourceName":"example.com/gpu"}})",
    R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"s"},"spec":{"driver":"gpu.example.com","nodeName":"n","pool":{"name":"n","generation":1,"resourceSliceCount":1},"devices":[{"name":"gpu-0"},{"name":"gpu-1"}]}})",
    R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"name":"d","namespace":"default"},"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"gpu","allocationMode":"ExactCount","count":1}}]}}})",
    R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"has-device","namespace":"default"},"spec":{"schedulerName":"berth","priority":0,"resourceClaims":[{"name":"d","resourceClaimName":"d"}],"containers":[{"name":"c","image":"i"}]}})",
    R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"has-extended","namespace":"default"},"spec":{"schedulerName":"berth","priority":0,"containers":[{"name":"c","image":"i","resources":{"requests":{"example.com/gpu":"1"},"limits":{"example.com/gpu":"1"}}}]}})"};
const char* const k_important =
    R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"high","namespace":"default"},"spec":{"schedulerName":"berth","priority":1000,"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"1500m"}}}]}})";

TEST(DeployedRoles, AllowEveryRequestThatARunningBerthMakes) {
  const std::string deploy = std::string(BERTH_SOURCE_DIR) + "/conf/deploy/kustomize/base";
  const std::set<std::string> ours = rights(deploy + "/rbac.yaml");
  const std::set<std::string> theirs =
      rights(std::string(BERTH_SOURCE_DIR) + "/tests/package/kube_scheduler_roles.yaml");
  ApiServerOptions options;
  for (const char* right : k_rights_within_a_request) {
    if (!ours.contains(right)) options.missing_rights.insert(right);
    EXPECT_TRUE(theirs.contains(right)) << right << ": kube-scheduler itself may not do that";
  }
  ApiServer server(options);
  const TemporaryDirectory directory;
  for (const char* object : k_cluster) server.create(object);

  // The configuration that is deployed, with a kubeconfig in the place of the pod's service account.
  const std::string config =
      directory.write("berth.yaml", read(deploy + "/berth.yaml") + "clientConnection:\n  kubeconfig: " +
                                        directory.write("kubeconfig", server.kubeconfig()) + "\n");
  ChildProcess berth({std::getenv("BERTH"), "run", "--config", config, "--plugin-dir", std::getenv("BERTH_PLUGIN_DIR"),
                      "--secure-port=0"},
                     directory.path() + "/log");

  const auto wait_for = [&](const std::vector<std::string>& requests) {
    const auto end = std::chrono::steady_clock::now() + k_patience;
    std::uint64_t version = 0;
    std::string missing;
    while (std::chrono::steady_clock::now() < end) {
      missing.clear();
      const auto counts = server.request_counts();
      for (const std::string& request : requests)
        if (!counts.contains(request)) missing += (missing.empty() ? "" : ", ") + request;
      if (missing.empty()) break;
      version = server.await_change(version, std::chrono::milliseconds(200));
    }
    return missing;
  };
  EXPECT_EQ(wait_for({"POST leases", "PUT leases", "POST pods/binding", "PATCH persistentvolumeclaims",
                      "POST resourceclaims", "PUT resourceclaims", "PUT resourceclaims/status"}),
            "")
      << berth.log();
  const ApiResource& pods = *server.store().find("", "v1", "pods");
  for (const char* pod : {"has-device", "has-extended"}) {
    const auto end = std::chrono::steady_clock::now() + k_patience;
    std::string node;
    for (std::uint64_t version = 0; node.empty() && std::chrono::steady_clock::now() < end;
         version = server.await_change(version, std::chrono::milliseconds(200)))
      node = (*server.store().get(pods, "default", pod).value)->node;
    EXPECT_EQ(node, "n") << pod << '\n' << berth.log();
  }
  server.create(k_important);
  EXPECT_EQ(wait_for({"PATCH pods/status", "DELETE pods", "POST events"}), "") << berth.log();
  berth.signal(SIGTERM);
  EXPECT_EQ(berth.wait(std::chrono::milliseconds(k_patience)), 0) << berth.log();

  std::set<std::string> listed;
  for (const auto& [request, count] : server.request_counts()) {
    EXPECT_TRUE(is_allowed(ours, request)) << request << " is not in conf/deploy/kustomize/base/rbac.yaml";
    EXPECT_TRUE(is_allowed(theirs, request)) << request << ": kube-scheduler itself may not do that";
    listed.insert(request);
  }
  for (const char* resource :
       {"nodes", "pods", "namespaces", "services", "replicasets", "statefulsets", "replicationcontrollers",
        "poddisruptionbudgets", "persistentvolumes", "persistentvolumeclaims", "storageclasses", "csinodes",
        "csidrivers", "csistoragecapacities", "volumeattachments", "deviceclasses", "resourceclaims", "resourceslices"})
    EXPECT_TRUE(listed.contains(std::string("WATCH ") + resource))
        << resource << " is allowed, but berth does not watch it";
}

/// The command of the first container of a manifest.
std::vector<std::string> command_of(const std::string& path) {
  text::Diagnostics problems;
  const auto documents = text::parse_yaml(read(path), path, problems);
  std::vector<std::string> out;
  for (const text::Value& part :
       documents.at(0).root().find_path("spec.containers")->elements()[0].find("command")->elements())
    out.emplace_back(part.text());
  return out;
}

TEST(DeployedStaticPod, SchedulesWithKubeadmsCommandLineUnderTheNameKubeScheduler) {
  ApiServer server;
  const TemporaryDirectory directory;
  for (const char* name : {"default", "kube-system"})
    server.create(std::string(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":")") + name + "\"}}");
  server.create(
      R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n"},"status":{"allocatable":{"cpu":"2","memory":"8Gi","pods":"110"}}})");
  server.create(
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"default"},"spec":{"containers":[{"name":"c","image":"i"}]}})");

  std::vector<std::string> command =
      command_of(std::string(BERTH_SOURCE_DIR) + "/conf/deploy/static-pod/kube-scheduler.yaml");
  ASSERT_EQ(command.at(0), "kube-scheduler");
  command[0] = directory.path() + "/kube-scheduler";
  std::filesystem::create_symlink(std::getenv("BERTH"), command[0]);
  const std::string from = "/etc/kubernetes/scheduler.conf",
                    to = directory.write("scheduler.conf", server.kubeconfig());
  int replaced = 0;
  for (std::string& part : command)
    if (const std::size_t at = part.find(from); at != std::string::npos) {
      part.replace(at, from.size(), to);
      ++replaced;
    }
  EXPECT_EQ(replaced, 3);
  command.push_back("--secure-port=0");  // tests run at the same time
  ChildProcess berth(command, directory.path() + "/log");

  const ApiResource& pods = *server.store().find("", "v1", "pods");
  const auto end = std::chrono::steady_clock::now() + k_patience;
  std::string node;
  for (std::uint64_t version = 0; node.empty() && std::chrono::steady_clock::now() < end;
       version = server.await_change(version, std::chrono::milliseconds(200)))
    node = (*server.store().get(pods, "default", "p").value)->node;
  EXPECT_EQ(node, "n") << berth.log();
  EXPECT_TRUE(server.store()
                  .get(*server.store().find("coordination.k8s.io", "v1", "leases"), "kube-system", "kube-scheduler")
                  .ok())
      << "kube-scheduler's own lease is not held";
  berth.signal(SIGTERM);
  EXPECT_EQ(berth.wait(std::chrono::milliseconds(k_patience)), 0) << berth.log();
}

}  // namespace
}  // namespace berth::tests
