package import Essentials
package import EventLoop
import Glibc
import HubMachines

/// Answers requests of HTTP for a hub's metrics at a UNIX socket, which the hub's user and root may use.
///
/// It serves until it is closed or released. All methods may be called from any thread.
package final class HubMetricsServer: Sendable {
  /// Where it listens.
  package let path: String
  private let core: LoopConfined<MetricsServerCore>
  private let loop: EpollLoop

  private init(path: String, core: LoopConfined<MetricsServerCore>, loop: EpollLoop) {
    self.path = path
    self.core = core
    self.loop = loop
  }

  deinit { loop.execute { [core] in core.value.close() } }

  /// Bounds for clients.
  package struct Limits: Sendable {
    /// The maximum number of connections. Others get the status 503, and nothing waits for them.
    package var connectionCountMax = 16
    /// The time of a connection, from its beginning to its end.
    package var connectionTime = TimeSpan.seconds(5)
    /// The shortest time between two readings of the hub's numbers, which all requests in between share.
    package var readingSpacing = TimeSpan.milliseconds(100)

    package init() {}
  }

  /// Starts to listen.
  ///
  /// - Parameters:
  ///   - path: Where it listens, in a folder that no other user may change. The file of a server that has ended
  ///     is replaced.
  ///   - hub: The hub.
  ///   - limits: Bounds for clients.
  ///   - fileCheckSpan: How often it looks whether its path still names its socket, to listen again if not.
  ///   - loop: The event loop.
  ///   - onProblem: Called with a sentence when the socket can't be made again, and when it was.
  /// - Throws: If it can't listen, or another server does.
  package static func start(
    at path: String, of hub: HubServer, limits: Limits = Limits(),
    fileCheckSpan: TimeSpan = .seconds(5), on loop: EpollLoop = .shared,
    onProblem: @escaping @Sendable (String) -> Void = { _ in }
  ) async throws(SystemError) -> HubMetricsServer {
    let core = await loop.run {
      LoopConfined(
        MetricsServerCore(at: path, limits, on: loop) { await hub.metrics().text }, to: loop)
    }
    try await loop.run {
      core.value.start(fileCheckSpan: fileCheckSpan, onProblem: onProblem)
    }.get()
    return HubMetricsServer(path: path, core: core, loop: loop)
  }

  /// Closes all connections, and removes the socket.
  package func close() async { await loop.run { [core] in core.value.close() } }
}

/// The part that lives on the event loop.
private final class MetricsServerCore {
  private struct Connection {
    var channel: ByteChannel
    var request = MetricsRequest()
    /// Whether the request was read.
    var isRead = false
    var timer: any LoopTimer
  }

  private let path: String
  private let limits: HubMetricsServer.Limits
  private let loop: EpollLoop
  private let read: @Sendable () async -> String
  private var listener: StreamListener?
  private var file: SocketFileWatch?
  private var connections: [UInt64: Connection] = [:]
  private var lastNumber: UInt64 = 0
  /// The requests that the next reading answers, and whether each is for the head alone.
  private var waiting: [(number: UInt64, isHead: Bool)] = []
  private var isReading = false
  private var lastReading: Instant?

  init(
    at path: String, _ limits: HubMetricsServer.Limits, on loop: EpollLoop,
    read: @escaping @Sendable () async -> String
  ) {
    self.path = path
    self.limits = limits
    self.loop = loop
    self.read = read
  }

  // MARK: Listening

  func start(
    fileCheckSpan: TimeSpan, onProblem: @escaping @Sendable (String) -> Void
  ) -> Result<Void, SystemError> {
    do throws(SystemError) { try listen() } catch { return .failure(error) }
    let path = path
    let file = SocketFileWatch(
      path, span: fileCheckSpan,
      makeAgain: { [weak self] () throws(SystemError) in try self?.listen() },
      onResult: { error in
        onProblem(
          error.map { "The hub has no metrics at \(path) any more: \($0.text)." }
            ?? "The hub has metrics at \(path) again, where their socket was removed or replaced.")
      })
    file.start(on: loop)
    self.file = file
    return .success(())
  }

  private func listen() throws(SystemError) {
    guard let address = SocketAddress(path: path) else { throw SystemError(number: ENAMETOOLONG) }
    do throws(UNIXSocketFile.Obstacle) { try UNIXSocketFile.removeStale(at: path) } catch {
      throw SystemError(number: error == .isListenedAt ? EADDRINUSE : EEXIST)
    }
    let new = try StreamListener(at: address, permissions: 0o600, on: loop) { [weak self] in
      self?.accept($0)
    }
    listener?.close()
    listener = new
  }

  func close() {
    listener?.close()
    listener = nil
    file?.close()
    file = nil
    for number in Array(connections.keys) { end(number) }
    waiting = []
  }

  // MARK: Connections

  private func accept(_ descriptor: Int32) {
    _ = DescriptorLimit.hasRoom()
    lastNumber += 1
    let number = lastNumber
    do throws(SystemError) {
      let channel = try ByteChannel(
        owning: descriptor, on: loop, onRead: { [weak self] in self?.received($0, on: number) },
        onEnd: { [weak self] _ in self?.end(number) })
      guard connections.count < limits.connectionCountMax else {
        channel.write(MetricsRequest.answer(.busy))
        return channel.close()
      }
      let timer = loop.makeTimer { [weak self] in self?.end(number) }
      timer.set(.now + limits.connectionTime)
      connections[number] = Connection(channel: channel, timer: timer)
    } catch { return }
  }

  private func end(_ number: UInt64) {
    guard let connection = connections.removeValue(forKey: number) else { return }
    connection.timer.cancel()
    connection.channel.close()
  }

  private func received(_ bytes: [UInt8], on number: UInt64) {
    // What follows the request is of no interest.
    guard connections[number]?.isRead == false,
      let outcome = connections[number]?.request.append(bytes)
    else { return }
    connections[number]?.isRead = true
    switch outcome {
    case .refused(let status): answer(number, MetricsRequest.answer(status))
    case .metrics(let isHead):
      waiting.append((number, isHead))
      scheduleReading()
    }
  }

  private func answer(_ number: UInt64, _ bytes: [UInt8]) {
    guard let channel = connections[number]?.channel else { return }
    // The client has the rest of its time to take it.
    channel.onDrain = { [weak channel] in channel?.shutDown() }
    channel.write(bytes)
    if channel.pendingByteCount == 0 { channel.shutDown() }
  }

  // MARK: Reading the numbers

  private func scheduleReading() {
    guard !isReading else { return }
    isReading = true
    let due = lastReading.map { $0 + limits.readingSpacing } ?? .now
    loop.schedule(in: max(.zero, due - .now)) { [weak self] in self?.startReading() }
  }

  private func startReading() {
    let core = LoopConfined(WeakMetricsCore(self), to: loop)
    Task { [loop, read] in
      let text = await read()
      loop.execute { core.value.core?.finishReading(text) }
    }
  }

  private func finishReading(_ text: String) {
    isReading = false
    lastReading = .now
    let answered = waiting
    waiting = []
    for (number, isHead) in answered {
      answer(number, MetricsRequest.answer(text, isHead: isHead))
    }
  }
}

/// A reference that tasks may keep.
private final class WeakMetricsCore {
  weak let core: MetricsServerCore?
  init(_ core: MetricsServerCore) { self.core = core }
}
