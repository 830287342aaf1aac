// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/symbols.hpp"
#include "cluster/kube/auth/client_config.hpp"
#include "config/extender.hpp"
#include "extender/messages.hpp"
#include "extender/redirects.hpp"
#include "net/http_client.hpp"

namespace berth::extender {

/// An extender that is spoken to over HTTP, as a configuration describes it.
///
/// Wire:     a POST of JSON to urlPrefix/verb; anything but status 200 is a failure; nothing is tried again, and nothing
///           that was written is written again. 307 and 308 are followed, nine times at most, within the same time.
///           Bindings have connections of their own, so that the scheduling thread does not queue behind them.
/// Bounds:   an answer has at most 4 MiB, twice the bytes of the question and 1 KiB for each node (or node with victims)
///           that was asked about, unpacked; unpacking counts into httpTimeout. Of a reason or an error 1,024 bytes are
///           kept.
/// TLS:      as the URL's scheme says. `enableHTTPS` without an authority means that nothing is verified; without it,
///           and without an authority, the system's roots count. A user in the URL logs in, through TLS or not.
/// Lifetime: I/O threads, clock and symbols outlive it. Its end answers what is open.
/// Threads:  any.
/// Source:   kubernetes v1.36 pkg/scheduler/extender.go.
///           Departs: HTTP/1.1; redirections that would turn the POST into a GET are failures.
class HttpExtender final : public extender::Extender {
 public:
  struct Parts {
    net::IoThreads& io;
    const Clock& clock;
    SymbolTable& symbols;
    Environment environment;  // for proxies
    std::string user_agent;
    std::shared_ptr<NodeBodies> bodies;  // of all extenders
    bool as_v1_16 = false;               // it was written for schedulers of that time
  };
  /// Fails when the URL, the certificates or the proxy of the environment cannot be used.
  static Result<std::unique_ptr<HttpExtender>> make(config::Extender configuration, const Parts& parts);

  std::string_view name() const noexcept override { return name_; }
  bool ignorable() const noexcept override { return configuration_.ignorable; }
  bool filters() const noexcept override { return !configuration_.filter_verb.empty(); }
  bool prioritizes() const noexcept override { return !configuration_.prioritize_verb.empty(); }
  bool preempts() const noexcept override { return !configuration_.preempt_verb.empty(); }
  bool binds() const noexcept override { return !configuration_.bind_verb.empty(); }
  std::int64_t weight() const noexcept override { return configuration_.weight; }
  bool is_interested(const model::Pod& pod) const noexcept override;
  std::chrono::nanoseconds limit() const noexcept override {
    return std::chrono::nanoseconds(configuration_.http_timeout_ns);
  }

  void filter(const model::Pod& pod, Nodes nodes, Done<Filtered> done) override;
  void prioritize(const model::Pod& pod, Nodes nodes, Done<std::vector<HostScore>> done) override;
  void preempt(const model::Pod& pod, const ByNode<Victims>& victims, Done<ByNode<MetaVictims>> done) override;
  void bind(const model::Pod& pod, std::string_view node_name, MayGo may_go, Done<Unit> done) override;
  void stop() noexcept override {
    redirects_.stop();
    cycle_client_.stop();
    bind_client_.stop();
  }

 private:
  using Deadline = std::chrono::steady_clock::time_point;

  HttpExtender(config::Extender configuration, const Parts& parts, std::shared_ptr<net::Endpoint> endpoint,
               Address base);
  /// What every request of a call has in common.
  struct Terms {
    std::uint64_t answer_bytes_max = 0;
    Deadline end;
    MayGo may_go;
  };
  void post(net::HttpClient& client, Address to, std::string body, Terms terms, int redirects,
            net::HttpClient::Done done);
  template <typename T, typename Read>
  void call(net::HttpClient& client, const std::string& verb, Result<std::string> body, std::size_t asked_about,
            Read read, Done<T> done, MayGo may_go = {});

  const config::Extender configuration_;
  const std::string name_;                    // the URL as it may be shown
  const std::string base_url_;                // the same without slashes at its end
  const Address base_;                        // without slashes at its end
  const std::shared_ptr<NodeBodies> bodies_;  // null: it knows the nodes
  const VictimForm victim_form_;
  std::vector<Symbol> managed_;  // empty: every pod is of interest
  Redirects redirects_;          // outlives the clients, whose answers go on from there
  net::HttpClient cycle_client_, bind_client_;
};

}  // namespace berth::extender
