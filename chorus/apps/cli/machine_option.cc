#include "chorus/apps/cli/machine_option.h"

namespace chorus::cli {

void AddMachineOptions(CLI::App& command, answer::MachineOptions& options) {
  command.add_option("--on", options.on,
                     "Machine: h100-8, h100-8x16 (devices x nodes), v5e-8x4 (axes), or a file");
  command.add_option("--catalogue", options.catalogues, "More hardware, from this TOML file");
  command.add_option("--bandwidth", options.bandwidth,
                     "Of a link of the fabric, per direction, instead of the catalogue's: 370GB/s");
  command.add_option("--latency", options.latency, "Of a link of the fabric: 1us");
  command.add_flag("--wrap", options.wrap, "Insist that every axis of the torus wraps");
}

}  // namespace chorus::cli
