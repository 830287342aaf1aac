// SPDX-License-Identifier: Apache-2.0
#include "observe/breadcrumb.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>

namespace berth::observe {
namespace {

TEST(Breadcrumb, KeepsThePodAsNamespaceAndName) {
  enter_pod("batch", "job-7");
  EXPECT_STREQ(t_breadcrumb.pod, "batch/job-7");
  enter_pod("", "job-7");
  EXPECT_STREQ(t_breadcrumb.pod, "/job-7");
  enter_pod("b", "");
  EXPECT_STREQ(t_breadcrumb.pod, "b/");
  leave_pod();
  EXPECT_STREQ(t_breadcrumb.pod, "");
}

TEST(Breadcrumb, CutsNamesAtTheLongestLegalOne) {
  enter_pod(std::string(100, 'n'), std::string(400, 'p'));
  EXPECT_EQ(std::string(t_breadcrumb.pod), std::string(63, 'n') + "/" + std::string(253, 'p'));
  leave_pod();
}

TEST(Breadcrumb, ComesBackAfterANestedCall) {
  const CrumbOwner outer{"outer", "1", nullptr, nullptr};
  const CrumbOwner inner{"inner", "1", nullptr, nullptr};
  enter_plugin(outer, Point::post_filter);
  enter_block(64, 128);
  {
    const BreadcrumbNesting nesting;
    enter_plugin(inner, Point::filter);
    enter_block(0, 64);
    leave_plugin();
  }
  EXPECT_EQ(t_breadcrumb.owner.load(), &outer);
  EXPECT_EQ(t_breadcrumb.point.load(), Point::post_filter);
  EXPECT_EQ(t_breadcrumb.first_slot.load(), 64u);
  EXPECT_EQ(t_breadcrumb.end_slot.load(), 128u);
  leave_plugin();
  leave_block();
}

TEST(Breadcrumb, OfAPodComesBackAfterAnotherPod) {
  {
    const PodBreadcrumb outer("batch", "job-7");
    {
      const PodBreadcrumb inner("web", "shop");
      EXPECT_STREQ(t_breadcrumb.pod, "web/shop");
    }
    EXPECT_STREQ(t_breadcrumb.pod, "batch/job-7");
  }
  EXPECT_STREQ(t_breadcrumb.pod, "");
}

TEST(Breadcrumb, IsOfOneThread) {
  const CrumbOwner owner{"plugin", "1", nullptr, nullptr};
  enter_plugin(owner, Point::score);
  std::thread([] { EXPECT_EQ(t_breadcrumb.owner.load(), nullptr); }).join();
  leave_plugin();
}

TEST(PointName, IsDifferentForEachPoint) {
  std::set<std::string> names;
  for (int i = 0; i <= static_cast<int>(Point::task); ++i) names.insert(point_name(static_cast<Point>(i)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(Point::task) + 1);
  EXPECT_EQ(names.count("unknown"), 0u);
}

}  // namespace
}  // namespace berth::observe
