// A minimal SQLite wrapper for writing a file in one go. Errors are thrown as exceptions with SQLite's message.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace rpd::rocpd {

class DatabaseError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Database {
 public:
  explicit Database(const std::string& path);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  void run(const std::string& sql);
  sqlite3* handle() const { return handle_; }

 private:
  sqlite3* handle_ = nullptr;
};

// INSERT INTO table (columns...) VALUES (?, ...), executed once per row(). Values can be integers, doubles or text; nullopt
// and empty optionals become NULL. Values are bound, never spliced into the SQL; row() does not keep references to them.
class Insert {
 public:
  Insert(Database& database, std::string_view table, std::string_view columns);
  ~Insert();
  Insert(const Insert&) = delete;
  Insert& operator=(const Insert&) = delete;

  template <class... Values>
  void row(const Values&... values) {
    int parameter = 0;
    (bind(++parameter, values), ...);
    step();
  }

 private:
  void bind(int parameter, int64_t value);
  void bind(int parameter, uint64_t value) { bind(parameter, static_cast<int64_t>(value)); }
  void bind(int parameter, int value) { bind(parameter, int64_t{value}); }
  void bind(int parameter, uint32_t value) { bind(parameter, int64_t{value}); }
  void bind(int parameter, double value);
  void bind(int parameter, std::string_view value);
  void bind(int parameter, const std::string& value) { bind(parameter, std::string_view(value)); }
  void bind(int parameter, const char* value) { bind(parameter, std::string_view(value)); }
  void bind(int parameter, std::nullopt_t);
  template <class T>
  void bind(int parameter, const std::optional<T>& value) {
    if (value) bind(parameter, *value);
    else bind(parameter, std::nullopt);
  }
  void step();

  Database& database_;
  sqlite3_stmt* statement_ = nullptr;
};

}  // namespace rpd::rocpd
