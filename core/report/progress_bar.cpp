// SPDX-License-Identifier: Apache-2.0
#include "report/progress_bar.hpp"

#include <spdlog/fmt/fmt.h>

#include <ostream>

#include "report/report_text.hpp"

namespace berth::report {
namespace {
constexpr std::size_t k_cells = 30;
}

ProgressBar::ProgressBar(std::ostream& out, const Clock& clock, bool visible, std::string what)
    : out_(out),
      clock_(clock),
      visible_(visible),
      what_(std::move(what)),
      start_ns_(clock.monotonic_ns()),
      next_ns_(start_ns_ + k_patience_ns) {}

ProgressBar::~ProgressBar() {
  if (drawn_) out_ << "\r\033[K" << std::flush;
}

void ProgressBar::update(std::size_t done, std::size_t all) {
  if (!visible_) return;
  const std::int64_t now = clock_.monotonic_ns();
  if (now < next_ns_) return;
  next_ns_ = now + k_period_ns;
  draw(done, all, now);
}

void ProgressBar::draw(std::size_t done, std::size_t all, std::int64_t now_ns) {
  drawn_ = true;
  const double seconds = static_cast<double>(now_ns - start_ns_) / 1e9;
  const double rate = static_cast<double>(done) / seconds;
  if (all == 0) {
    out_ << fmt::format("\r{} {}, {:.0f}/s\033[K", what_, done, rate) << std::flush;
    return;
  }
  const Usage usage{static_cast<std::int64_t>(done), static_cast<std::int64_t>(all)};
  out_ << fmt::format("\r{} {} {:>3}% {}/{}, {:.0f}/s\033[K", what_, usage_bar(usage, k_cells), percent(usage), done,
                      all, rate)
       << std::flush;
}

}  // namespace berth::report
