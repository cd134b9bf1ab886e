public import BluetoothWire
import Essentials
import Glibc
import EventLoop
import NIOCore
import NIOPosix
public import Simulation

/// A simulated radio that hosts of other processes join: H4 over TCP or UNIX sockets, a controller
/// of its own for every connection, all of them on the same air in real time. It serves until it is
/// closed or let go of.
public final class RadioServer: Sendable {
  /// What happens at a server.
  public enum Event: Sendable, Hashable {
    /// A host connected and got a controller.
    case connected(controller: String, DeviceAddress)
    /// A host went, for this reason.
    case disconnected(controller: String, reason: String)
    /// A host was turned away, for this reason.
    case refused(reason: String)
  }

  /// Where the server listens; with the port that the system chose where 0 was asked for.
  public let addresses: [RadioChoice]
  let core: NIOLoopBound<RadioServerCore>
  let eventLoop: any EventLoop

  private init(
    addresses: [RadioChoice], core: NIOLoopBound<RadioServerCore>, eventLoop: any EventLoop
  ) {
    self.addresses = addresses
    self.core = core
    self.eventLoop = eventLoop
  }

  deinit { eventLoop.execute { [core] in _ = core.value.close() } }

  /// Starts to listen.
  ///
  /// - Parameters:
  ///   - addresses: `tcp` and `unix` radios; port 0 lets the system choose.
  ///   - maxConnections: How many hosts may be connected at a time; more are turned away.
  ///   - makeWorld: Makes the world, on the server's event loop.
  ///   - onEvent: Told on the event loop what happens.
  /// - Throws: `RadioServerError` where it cannot listen at one of the addresses.
  public static func start(
    at addresses: [RadioChoice], maxConnections: Int = 64,
    makeWorld: @escaping @Sendable () -> World,
    onEvent: @escaping @Sendable (Event) -> Void = { _ in }
  ) async throws(RadioServerError) -> RadioServer {
    let eventLoop: any EventLoop = MultiThreadedEventLoopGroup.singleton.next()
    let made = eventLoop.submit {
      let core = RadioServerCore(
        air: RealTimeAir(world: makeWorld(), on: eventLoop), maxConnections: maxConnections,
        onEvent: onEvent)
      return NIOLoopBound(core, eventLoop: eventLoop)
    }
    let core: NIOLoopBound<RadioServerCore>
    do { core = try await made.get() } catch { throw RadioServerError("\(error)") }
    var bound: [RadioChoice] = []
    for address in addresses {
      do throws(RadioServerError) {
        bound.append(try await listen(at: address, core: core, on: eventLoop))
      } catch {
        await RadioServer(addresses: bound, core: core, eventLoop: eventLoop).close()
        throw error
      }
    }
    return RadioServer(addresses: bound, core: core, eventLoop: eventLoop)
  }

  private static func listen(
    at address: RadioChoice, core: NIOLoopBound<RadioServerCore>, on eventLoop: any EventLoop
  ) async throws(RadioServerError) -> RadioChoice {
    let bootstrap = ServerBootstrap(group: eventLoop)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .serverChannelInitializer { $0.prepareToAccept() }
      .childChannelOption(
        .writeBufferWaterMark,
        value: .init(low: Limits.slowReaderByteCount / 2, high: Limits.slowReaderByteCount)
      )
      .childChannelOption(.recvAllocator, value: ChannelOptions.largeReads)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          channel.closeOnExec()
          let handler = RadioServerConnection(core: core.value)
          try channel.pipeline.syncOperations.addHandler(handler)
        }
      }
    do {
      let channel: any Channel
      switch address {
      case .tcp(let host, let port):
        channel = try await bootstrap.childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
          .bind(host: host, port: Int(port)).get()
      case .unix(let path):
        try await UNIXSocketFile.removeStale(at: path, on: eventLoop)
        channel = try await bootstrap.bind(unixDomainSocketPath: path).get()
      case .simulated, .uart, .hci:
        throw RadioServerError(
          "A radio is served at tcp:HOST:PORT or unix:PATH, not at \(address).")
      }
      let listener = RadioServerCore.Listener(channel: channel, address: address)
      try await eventLoop.submit { core.value.listeners.append(listener) }.get()
      guard case .tcp(let host, _) = address, let port = channel.localAddress?.port else {
        return address
      }
      return .tcp(host: host, port: UInt16(truncatingIfNeeded: port))
    } catch {
      throw RadioServerError(error, address: address)
    }
  }

  /// Changes the world: runs the work on the server's event loop, soon.
  public func withWorld(_ work: @escaping @Sendable (World) -> Void) {
    eventLoop.execute { [core] in core.value.air.interact(work) }
  }

  /// How many hosts are connected.
  public var connectionCount: Int {
    get async {
      (try? await eventLoop.submit { [core] in core.value.connections.count }.get()) ?? 0
    }
  }

  /// Stops listening, closes all connections and removes the sockets.
  public func close() async {
    let closed = eventLoop.flatSubmit { [core] in core.value.close() }
    try? await closed.get()
  }
}

/// Why a radio cannot be served.
public struct RadioServerError: Error, Hashable, Sendable, CustomStringConvertible {
  /// One sentence for people.
  public let description: String

  init(_ description: String) { self.description = description }

  init(_ error: any Error, address: RadioChoice) {
    if let error = error as? RadioServerError {
      self = error
      return
    }
    let reason: String
    switch (error as? IOError)?.errnoCode {
    case EADDRINUSE: reason = "another program listens there"
    case EADDRNOTAVAIL: reason = "this machine does not have that address"
    case EACCES, EPERM: reason = "this user may not listen there"
    case ENOENT: reason = "the folder does not exist"
    case let number?: reason = SystemError(number: number).text
    case nil: reason = "\(error)"
    }
    self.init("The radio cannot be served at \(address): \(reason).")
  }
}
