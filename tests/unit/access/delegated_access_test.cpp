// SPDX-License-Identifier: Apache-2.0
#include "access/delegated_access.hpp"

#include <gtest/gtest.h>

#include "support/api_server/api_server.hpp"
#include "support/child_process.hpp"
#include "support/test_authority.hpp"
#include "unit/kube/live.hpp"

namespace berth::tests {
namespace {

using access::AuthorityLookup;
using access::CallerAuthorityOptions;
using access::DelegatedAccess;
using access::DelegatedAccessOptions;

constexpr const char* k_known = "system:serviceaccount:tests:user";  // whom the test server lets in

/// Certificates and headers against a server that reviews.
class DelegatedAccessTest : public testing::Test {
 protected:
  DelegatedAccessTest()
      : client_(threads_, endpoint_of(server_, clock_), {}), clients_("clients"), proxies_("proxies") {}

  void publish_authorities(const std::string& allowed_names = R"([\"front\"])") {
    json::object data, object, metadata;
    data["client-ca-file"] = clients_.certificate();
    data["requestheader-client-ca-file"] = proxies_.certificate();
    data["requestheader-allowed-names"] = json::parse('"' + allowed_names + '"').as_string();
    data["requestheader-username-headers"] = R"(["X-Remote-User"])";
    data["requestheader-group-headers"] = R"(["X-Remote-Group"])";
    data["requestheader-extra-headers-prefix"] = R"(["X-Remote-Extra-"])";
    metadata["name"] = "extension-apiserver-authentication";
    metadata["namespace"] = "kube-system";
    object["apiVersion"] = "v1";
    object["kind"] = "ConfigMap";
    object["metadata"] = metadata;
    object["data"] = data;
    server_.create(json::serialize(object));
  }
  DelegatedAccess& access(CallerAuthorityOptions authorities = {}, DelegatedAccessOptions options = {}) {
    auto lookup = AuthorityLookup::make(std::move(authorities), &client_, clock_);
    EXPECT_TRUE(lookup.ok()) << lookup.error().message;
    lookup_ = std::move(*lookup);
    access_.emplace(&client_, &client_, *lookup_, clock_, std::move(options));
    return *access_;
  }
  static serving::HttpRequest ask(const std::string& path,
                                  std::vector<std::pair<std::string, std::string>> headers = {},
                                  const std::string& chain = "") {
    serving::HttpRequest out;
    out.method = "GET";
    out.path = path;
    out.headers = std::move(headers);
    out.peer_chain = chain;
    return out;
  }
  static int status(DelegatedAccess& access, const serving::HttpRequest& ask) {
    const auto refusal = access.check(ask).refusal;
    return refusal ? refusal->status : 200;
  }
  static std::string metrics(const DelegatedAccess& access) {
    observe::MetricPage page;
    access.add_metrics(page);
    return page.text();
  }
  /// The body of the last SubjectAccessReview.
  json::value reviewed() {
    json::value out;
    for (const ApiServer::Seen& write : server_.writes())
      if (write.target.ends_with("/subjectaccessreviews")) out = json::parse(write.body);
    return out;
  }

  int reviews(const std::string& of) {
    int count = 0;
    for (const ApiServer::Seen& write : server_.writes()) count += write.target.ends_with("/" + of);
    return count;
  }

  SystemClock clock_;
  ApiServer server_;
  net::IoThreads threads_{1};
  net::HttpClient client_;
  TestAuthority clients_, proxies_;
  std::unique_ptr<AuthorityLookup> lookup_;
  std::optional<DelegatedAccess> access_;
};

TEST_F(DelegatedAccessTest, TokensAreReviewedAndPathsAskedAbout) {
  DelegatedAccess& gate = access();
  EXPECT_EQ(status(gate, ask("/metrics", {{"authorization", "Bearer test-token"}})), 200);
  EXPECT_EQ(text_at(reviewed(), "/spec/user"), k_known);
  EXPECT_EQ(text_at(reviewed(), "/spec/nonResourceAttributes/path"), "/metrics");
  EXPECT_EQ(text_at(reviewed(), "/spec/nonResourceAttributes/verb"), "get");
  EXPECT_EQ(status(gate, ask("/metrics", {{"authorization", "Bearer wrong"}})), 401);
  EXPECT_EQ(status(gate, ask("/metrics")), 403);
  EXPECT_EQ(text_at(reviewed(), "/spec/user"), "system:anonymous");
  const std::string text = metrics(gate);
  for (const char* line :
       {"authentication_attempts{result=\"error\"} 1\n", "authentication_attempts{result=\"success\"} 2\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
}

TEST_F(DelegatedAccessTest, ACallerWithoutABearerTokenIsAnonymous) {
  DelegatedAccess& gate = access();
  for (const char* header : {"Basic dTpw", "Bearer", "Bearer ", "Bearer  test-token", "test-token"}) {
    EXPECT_EQ(status(gate, ask("/metrics", {{"authorization", header}})), 403) << header;
    EXPECT_EQ(status(gate, ask("/healthz", {{"authorization", header}})), 200) << header;
  }
  EXPECT_EQ(text_at(reviewed(), "/spec/user"), "system:anonymous");
  EXPECT_EQ(status(gate, ask("/metrics", {{"authorization", " bearer test-token and more"}})), 200);
  // With a certificate that is refused, such a header does not help.
  publish_authorities();
  DelegatedAccess& strict = access();
  const std::string chain = TestAuthority("strangers").sign("stranger").certificate;
  EXPECT_EQ(status(strict, ask("/healthz", {{"authorization", "Basic dTpw"}}, chain)), 401);
}

TEST_F(DelegatedAccessTest, WhatWasAskedOnceIsKeptForAWhile) {
  DelegatedAccess& gate = access();
  for (int i = 0; i < 5; ++i) status(gate, ask("/metrics", {{"authorization", "bearer test-token"}}));
  std::map<std::string, int> reviews;
  for (const ApiServer::Seen& write : server_.writes()) ++reviews[write.target.substr(write.target.rfind('/') + 1)];
  EXPECT_EQ(reviews["tokenreviews"], 1);
  EXPECT_EQ(reviews["subjectaccessreviews"], 1);
}

TEST_F(DelegatedAccessTest, ClientCertificatesNameTheirUserAndItsGroups) {
  publish_authorities();
  DelegatedAccess& gate = access();
  EXPECT_EQ(status(gate, ask("/metrics", {}, clients_.sign(k_known, {"team", "other"}).certificate)), 200);
  EXPECT_EQ(text_at(reviewed(), "/spec/user"), k_known);
  EXPECT_EQ(json::serialize(reviewed().at("spec").at("groups")), R"(["team","other","system:authenticated"])");
  EXPECT_EQ(status(gate, ask("/metrics", {}, clients_.sign("someone").certificate)), 403);
  EXPECT_EQ(status(gate, ask("/metrics", {}, clients_.sign("root", {"system:masters"}).certificate)), 200);
}

TEST_F(DelegatedAccessTest, InvalidCertificatesAreUnauthorizedAndNotAnonymous) {
  publish_authorities();
  DelegatedAccess& gate = access();
  const TestAuthority strangers("strangers");
  EXPECT_EQ(status(gate, ask("/healthz", {}, strangers.sign(k_known).certificate)), 401);
  EXPECT_EQ(status(gate, ask("/metrics", {}, clients_.sign(k_known, {}, "serverAuth").certificate)), 401);
  EXPECT_EQ(status(gate, ask("/metrics", {}, clients_.sign(k_known, {}, "clientAuth", -1).certificate)), 401);
  EXPECT_EQ(status(gate, ask("/metrics", {}, "no certificate")), 401);
  EXPECT_EQ(status(gate, ask("/healthz")), 200) << "who shows nothing is anonymous";
}

TEST_F(DelegatedAccessTest, AValidTokenIsEnoughWhenTheCertificateIsInvalid) {
  publish_authorities();
  DelegatedAccess& gate = access();
  const std::string chain = TestAuthority("strangers").sign("stranger").certificate;
  EXPECT_EQ(status(gate, ask("/metrics", {{"authorization", "Bearer test-token"}}, chain)), 200);
  EXPECT_EQ(text_at(reviewed(), "/spec/user"), k_known);
  EXPECT_EQ(status(gate, ask("/metrics", {{"authorization", "Bearer wrong"}}, chain)), 401);
  EXPECT_EQ(status(gate, ask("/metrics", {{"authorization", "Bearer wrong"}}, clients_.sign(k_known).certificate)), 200)
      << "a certificate that holds comes first";
}

TEST_F(DelegatedAccessTest, WithoutAClientCaCertificatesAreIgnored) {
  DelegatedAccess& gate = access();
  EXPECT_EQ(status(gate, ask("/healthz", {}, clients_.sign(k_known).certificate)), 200);
  EXPECT_EQ(status(gate, ask("/metrics", {}, clients_.sign(k_known).certificate)), 403);
}

TEST_F(DelegatedAccessTest, FrontProxiesAuthenticateTheUsersThatTheirHeadersName) {
  publish_authorities();
  DelegatedAccess& gate = access();
  const std::vector<std::pair<std::string, std::string>> headers{{"x-remote-user", k_known},
                                                                 {"x-remote-group", "a"},
                                                                 {"x-remote-group", "b"},
                                                                 {"x-remote-extra-scopes", "s1"},
                                                                 {"x-remote-extra-a%2fb", "s2"}};
  EXPECT_EQ(status(gate, ask("/metrics", headers, proxies_.sign("front").certificate)), 200);
  EXPECT_EQ(json::serialize(reviewed().at("spec").at("groups")), R"(["a","b","system:authenticated"])");
  EXPECT_EQ(json::serialize(reviewed().at("spec").at("extra")), R"({"a/b":["s2"],"scopes":["s1"]})");
  // A caller that is no such proxy cannot name another one.
  EXPECT_EQ(status(gate, ask("/metrics", headers, proxies_.sign("other").certificate)), 401);
  EXPECT_EQ(status(gate, ask("/metrics", headers, clients_.sign("someone").certificate)), 403);
  EXPECT_EQ(text_at(reviewed(), "/spec/user"), "someone");
  EXPECT_EQ(status(gate, ask("/metrics", headers)), 403) << "headers alone are nothing";
}

TEST_F(DelegatedAccessTest, UnreadableNamesOfFrontProxiesAllowNoFrontProxy) {
  publish_authorities("front");  // not ["front"]
  DelegatedAccess& gate = access();
  EXPECT_EQ(status(gate, ask("/metrics", {{"x-remote-user", k_known}}, proxies_.sign("other").certificate)), 403);
}

TEST_F(DelegatedAccessTest, FilesThatFlagsNameWinOverTheCluster) {
  publish_authorities();
  const TemporaryDirectory directory;
  const TestAuthority own("own");
  CallerAuthorityOptions authorities;
  authorities.client_ca_file = directory.write("ca.crt", own.certificate());
  DelegatedAccess& gate = access(authorities);
  EXPECT_EQ(status(gate, ask("/metrics", {}, own.sign(k_known).certificate)), 200);
  EXPECT_EQ(status(gate, ask("/metrics", {}, clients_.sign(k_known).certificate)), 401);
}

TEST_F(DelegatedAccessTest, ALookupThatFailsIsAnErrorOnlyWhenThatIsNotTolerated) {
  CallerAuthorityOptions strict;
  strict.tolerates_failure = false;
  const auto failed = AuthorityLookup::make(strict, &client_, clock_);  // there is no such ConfigMap
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.error().message.find("extension-apiserver-authentication"), std::string::npos);
  strict.looks_up = false;
  EXPECT_TRUE(AuthorityLookup::make(strict, &client_, clock_).ok());
}

TEST_F(DelegatedAccessTest, AFileThatIsNamedHasToBeThereAndHoldACertificate) {
  const TemporaryDirectory directory;
  const std::string good = directory.write("good.crt", clients_.certificate());
  const std::string none = directory.path() + "/none.crt";
  const std::string other = directory.write("other.crt", "no certificate\n");
  for (const auto& [client_ca, front_proxy_ca, error] : std::vector<std::array<std::string, 3>>{
           {none, "", "--client-ca-file: " + none + " cannot be read: No such file or directory"},
           {good, none, "--requestheader-client-ca-file: " + none + " cannot be read: No such file or directory"},
           {other, good, "--client-ca-file: " + other + " has no certificate in PEM"}}) {
    CallerAuthorityOptions named;  // which tolerate that the cluster cannot be asked, and nothing else
    named.client_ca_file = client_ca;
    named.request_header_ca_file = front_proxy_ca;
    const auto made = AuthorityLookup::make(named, &client_, clock_);
    ASSERT_FALSE(made.ok()) << error;
    EXPECT_EQ(made.error().message, error);
  }
  // A cluster that cannot be asked takes nothing away from the file.
  CallerAuthorityOptions named;
  named.client_ca_file = good;
  EXPECT_EQ(status(access(named), ask("/metrics", {}, clients_.sign(k_known).certificate)), 200);
}

TEST_F(DelegatedAccessTest, PathsOfTheFlagAreServedWithoutAuthorization) {
  DelegatedAccessOptions options;
  options.always_allowed = {"/healthz", "/debug/*"};
  DelegatedAccess& gate = access({}, options);
  EXPECT_EQ(status(gate, ask("/healthz")), 200);
  EXPECT_EQ(status(gate, ask("/healthz/ping")), 403) << "exactly that path";
  EXPECT_EQ(status(gate, ask("/livez")), 403);
  EXPECT_EQ(status(gate, ask("/debug/queue")), 200);
}

TEST_F(DelegatedAccessTest, WithoutAnApiServerOnlyPathsWithoutAuthorizationAreServed) {
  auto lookup = AuthorityLookup::make({}, nullptr, clock_);
  ASSERT_TRUE(lookup.ok());
  DelegatedAccess gate(nullptr, nullptr, **lookup, clock_, {});
  EXPECT_EQ(status(gate, ask("/metrics")), 403);
  EXPECT_EQ(status(gate, ask("/metrics", {{"authorization", "Bearer test-token"}})), 403) << "no review takes place";
  EXPECT_EQ(status(gate, ask("/livez", {{"authorization", "Bearer test-token"}})), 200);
  const std::string text = metrics(gate);
  for (const char* line :
       {"authentication_attempts{result=\"success\"} 3\n", "authorization_attempts_total{result=\"no-opinion\"} 2\n",
        "authorization_attempts_total{result=\"allowed\"} 1\n",
        "authorization_duration_seconds_count{result=\"no-opinion\"} 2\n",
        "authentication_duration_seconds_bucket{result=\"success\",le=\"16.384\"} 3\n",
        "authenticated_user_requests{username=\"other\"} 3\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  gate.clear_metrics();
  EXPECT_EQ(metrics(gate), "");
}

TEST_F(DelegatedAccessTest, ReviewsAreCountedByTheCodeOfTheirAnswer) {
  DelegatedAccess& gate = access();
  EXPECT_EQ(status(gate, ask("/metrics", {{"authorization", "Bearer test-token"}})), 200);
  Faults faults;
  faults.conflict = 1;
  server_.inject(faults);
  EXPECT_EQ(status(gate, ask("/other", {{"authorization", "Bearer test-token"}})), 403);
  const std::string text = metrics(gate);
  for (const char* line :
       {"apiserver_delegated_authn_request_total{code=\"201\"} 1\n",
        "apiserver_delegated_authz_request_total{code=\"201\"} 1\n",
        "apiserver_delegated_authz_request_total{code=\"409\"} 1\n",
        "authorization_attempts_total{result=\"allowed\"} 1\n", "authorization_attempts_total{result=\"error\"} 1\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
}

TEST_F(DelegatedAccessTest, ATokenThatIsTooLongIsRefusedWithoutAReview) {
  DelegatedAccess& gate = access();
  EXPECT_EQ(status(gate, ask("/metrics", {{"authorization", "Bearer " + std::string(10'001, 't')}})), 401);
  EXPECT_EQ(reviews("tokenreviews"), 0);
  EXPECT_EQ(status(gate, ask("/metrics", {{"authorization", "Bearer " + std::string(10'000, 't')}})), 401);
  EXPECT_EQ(reviews("tokenreviews"), 1);
}

TEST_F(DelegatedAccessTest, ReviewsOfUnknownCallersAreLimitedAndThoseOfKnownCallersAreNot) {
  access();
  ManualClock clock;
  DelegatedAccess gate(&client_, &client_, *lookup_, clock, {});
  const serving::HttpRequest known = ask("/metrics", {{"authorization", "Bearer test-token"}});
  EXPECT_EQ(status(gate, known), 200);
  clock.advance(std::chrono::seconds(30));  // so that nothing holds any more of what was answered
  int stranger = 0;
  const auto last_status = [&](int count) {
    int last = 0;
    for (int i = 0; i < count; ++i)
      last = status(gate, ask("/metrics", {{"authorization", "Bearer s" + std::to_string(stranger++)}}));
    return last;
  };
  EXPECT_EQ(last_status(100), 401);
  EXPECT_EQ(last_status(50), 429);
  EXPECT_EQ(reviews("tokenreviews"), 101);
  EXPECT_EQ(status(gate, known), 200);
  clock.advance(std::chrono::seconds(1));
  EXPECT_EQ(last_status(20), 401);
  EXPECT_EQ(last_status(1), 429);
  // The same of access, whatever callers and paths are named.
  for (int i = 0; i < 150; ++i) status(gate, ask("/none" + std::to_string(i)));
  EXPECT_EQ(status(gate, ask("/one-more")), 429);
  EXPECT_EQ(reviews("subjectaccessreviews"), 102);
  clock.advance(std::chrono::seconds(30));
  for (int i = 0; i < 101; ++i) status(gate, ask("/none" + std::to_string(i)));
  EXPECT_EQ(status(gate, known), 200);
  observe::MetricPage page;
  gate.add_cache_metrics(page);
  const std::string text = page.text();
  EXPECT_NE(text.find("\nberth_reviews_refused_total{review=\"token\"} 51\n"), std::string::npos) << text;
}

TEST_F(DelegatedAccessTest, OnlyRefusalsOfExistingRoutesAreCached) {
  DelegatedAccess& gate = access();
  const auto entries = [&] {
    observe::MetricPage page;
    gate.add_cache_metrics(page);
    const std::string text = page.text(), name = "\nberth_review_cache_entries{review=\"access\"} ";
    return text.substr(text.find(name) + name.size(), 2);
  };
  for (int i = 0; i < 20; ++i) EXPECT_EQ(status(gate, ask("/none" + std::to_string(i))), 403);
  EXPECT_EQ(entries(), "0\n");
  serving::HttpRequest there = ask("/metrics");
  there.has_route = true;
  for (int i = 0; i < 20; ++i) EXPECT_EQ(status(gate, there), 403);
  EXPECT_EQ(entries(), "1\n");
  EXPECT_EQ(reviews("subjectaccessreviews"), 21);
  there.method = "MADEUP";
  for (int i = 0; i < 20; ++i) EXPECT_EQ(status(gate, there), 403);
  EXPECT_EQ(entries(), "1\n");
}

TEST_F(DelegatedAccessTest, OnlyACallerWithARightOfItsOwnIsAdmitted) {
  DelegatedAccess& gate = access();
  const std::vector<std::pair<std::string, std::string>> token{{"authorization", "Bearer test-token"}};
  EXPECT_TRUE(gate.check(ask("/metrics", token)).is_admitted);
  EXPECT_FALSE(gate.check(ask("/livez", token)).is_admitted) << "that is open to everybody";
  EXPECT_FALSE(gate.check(ask("/livez")).is_admitted);
  EXPECT_FALSE(gate.check(ask("/metrics")).is_admitted);
}

TEST_F(DelegatedAccessTest, OnlyCallersWhoNeedAReviewWait) {
  DelegatedAccess& gate = access();
  EXPECT_FALSE(gate.may_wait(ask("/livez")));
  EXPECT_TRUE(gate.may_wait(ask("/livez", {{"authorization", "Bearer test-token"}})));
  EXPECT_TRUE(gate.may_wait(ask("/metrics")));
}

}  // namespace
}  // namespace berth::tests
