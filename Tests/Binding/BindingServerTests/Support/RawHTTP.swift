#if BindingServer
  import Foundation
  import NIOCore
  import NIOPosix
  import PageClient

  /// A client that sends what no browser would, and reads only when it wants to.
  struct RawHTTP {
    struct Answer {
      var status: Int
      var fields: [String: String]
      var body: String
    }

    struct Failure: Error {
      var reason: String
    }

    var port: Int

    /// Sends one request on a connection of its own and reads the answer whole.
    ///
    /// - Parameter fields: Header fields; `Host` is added if none is among them.
    func send(
      _ method: String, _ path: String, _ fields: [String: String] = [:], body: [UInt8]? = nil
    ) async throws -> Answer {
      let head = head(method, path, fields.merging(["Connection": "close"]) { a, _ in a }, body)
      return try await connected { inbound, outbound in
        try await outbound.write(ByteBuffer(bytes: head + (body ?? [])))
        var received: [UInt8] = []
        var iterator = inbound.makeAsyncIterator()
        // Where the server closes with data unread, the connection may be reset after the answer.
        while let part = try? await iterator.next(isolation: #isolation) {
          received += part.readableBytesView
          if let answer = Self.answer(received) { return answer }
        }
        guard let answer = Self.answer(received, isWhole: true) else {
          throw Failure(reason: "no answer: \(String(decoding: received, as: UTF8.self))")
        }
        return answer
      }
    }

    func post(_ body: String, _ fields: [String: String] = [:]) async throws -> Answer {
      try await send("POST", "/live", fields, body: Array(body.utf8))
    }

    /// A stream of events that is open.
    struct Stream {
      var status: Int
      var fields: [String: String]
      fileprivate var reader = EventReader()
      fileprivate var waiting: [StreamEvent] = []
      fileprivate var iterator: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
      /// The bytes of chunks that have come so far, and aren't read.
      fileprivate var chunks = ChunkReader()

      /// The next event; nil at the end.
      mutating func next() async throws -> StreamEvent? {
        while waiting.isEmpty {
          guard let part = try await iterator.next(isolation: #isolation) else { return nil }
          waiting += reader.read(chunks.read(part.readableBytesView))
          if chunks.isAtEnd, waiting.isEmpty { return nil }
        }
        return waiting.removeFirst()
      }

      /// The value of the last `retry:` field.
      var retry: Int? { reader.retry }
    }

    /// Opens a stream and closes it afterwards.
    ///
    /// - Parameter receiveBuffer: How much the system takes for a client that doesn't read.
    func stream<Result>(
      _ path: String, _ fields: [String: String] = [:], receiveBuffer: Int? = nil,
      _ body: (inout Stream) async throws -> Result
    ) async throws -> Result {
      let head = head("GET", path, fields, nil)
      return try await connected(receiveBuffer: receiveBuffer) { inbound, outbound in
        try await outbound.write(ByteBuffer(bytes: head))
        var iterator = inbound.makeAsyncIterator()
        var received: [UInt8] = []
        while true {
          guard let part = try await iterator.next(isolation: #isolation) else {
            throw Failure(reason: "no answer")
          }
          received += part.readableBytesView
          guard let (status, fields, rest) = Self.head(received) else { continue }
          var stream = Stream(status: status, fields: fields, iterator: iterator)
          stream.waiting = stream.reader.read(stream.chunks.read(rest))
          return try await body(&stream)
        }
      }
    }

    /// Opens a connection without sending a request.
    func connected<Result>(
      receiveBuffer: Int? = nil,
      _ body: (
        NIOAsyncChannelInboundStream<ByteBuffer>, NIOAsyncChannelOutboundWriter<ByteBuffer>
      ) async throws -> Result
    ) async throws -> Result {
      var bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .channelOption(.allowRemoteHalfClosure, value: true)
      if let receiveBuffer {
        bootstrap = bootstrap.channelOption(
          .socketOption(.so_rcvbuf), value: SocketOptionValue(receiveBuffer))
      }
      let channel = try await bootstrap.connect(host: "127.0.0.1", port: port) { channel in
        channel.eventLoop.makeCompletedFuture {
          try NIOAsyncChannel(
            wrappingChannelSynchronously: channel,
            configuration: .init(
              backPressureStrategy: .init(lowWatermark: 1, highWatermark: 2),
              isOutboundHalfClosureEnabled: true, inboundType: ByteBuffer.self,
              outboundType: ByteBuffer.self))
        }
      }
      return try await channel.executeThenClose { inbound, outbound in
        try await body(inbound, outbound)
      }
    }

    // MARK: Text

    private func head(
      _ method: String, _ path: String, _ fields: [String: String], _ body: [UInt8]?
    ) -> [UInt8] {
      var fields = fields
      if fields["Host"] == nil { fields["Host"] = "127.0.0.1:\(port)" }
      if let body, fields["Content-Length"] == nil { fields["Content-Length"] = "\(body.count)" }
      let lines = fields.filter { !$0.value.isEmpty }.map { "\($0.key): \($0.value)\r\n" }
      return Array("\(method) \(path) HTTP/1.1\r\n\(lines.sorted().joined())\r\n".utf8)
    }

    /// Status and fields, and what comes after them.
    private static func head(_ bytes: [UInt8]) -> (Int, [String: String], ArraySlice<UInt8>)? {
      let blank = Array("\r\n\r\n".utf8)
      guard let end = bytes.indices.first(where: { bytes[$0...].starts(with: blank) }) else {
        return nil
      }
      let lines = String(decoding: bytes[..<end], as: UTF8.self).split(separator: "\r\n")
      guard let status = lines.first?.split(separator: " ").dropFirst().first.flatMap({ Int($0) })
      else { return nil }
      var fields: [String: String] = [:]
      for line in lines.dropFirst() {
        let parts = line.split(separator: ":", maxSplits: 1)
        guard parts.count == 2 else { continue }
        fields[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces)
      }
      return (status, fields, bytes[(end + blank.count)...])
    }

    private static func answer(_ bytes: [UInt8], isWhole: Bool = false) -> Answer? {
      guard let (status, fields, rest) = head(bytes) else { return nil }
      let length = fields["content-length"].flatMap { Int($0) } ?? (status == 204 ? 0 : nil)
      guard isWhole || length.map({ rest.count >= $0 }) == true else { return nil }
      return Answer(status: status, fields: fields, body: String(decoding: rest, as: UTF8.self))
    }
  }

  /// Decodes a body in chunks (RFC 9112, §7.1), in pieces of any size.
  struct ChunkReader {
    private var waiting: [UInt8] = []
    private(set) var isAtEnd = false

    mutating func read(_ bytes: some Sequence<UInt8>) -> [UInt8] {
      waiting += bytes
      var data: [UInt8] = []
      var start = 0
      while let line = waiting[start...].firstIndex(of: UInt8(ascii: "\n")) {
        let text = String(decoding: waiting[start..<line], as: UTF8.self)
          .trimmingCharacters(in: .whitespacesAndNewlines)
        guard let count = Int(text, radix: 16), waiting.count >= line + 1 + count + 2 else { break }
        if count == 0 { isAtEnd = true }
        data += waiting[line + 1..<line + 1 + count]
        start = line + 1 + count + 2
      }
      waiting.removeFirst(start)
      return data
    }
  }
#endif
