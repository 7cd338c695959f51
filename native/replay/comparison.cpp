#include "replay/comparison.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace rpd::replay {
namespace {

constexpr uint64_t kPage = capture::kPage;
constexpr uint64_t kPiece = 4 << 20;

double from_f16(uint16_t bits) {
  const double sign = bits & 0x8000 ? -1 : 1;
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  if (exponent == 31) return fraction ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(fraction + 1024, exponent - 25);
}

size_t size_of(Number type) { return type == Number::f64 ? 8 : type == Number::f32 ? 4 : 2; }

double number_at(const unsigned char* bytes, Number type) {
  switch (type) {
    case Number::f64: {
      double value;
      std::memcpy(&value, bytes, sizeof value);
      return value;
    }
    case Number::f32: {
      float value;
      std::memcpy(&value, bytes, sizeof value);
      return value;
    }
    default: {
      uint16_t bits;
      std::memcpy(&bits, bytes, sizeof bits);
      return type == Number::f16 ? from_f16(bits) : std::bit_cast<float>(uint32_t{bits} << 16);
    }
  }
}

// The relative error that remains after the absolute tolerance has been subtracted; infinite for numbers that no tolerance can
// cover.
double error_beyond_absolute(double a, double b, const Tolerance& tolerance) {
  if (std::isnan(a) || std::isnan(b)) return INFINITY;
  if (a == b) return 0;  // -0 and 0
  const double difference = std::abs(a - b) - tolerance.absolute;
  return difference <= 0 ? 0 : difference / std::max(std::abs(a), std::abs(b));
}

struct Span {
  uint64_t begin, end;
  const Tolerance* tolerance;
};

// The parts of the region that have a tolerance, and therefore a type. The last tolerance that names an allocation wins.
std::vector<Span> typed(const capture::Region& region, const std::vector<Tolerance>& tolerances) {
  std::vector<Span> spans;
  const Tolerance* everywhere = nullptr;
  for (const Tolerance& tolerance : tolerances)
    if (tolerance.address == 0) everywhere = &tolerance;
  for (const capture::Allocation& allocation : region.allocations) {
    const Tolerance* chosen = region.kind == capture::Kind::code ? nullptr : everywhere;
    for (const Tolerance& tolerance : tolerances)
      if (tolerance.address != 0 && (tolerance.address == allocation.address || tolerance.address == region.base))
        chosen = &tolerance;
    if (chosen != nullptr)
      spans.push_back({allocation.address - region.base, allocation.address - region.base + allocation.bytes, chosen});
  }
  return spans;
}

class RegionComparison {
 public:
  RegionComparison(const capture::Region& region, const std::vector<Tolerance>& tolerances)
      : region_(region), spans_(typed(region, tolerances)) {
    verdict_.base = region.base, verdict_.bytes = region.bytes, verdict_.kind = region.kind;
  }

  // Adds the bytes from `offset` on, which must be whole pages.
  void add(uint64_t offset, const unsigned char* actual, const unsigned char* expected, uint64_t bytes) {
    for (uint64_t page = 0; page < bytes; page += kPage)
      if (std::memcmp(actual + page, expected + page, kPage) != 0)
        differing_page(offset + page, actual + page, expected + page);
  }
  RegionVerdict& verdict() { return verdict_; }

 private:
  const Span* span_of(uint64_t offset) const {
    for (const Span& span : spans_)
      if (offset >= span.begin && offset < span.end) return &span;
    return nullptr;
  }

  void differing_page(uint64_t offset, const unsigned char* actual, const unsigned char* expected) {
    for (uint64_t i = 0; i < kPage;) {
      if (actual[i] == expected[i]) {
        ++i;
        continue;
      }
      const Span* span = span_of(offset + i);
      const size_t size = span == nullptr ? 1 : size_of(span->tolerance->type);
      // Within an allocation, numbers are aligned to their size, so a number usually does not cross a page boundary.
      const uint64_t begin = span == nullptr ? i : i - (offset + i - span->begin) % size;
      if (begin > i || begin + size > kPage) {  // except that in an oddly aligned allocation, a number can span two pages
        count(offset + i, 1, true);
        ++i;
        continue;
      }
      uint64_t differing = 0;
      for (uint64_t k = begin; k < begin + size; ++k) differing += actual[k] != expected[k];
      bool beyond = true;
      if (span != nullptr) {
        const double error = error_beyond_absolute(number_at(actual + begin, span->tolerance->type),
                                                   number_at(expected + begin, span->tolerance->type), *span->tolerance);
        verdict_.largest_error = std::max(verdict_.largest_error, error);
        beyond = !(error <= span->tolerance->relative);
      }
      count(offset + begin, differing, beyond);
      i = begin + size;
    }
  }

  void count(uint64_t offset, uint64_t differing, bool beyond) {
    verdict_.differing_bytes += differing;
    if (!beyond) return;
    if (verdict_.beyond == 0) verdict_.first_difference = region_.base + offset;
    verdict_.beyond += differing;
  }

  const capture::Region& region_;
  const std::vector<Span> spans_;
  RegionVerdict verdict_;
};

// The pages that can differ from the expected content: the pages that the kernel changed in this run or when it was captured.
std::vector<bool> pages_to_compare(ExactMemory& memory, const capture::Capture& capture, uint32_t region) {
  std::vector<bool> pages(capture.regions()[region].bytes / kPage);
  const auto mark = [&](uint64_t offset, uint64_t bytes) {
    for (uint64_t page = offset / kPage; page < (offset + bytes) / kPage; ++page) pages[page] = true;
  };
  for (const PageRange& range : memory.changed(region)) mark(range.offset, range.bytes);
  for (const capture::Block& block : capture.blocks(capture::Phase::after))
    if (block.region == region) mark(block.offset, block.bytes);
  return pages;
}

uint64_t differing_bytes(const unsigned char* a, const unsigned char* b, uint64_t bytes) {
  uint64_t count = 0;
  for (uint64_t i = 0; i < bytes; ++i) count += a[i] != b[i];
  return count;
}

}  // namespace

Tolerance tolerance_from(const std::string& text) {
  Tolerance tolerance;
  std::string rest = text;
  const char* const wrong = "expected [0xADDRESS:]TYPE=RELATIVE[,ABSOLUTE] with TYPE one of f16, bf16, f32, f64";
  if (const size_t colon = rest.find(':'); colon != std::string::npos) {
    char* end = nullptr;
    tolerance.address = std::strtoull(rest.c_str(), &end, 16);
    if (end != rest.c_str() + colon || tolerance.address == 0) throw std::invalid_argument(wrong);
    rest = rest.substr(colon + 1);
  }
  const size_t equals = rest.find('=');
  const std::string type = rest.substr(0, equals);
  if (equals == std::string::npos) throw std::invalid_argument(wrong);
  if (type == "f16") tolerance.type = Number::f16;
  else if (type == "bf16") tolerance.type = Number::bf16;
  else if (type == "f32") tolerance.type = Number::f32;
  else if (type == "f64") tolerance.type = Number::f64;
  else throw std::invalid_argument(wrong);
  char* end = nullptr;
  const char* const numbers = rest.c_str() + equals + 1;
  tolerance.relative = std::strtod(numbers, &end);
  const bool has_absolute = *end == ',';
  if (end == numbers) throw std::invalid_argument(wrong);
  if (has_absolute) {
    const char* const second = end + 1;
    tolerance.absolute = std::strtod(second, &end);
    if (end == second) throw std::invalid_argument(wrong);
  }
  if (*end != '\0' || !(tolerance.relative >= 0) || !(tolerance.absolute >= 0)) throw std::invalid_argument(wrong);
  return tolerance;
}

Comparison compare(ExactMemory& memory, Image& image, const capture::Capture& capture,
                   const std::vector<Tolerance>& tolerances) {
  Comparison comparison;
  std::vector<unsigned char> actual(kPiece);
  for (uint32_t i = 0; i < capture.regions().size(); ++i) {
    const capture::Region& region = capture.regions()[i];
    const unsigned char* const expected = image.expected(i);
    const unsigned char* const before = image.before(i);
    const std::vector<bool> pages = pages_to_compare(memory, capture, i);
    RegionComparison of_region(region, tolerances);
    for (uint64_t page = 0; page < pages.size();) {
      if (!pages[page]) {
        ++page;
        continue;
      }
      uint64_t end = page;
      while (end < pages.size() && pages[end] && (end - page) * kPage < kPiece) ++end;
      const uint64_t offset = page * kPage, bytes = (end - page) * kPage;
      memory.read(region.base + offset, actual.data(), bytes);
      of_region.add(offset, actual.data(), expected + offset, bytes);
      page = end;
    }
    for (const capture::Block& block : capture.blocks(capture::Phase::after))
      if (block.region == i)
        of_region.verdict().expected_changes += differing_bytes(before + block.offset, expected + block.offset, block.bytes);
    comparison.equal &= of_region.verdict().beyond == 0;
    comparison.regions.push_back(of_region.verdict());
  }
  return comparison;
}

}  // namespace rpd::replay
