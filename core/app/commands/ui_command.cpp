// SPDX-License-Identifier: Apache-2.0
#include "app/commands/ui_command.hpp"

#include <algorithm>
#include <chrono>
#include <future>
#include <iostream>
#include <sstream>

#include "app/live/stop_signals.hpp"
#include "app/pages/page_gate.hpp"
#include "app/simulate/cluster_view.hpp"
#include "base/guarded.hpp"
#include "report/html_report.hpp"
#include "serving/https_server.hpp"

namespace berth::app {
namespace {

constexpr const char* k_html = "text/html; charset=utf-8";
constexpr std::size_t k_connections_max = 16;  // of one user's browser

/// The page, made again for every answer, one at a time.
class ServedPage {
 public:
  explicit ServedPage(const ViewOptions& options) : view_(options, said_) {}

  /// Whether the cluster can be looked at. What was said about it goes to `err`.
  bool check(std::ostream& err) {
    const Lock lock(mutex_);
    const bool can = view_.look() != nullptr;
    err << said_.str();
    return can;
  }

  Result<std::string> render() {
    const Lock lock(mutex_);
    said_.str({});
    const std::unique_ptr<PolicyRun> run = view_.look();
    if (run == nullptr) return Error{said_.str()};
    const report::SimulationReport report = run->report();
    report::PageParts parts = run->page_parts(report);
    parts.is_served = true;
    parts.server = view_.server();
    return report::render_html(report, parts);
  }

  serving::HttpResponse reply() {
    Result<std::string> page = render();
    serving::HttpResponse out;
    if (page.ok())
      out = {200, std::move(*page), k_html};
    else
      out = {500, "The cluster cannot be looked at:\n\n" + page.error().message};
    out.headers = {{"Content-Security-Policy", report::content_policy() + "; frame-ancestors 'none'"},
                   {"X-Frame-Options", "DENY"},
                   {"Referrer-Policy", "no-referrer"},
                   {"Cross-Origin-Opener-Policy", "same-origin"},
                   {"Cross-Origin-Resource-Policy", "same-origin"},
                   {"Cache-Control", "no-store"}};
    return out;
  }

 private:
  Mutex mutex_;
  std::ostringstream said_ GUARDED_BY(mutex_);
  ClusterView view_ GUARDED_BY(mutex_);
};

}  // namespace

int run_ui(const UiOptions& options, std::ostream& out, std::ostream& err) {
  if (const Status checked = options.view.check(); !checked.ok()) {
    err << "berth: " << checked.error().message << '\n';
    return 2;
  }
  if (std::find(options.view.cluster.begin(), options.view.cluster.end(), "-") != options.view.cluster.end()) {
    err << "berth: the cluster is read again each time the page is loaded, standard input only once: name files\n";
    return 2;
  }
  StopSignals signals;  // before the first thread
  ServedPage page(options.view);
  // What is wrong with the cluster is said here, and not first in the browser.
  if (!page.check(err)) return 1;
  Result<std::shared_ptr<PageGate>> gate = PageGate::make();
  if (!gate.ok()) {
    err << "berth: " << gate.error().message << '\n';
    return 1;
  }
  const std::shared_ptr<PageGate> guard = *gate;
  serving::HttpsServerOptions server_options;
  server_options.is_plain = true;
  server_options.address = "127.0.0.1";
  server_options.port = options.port;
  server_options.connections_max = k_connections_max;
  auto server = serving::HttpsServer::make(
      server_options, {{guard->path(), [&page](const serving::HttpRequest&) { return page.reply(); }}},
      [guard](const serving::HttpRequest& ask) { return guard->judge(ask); });
  if (!server.ok()) {
    err << "berth: " << server.error().message << '\n';
    return 1;
  }
  guard->listens_on((*server)->port());
  const auto stopped = std::make_shared<std::promise<void>>();
  signals.watch([stopped](int) { stopped->set_value(); }, [] {});
  out << "http://127.0.0.1:" << (*server)->port() << guard->path() << '\n' << std::flush;
  stopped->get_future().wait();
  return 0;
}

}  // namespace berth::app
