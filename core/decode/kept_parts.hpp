// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace berth::decode {

/// Parts of pods that only some plugins read, and that every pod has of its own: they cost more than all else of it.
struct KeptParts {
  /// Pod::annotations. Symbols last as long as the process, and networks write addresses into annotations.
  bool annotations = true;
  /// Volumes of kind other: each pod has one for its service account's token, under a name of its own.
  bool plain_volumes = true;
};

}  // namespace berth::decode
