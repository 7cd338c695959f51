#pragma once

namespace rpd::rocpd {

// rocpd/schema.sql as it was at build time, with its {{uuid}} and {{guid}}.
extern const char* const kSchema;

}  // namespace rpd::rocpd
