// SPDX-License-Identifier: Apache-2.0
// Any bytes as a kubeconfig, as the answer of an exec plugin, as a list and as a watch that arrive in pieces.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.hpp"
#include "cluster/kube/auth/exec_plugin.hpp"
#include "cluster/kube/auth/kubeconfig.hpp"
#include "cluster/kube/read/list_splitter.hpp"

namespace {

using namespace berth::cluster::kube;

/// Items and outcome, with the text cut into pieces of that size.
std::string split(std::string_view text, std::size_t piece_bytes) {
  std::string seen;
  ListSplitter splitter([&](std::string_view item) { seen.append(item).append("\n"); });
  bool good = true;
  for (std::size_t at = 0; at < text.size() && good; at += piece_bytes)
    good = splitter.add(text.substr(at, piece_bytes)).ok();
  return seen + (good ? "good " : "bad ") + (splitter.complete() ? "complete" : "cut off");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  berth::text::Diagnostics problems;
  const auto config = read_kubeconfig(text, "/etc/kubernetes/scheduler.conf", {}, problems);
  BERTH_CHECK(config.has_value() == problems.empty(), "refused without a reason, or accepted with one: {}",
              problems.render());
  (void)read_exec_credential(std::string(text), "client.authentication.k8s.io/v1");
  BERTH_CHECK(split(text, 1) == split(text, text.size() + 1), "the cut of a list changes its items");
  return 0;
}
