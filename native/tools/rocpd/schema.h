#pragma once

namespace rpd::rocpd {

// rocpd/schema.sql as of build time, with its placeholders {{uuid}} and {{guid}}.
extern const char* const kSchema;

}  // namespace rpd::rocpd
