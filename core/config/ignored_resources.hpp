// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "config/extender.hpp"
#include "config/profile.hpp"
#include "config/raw_configuration.hpp"
#include "config/read/fields.hpp"

namespace berth::config {

/// Part of resolve(): tells a profile which resources extenders count by themselves. Their names replace the
/// args that conf/extender-resources.yaml names; where no extender says so, nothing happens. A profile that neither
/// enables nor configures one of those plugins is a problem. Source: kubernetes v1.36 pkg/scheduler/scheduler.go
/// (buildExtenders).
void ignore_managed_resources(const std::vector<Extender>& extenders, const RawProfile& raw, const Source& source,
                              Profile& profile);

}  // namespace berth::config
