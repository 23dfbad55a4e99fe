// Files of whole arrays: NumPy's .npy, version 1.0, row-major, which most tools read.
//
// f32 is '<f4', f64 '<f8', i32 '<i4'. There is no bf16 in .npy: it is written as the f32 that it
// is, exactly, and rounded when it is read as bf16. Thread safety: as ShardedArray.
#pragma once

#include <string>

#include "chorus/base/status.h"
#include "chorus/tensor/sharded_array.h"

namespace chorus {

// Writes the whole array, its sums done, to `path`; rank 0 does. A collective call; every rank
// hears whether it went well. Errors: the file cannot be written.
Status SaveNpy(const ShardedArray& array, const std::string& path);

// Reads an array; each rank takes its block from the file, which all must see. Sizes are those of
// the file. Numbers are rounded to `dtype`. A collective call. Errors: no such file, no array of
// '<f4',
// '<f8' or '<i4' in row-major order in it, another number of dimensions than the spec has; those of
// ShardedArray::Generate.
Result<ShardedArray> LoadNpy(Runtime& runtime, const Spec& spec, DType dtype,
                             const std::string& path);

}  // namespace chorus
