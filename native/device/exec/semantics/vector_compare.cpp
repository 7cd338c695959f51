// VOPC: comparisons and class tests, some of which write exec.
#include "exec/floating_point.h"
#include "exec/lane_function.h"

namespace rpd {
namespace {

#define COMPARE_AS(KIND, NAME, T, TEST)                                          \
  compare<[](T a, T b) -> bool { return TEST; }, false>("v_cmp_" NAME).as(KIND), \
      compare<[](T a, T b) -> bool { return TEST; }, true>("v_cmpx_" NAME).as(KIND)
#define COMPARE(NAME, T, TEST) COMPARE_AS(Arithmetic::None, NAME, T, TEST)

#define INTEGER_COMPARES(KIND, SUFFIX, T)                                                                \
  COMPARE_AS(KIND, "f_" SUFFIX, T, ((void)a, (void)b, false)), COMPARE_AS(KIND, "lt_" SUFFIX, T, a < b), \
      COMPARE_AS(KIND, "eq_" SUFFIX, T, a == b), COMPARE_AS(KIND, "le_" SUFFIX, T, a <= b),              \
      COMPARE_AS(KIND, "gt_" SUFFIX, T, a > b), COMPARE_AS(KIND, "ne_" SUFFIX, T, a != b),               \
      COMPARE_AS(KIND, "ge_" SUFFIX, T, a >= b), COMPARE_AS(KIND, "t_" SUFFIX, T, ((void)a, (void)b, true))

// lg means ordered and unequal; the n-forms are the negations, and are true for NaN.
#define FLOAT_COMPARES(SUFFIX, T)                                                                                              \
  COMPARE("f_" SUFFIX, T, ((void)a, (void)b, false)), COMPARE("lt_" SUFFIX, T, a < b), COMPARE("eq_" SUFFIX, T, a == b),       \
      COMPARE("le_" SUFFIX, T, a <= b), COMPARE("gt_" SUFFIX, T, a > b), COMPARE("lg_" SUFFIX, T, a<b || a> b),                \
      COMPARE("ge_" SUFFIX, T, a >= b), COMPARE("o_" SUFFIX, T, !is_nan(a) && !is_nan(b)),                                     \
      COMPARE("u_" SUFFIX, T, is_nan(a) || is_nan(b)), COMPARE("nge_" SUFFIX, T, !(a >= b)),                                   \
      COMPARE("nlg_" SUFFIX, T, !(a < b || a > b)), COMPARE("ngt_" SUFFIX, T, !(a > b)), COMPARE("nle_" SUFFIX, T, !(a <= b)), \
      COMPARE("neq_" SUFFIX, T, !(a == b)), COMPARE("nlt_" SUFFIX, T, !(a < b)),                                               \
      COMPARE("tru_" SUFFIX, T, ((void)a, (void)b, true))

#define CLASS_COMPARES(SUFFIX, T)                                                                                  \
  regardless_of_mode(compare<[](T v, uint32_t mask) { return in_class(v, mask); }, false>("v_cmp_class_" SUFFIX)), \
      regardless_of_mode(compare<[](T v, uint32_t mask) { return in_class(v, mask); }, true>("v_cmpx_class_" SUFFIX))

using enum Arithmetic;

const Semantics kTable[] = {
    INTEGER_COMPARES(None, "i16", int16_t),
    INTEGER_COMPARES(None, "u16", uint16_t),
    INTEGER_COMPARES(Integer32, "i32", int32_t),
    INTEGER_COMPARES(Integer32, "u32", uint32_t),
    INTEGER_COMPARES(Integer64, "i64", int64_t),
    INTEGER_COMPARES(Integer64, "u64", uint64_t),
    FLOAT_COMPARES("f16", Half),
    FLOAT_COMPARES("f32", float),
    FLOAT_COMPARES("f64", double),
    CLASS_COMPARES("f16", Half),
    CLASS_COMPARES("f32", float),
    CLASS_COMPARES("f64", double),
};

}  // namespace

std::span<const Semantics> vector_compare_semantics() { return kTable; }

}  // namespace rpd
