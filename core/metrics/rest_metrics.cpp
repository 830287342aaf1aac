// SPDX-License-Identifier: Apache-2.0
#include "metrics/rest_metrics.hpp"
#include "base/guarded.hpp"

namespace berth::metrics {
namespace {

const char* verb_of(net::Method method) {
  switch (method) {
    case net::Method::get:
      return "GET";
    case net::Method::post:
      return "POST";
    case net::Method::put:
      return "PUT";
    case net::Method::patch:
      return "PATCH";
    case net::Method::del:
      break;
  }
  return "DELETE";
}

std::string code_of(int status) { return status == 0 ? "<error>" : std::to_string(status); }

double seconds(std::chrono::nanoseconds duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

void RestMetrics::add(const net::CallReport& report) {
  const Kind kind{verb_of(report.method), report.host};
  const Lock lock(mutex_);
  ++requests_[{code_of(report.status), kind}];
  for (const int status : report.retried) ++retries_[{code_of(status), kind}];
  Verb& verb = verbs_[kind];
  verb.duration.add(k_seconds, seconds(report.took));
  verb.held_back.add(k_seconds, seconds(report.held_back));
  verb.request.add(k_bytes, static_cast<double>(report.request_bytes));
  verb.response.add(k_bytes, static_cast<double>(report.response_bytes));
}

void RestMetrics::clear() {
  const Lock lock(mutex_);
  requests_.clear();
  retries_.clear();
  verbs_.clear();
}

void RestMetrics::add_to(observe::MetricPage& page) const {
  using observe::MetricKind;
  std::vector<observe::MetricSample> requests, retries;
  std::vector<observe::HistogramSample> durations, held_back, sent, received;
  {
    const Lock lock(mutex_);
    for (const auto& [what, count] : requests_)
      requests.push_back({{{"code", what.first}, {"host", what.second.second}, {"method", what.second.first}},
                          static_cast<double>(count)});
    for (const auto& [what, count] : retries_)
      retries.push_back({{{"code", what.first}, {"host", what.second.second}, {"verb", what.second.first}},
                         static_cast<double>(count)});
    for (const auto& [kind, verb] : verbs_) {
      const std::vector<std::pair<std::string, std::string>> labels{{"host", kind.second}, {"verb", kind.first}};
      durations.push_back(verb.duration.sample(labels));
      held_back.push_back(verb.held_back.sample(labels));
      sent.push_back(verb.request.sample(labels));
      received.push_back(verb.response.sample(labels));
    }
  }
  page.add(MetricKind::counter, "rest_client_requests_total",
           "[ALPHA] Number of HTTP requests, partitioned by status code, method, and host.", std::move(requests));
  page.add(MetricKind::counter, "rest_client_request_retries_total",
           "[ALPHA] Number of request retries, partitioned by status code, verb, and host.", std::move(retries));
  page.add_histogram("rest_client_request_duration_seconds",
                     "[ALPHA] Request latency in seconds. Broken down by verb, and host.", k_seconds,
                     std::move(durations));
  page.add_histogram("rest_client_rate_limiter_duration_seconds",
                     "[ALPHA] Client side rate limiter latency in seconds. Broken down by verb, and host.", k_seconds,
                     std::move(held_back));
  page.add_histogram("rest_client_request_size_bytes", "[ALPHA] Request size in bytes. Broken down by verb and host.",
                     k_bytes, std::move(sent));
  page.add_histogram("rest_client_response_size_bytes", "[ALPHA] Response size in bytes. Broken down by verb and host.",
                     k_bytes, std::move(received));
}

}  // namespace berth::metrics
