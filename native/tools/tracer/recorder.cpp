#include "tracer/recorder.h"

namespace rpd::tracer {

spool::Spool& the_spool() {
  static spool::Spool& spool = *new spool::Spool;
  return spool;
}

}  // namespace rpd::tracer
