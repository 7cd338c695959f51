// Stands for a process of the command line that a server forks: `served_cli SOCKET ARGUMENT...`. See served_cli.py.
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

struct text {
  char* bytes;
  size_t size;
};

static void add(struct text* to, const char* word) {
  const size_t size = strlen(word) + 1;
  to->bytes = realloc(to->bytes, to->size + size);
  memcpy(to->bytes + to->size, word, size);
  to->size += size;
}

// The folder, the number of arguments, these, and the environment.
static struct text request(int count, char** arguments) {
  struct text text = {0};
  char *folder = getcwd(NULL, 0), number[16];
  snprintf(number, sizeof number, "%d", count);
  add(&text, folder ? folder : "/");
  add(&text, number);
  for (int i = 0; i < count; ++i) add(&text, arguments[i]);
  for (char** variable = environ; *variable; ++variable) add(&text, *variable);
  return text;
}

static void fail(const char* what) {
  perror(what);
  exit(125);
}

static void send_streams(int to, uint32_t size) {
  const int streams[3] = {0, 1, 2};
  union {
    char bytes[CMSG_SPACE(sizeof streams)];
    struct cmsghdr aligned;
  } control = {0};
  struct iovec data = {&size, sizeof size};
  struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  struct cmsghdr* rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof streams);
  memcpy(CMSG_DATA(rights), streams, sizeof streams);
  if (sendmsg(to, &message, 0) != sizeof size) fail("served_cli: cannot pass the standard streams");
}

static void send_all(int to, struct text text) {
  for (size_t sent = 0; sent < text.size;) {
    const ssize_t now = write(to, text.bytes + sent, text.size - sent);
    if (now <= 0) fail("served_cli: cannot pass the arguments");
    sent += (size_t)now;
  }
}

int main(int count, char** arguments) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (count < 2 || strlen(arguments[1]) >= sizeof address.sun_path) return 125;
  strcpy(address.sun_path, arguments[1]);
  const int server = socket(AF_UNIX, SOCK_STREAM, 0);
  if (connect(server, (struct sockaddr*)&address, sizeof address) != 0) fail("served_cli: no server");
  const struct text text = request(count - 2, arguments + 2);
  send_streams(server, (uint32_t)text.size);
  send_all(server, text);
  int status;
  if (recv(server, &status, sizeof status, MSG_WAITALL) != sizeof status) fail("served_cli: the server is gone");
  if (WIFSIGNALED(status)) {
    signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));
  }
  return WEXITSTATUS(status);
}
