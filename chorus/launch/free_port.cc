#include "chorus/launch/free_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "chorus/transport/shm/arena.h"

namespace chorus {

Result<int> FreePort() {
  const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  if (!socket.valid() ||
      bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    return ResourceExhausted("no free port on the loopback interface");
  }
  return static_cast<int>(ntohs(address.sin_port));
}

}  // namespace chorus
