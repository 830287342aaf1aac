// SPDX-License-Identifier: Apache-2.0
// What an operator meets: metrics, pages, signals and what ends the start, of the program as it is.
#include <spdlog/fmt/fmt.h>
#include <time.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "integration/serving_fixture.hpp"
#include "support/test_authority.hpp"

namespace berth::tests {
namespace {

using Operations = ServingTest;

TEST_F(Operations, MetricsHaveUpstreamsNamesLabelsAndBuckets) {
  auto berth = start_serving();
  const std::string text = metrics();
  for (const char* part :
       {"scheduler_schedule_attempts_total{profile=\"default-scheduler\",result=\"scheduled\"} 5\n",
        "scheduler_schedule_attempts_total{profile=\"default-scheduler\",result=\"unschedulable\"} 1\n",
        "scheduler_scheduling_attempt_duration_seconds_count{profile=\"default-scheduler\",result=\"scheduled\"} 5\n",
        "scheduler_scheduling_attempt_duration_seconds_bucket{profile=\"default-scheduler\",result=\"scheduled\","
        "le=\"16.384\"}",
        "scheduler_scheduling_algorithm_duration_seconds_count 6\n",
        "scheduler_pod_scheduling_sli_duration_seconds_count{attempts=\"1\"} 5\n",
        "scheduler_pod_scheduling_attempts_bucket{le=\"1\"} 5\n",
        "scheduler_pod_scheduling_attempts_bucket{le=\"16\"} 5\n",
        "scheduler_framework_extension_point_duration_seconds_count{extension_point=\"Bind\",profile=\"default-"
        "scheduler\",status=\"Success\"} 5\n",
        "scheduler_framework_extension_point_duration_seconds_bucket{extension_point=\"Filter\",profile=\"default-"
        "scheduler\",status=\"Success\",le=\"0.2048\"} 6\n",
        "scheduler_framework_extension_point_duration_seconds_count{extension_point=\"PostFilter\",",
        "scheduler_framework_extension_point_duration_seconds_count{extension_point=\"PreEnqueue\",",
        "scheduler_plugin_execution_duration_seconds_bucket{extension_point=\"Filter\",plugin=\"NodeResourcesFit\","
        "status=\"Success\",le=\"1e-05\"}",
        "scheduler_plugin_evaluation_total{extension_point=\"Filter\",plugin=\"NodeResourcesFit\","
        "profile=\"default-scheduler\"}",
        "scheduler_pending_pods{queue=\"active\"} 0\n", "scheduler_pending_pods{queue=\"unschedulable\"} 1\n",
        "scheduler_queue_incoming_pods_total{event=\"UnschedulablePodAdd\",queue=\"active\"} 6\n",
        "scheduler_unschedulable_pods{plugin=\"NodeResourcesFit\",profile=\"default-scheduler\"} 1\n",
        "scheduler_cache_size{type=\"nodes\"} 3\n", "scheduler_cache_size{type=\"pods\"} 5\n",
        "scheduler_goroutines{operation=\"binding\"} 0\n", "scheduler_preemption_attempts_total 1\n",
        "scheduler_preemption_victims_count 0\n", "leader_election_master_status{name=\"kube-scheduler\"} 1\n",
        "kubernetes_build_info{major=\"1\",minor=\"36\",git_version=\"v1.36.2\",git_commit=\"\",git_tree_state=\"\","
        "build_date=\"\",go_version=\"",
        "version_info{component=\"kube\",binary=\"1.36.2\",emulation=\"1.36\",min_compat=\"1.35\"} 1\n",
        "registered_metrics_total{deprecated_version=\"\",stability_level=\"STABLE\"} ", "\ndisabled_metrics_total 0\n",
        "\nhidden_metrics_total 0\n", "authenticated_user_requests{username=\"other\"} 1\n",
        "authentication_duration_seconds_count{result=\"success\"} 1\n", "process_cpu_seconds_total ",
        "apiserver_delegated_authn_request_total{code=\"201\"} 1\n",
        "rest_client_requests_total{code=\"201\",host=\"127.0.0.1:",
        "rest_client_request_duration_seconds_bucket{host=\"127.0.0.1:",
        "scheduler_event_handling_duration_seconds_count{event=\"NodeAdd\"} 3\n",
        "scheduler_event_handling_duration_seconds_bucket{event=\"UnschedulablePodAdd\",le=\"0.2048\"} 6\n",
        "kubernetes_feature_enabled{name=\"SchedulerQueueingHints\",stage=\"\"} 1\n",
        // berth's own
        "berth_plugin_calls_total{plugin=\"NodeResourcesFit\",point=\"filter\"}",
        "berth_plugin_info{plugin=\"NodeResourcesFit\",version=\"", "berth_cycles_total{verdicts=\"judged\"}",
        "berth_table_bytes{table=\"verdicts\"} ", "berth_watched_objects{resource=\"core/v1/nodes\"} 3\n",
        "berth_caught_exceptions_total 0\n"})
    EXPECT_NE(text.find(part), std::string::npos) << part;
  // The digest of the file, to be held against what was installed.
  const std::size_t info = text.find("berth_plugin_info{plugin=\"NodeResourcesFit\"");
  const std::size_t digest = text.find("sha256=\"", info) + 8;
  EXPECT_EQ(text.find('"', digest) - digest, 64U);
  if (HasFailure()) std::printf("%s\n", text.c_str());
}

TEST_F(Operations, EveryTableThatHasAMetricIsListedWithItsOwnerAndBudget) {
  auto berth = start_serving();
  ASSERT_TRUE(wait([&] { return get("/readyz").first == 200; })) << berth->log();
  const std::string page = metrics(), sample = "\nberth_table_bytes{table=\"";
  std::set<std::string> shown, listed;
  for (std::size_t at = page.find(sample); at != std::string::npos; at = page.find(sample, at + 1)) {
    const std::size_t name = at + sample.size(), end = page.find('"', name);
    shown.insert(page.substr(name, end - name));
  }
  std::ifstream file(std::getenv("BERTH_TABLES"));
  bool in_table = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("| table |")) in_table = line.find("beyond it") != std::string::npos;
    if (in_table && line.starts_with("| `")) listed.insert(line.substr(3, line.find('`', 3) - 3));
  }
  EXPECT_GE(listed.size(), 15U);
  EXPECT_EQ(shown, listed);
}

TEST_F(Operations, PrometheusReadsTheMetrics) {
  if (std::system("promtool --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "no promtool (Debian package prometheus)";
  auto berth = start_serving();
  for (const char* page : {"/metrics", "/metrics/resources", "/metrics/slis"}) {
    get("/readyz");
    const std::string file = directory.write("page", get(page).second);
    const int status =
        std::system(("promtool check metrics < " + file + " > " + directory.path() + "/out 2>&1").c_str());
    // 1: cannot be read. 3: its taste differs from upstream's names, of which these are known.
    EXPECT_NE(WEXITSTATUS(status), 1) << output();
    std::istringstream lines(output());
    for (std::string line; std::getline(lines, line);)
      EXPECT_TRUE(line.starts_with("authentication_attempts counter metrics should have") ||
                  line.starts_with("scheduler_plugin_execution_duration_seconds ") ||
                  line.starts_with("authenticated_user_requests counter metrics should have") ||
                  line.starts_with("kube_pod_resource_request ") || line.starts_with("kube_pod_resource_limit ") ||
                  // Metrics of plugins carry the plugin's name as it is written.
                  (line.starts_with("berth_plugin_") && line.find("camelCase") != std::string::npos))
          << page << ": " << line;
  }
}

TEST_F(Operations, DashboardAndAlertsAskForMetricsThatAreThere) {
  auto berth = start_serving();
  ASSERT_TRUE(wait([&] { return get("/readyz").first == 200; })) << berth->log();
  const std::string file = directory.write("page", metrics());
  const int status = std::system(fmt::format("python3 '{}/tests/monitoring/queries_test.py' '{}' > '{}/out' 2>&1",
                                             BERTH_SOURCE_DIR, file, directory.path())
                                     .c_str());
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << output();
  EXPECT_EQ(WEXITSTATUS(status), 0) << output();
}

TEST_F(Operations, MetricsThatAnOperatorHidesAreHidden) {
  auto berth = start_serving(
      {"--disabled-metrics=scheduler_pending_pods", "--allow-metric-labels=scheduler_cache_size,type=nodes"});
  const std::string text = metrics();
  EXPECT_EQ(text.find("scheduler_pending_pods"), std::string::npos);
  EXPECT_NE(text.find("scheduler_cache_size{type=\"nodes\"} 3\n"), std::string::npos);
  EXPECT_NE(text.find("scheduler_cache_size{type=\"unexpected\"}"), std::string::npos);
  EXPECT_EQ(text.find("type=\"assumed_pods\""), std::string::npos);
}

TEST_F(Operations, WhatWaitedOnceStaysAtZero) {
  auto berth = start_serving();
  // A pod that leaves room asks the hint of the plugin that rejected the other.
  server.store().remove(pods(), "default", "p0", json::parse(R"({"gracePeriodSeconds":0})"));
  const std::string hint =
      "scheduler_queueing_hint_execution_duration_seconds_count{event=\"AssignedPodDelete\",hint=\"Queue\","
      "plugin=\"NodeResourcesFit\"} 1\n";
  EXPECT_TRUE(wait([&] { return metrics().find(hint) != std::string::npos; })) << metrics();
  const auto waits = [&](const char* number) {
    return wait([&] {
      return metrics().find("scheduler_unschedulable_pods{plugin=\"NodeResourcesFit\",profile=\"default-scheduler\"} " +
                            std::string(number) + "\n") != std::string::npos;
    });
  };
  EXPECT_TRUE(waits("1")) << metrics();
  server.store().remove(pods(), "default", "huge", json::parse(R"({"gracePeriodSeconds":0})"));
  EXPECT_TRUE(waits("0")) << metrics();
}

TEST_F(Operations, LimitsAreShownPerPod) {
  server.create(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"limited","namespace":"default"},"spec":{
    "overhead":{"cpu":"50m","memory":"1Mi"},
    "initContainers":[
      {"name":"first","image":"i","resources":{"limits":{"cpu":"2","memory":"1Mi"}}},
      {"name":"side","image":"i","restartPolicy":"Always","resources":{"limits":{"cpu":"500m"}}},
      {"name":"second","image":"i","resources":{"limits":{"cpu":"100m"}}}],
    "containers":[{"name":"c","image":"i","resources":{"limits":{"cpu":"1"}}},{"name":"d","image":"i"}]}})");
  auto berth = start({"--bind-address=127.0.0.1", "--secure-port=" + std::to_string(port_ = free_port()),
                      "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig});
  const auto line = [](const char* resource, const char* rest) {
    return std::string(
               "kube_pod_resource_limit{namespace=\"default\",node=\"\",pod=\"limited\",priority=\"0\",resource=\"") +
           resource + "\",scheduler=\"default-scheduler\",unit=" + rest;
  };
  std::string text;
  ASSERT_TRUE(wait([&] {
    text = get("/metrics/resources").second;
    return text.find("pod=\"limited\"") != std::string::npos;
  })) << text
      << berth->log();
  // The first init container alone is the most that runs at once.
  EXPECT_NE(text.find(line("cpu", "\"cores\"} 2.05")), std::string::npos) << text;
  EXPECT_NE(text.find(line("memory", "\"bytes\"} 2097152\n")), std::string::npos) << text;
}

TEST_F(Operations, ALimitOfThePodAsAWholeCountsInsteadOfItsContainers) {
  server.create(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"whole","namespace":"default"},"spec":{
    "schedulerName":"other","overhead":{"cpu":"50m"},"resources":{"limits":{"cpu":"2","example.com/card":"3"}},
    "containers":[{"name":"c","image":"i","resources":{"limits":{"cpu":"1","memory":"1Mi"}}}]}})");
  const auto berth = start_serving();
  std::string text;
  ASSERT_TRUE(wait([&] {
    text = get("/metrics/resources").second;
    return text.find("pod=\"whole\"") != std::string::npos;
  })) << text;
  const std::string limit = "kube_pod_resource_limit{namespace=\"default\",node=\"\",pod=\"whole\",priority=\"0\",";
  const std::string scheduler = ",scheduler=\"other\",unit=";
  EXPECT_NE(text.find(limit + "resource=\"cpu\"" + scheduler + "\"cores\"} 2.05"), std::string::npos) << text;
  EXPECT_NE(text.find(limit + "resource=\"memory\"" + scheduler + "\"bytes\"} 1048576\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("example.com/card"), std::string::npos) << "pods as a whole have no such limit";
}

TEST_F(Operations, AStandbyShowsNoResources) {
  auto berth = start_serving();
  const std::uint16_t leader = port_;
  auto second = start({"--bind-address=127.0.0.1", "--secure-port=" + std::to_string(port_ = free_port()),
                       "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig},
                      "standby");
  ASSERT_TRUE(wait([&] { return get("/readyz").second == "ok"; })) << second->log();
  EXPECT_EQ(get("/metrics/resources"), std::pair(200, std::string()));
  EXPECT_NE(metrics().find("leader_election_master_status{name=\"kube-scheduler\"} 0\n"), std::string::npos);
  EXPECT_NE(fetch(leader, "/metrics/resources", "test-token").second, "");
}

TEST_F(Operations, ResourceRequestsAreShownPerPod) {
  auto berth = start_serving();
  const std::string text = get("/metrics/resources").second;
  EXPECT_NE(text.find("kube_pod_resource_request{namespace=\"default\",node=\"\",pod=\"huge\",priority=\"0\","
                      "resource=\"cpu\",scheduler=\"default-scheduler\",unit=\"cores\"} 100\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("pod=\"p0\",priority=\"0\",resource=\"cpu\",scheduler=\"default-scheduler\",unit=\"cores\"} 0.1"),
            std::string::npos)
      << text;
}

TEST_F(Operations, ChecksCountForServiceLevels) {
  auto berth = start_serving();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(get("/readyz").second, "ok");
  const std::string text = get("/metrics/slis").second;
  EXPECT_NE(text.find("kubernetes_healthcheck{name=\"sched-handler-sync\",type=\"readyz\"} 1\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("kubernetes_healthchecks_total{name=\"shutdown\",status=\"success\",type=\"readyz\"} 3\n"),
            std::string::npos)
      << text;
}

/// Seconds from one time of a page to another.
std::int64_t seconds_between(const json::value& page, const std::string& from, const std::string& to) {
  const auto read = [&](const std::string& at) {
    std::tm time{};
    EXPECT_NE(::strptime(text_at(page, at).c_str(), "%Y-%m-%dT%H:%M:%SZ", &time), nullptr) << at;
    return static_cast<std::int64_t>(::timegm(&time));
  };
  return read(to) - read(from);
}

TEST_F(Operations, APodsPageSaysWhyNotWhereAndByWhom) {
  auto berth = start_serving();
  const auto [status, body] = get("/debug/pods/default/huge");
  ASSERT_EQ(status, 200) << body;
  const json::value page = json::parse(body);
  EXPECT_EQ(text_at(page, "/place"), "unschedulable");
  EXPECT_EQ(page.at("attempts").as_int64(), 1);
  EXPECT_EQ(json::serialize(page.at("rejectedBy")), R"(["NodeResourcesFit"])");
  EXPECT_EQ(text_at(page, "/reason"), "Unschedulable");
  EXPECT_EQ(
      json::serialize(page.at("wokenBy")),
      R"(["PodDelete","PodUpdatePodScaleDown","NodeAdd","NodeUpdateNodeAllocatable","resource.k8s.io/DeviceClassAdd",)"
      R"("resource.k8s.io/DeviceClassUpdate","NodeUpdateNodeTaint"])");
  EXPECT_EQ(seconds_between(page, "/since", "/triedAgainBy"), 330);
  const json::value& now = page.at("now");
  EXPECT_EQ(now.at("judged").as_int64(), 3);
  EXPECT_EQ(now.at("feasible").as_int64(), 0);
  ASSERT_EQ(now.at("rejections").as_array().size(), 1U) << body;
  const json::value& rejection = now.at("rejections").as_array().front();
  EXPECT_EQ(text_at(rejection, "/plugin"), "NodeResourcesFit");
  EXPECT_EQ(text_at(rejection, "/code"), "UnschedulableAndUnresolvable");
  EXPECT_EQ(json::serialize(rejection.at("reasons")), R"(["Insufficient cpu"])");
  EXPECT_EQ(rejection.at("nodes").as_int64(), 3);
  EXPECT_EQ(rejection.at("examples").as_array().size(), 3U);

  const json::value every = json::parse(get("/debug/pods/default/huge?verbose").second);
  EXPECT_EQ(every.at("now").at("nodes").as_array().size(), 3U);
  const json::value placed = json::parse(get("/debug/pods/default/p0").second);
  EXPECT_EQ(text_at(placed, "/place"), "bound");
  EXPECT_EQ(get("/debug/pods/default/none").first, 404);
  // The queue and the cache, as they are.
  EXPECT_EQ(json::parse(get("/debug/queue").second).as_array().size(), 1U);
  const json::value cache = json::parse(get("/debug/cache").second);
  EXPECT_EQ(cache.at("nodes").as_array().size(), 3U);
  EXPECT_EQ(cache.at("counts").at("pods").as_int64(), 5);
  // What its policies take.
  const json::value plugins = json::parse(get("/debug/plugins").second);
  std::int64_t last_ns = INT64_MAX, filter_calls = 0;
  for (const json::value& plugin : plugins.as_array()) {
    EXPECT_LE(plugin.at("tookNs").as_int64(), last_ns) << "the longest first";
    last_ns = plugin.at("tookNs").as_int64();
    if (text_at(plugin, "/name") == "NodeResourcesFit")
      filter_calls = plugin.at("points").at("filter").at("calls").as_int64();
  }
  EXPECT_GT(filter_calls, 0) << json::serialize(plugins);
}

TEST_F(Operations, APodsPageKnowsTheQueueThatIsConfigured) {
  const std::string config = directory.write("old_queue.yaml",
                                             "apiVersion: kubescheduler.config.k8s.io/v1\n"
                                             "kind: KubeSchedulerConfiguration\n"
                                             "clientConnection: {kubeconfig: " +
                                                 kubeconfig +
                                                 ", qps: -1}\n---\n"
                                                 "apiVersion: config.berth.dev/v1alpha1\n"
                                                 "kind: BerthConfiguration\n"
                                                 "legacy: {queue: v1.16}\n");
  auto berth = start_serving({"--config", config});
  // Before, it backs off while the others get their nodes.
  json::value page;
  ASSERT_TRUE(wait([&] {
    page = json::parse(get("/debug/pods/default/huge").second);
    return text_at(page, "/place") == "unschedulable";
  })) << json::serialize(page);
  // After a minute, as soon as that is looked at: twice a minute.
  EXPECT_EQ(seconds_between(page, "/since", "/triedAgainBy"), 90);
  const std::string events = json::serialize(page.at("wokenBy"));
  for (const char* event : {"\"NodeUpdateNodeCondition\"", "\"PersistentVolumeAdd\"", "\"services.v1.All\""})
    EXPECT_NE(events.find(event), std::string::npos) << "any of these retries everybody: " << events;
}

TEST_F(Operations, Usr2DumpsCacheAndQueueIntoTheLog) {
  auto berth = start_serving({"--logging-format=json"});
  // The last answers to bindings may still be on their way.
  ASSERT_TRUE(wait([&] { return json::parse(get("/debug/queue").second).as_array().size() == 1; }));
  berth->signal(SIGUSR2);
  const auto dumped_all = [&] {
    const std::string log = berth->log();
    std::size_t nodes = 0;
    for (std::size_t at = log.find("cache: {"); at != std::string::npos; at = log.find("cache: {", at + 1)) ++nodes;
    return nodes == 3;
  };
  ASSERT_TRUE(wait(dumped_all)) << berth->log();
  std::set<std::string> nodes, queued;
  std::istringstream lines(berth->log());
  for (std::string line; std::getline(lines, line);) {
    boost::system::error_code malformed;
    const json::value entry = json::parse(line, malformed);
    ASSERT_FALSE(malformed) << line;
    const std::string message = text_at(entry, "/msg");
    if (message.starts_with("cache: {")) nodes.insert(text_at(json::parse(message.substr(7)), "/node"));
    if (message.starts_with("queue: {")) queued.insert(text_at(json::parse(message.substr(7)), "/name"));
    EXPECT_FALSE(message.starts_with("cache: pod ")) << "cache and server disagree: " << message;
  }
  EXPECT_EQ(nodes, (std::set<std::string>{"n0", "n1", "n2"}));
  EXPECT_EQ(queued, std::set<std::string>{"huge"});
  EXPECT_NE(berth->log().find("comparer: the cache and the API server agree about 3 nodes"), std::string::npos)
      << berth->log();
}

TEST_F(Operations, Usr2AsksTheApiServerForWhatTheWatchesDidNotTell) {
  auto berth = start_serving({});
  server.hold_watches(true);
  server.create(node_json(7, 4));
  berth->signal(SIGUSR2);
  const std::string want = "comparer: node n7 is at the API server, and not in the cache";
  EXPECT_TRUE(wait([&] { return berth->log().find(want) != std::string::npos; })) << berth->log();
  server.hold_watches(false);
}

TEST_F(Operations, FlagsAndVersionCanBeAsked) {
  auto berth = start_serving({"--v=0"});
  EXPECT_NE(get("/flagz").second.find("\nsecure-port=" + std::to_string(port_) + "\n"), std::string::npos)
      << get("/flagz").second;
  EXPECT_NE(get("/statusz").second.find("kube-scheduler statusz\n"), std::string::npos);
  EXPECT_EQ(text_at(json::parse(get("/version").second), "/gitVersion"), "v1.36.2");
  EXPECT_EQ(get("/debug/flags/v").first, 406);
  EXPECT_EQ(get("/debug/flags"), get("/debug/flags/"));
  EXPECT_EQ(fetch(port_, "/debug/flags/v", "test-token", net::Method::put, "4").first, 200);
  EXPECT_EQ(fetch(port_, "/debug/flags/v", "test-token", net::Method::put, "loud").first, 400);
  EXPECT_EQ(fetch(port_, "/debug/flags/v", "test-token", net::Method::put, "-1").first, 400);
}

TEST_F(Operations, PagesAreTextUnlessTheirStructureIsNamed) {
  auto berth = start_serving({"--version=v1.36.2-here", "--emulated-version=kube=1.36"});
  const auto page = [&](const char* path, const char* accept) {
    net::Request request;
    request.target = path;
    request.accept = accept;
    return *ask(port_, request, "test-token");
  };
  const net::Response status = page("/statusz", "application/json;v=v1beta1;g=config.k8s.io;as=Statusz");
  ASSERT_EQ(status.status, 200) << status.body;
  const json::value fields = json::parse(status.body);
  EXPECT_EQ(text_at(fields, "/apiVersion"), "config.k8s.io/v1beta1");
  EXPECT_EQ(text_at(fields, "/binaryVersion"), "v1.36.2-here");
  EXPECT_EQ(text_at(fields, "/emulationVersion"), "1.36");
  EXPECT_NE(text_at(fields, "/goVersion"), "");
  EXPECT_EQ(json::serialize(fields.at("paths")), R"(["/configz","/flagz","/healthz","/livez","/metrics","/readyz"])");
  const std::string text = page("/statusz", "*/*").body;
  EXPECT_NE(text.find("\nPaths: /configz /flagz /healthz /livez /metrics /readyz\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\nGo version: " + text_at(fields, "/goVersion") + "\n"), std::string::npos) << text;
  const net::Response old = page("/flagz", "application/json;v=v1alpha1;g=config.k8s.io;as=Flagz");
  EXPECT_EQ(text_at(json::parse(old.body), "/apiVersion"), "config.k8s.io/v1alpha1");
  EXPECT_EQ(text_at(json::parse(old.body), "/flags/leader-elect-resource-name"), "kube-scheduler");
  for (const char* accept : {"application/json", "application/json;v=v2;g=config.k8s.io;as=Statusz", "text/html"})
    EXPECT_EQ(page("/statusz", accept).status, 406) << accept;
}

TEST_F(Operations, PagesAndPluginsAreThoseOfTheirGates) {
  auto berth = start_serving({"--feature-gates=ComponentStatusz=false,GenericWorkload=true,GangScheduling=true"});
  EXPECT_EQ(get("/statusz").first, 404);
  EXPECT_EQ(get("/flagz").first, 200);
  EXPECT_NE(get("/flagz").second.find("\nfeature-gates=:ComponentStatusz=false,:GenericWorkload=true,"),
            std::string::npos);
  EXPECT_NE(berth->log().find("A plugin of the profile is absent: pods that need it stay pending"), std::string::npos)
      << berth->log();
  EXPECT_NE(metrics().find("\nkubernetes_feature_enabled{name=\"GangScheduling\",stage=\"ALPHA\"} 1\n"),
            std::string::npos);
}

TEST_F(Operations, MetricsComeAsTheyAreAskedFor) {
  auto berth = start_serving();
  net::Request request;
  request.target = "/metrics";
  net::HttpClientOptions packed;
  packed.accept_gzip = true;
  // As Prometheus asks. Text, as of kube-scheduler, whose le="1" would be le="1.0" otherwise.
  request.accept =
      "application/openmetrics-text;version=1.0.0;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,"
      "text/plain;version=0.0.4;q=0.4,*/*;q=0.1";
  const net::Response text = *ask(port_, request, "test-token", packed);
  EXPECT_TRUE(text.content_type.starts_with("text/plain; version=0.0.4")) << text.content_type;
  EXPECT_NE(text.body.find("\nscheduler_pod_scheduling_attempts_bucket{le=\"1\"} "), std::string::npos);
  for (const char* page : {"/metrics/resources", "/metrics/slis"}) {
    request.target = page;
    EXPECT_TRUE(ask(port_, request, "test-token")->content_type.starts_with("text/plain")) << page;
  }
  request.target = "/metrics";
  request.accept = "application/openmetrics-text;version=1.0.0";
  const net::Response answer = *ask(port_, request, "test-token", packed);
  EXPECT_TRUE(answer.content_type.starts_with("application/openmetrics-text")) << answer.content_type;
  EXPECT_TRUE(answer.body.ends_with("\n# EOF\n"));
  EXPECT_NE(answer.body.find("\n# TYPE scheduler_schedule_attempts counter\n"), std::string::npos);
  EXPECT_NE(answer.body.find("\npromhttp_metric_handler_requests_total{code=\"200\"} 1.0\n"), std::string::npos);
  EXPECT_NE(metrics().find("\npromhttp_metric_handler_requests_total{code=\"200\"} 2\n"), std::string::npos);
  if (std::system("curl --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "no curl to see what is on the wire";
  EXPECT_EQ(std::system(("curl -sk --max-time 60 -H 'Accept-Encoding: gzip' -H 'Authorization: Bearer test-token' -o " +
                         directory.path() + "/out https://127.0.0.1:" + std::to_string(port_) + "/metrics")
                            .c_str()),
            0);
  EXPECT_EQ(output().substr(0, 2), "\x1f\x8b") << "gzip";
}

TEST_F(Operations, DeletedMetricsStartFromZero) {
  auto berth = start_serving();
  for (int i = 0; i < 5; ++i) metrics();
  EXPECT_EQ(fetch(port_, "/metrics", "test-token", net::Method::del), std::pair(200, std::string("metrics reset\n")));
  const std::string text = metrics();
  EXPECT_NE(text.find("\nauthentication_attempts{result=\"success\"} 1\n"), std::string::npos) << text;
  // What plugins and the queue count goes on.
  EXPECT_NE(text.find("\nscheduler_schedule_attempts_total{profile=\"default-scheduler\",result=\"scheduled\"} 5\n"),
            std::string::npos)
      << text;
}

TEST_F(Operations, CertificatesAreServedByName) {
  const TestAuthority authority("servers");
  const SignedPair pair = authority.sign("berth.example", {}, "serverAuth");
  auto berth = start_serving(
      {"--tls-sni-cert-key=" + directory.write("crt", pair.certificate) + "," + directory.write("key", pair.key)});
  const auto look = [&](const std::string& name) {
    const std::string file = directory.path() + "/authority";
    directory.write("authority", authority.certificate());
    return std::system(("curl -s -o /dev/null --cacert " + file + " --resolve " + name + ":" + std::to_string(port_) +
                        ":127.0.0.1 https://" + name + ":" + std::to_string(port_) + "/livez")
                           .c_str());
  };
  if (std::system("curl --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "no curl";
  EXPECT_EQ(look("berth.example"), 0);
  EXPECT_NE(look("other.example"), 0) << "that is answered with berth's own certificate";
}

TEST_F(Operations, APluginFileThatCannotBeLoadedEndsTheStartAndTheLogSaysWhy) {
  directory.write("broken.so", "no library at all");
  plugin_dir = directory.path();
  auto berth = start({"--logging-format=json"});
  EXPECT_EQ(berth->wait(std::chrono::milliseconds(k_patience)), 1);
  std::string errors;
  std::istringstream lines(berth->log());
  for (std::string line; std::getline(lines, line);) {
    boost::system::error_code malformed;
    const json::value entry = json::parse(line, malformed);
    ASSERT_FALSE(malformed) << line;
    if (text_at(entry, "/level") == "error") errors += text_at(entry, "/err") + "\n";
  }
  EXPECT_NE(errors.find("broken.so"), std::string::npos) << berth->log();
  EXPECT_NE(errors.find("BERTH-"), std::string::npos) << "the loader's code: " << berth->log();
}

TEST_F(Operations, WhatKeepsItFromServingStandsInTheLogWithoutTheNameOfTheProgram) {
  auto berth = start({"--bind-address=127.0.0.1", "--secure-port=" + std::to_string(free_port()),
                      "--tls-cert-file=/none/crt", "--tls-private-key-file=/none/key"});
  EXPECT_EQ(berth->wait(std::chrono::milliseconds(k_patience)), 1);
  EXPECT_NE(berth->log().find("/none/crt cannot be read: No such file or directory"), std::string::npos)
      << berth->log();
  EXPECT_EQ(berth->log().find("berth: "), std::string::npos) << berth->log();
}

/// By name, of all threads of a process.
std::map<std::string, std::size_t> thread_names(pid_t process) {
  std::map<std::string, std::size_t> out;
  for (const auto& task : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", process))) {
    std::ifstream file(task.path() / "comm");
    if (std::string name; std::getline(file, name)) ++out[name];  // else it has ended meanwhile
  }
  return out;
}

TEST_F(Operations, EachThreadHasAName) {
  const std::string config = directory.write("berth.yaml", R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: )" + kubeconfig + R"(}
---
apiVersion: config.berth.dev/v1alpha1
kind: BerthConfiguration
explainAfter: 1m
)");
  auto berth = start_serving({"--config=" + config, "--recorder-dir=" + directory.path() + "/recording"});
  const std::map<std::string, std::size_t> names = thread_names(berth->id());
  for (const char* name : {"binding", "binding-watch", "call-watch", "credentials", "explaining", "lease", "reading",
                           "recorder", "requests", "serving", "serving-waits", "signals", "timers"})
    EXPECT_TRUE(names.contains(name)) << name;
#ifdef __SANITIZE_THREAD__
  constexpr std::size_t k_sanitizer_threads = 1;  // it starts one before main, which keeps the program's name
#else
  constexpr std::size_t k_sanitizer_threads = 0;
#endif
  EXPECT_EQ(names.at("berth"), 1U + k_sanitizer_threads) << "the first thread, which decides, and no other";
}

TEST_F(Operations, ProfilingPagesCanBeTurnedOff) {
  auto berth = start_serving({"--profiling=false"});
  EXPECT_EQ(fetch(port_, "/debug/flags/v", "test-token", net::Method::put, "4").first, 404);
}

}  // namespace
}  // namespace berth::tests
