// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/utf8.hpp"
#include "report/what_if/fit_report.hpp"

namespace berth::report {
namespace {

FitOption option(std::string text, std::size_t nodes) { return {"toleration", std::move(text), "{}", nodes, {"n1"}}; }

TEST(FitLine, NamesEveryOptionAndOnHowManyNodes) {
  FitReport fit;
  fit.options = {option("with 3.5 instead of 4 cpu", 12), option("with a toleration of dedicated=gpu:NoSchedule", 1)};
  EXPECT_EQ(
      fit_line(fit, "shop", 512),
      "It would fit with 3.5 instead of 4 cpu (12 nodes); with a toleration of dedicated=gpu:NoSchedule (1 node).");
}

TEST(FitLine, HasNoMoreOptionsThanThereIsRoomFor) {
  FitReport fit;
  for (int i = 0; i < 20; ++i) fit.options.push_back(option("with the change " + std::to_string(i), 3));
  EXPECT_EQ(fit_line(fit, "shop", 100),
            "It would fit with the change 0 (3 nodes); with the change 1 (3 nodes); 18 more.");
  for (std::size_t size = 64; size < 800; ++size) EXPECT_LE(fit_line(fit, "shop", size).size(), size);
  fit.options.resize(1);
  fit.options[0].text = "with ääääääääääääääääääääääääääääääääääääääääääääääääääääääääääää";
  for (std::size_t size = 64; size < 80; ++size) {
    const std::string line = fit_line(fit, "shop", size);
    EXPECT_LE(line.size(), size);
    EXPECT_EQ(find_invalid_utf8(line), std::string::npos) << line;
  }
}

TEST(FitLine, DoesNotNamePodsOfOtherNamespaces) {
  FitReport fit;
  fit.options = {{"removePod", "without pod shop/a of priority 1 on n1", R"({"pod":"shop/a"})", 1, {"n1"}},
                 {"removePod", "without pod shop-2/b of priority 2 on n2", R"({"pod":"shop-2/b"})", 1, {"n2"}},
                 {"removePod", "without pod bank/shop of priority 2 on n3", R"({"pod":"bank/shop"})", 1, {}}};
  EXPECT_EQ(fit_line(fit, "shop", 512),
            "It would fit without pod shop/a of priority 1 on n1 (1 node); without a pod of lower priority on n2 (1 "
            "node); without a pod of lower priority (1 node).");
}

TEST(FitLine, SaysWhereNoSingleChangeIsEnough) {
  FitReport fit;
  fit.together = NodeFit{};
  fit.together->node = "n1";
  fit.together->changes = {option("with 1 instead of 2 cpu", 1), option("without its node selector a=b", 1)};
  EXPECT_EQ(fit_line(fit, "shop", 512),
            "It would fit on n1 with 1 instead of 2 cpu and without its node selector a=b.");
  fit = {};
  EXPECT_EQ(fit_line(fit, "shop", 512), "No change of the pod would make it fit.");
  fit.left = "n1 still says Fit: no\nroom";
  EXPECT_EQ(fit_line(fit, "shop", 512),
            "No change of the pod would make it fit: with every one, n1 still says Fit: no\\x0aroom.");
  fit.is_complete = false;
  EXPECT_EQ(fit_line(fit, "shop", 512), "") << "not all was tried";
}

TEST(FitLine, SaysWhereItFits) {
  FitReport fit;
  fit.fits_now = 3;
  EXPECT_EQ(fit_line(fit, "shop", 512), "It fits on 3 nodes as it is.");
}

}  // namespace
}  // namespace berth::report
