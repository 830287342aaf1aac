// SPDX-License-Identifier: Apache-2.0
#include "observe/metric_page.hpp"

#include <gtest/gtest.h>

namespace berth::observe {
namespace {

TEST(MetricPage, IsSortedAndLeavesOutWhatHasNoSample) {
  MetricPage page;
  page.add_one(MetricKind::gauge, "z_last", "Last.", 1);
  page.add(MetricKind::counter, "m_empty_total", "Nothing.", {});
  page.add(MetricKind::counter, "a_first_total", "First.", {{{{"l", "x"}}, 2}});
  EXPECT_EQ(page.text(),
            "# HELP a_first_total First.\n# TYPE a_first_total counter\na_first_total{l=\"x\"} 2\n"
            "# HELP z_last Last.\n# TYPE z_last gauge\nz_last 1\n");
}

TEST(MetricPage, SumsUpTheBucketsOfAHistogram) {
  MetricPage page;
  const std::vector<double> bounds{0.5, 1};
  page.add_histogram("h_seconds", "H.", bounds, {{{}, {3, 2, 1}, 4.5}});
  EXPECT_EQ(page.text(),
            "# HELP h_seconds H.\n# TYPE h_seconds histogram\n"
            "h_seconds_bucket{le=\"0.5\"} 3\nh_seconds_bucket{le=\"1\"} 5\nh_seconds_bucket{le=\"+Inf\"} 6\n"
            "h_seconds_sum 4.5\nh_seconds_count 6\n");
}

/// Series are told apart by this text: kube-scheduler's and berth's are one only where it is the same.
TEST(MetricPage, WritesBoundsAsGoDoes) {
  const std::vector<std::pair<double, const char*>> bounds{{1e-8, "1e-08"},
                                                           {0.00001, "1e-05"},
                                                           {0.00001 * 1.5, "1.5000000000000002e-05"},
                                                           {0.00001 * 1.5 * 1.5, "2.2500000000000005e-05"},
                                                           {0.0001, "0.0001"},
                                                           {0.001, "0.001"},
                                                           {0.1 + 0.2, "0.30000000000000004"},
                                                           {16.384, "16.384"},
                                                           {3600, "3600"},
                                                           {604800, "604800"},
                                                           {1'000'000, "1e+06"},
                                                           {2'592'000, "2.592e+06"},
                                                           {124'416'000, "1.24416e+08"},
                                                           {1e21, "1e+21"}};
  MetricPage page;
  std::vector<double> values;
  for (const auto& [value, text] : bounds) values.push_back(value);
  page.add_histogram("h", "H.", values, {{{}, std::vector<std::uint64_t>(values.size() + 1), 0}});
  const std::string text = page.text(), open = page.open_metrics();
  for (const auto& [value, written] : bounds) {
    EXPECT_NE(text.find("h_bucket{le=\"" + std::string(written) + "\"} 0\n"), std::string::npos) << written << '\n'
                                                                                                 << text;
    const std::string in_open =
        std::string(written).find_first_of(".e") == std::string::npos ? std::string(written) + ".0" : written;
    EXPECT_NE(open.find("h_bucket{le=\"" + in_open + "\"} 0\n"), std::string::npos) << in_open << '\n' << open;
  }
}

TEST(MetricPage, CanBeWrittenAsOpenMetrics) {
  MetricPage page;
  page.add(MetricKind::counter, "c_total", "C \"quoted\".", {{{{"l", "a\\b\n"}}, 2}});
  page.add_one(MetricKind::counter, "d_attempts", "D.", 1.5);
  page.add_one(MetricKind::gauge, "e", "E.", 1e21);
  page.add_histogram("h_seconds", "H.", std::vector<double>{0.5, 1}, {{{{"l", "x"}}, {3, 2, 1}, 4}});
  EXPECT_EQ(page.open_metrics(),
            "# HELP c C \\\"quoted\\\".\n# TYPE c counter\nc_total{l=\"a\\\\b\\n\"} 2.0\n"
            "# HELP d_attempts D.\n# TYPE d_attempts unknown\nd_attempts 1.5\n"
            "# HELP e E.\n# TYPE e gauge\ne 1e+21\n"
            "# HELP h_seconds H.\n# TYPE h_seconds histogram\nh_seconds_bucket{l=\"x\",le=\"0.5\"} 3\n"
            "h_seconds_bucket{l=\"x\",le=\"1.0\"} 5\nh_seconds_bucket{l=\"x\",le=\"+Inf\"} 6\n"
            "h_seconds_sum{l=\"x\"} 4.0\nh_seconds_count{l=\"x\"} 6\n# EOF\n");
}

TEST(MetricPage, EscapesWhatWouldEndALineOrALabel) {
  MetricPage page;
  page.add(MetricKind::gauge, "g", "Two\nlines, a \\ and \"quotes\".", {{{{"l", "a\\b\"c\nd"}}, 1e6}});
  EXPECT_EQ(page.text(),
            "# HELP g Two\\nlines, a \\\\ and \"quotes\".\n# TYPE g gauge\ng{l=\"a\\\\b\\\"c\\nd\"} 1000000\n");
}

TEST(MetricPage, HidesWhatAnOperatorDoesNotWant) {
  MetricPage page;
  page.add_one(MetricKind::gauge, "hidden", "H.", 1);
  page.add(MetricKind::gauge, "g", "G.", {{{{"l", "good"}}, 1}, {{{"l", "odd"}}, 2}});
  MetricFilter filter;
  filter.disabled = {"hidden"};
  filter.allowed_values["g,l"] = {"good"};
  EXPECT_EQ(page.text(filter), "# HELP g G.\n# TYPE g gauge\ng{l=\"good\"} 1\ng{l=\"unexpected\"} 2\n");
}

TEST(MetricPage, KnowsItsProcess) {
  MetricPage page;
  add_process_metrics(page);
  const std::string text = page.text();
  for (const char* name :
       {"process_cpu_seconds_total ", "process_resident_memory_bytes ", "process_open_fds ", "process_max_fds ",
        "go_goroutines ", "go_threads ", "process_start_time_seconds ", "process_virtual_memory_bytes "})
    EXPECT_NE(text.find(std::string("\n") + name), std::string::npos) << name << text;
}

}  // namespace
}  // namespace berth::observe
