// The CPU targets that kernels are compiled for, the same in every file: the baseline, AVX2 and
// AVX-512. Those in between and beyond would double the time to build and change no loop of ours.
// Include before any header of Highway.
#pragma once

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
