#if BindingServer
  import Foundation

  /// A client that sends a request and never reads the answer.
  final class StalledClient: Sendable {
    private let descriptor: Int32
    private let serverPort: Int
    private let port: Int

    struct Failure: Error {
      var call: String
    }

    init(_ request: String, port serverPort: Int) throws {
      self.serverPort = serverPort
      let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      self.descriptor = descriptor
      // The system takes little for it.
      var size: Int32 = 2_048
      setsockopt(
        descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout.size(ofValue: size)))
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = in_port_t(serverPort).bigEndian
      address.sin_addr.s_addr = inet_addr("127.0.0.1")
      var length = socklen_t(MemoryLayout.size(ofValue: address))
      var own = address
      let isConnected = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          connect(descriptor, $0, length) == 0
        }
      }
      let hasName = withUnsafeMutablePointer(to: &own) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          getsockname(descriptor, $0, &length) == 0
        }
      }
      port = Int(in_port_t(bigEndian: own.sin_port))
      guard isConnected, hasName else { throw Failure(call: "connect") }
      try send(request)
    }

    deinit { close(descriptor) }

    func send(_ text: String) throws {
      let bytes = Array(text.utf8)
      // Without SIGPIPE: sending to a closed connection must not end the tests.
      let count = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
      guard count == bytes.count else { throw Failure(call: "send") }
    }

    /// Whether the server still has its side of the connection open (proc(5), `/proc/net/tcp`).
    var isOpenAtServer: Bool {
      get throws {
        guard let file = fopen("/proc/net/tcp", "r") else { throw Failure(call: "fopen") }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 4_096)
        while case let count = fread(&part, 1, part.count, file), count > 0 {
          bytes += part.prefix(count)
        }
        let table = String(decoding: bytes, as: UTF8.self)
        let ports = [serverPort, port].map { ":" + String(format: "%04X", $0) }
        return table.split(separator: "\n").contains { line in
          let fields = line.split(separator: " ")
          // 01 is ESTABLISHED, 08 CLOSE_WAIT.
          return fields.count > 3 && fields[1].hasSuffix(ports[0]) && fields[2].hasSuffix(ports[1])
            && ["01", "08"].contains(fields[3])
        }
      }
    }

    /// Waits until the server has closed the connection; false if it hasn't after longer than a busy machine needs.
    func isClosed() async throws -> Bool {
      let end = ContinuousClock().now + .seconds(60)
      while try isOpenAtServer {
        guard ContinuousClock().now < end else { return false }
        try await Task.sleep(for: .milliseconds(5))
      }
      return true
    }
  }
#endif
