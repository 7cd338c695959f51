#include "rocpd/database.h"

#include <sqlite3.h>

#include <algorithm>

namespace rpd::rocpd {
namespace {

void check(int result, sqlite3* handle) {
  if (result == SQLITE_OK || result == SQLITE_DONE || result == SQLITE_ROW) return;
  std::string text = sqlite3_errmsg(handle);
  if (const int error = sqlite3_system_errno(handle); error != 0)
    text += std::string(" (") + std::string(sqlite3_errstr(result)) + ", errno " + std::to_string(error) + ")";
  throw DatabaseError(text);
}

}  // namespace

Database::Database(const std::string& path) {
  check(sqlite3_open_v2(path.c_str(), &handle_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr), handle_);
}

Database::~Database() { sqlite3_close(handle_); }

void Database::run(const std::string& sql) { check(sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr), handle_); }

Insert::Insert(Database& database, std::string_view table, std::string_view columns) : database_(database) {
  const auto count = 1 + std::count(columns.begin(), columns.end(), ',');
  std::string sql = "INSERT INTO \"" + std::string(table) + "\" (" + std::string(columns) + ") VALUES (?";
  for (int i = 1; i < count; ++i) sql += ",?";
  sql += ")";
  check(sqlite3_prepare_v2(database.handle(), sql.c_str(), -1, &statement_, nullptr), database.handle());
}

Insert::~Insert() { sqlite3_finalize(statement_); }

void Insert::bind(int parameter, int64_t value) { check(sqlite3_bind_int64(statement_, parameter, value), database_.handle()); }

void Insert::bind(int parameter, double value) { check(sqlite3_bind_double(statement_, parameter, value), database_.handle()); }

void Insert::bind(int parameter, std::string_view value) {
  check(sqlite3_bind_text(statement_, parameter, value.data(), static_cast<int>(value.size()), SQLITE_STATIC),
        database_.handle());
}

void Insert::bind(int parameter, std::nullopt_t) { check(sqlite3_bind_null(statement_, parameter), database_.handle()); }

void Insert::step() {
  check(sqlite3_step(statement_), database_.handle());
  check(sqlite3_reset(statement_), database_.handle());
}

}  // namespace rpd::rocpd
