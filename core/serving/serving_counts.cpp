// SPDX-License-Identifier: Apache-2.0
#include "serving/serving_counts.hpp"

#include <bit>

#include "observe/log.hpp"

namespace berth::serving {

void ServingCounts::note_exception(const char* what) noexcept {
  const std::uint64_t times = ++exceptions;
  if (!std::has_single_bit(times)) return;
  try {
    observe::error("A connection of the server ended with an exception", {{"err", what}, {"times", times}});
  } catch (...) {  // no memory for the line: the count stays
  }
}

void add_serving_metrics(observe::MetricPage& page,
                         const std::vector<std::pair<std::string, const ServingCounts*>>& servers) {
  using observe::MetricKind;
  using observe::MetricSample;
  std::vector<MetricSample> open, accepted, failures, exceptions, ended, refused;
  for (const auto& [name, counts] : servers) {
    const std::pair<std::string, std::string> server{"server", name};
    open.push_back({{server}, static_cast<double>(counts->open)});
    accepted.push_back({{server}, static_cast<double>(counts->accepted)});
    failures.push_back({{server}, static_cast<double>(counts->accept_failures)});
    exceptions.push_back({{server}, static_cast<double>(counts->exceptions)});
    for (std::size_t i = 0; i < ServingCounts::k_ends.size(); ++i)
      ended.push_back({{server, {"reason", ServingCounts::k_ends[i]}}, static_cast<double>(counts->ended[i])});
    for (std::size_t i = 0; i < ServingCounts::k_refusals.size(); ++i)
      refused.push_back(
          {{server, {"code", std::to_string(ServingCounts::k_refusals[i])}}, static_cast<double>(counts->refused[i])});
  }
  page.add(MetricKind::gauge, "berth_serving_connections", "Connections that are open, by server.", std::move(open));
  page.add(MetricKind::counter, "berth_serving_connections_total", "Connections that were accepted, by server.",
           std::move(accepted));
  page.add(MetricKind::counter, "berth_serving_ended_connections_total",
           "Connections that the server ended: for room, as too many of one address, or as the caller took too long.",
           std::move(ended));
  page.add(MetricKind::counter, "berth_serving_refused_requests_total",
           "Requests that were refused before authentication, by server and HTTP status code.", std::move(refused));
  page.add(MetricKind::counter, "berth_serving_accept_failures_total",
           "Connections that could not be accepted, as when no file descriptor was left.", std::move(failures));
  page.add(MetricKind::counter, "berth_serving_exceptions_total",
           "Connections that ended with an exception, which is a defect of berth.", std::move(exceptions));
}

}  // namespace berth::serving
