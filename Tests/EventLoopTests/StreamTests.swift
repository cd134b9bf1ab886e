import Essentials
import Glibc
import Synchronization
import Testing

@testable import EventLoop

extension EpollLoop {
  /// Runs something on the loop and returns its result.
  fileprivate func run<Result: Sendable>(
    _ body: @escaping @Sendable () throws -> Result
  ) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
      execute { continuation.resume(with: .init { try body() }) }
    }
  }
}

/// A mutable value that is used on one loop.
private final class Box<Value> {
  var value: Value
  init(_ value: Value) { self.value = value }
}

@Suite("Byte channels", .timeLimit(.minutes(5)))
struct ByteChannelTests {
  private let loop = EpollLoop()

  private func makeChannel(
    _ descriptor: Int32, onEnd: @escaping @Sendable (SystemError?) -> Void = { _ in }
  ) async throws -> (LoopConfined<ByteChannel>, AsyncStream<[UInt8]>) {
    let (portions, continuation) = AsyncStream.makeStream(of: [UInt8].self)
    let loop = loop
    let channel = try await loop.run {
      LoopConfined(
        try ByteChannel(
          owning: descriptor, on: loop, onRead: { continuation.yield($0) },
          onEnd: {
            onEnd($0)
            continuation.finish()
          }), to: loop)
    }
    return (channel, portions)
  }

  @Test("bytes that a peer doesn't read wait in order, and reading goes on when it does")
  func slowPeer() async throws {
    let ends = try SocketPair.make()
    let (channel, _) = try await makeChannel(ends.watched)
    let all = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
    let (drained, continuation) = AsyncStream.makeStream(of: Void.self)
    let pendingCount = try await loop.run {
      channel.value.onDrain = { continuation.finish() }
      for start in stride(from: 0, to: all.count, by: 100_000) {
        channel.value.write(Array(all[start..<(start + 100_000)]))
      }
      return channel.value.pendingByteCount
    }
    #expect(pendingCount > 1_000_000)
    let reader = Task.detached {
      var found: [UInt8] = []
      var buffer = [UInt8](repeating: 0, count: 70_001)
      while found.count < all.count {
        var waiting = pollfd(fd: ends.other, events: Int16(POLLIN), revents: 0)
        guard unsafe poll(&waiting, 1, 50_000) == 1 else { break }
        let count = unsafe read(ends.other, &buffer, buffer.count)
        guard count > 0 else { break }
        found += buffer.prefix(count)
      }
      return found
    }
    for await _ in drained {}
    #expect(await reader.value == all)
    #expect(try await loop.run { channel.value.pendingByteCount } == 0)
    try await loop.run { channel.value.close() }
    close(ends.other)
  }

  @Test("a peer that is gone is an error of writing, reported once, and no signal")
  func brokenPipe() async throws {
    let ends = try SocketPair.make()
    let errors = Mutex<[SystemError?]>([])
    let (channel, portions) = try await makeChannel(ends.watched) { error in
      errors.withLock { $0.append(error) }
    }
    try await loop.run {
      close(ends.other)
      channel.value.write([1])
      channel.value.write([2])
      #expect(channel.value.isOpen, "it is reported in a turn of its own")
    }
    for await _ in portions {}
    #expect(errors.withLock { $0 } == [SystemError(number: EPIPE)])
    #expect(try await loop.run { channel.value.isOpen } == false)
  }

  @Test("what a peer sent before it was gone is read, also where writing to it fails first")
  func lastWords() async throws {
    let ends = try SocketPair.make()
    let errors = Mutex<[SystemError?]>([])
    let (channel, portions) = try await makeChannel(ends.watched) { error in
      errors.withLock { $0.append(error) }
    }
    let reason = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
    // In one turn of the loop, which doesn't see before it that there is something to read.
    try await loop.run {
      let count = unsafe reason.withUnsafeBytes {
        unsafe write(ends.other, $0.baseAddress, $0.count)
      }
      #expect(count == reason.count)
      close(ends.other)
      channel.value.write([1])
    }
    var found: [UInt8] = []
    for await portion in portions { found += portion }
    #expect(found == reason)
    #expect(errors.withLock { $0 } == [SystemError(number: EPIPE)])
  }

  @Test(
    "what a peer sent before it was gone waits for a channel that doesn't read when writing fails")
  func lastWordsWait() async throws {
    let ends = try SocketPair.make()
    let errors = Mutex<[SystemError?]>([])
    let (channel, portions) = try await makeChannel(ends.watched) { error in
      errors.withLock { $0.append(error) }
    }
    try await loop.run {
      _ = unsafe write(ends.other, [7, 8] as [UInt8], 2)
      close(ends.other)
      channel.value.isReading = false
      channel.value.write([1])
    }
    // What the failure has scheduled is done in the turns before.
    for _ in 0..<3 { #expect(try await loop.run { channel.value.isOpen }) }
    #expect(errors.withLock { $0 }.isEmpty)
    try await loop.run { channel.value.isReading = true }
    var found: [[UInt8]] = []
    for await portion in portions { found.append(portion) }
    #expect(found == [[7, 8]])
    #expect(errors.withLock { $0 } == [SystemError(number: EPIPE)])
  }

  @Test("a channel that doesn't read until its buffer is empty reads on when writing fails")
  func failedBuffer() async throws {
    let ends = try SocketPair.make()
    let errors = Mutex<[SystemError?]>([])
    let (channel, portions) = try await makeChannel(ends.watched) { error in
      errors.withLock { $0.append(error) }
    }
    try await loop.run {
      channel.value.onDrain = { channel.value.isReading = true }
      channel.value.write([UInt8](repeating: 1, count: 3_000_000))
      #expect(channel.value.pendingByteCount > 0)
      channel.value.isReading = false
      _ = unsafe write(ends.other, [9], 1)
      close(ends.other)
    }
    var found: [[UInt8]] = []
    for await portion in portions { found.append(portion) }
    #expect(found == [[9]])
    #expect(errors.withLock { $0 }.count == 1)
  }

  @Test("a channel that reads little at a time lets another one read in between")
  func smallReads() async throws {
    let (long, short) = (try SocketPair.make(), try SocketPair.make())
    let bytes = [UInt8](repeating: 7, count: 30_000)
    #expect(unsafe write(long.other, bytes, bytes.count) == bytes.count)
    #expect(unsafe write(short.other, [8], 1) == 1)
    let (reads, read) = AsyncStream.makeStream(of: [UInt8].self)
    let loop = loop
    let channels = try await loop.run {
      try [long.watched, short.watched].map { descriptor in
        LoopConfined(
          try ByteChannel(
            owning: descriptor, on: loop, readByteCountMax: 10_000, onRead: { read.yield($0) },
            onEnd: { _ in }), to: loop)
      }
    }
    var found: [[UInt8]] = []
    for await portion in reads {
      found.append(portion)
      if found.joined().count == bytes.count + 1 { break }
    }
    #expect(found.prefix(2).contains([8]))
    #expect(found.map(\.count).max() == 10_000)
    try await loop.run { for channel in channels { channel.value.close() } }
    close(long.other)
    close(short.other)
  }

  @Test("a socket that is shut down is read to the end, although another process may have it, too")
  func shutDown() async throws {
    let ends = try SocketPair.make()
    let (channel, portions) = try await makeChannel(ends.watched)
    // As a child of the peer has it.
    let copy = dup(ends.other)
    try await loop.run {
      _ = unsafe write(ends.other, [7], 1)
      close(ends.other)
      channel.value.shutDown()
    }
    var found: [[UInt8]] = []
    for await portion in portions { found.append(portion) }
    #expect(found == [[7]])
    close(copy)
  }

  @Test("bytes for a channel that doesn't read wait with the system, also when the peer has closed")
  func pausedReading() async throws {
    let ends = try SocketPair.make()
    let (channel, portions) = try await makeChannel(ends.watched)
    try await loop.run { channel.value.isReading = false }
    _ = unsafe write(ends.other, [7], 1)
    close(ends.other)
    // A loop that is called again and again for the closed peer would not get to sleep: see its time.
    let before = try await loop.run { Self.threadTime() }
    try await withCheckedThrowingContinuation {
      (continuation: CheckedContinuation<Void, any Error>) in
      loop.execute { [loop] in loop.schedule(in: .milliseconds(50)) { continuation.resume() } }
    }
    let spent: TimeSpan = try await loop.run { Self.threadTime() } - before
    #expect(spent < .milliseconds(25))
    try await loop.run { channel.value.isReading = true }
    var found: [[UInt8]] = []
    for await portion in portions { found.append(portion) }
    #expect(found == [[7]])
  }

  /// The processor time of the calling thread.
  private static func threadTime() -> Instant {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Instant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
  }
}

@Suite("Connecting and accepting", .timeLimit(.minutes(5)))
struct StreamConnectionTests {
  private let loop = EpollLoop()

  private func lookUp(_ host: String, _ port: UInt16) async throws -> [SocketAddress] {
    await withCheckedContinuation { continuation in
      loop.execute { [loop] in
        NameLookup.addresses(of: host, port: port, on: loop) {
          continuation.resume(returning: $0 ?? [])
        }
      }
    }
  }

  private func connect(
    timeout: TimeSpan = .seconds(50), _ start: @escaping @Sendable (StreamConnector) -> Void
  ) async -> Result<Int32, ConnectError> {
    await withCheckedContinuation { continuation in
      loop.execute { [loop] in
        let box = Box<StreamConnector?>(nil)
        let connector = StreamConnector(on: loop, timeout: timeout) { result in
          withExtendedLifetime(box) {}
          box.value = nil
          continuation.resume(returning: result)
        }
        box.value = connector
        start(connector)
      }
    }
  }

  private func listen(
    at address: SocketAddress
  ) async throws -> (LoopConfined<StreamListener>, SocketAddress, AsyncStream<Int32>) {
    let (accepted, continuation) = AsyncStream.makeStream(of: Int32.self)
    let loop = loop
    let (listener, bound) = try await loop.run {
      let listener = try StreamListener(at: address, on: loop) { continuation.yield($0) }
      return (LoopConfined(listener, to: loop), listener.address)
    }
    return (listener, bound, accepted)
  }

  @Test("the next address is tried where one refuses; neither socket is inherited or blocks")
  func nextAddress() async throws {
    let unused = try #require(try await lookUp("127.0.0.1", 1).first)
    let any = try #require(try await lookUp("127.0.0.1", 0).first)
    let (listener, bound, accepted) = try await listen(at: any)
    let result = await connect { $0.connect(to: [unused, bound]) }
    let ours = try result.get()
    let theirs = try #require(await accepted.first { _ in true })
    for descriptor in [ours, theirs] {
      #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
      #expect(fcntl(descriptor, F_GETFL) & O_NONBLOCK != 0)
      close(descriptor)
    }
    try await loop.run { listener.value.close() }
  }

  @Test("an address that never answers doesn't keep the next one waiting, nor the loop")
  func silentAddress() async throws {
    let silent = try SilentPort()
    defer { silent.close() }
    let any = try #require(try await lookUp("127.0.0.1", 0).first)
    let (listener, bound, _) = try await listen(at: any)
    close(try await connect { $0.connect(to: [silent.address, bound]) }.get())
    let timedOut = await connect(timeout: .milliseconds(50)) { $0.connect(to: [silent.address]) }
    #expect(timedOut == .failure(.timedOut))
    try await loop.run { listener.value.close() }
  }

  @Test("after an IPv4 address an IPv6 address is tried before the next IPv4 address")
  func versionsInTurn() async throws {
    let silent = try SilentPort()
    defer { silent.close() }
    let (older, olderAddress, _) = try await listen(
      at: try #require(try await lookUp("127.0.0.1", 0).first))
    let (newer, newerAddress, _) = try await listen(
      at: try #require(try await lookUp("::1", 0).first))
    let addresses = [silent.address, olderAddress, newerAddress]
    let descriptor = try await connect { $0.connect(to: addresses) }.get()
    #expect(SocketAddress(boundTo: descriptor)?.family == AF_INET6)
    close(descriptor)
    for listener in [older, newer] { try await loop.run { listener.value.close() } }
  }

  @Test("sixteen connections of a burst are accepted at once, none once the listener is closed")
  func burst() throws {
    let address = try #require(
      SocketAddress(abstractName: "ambit-burst-\(UInt64.random(in: 0 ... .max))"))
    let listener = try address.makeSocket()
    var open = [listener]
    defer { for descriptor in open { close(descriptor) } }
    try #require(address.with { unsafe bind(listener, $0, $1) } == 0)
    try #require(Glibc.listen(listener, 64) == 0)
    for _ in 0..<20 {
      let client = try address.makeSocket()
      open.append(client)
      try #require(address.with { unsafe Glibc.connect(client, $0, $1) } == 0)
    }
    var counts: [Int] = []
    for isOpen in [false, true, true, true] {
      var accepted: [Int32] = []
      let shortage = StreamListener.acceptWaiting(at: listener) { descriptor in
        accepted.append(descriptor)
        return isOpen
      }
      #expect(shortage == nil)
      for descriptor in accepted {
        #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
        #expect(fcntl(descriptor, F_GETFL) & O_NONBLOCK != 0)
      }
      open += accepted
      counts.append(accepted.count)
    }
    #expect(counts == [1, 16, 3, 0])
  }

  @Test("a UNIX socket whose queue of connections is full is tried again until it has room")
  func fullQueue() async throws {
    let path = "/tmp/ambit-\(UInt64.random(in: 0 ... .max)).socket"
    let address = try #require(SocketAddress(path: path))
    let listener = try address.makeSocket()
    var open = [listener]
    defer {
      for descriptor in open { close(descriptor) }
      unlink(path)
    }
    try #require(address.with { unsafe bind(listener, $0, $1) } == 0)
    try #require(Glibc.listen(listener, 0) == 0)
    var status: Int32 = 0
    while status == 0 {
      let client = try address.makeSocket()
      open.append(client)
      status = address.with { unsafe Glibc.connect(client, $0, $1) }
    }
    let result = await connect {
      $0.connect(to: [address])
      let accepted = accept(listener, nil, nil)
      #expect(accepted >= 0)
      close(accepted)
    }
    open.append(try result.get())
  }

  @Test("no address at all is an unknown host, the last refusal is the error")
  func failures() async throws {
    #expect(await connect { $0.connect(to: []) } == .failure(.unknownHost))
    let refused = try #require(try await lookUp("127.0.0.1", 1).first)
    #expect(
      await connect { $0.connect(to: [refused]) }
        == .failure(.system(SystemError(number: ECONNREFUSED))))
  }

  @Test("a name is looked up off the loop")
  func lookup() async throws {
    #expect(try await lookUp("localhost", 5).allSatisfy { $0.port == 5 })
    #expect(try await !lookUp("localhost", 5).isEmpty)
    #expect(try await lookUp("does-not-exist.invalid", 5).isEmpty)
  }

  /// A TCP port whose queue of connections is full, so that nothing answers (tcp(7)).
  private struct SilentPort {
    let address: SocketAddress
    private let descriptors: [Int32]

    init() throws {
      let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
      let listener = socket(AF_INET, type, 0)
      guard Glibc.listen(listener, 0) == 0,
        let address = SocketAddress(boundTo: listener)
      else { throw SystemError.current }
      self.address = address
      // One more than the backlog is accepted by the kernel; the rest wait for an answer.
      descriptors =
        [listener]
        + (0..<4).map { _ in
          let client = socket(AF_INET, type, 0)
          _ = address.with { unsafe Glibc.connect(client, $0, $1) }
          return client
        }
    }

    func close() { for descriptor in descriptors { Glibc.close(descriptor) } }
  }
}
