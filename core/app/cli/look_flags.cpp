// SPDX-License-Identifier: Apache-2.0
#include "app/cli/look_flags.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

namespace berth::app {
namespace {

constexpr const char* k_live = "A live cluster (without --cluster)";

void add_view_flags(CLI::App& app, ViewOptions& view) {
  app.add_option(
         "--cluster", view.cluster,
         "Manifests to simulate instead of a live cluster: files, directories, or - for standard input; repeat it")
      ->type_name("PATH")
      ->expected(1)
      ->type_size(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option(
         "--record", view.record,
         "A recording instead of a live cluster, as it was at its end or --at: one file of it, or the directory")
      ->type_name("FILE");
  app.add_option("--at", view.moment.at, "With --record: as the cluster was then, as 2026-01-31T08:30:00Z")
      ->type_name("TIME");
  app.add_option(
      "--config", view.config,
      "KubeSchedulerConfiguration and BerthConfiguration of the policies that are asked; else that of --scheduler "
      "or --record, else the defaults");
  app.add_option("--plugin-dir", view.plugin_dir,
                 "Directory of plugin files; a recording or a scheduler does not say where they are");

  app.add_option("--kubeconfig", view.live.kubeconfig,
                 "How to reach the API server, and as whom; else $KUBECONFIG, ~/.kube/config, or the service account "
                 "of the pod that it runs in")
      ->group(k_live);
  app.add_option("--context", view.live.context, "Context of the kubeconfig; else its current one")->group(k_live);
  app.add_option("--server", view.live.server, "URL of the API server, instead of the kubeconfig's")->group(k_live);
  app.add_option("--timeout", view.limit_seconds,
                 "Give up when reading the cluster takes longer than this many seconds")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str()
      ->group(k_live);
  app.add_option("--scheduler", view.scheduler.url,
                 "Ask a running berth too, as the same user: https://HOST:10259, for instance of kubectl port-forward")
      ->type_name("URL")
      ->group(k_live);
  app.add_option("--scheduler-ca", view.scheduler.authority,
                 "Certificates that signed the one of --scheduler; else those of the kubeconfig")
      ->type_name("FILE")
      ->group(k_live);
  app.add_flag("--scheduler-insecure", view.scheduler.skips_verification,
               "Do not verify the certificate of --scheduler: whatever answers there gets the kubeconfig's credentials")
      ->group(k_live);
}

}  // namespace

Status ViewOptions::check() const {
  const bool names_live = !live.kubeconfig.empty() || !live.context.empty() || !live.server.empty();
  if (!record.empty() && !cluster.empty())
    return Error{"--cluster is about manifests, --record about what was recorded: leave one of them out"};
  if (!record.empty() && (names_live || !scheduler.url.empty()))
    return Error{
        "--record is about what was recorded, --kubeconfig, --context, --server and --scheduler about a live "
        "cluster: "
        "leave one of them out"};
  if (record.empty() && (!moment.at.empty() || moment.attempt))
    return Error{"--at and --attempt are moments of a recording: name it with --record FILE"};
  if (!is_live() && (names_live || !scheduler.url.empty()))
    return Error{
        "--cluster is about manifests, --kubeconfig, --context, --server and --scheduler about a live cluster: "
        "leave one "
        "of them out"};
  if (scheduler.url.empty() && (!scheduler.authority.empty() || scheduler.skips_verification))
    return Error{"--scheduler-ca and --scheduler-insecure are for --scheduler URL: add it, or leave them out"};
  if (!scheduler.authority.empty() && scheduler.skips_verification)
    return Error{"--scheduler-ca verifies what --scheduler-insecure does not: leave one of them out"};
  if (std::count(cluster.begin(), cluster.end(), "-") > 1)
    return Error{"standard input can be read once: write one --cluster -"};
  return Unit{};
}

void add_explain_flags(CLI::App& app, ExplainOptions& options) {
  app.add_option("POD", options.pod, "NAMESPACE/NAME")->required();
  add_view_flags(app, options.view);
  app.add_option("--attempt", options.view.moment.attempt,
                 "With --record: what this attempt of the pod saw; the last of that number up to --at")
      ->type_name("N");
  app.add_option("--why-not", options.why_not,
                 "All that keeps the pod from this node, and what would make it fit there")
      ->type_name("NODE");
  app.add_option("-o,--output", options.output, "table, wide: with every node, json or yaml")
      ->check(CLI::IsMember({"table", "wide", "json", "yaml"}));
  app.add_flag("--fail-on-pending", options.fail_on_pending, "Exit with 3 when the pod is pending or gated");
  app.footer(
      "A live cluster is read as `berth run` reads it (list and watch; `berth auth check` names the rights). The "
      "policies "
      "run\n"
      "in this process, on a copy of the cluster: a running scheduler is not disturbed. With --scheduler its queue is "
      "asked "
      "as\n"
      "well. Nothing is written.\n"
      "Exit status: 0 explained; 1 it cannot be (no such pod, a cluster that cannot be read, bad configuration or "
      "plugins);\n"
      "2 wrong usage; 3 the pod is pending or gated (--fail-on-pending).");
}

void add_ui_flags(CLI::App& app, UiOptions& options) {
  add_view_flags(app, options.view);
  app.add_option("--port", options.port, "Port of 127.0.0.1; else any free one");
  app.footer(
      "Prints the address of the page, which holds a secret. It is served on 127.0.0.1, to anyone who has the address. "
      "Each time\n"
      "it is loaded, manifests are read and simulated again, and a live cluster is shown as it is then.\n"
      "With --record it has a slider over the time of the recording. With --cluster it simulates the changes that "
      "berth\n"
      "simulate has: at most 20, which add at most 10000 nodes and pods and are decided within 60 seconds. The page "
      "can\n"
      "change nothing in a cluster. SIGINT or SIGTERM end it.\n"
      "Exit status: 0 ended by a signal; 1 it cannot serve, or the cluster cannot be read; 2 wrong usage.");
}

}  // namespace berth::app
