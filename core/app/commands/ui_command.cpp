// SPDX-License-Identifier: Apache-2.0
#include "app/commands/ui_command.hpp"

#include <algorithm>
#include <chrono>
#include <future>
#include <iostream>

#include "app/commands/served_page.hpp"
#include "app/live/stop_signals.hpp"
#include "app/pages/page_gate.hpp"
#include "serving/https_server.hpp"

namespace berth::app {
namespace {

constexpr std::size_t k_connections_max = 16;  // of one user's browser

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
  // A look takes its time: however many wait for one, others are refused at once.
  server_options.may_wait = [](const serving::HttpRequest&) { return true; };
  auto server = serving::HttpsServer::make(
      server_options, {{guard->path(), [&page](const serving::HttpRequest& ask) { return page.reply(ask); }}},
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
