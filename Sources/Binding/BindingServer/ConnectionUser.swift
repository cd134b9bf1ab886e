#if BindingServer
  internal import Foundation
  internal import NIOCore

  /// The user of this machine at the other end of a connection, by the kernel's tables of connections
  /// (proc_net_tcp).
  enum ConnectionUser {
    /// The user who has opened a connection; nil if that was on another machine, or is unknown.
    static func of(_ channel: any Channel) -> UInt32? {
      guard let peer = channel.remoteAddress.flatMap(Endpoint.init),
        let server = channel.localAddress.flatMap(Endpoint.init)
      else { return nil }
      for table in ["tcp", "tcp6"] {
        let contents = contents(of: "/proc/net/\(table)")
        if let user = user(of: peer, to: server, inTable: contents) { return user }
      }
      return nil
    }

    /// The text of a table, which the kernel hands out a page at a time: `String` reads the first one only.
    /// Empty if it can't be read.
    static func contents(of path: String) -> String {
      let descriptor = open(path, O_RDONLY | O_CLOEXEC)
      guard descriptor >= 0 else { return "" }
      defer { close(descriptor) }
      var bytes: [UInt8] = []
      var buffer = [UInt8](repeating: 0, count: 65_536)
      while true {
        let count = read(descriptor, &buffer, buffer.count)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
        bytes += buffer[..<count]
      }
    }

    /// An address and a port.
    struct Endpoint: Equatable {
      /// 16 bytes; an address of IPv4 is mapped (RFC 4291, §2.5.5.2).
      var address: [UInt8]
      var port: UInt16

      init?(_ address: SocketAddress) {
        guard let text = address.ipAddress, let port = address.port else { return nil }
        var v4 = in_addr()
        var v6 = in6_addr()
        if inet_pton(AF_INET, text, &v4) == 1 {
          self.address = Self.mapped(withUnsafeBytes(of: v4) { Array($0) })
        } else if inet_pton(AF_INET6, text, &v6) == 1 {
          self.address = withUnsafeBytes(of: v6) { Array($0) }
        } else {
          return nil
        }
        self.port = UInt16(truncatingIfNeeded: port)
      }

      /// One of a table: words of four bytes, each as this machine's number, and the port.
      init?(inTable text: Substring) {
        let parts = text.split(separator: ":")
        guard parts.count == 2, [8, 32].contains(parts[0].count),
          let port = UInt16(parts[1], radix: 16)
        else { return nil }
        var bytes: [UInt8] = []
        var rest = parts[0]
        while !rest.isEmpty {
          guard let word = UInt32(rest.prefix(8), radix: 16) else { return nil }
          bytes += withUnsafeBytes(of: word) { Array($0) }
          rest = rest.dropFirst(8)
        }
        address = bytes.count == 4 ? Self.mapped(bytes) : bytes
        self.port = port
      }

      private static func mapped(_ bytes: [UInt8]) -> [UInt8] {
        Array(repeating: 0, count: 10) + [0xFF, 0xFF] + bytes
      }
    }

    /// The user of the socket with this address, connected to the server's.
    static func user(of peer: Endpoint, to server: Endpoint, inTable table: String) -> UInt32? {
      for line in table.split(separator: "\n").dropFirst() {
        // Number, local and remote address, state, queues, timer, retransmits, user, timeout, inode.
        let fields = line.split(separator: " ")
        // An established one (1) that a process has: the kernel's own have no inode, and user 0.
        guard fields.count >= 10, fields[3] == "01", fields[9] != "0",
          Endpoint(inTable: fields[1]) == peer, Endpoint(inTable: fields[2]) == server
        else { continue }
        return UInt32(fields[7])
      }
      return nil
    }
  }
#endif
