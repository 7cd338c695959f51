// SQLite's archive calls these two, of which glibc 2.44 has new versions: a package would need that glibc for what no query here
// uses. Compiled into packages only.
#include <cmath>

extern "C" double sinh(double x) { return (std::exp(x) - std::exp(-x)) / 2; }
extern "C" double cosh(double x) { return (std::exp(x) + std::exp(-x)) / 2; }
