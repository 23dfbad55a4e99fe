#include "chorus/tensor/npy.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <utility>
#include <vector>

#include "chorus/base/scanner.h"
#include "chorus/tensor/agreement.h"

namespace chorus {
namespace {

static_assert(std::endian::native == std::endian::little, "files are little-endian");

constexpr std::string_view kMagic("\x93NUMPY\x01\x00", 8);
constexpr std::size_t kHeaderStart = 10;  // magic, version, two bytes of length
constexpr std::size_t kHeaderAlignment = 64;

// What is in a file, and where.
struct NpyHeader {
  DType dtype = DType::kF32;
  std::vector<std::int64_t> sizes;
  std::int64_t data = 0;  // first byte of the elements
};

std::string_view NumpyName(DType dtype) {
  return dtype == DType::kF64 ? "<f8" : dtype == DType::kI32 ? "<i4" : "<f4";
}

std::string HeaderText(DType dtype, const Shape& shape) {
  std::string sizes;
  for (const std::int64_t size : shape.sizes()) sizes += fmt::format("{}, ", size);
  if (shape.rank() > 1) sizes.resize(sizes.size() - 2);  // "(3,)" of one, "(3, 4)" of more
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                 NumpyName(dtype), sizes);
  const std::size_t used = kHeaderStart + text.size() + 1;
  text.append((kHeaderAlignment - used % kHeaderAlignment) % kHeaderAlignment, ' ');
  text += '\n';
  std::string header(kMagic);
  header += static_cast<char>(text.size() & 0xff);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

Status NotThis(const std::string& path, std::string_view what) {
  return InvalidArgument(fmt::format(
      "'{}' {}; give a .npy file of '<f4', '<f8' or '<i4' in row-major order", path, what));
}

// Reads the dictionary: 'descr', 'fortran_order' and 'shape', in any order.
Status ReadDictionary(Scanner& scanner, NpyHeader& header, bool& row_major) {
  int found = 0;
  if (!scanner.Accept("{")) return scanner.Error("'{' is missing here");
  while (!scanner.Accept("}")) {
    if (scanner.Accept("'descr':")) {
      if (scanner.Accept("'<f4'")) {
        header.dtype = DType::kF32;
      } else if (scanner.Accept("'<f8'")) {
        header.dtype = DType::kF64;
      } else if (scanner.Accept("'<i4'")) {
        header.dtype = DType::kI32;
      } else {
        return scanner.Error("another type of elements");
      }
    } else if (scanner.Accept("'fortran_order':")) {
      row_major = scanner.Accept("False");
      if (!row_major && !scanner.Accept("True")) return scanner.Error("True or False is missing");
    } else if (scanner.Accept("'shape':")) {
      if (!scanner.Accept("(")) return scanner.Error("'(' is missing here");
      while (!scanner.Accept(")")) {
        CHORUS_ASSIGN_OR_RETURN(const std::int64_t size, scanner.TakeCount("a size"));
        header.sizes.push_back(size);
        scanner.Accept(",");
      }
    } else {
      return scanner.Error("an unknown entry");
    }
    ++found;
    scanner.Accept(",");
  }
  return found == 3 ? OkStatus() : scanner.Error("an entry is missing");
}

Result<NpyHeader> ReadHeader(std::ifstream& file, const std::string& path) {
  std::array<char, kHeaderStart> start{};
  if (!file.read(start.data(), kHeaderStart) ||
      std::memcmp(start.data(), kMagic.data(), kMagic.size()) != 0) {
    return NotThis(path, "does not begin as a .npy file of version 1.0");
  }
  const std::size_t length = static_cast<unsigned char>(start[8]) |
                             static_cast<std::size_t>(static_cast<unsigned char>(start[9])) << 8;
  std::string text(length, ' ');
  if (!file.read(text.data(), static_cast<std::streamsize>(length))) {
    return NotThis(path, "ends within its header");
  }
  NpyHeader header;
  header.data = static_cast<std::int64_t>(kHeaderStart + length);
  bool row_major = true;
  Scanner scanner(text);
  const Status status = ReadDictionary(scanner, header, row_major);
  if (!status.ok()) return NotThis(path, "has another header");
  if (!row_major) return NotThis(path, "is column-major");
  return header;
}

// Elements of the open file by their position, read some thousand at a time.
class ElementReader {
 public:
  ElementReader(std::ifstream& file, const NpyHeader& header) : file_(file), header_(header) {}

  double At(std::int64_t index) {
    if (index < first_ || index >= first_ + count_) Fill(index);
    const auto at = static_cast<std::size_t>((index - first_) * SizeOf(header_.dtype));
    switch (header_.dtype) {
      case DType::kF64:
        return As<double>(at);
      case DType::kI32:
        return As<std::int32_t>(at);
      default:
        return static_cast<double>(As<float>(at));
    }
  }
  bool ok() const { return ok_; }

 private:
  static constexpr std::int64_t kElements = 4096;

  template <typename T>
  T As(std::size_t at) const {
    T value{};
    std::memcpy(&value, buffer_.data() + at, sizeof(T));
    return value;
  }

  void Fill(std::int64_t index) {
    const std::int64_t size = SizeOf(header_.dtype);
    buffer_.assign(static_cast<std::size_t>(kElements * size), 0);
    first_ = index;
    count_ = kElements;
    file_.clear();
    file_.seekg(header_.data + index * size);
    file_.read(buffer_.data(), std::ssize(buffer_));
    if (file_.gcount() < size) ok_ = false;
    count_ = std::max<std::int64_t>(1, file_.gcount() / size);
  }

  std::ifstream& file_;
  const NpyHeader& header_;
  std::vector<char> buffer_;
  std::int64_t first_ = 0;
  std::int64_t count_ = 0;
  bool ok_ = true;
};

template <typename T>
void WriteElements(std::ofstream& file, const std::vector<double>& elements) {
  std::vector<T> out;
  out.reserve(elements.size());
  for (const double element : elements) out.push_back(static_cast<T>(element));
  file.write(reinterpret_cast<const char*>(out.data()),
             static_cast<std::streamsize>(out.size() * sizeof(T)));
}

Status WriteFile(const std::string& path, DType dtype, const PlainArray& whole) {
  std::ofstream file(path, std::ios::binary);
  const std::string header = HeaderText(dtype, whole.shape);
  file.write(header.data(), std::ssize(header));
  if (dtype == DType::kF64) {
    WriteElements<double>(file, whole.elements);
  } else if (dtype == DType::kI32) {
    WriteElements<std::int32_t>(file, whole.elements);
  } else {
    WriteElements<float>(file, whole.elements);
  }
  file.close();
  if (file) return OkStatus();
  return InvalidArgument(fmt::format("'{}' cannot be written ({}); give a path that can be", path,
                                     std::strerror(errno)));
}

Result<ShardedArray> LoadOwn(Runtime& runtime, const Spec& spec, DType dtype,
                             const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return NotThis(path, fmt::format("cannot be read ({})", std::strerror(errno)));
  CHORUS_ASSIGN_OR_RETURN(const NpyHeader header, ReadHeader(file, path));
  if (header.sizes.size() != spec.dims().size()) {
    return InvalidArgument(fmt::format("'{}' is {}, but {} has {} dimensions", path,
                                       Shape(header.sizes).ToString(), spec.ToString(),
                                       spec.dims().size()));
  }
  DimSizes sizes;
  for (std::size_t d = 0; d < header.sizes.size(); ++d) {
    sizes[spec.dims()[d].name] = header.sizes[d];
  }
  ElementReader reader(file, header);
  CHORUS_ASSIGN_OR_RETURN(ShardedArray array, ShardedArray::Generate(runtime, spec, dtype, sizes,
                                                                     [&](std::int64_t global) {
                                                                       return reader.At(global);
                                                                     }));
  if (!reader.ok()) return NotThis(path, "ends before its last element");
  return array;
}

}  // namespace

Status SaveNpy(const ShardedArray& array, const std::string& path) {
  const std::string question = "SaveNpy of " + array.Title();
  CHORUS_ASSIGN_OR_RETURN(const PlainArray whole, ToGlobal(array, question));
  Runtime& runtime = array.runtime();
  return AgreeOn(runtime, question,
                 runtime.rank() == 0 ? WriteFile(path, array.dtype(), whole) : OkStatus());
}

Result<ShardedArray> LoadNpy(Runtime& runtime, const Spec& spec, DType dtype,
                             const std::string& path) {
  Result<ShardedArray> array = LoadOwn(runtime, spec, dtype, path);
  CHORUS_RETURN_IF_ERROR(AgreeOn(
      runtime, fmt::format("LoadNpy of {} {}", Name(dtype), spec.ToString()), array.status()));
  // The sizes are the file's, which need not be the same file everywhere.
  CHORUS_RETURN_IF_ERROR(AgreeOn(runtime, "LoadNpy of " + array->Title(), OkStatus()));
  return array;
}

}  // namespace chorus
