#pragma once

namespace rpd::rocpd {

// The contents of rocpd/schema.sql at build time, including the placeholders {{uuid}} and {{guid}}.
extern const char* const kSchema;

}  // namespace rpd::rocpd
