// explain --run: the chosen plan carried out on ranks of this host, and what came of it.
#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "chorus/apps/cli/trace_option.h"
#include "chorus/base/status.h"
#include "chorus/mesh/mesh.h"
#include "chorus/shard/product.h"

namespace chorus::cli {

struct RunOptions {
  bool run = false;
  bool processes = false;
  int repetitions = 5;
  TraceOption trace;
};

// Adds --run and the options that need it.
void AddRunOptions(CLI::App& explain, RunOptions& options);

// What is to be run.
struct RunRequest {
  const Product& product;
  const ProductAnswer& answer;
  const Mesh& mesh;
  const DimSizes& sizes;
  DType dtype = DType::kF32;
};

// Error if this host cannot: no kernels, too many ranks, too much memory. To be asked before
// anything is printed.
Status CheckRun(const RunRequest& q);

// Runs it and prints the outcome; if `json` is not null, prints that with the outcome as its member
// "run" instead. `right`: the result is that of the dense product and every count was predicted.
// REQUIRES: CheckRun is ok. Errors: a rank that failed.
Status RunExplained(const RunRequest& q, const RunOptions& o, const nlohmann::ordered_json* json,
                    bool& right);

}  // namespace chorus::cli
