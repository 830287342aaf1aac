// SPDX-License-Identifier: Apache-2.0
#include "net/proxy.hpp"

#include <gtest/gtest.h>

#include <map>

namespace berth::cluster::kube {
namespace {

std::string proxy(const std::string& server, std::map<std::string, std::string> variables) {
  const auto found =
      net::proxy_for(*net::parse_url(server, "https"), [&](const char* name) { return variables[name]; });
  if (!found.ok()) return "error";
  return *found ? (*found)->authority() : "direct";
}

TEST(Url, AHostHeaderNamesThePortWhereTheSchemeDoesNot) {
  const auto host = [](const char* url) { return net::parse_url(url, "https")->host_header(); };
  EXPECT_EQ(host("http://h/x"), "h");
  EXPECT_EQ(host("https://h:443"), "h");
  EXPECT_EQ(host("https://h:80"), "h:80");
  EXPECT_EQ(host("http://[::1]:80"), "[::1]");
  EXPECT_EQ(host("http://[::1]:8080"), "[::1]:8080");
}

TEST(Proxy, TheEnvironmentDecides) {
  EXPECT_EQ(proxy("https://k8s.example", {}), "direct");
  EXPECT_EQ(proxy("https://k8s.example", {{"HTTPS_PROXY", "http://p:3128"}}), "p:3128");
  EXPECT_EQ(proxy("https://k8s.example", {{"https_proxy", "p"}}), "p:80");
  EXPECT_EQ(proxy("https://k8s.example", {{"HTTP_PROXY", "http://p:3128"}}), "direct");
  EXPECT_EQ(proxy("http://k8s.example", {{"HTTP_PROXY", "socks5://p"}}), "p:1080");
  EXPECT_EQ(proxy("https://localhost:6443", {{"HTTPS_PROXY", "p"}}), "direct");
  EXPECT_EQ(proxy("https://127.0.0.1:6443", {{"HTTPS_PROXY", "p"}}), "direct");
  EXPECT_EQ(proxy("https://k8s.example", {{"HTTPS_PROXY", "https://p"}}), "p:443");
  EXPECT_EQ(proxy("https://k8s.example", {{"HTTPS_PROXY", "ftp://p"}}), "error");
}

TEST(Proxy, NoProxyNamesHostsDomainsAddressesAndNetworks) {
  const auto with = [](const std::string& server, const std::string& rules) {
    return proxy(server, {{"HTTPS_PROXY", "p"}, {"NO_PROXY", rules}});
  };
  EXPECT_EQ(with("https://a.example.com", "x, example.com"), "direct");
  EXPECT_EQ(with("https://a.example.com", ".example.com"), "direct");
  EXPECT_EQ(with("https://example.com", ".example.com"), "p:80");
  EXPECT_EQ(with("https://anexample.com", "example.com"), "p:80");
  EXPECT_EQ(with("https://10.1.2.3:6443", "10.0.0.0/8"), "direct");
  EXPECT_EQ(with("https://11.1.2.3:6443", "10.0.0.0/8"), "p:80");
  EXPECT_EQ(with("https://10.1.2.3:6443", "10.1.2.3:443"), "p:80");
  EXPECT_EQ(with("https://10.1.2.3:6443", "10.1.2.3:6443"), "direct");
  EXPECT_EQ(with("https://[fd00::1]:6443", "fd00::/16"), "direct");
  EXPECT_EQ(with("https://anything", "*"), "direct");
}

TEST(Url, ReadsHostPortAndPathOfAServer) {
  const auto url = net::parse_url("https://[fd00::1]:6443/prefix/", "https");
  ASSERT_TRUE(url.ok());
  EXPECT_EQ(url->host, "fd00::1");
  EXPECT_EQ(url->authority(), "[fd00::1]:6443");
  EXPECT_EQ(url->path, "/prefix");
  for (const char* text : {"", "https://", "https://a:0", "https://a:99999", "https://a b", "https://[::1", "://x"})
    EXPECT_FALSE(net::parse_url(text, "https").ok()) << text;
}

}  // namespace
}  // namespace berth::cluster::kube
