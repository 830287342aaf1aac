// SPDX-License-Identifier: Apache-2.0
#include "metrics/rest_metrics.hpp"

#include <gtest/gtest.h>

namespace berth::app {
namespace {

std::string page_of(const metrics::RestMetrics& metrics) {
  observe::MetricPage page;
  metrics.add_to(page);
  return page.text();
}

TEST(RestMetrics, CountEachRetryUnderTheCodeThatItWasAnsweredWith) {
  metrics::RestMetrics metrics;
  net::CallReport call;
  call.method = net::Method::post;
  call.host = "h:6443";
  call.status = 201;
  call.retried = {503, 0, 503, 201};
  metrics.add(call);
  call.retried.clear();
  metrics.add(call);
  const std::string text = page_of(metrics);
  for (const char* line : {"rest_client_requests_total{code=\"201\",host=\"h:6443\",method=\"POST\"} 2\n",
                           "rest_client_request_retries_total{code=\"201\",host=\"h:6443\",verb=\"POST\"} 1\n",
                           "rest_client_request_retries_total{code=\"503\",host=\"h:6443\",verb=\"POST\"} 2\n",
                           "rest_client_request_retries_total{code=\"<error>\",host=\"h:6443\",verb=\"POST\"} 1\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
}

}  // namespace
}  // namespace berth::app
