// SPDX-License-Identifier: Apache-2.0
/// BERTH_VECTOR_CLONES before a function that is one loop over columns: compiled for the baseline and for AVX2, chosen
/// by the CPU when the file is loaded. What it calls must be inlined to be compiled along: BERTH_ALWAYS_INLINE.
///
/// Without fused multiply-add, so both variants give the same doubles. Nothing under sanitizers, whose runtime is not
/// up yet when the choice is made, and nothing on other architectures.
#pragma once
/// For what a function with BERTH_VECTOR_CLONES calls.
#define BERTH_ALWAYS_INLINE inline __attribute__((always_inline))

#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__) && !defined(__clang__)
#define BERTH_VECTOR_CLONES __attribute__((target_clones("default", "avx2", "arch=x86-64-v4")))
#else
#define BERTH_VECTOR_CLONES
#endif
