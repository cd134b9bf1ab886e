#if BlueZ
  import BlueZMachines
  import EventLoop
  import Glibc
  import Testing

  @testable import BlueZHost

  /// A connection whose bus ends after its reply to a call, and before the next message of this program. Used on the loop.
  private final class EndingBus: @unchecked Sendable {
    /// The message to the bus that has ended.
    enum Message: CaseIterable { case call, signal }

    private let server: PrivateBus
    private let message: Message
    private let onEvent: @Sendable (MessageBus.Event) -> Void
    private let loop = EpollLoop.shared
    private var bus: MessageBus?

    init(
      _ server: PrivateBus, _ message: Message,
      _ onEvent: @escaping @Sendable (MessageBus.Event) -> Void
    ) {
      self.server = server
      self.message = message
      self.onEvent = onEvent
    }

    func open() {
      loop.execute { [self] in
        let bus = MessageBus(address: server.address, on: loop) { [self] in received($0) }
        self.bus = bus
        bus.open()
      }
    }

    private func received(_ event: MessageBus.Event) {
      switch event {
      case .signal(let signal) where signal.member == "NameAcquired": endAfterReply()
      case .closed:
        onEvent(event)
        bus = nil
      default: onEvent(event)
      }
    }

    /// All that the bus has sent before has been read. So what can be read next is its reply.
    private func endAfterReply() {
      guard let bus, let watch = bus.watch else { return }
      let name = "org.freedesktop.DBus"
      bus.send(BusCall(name, "/org/freedesktop/DBus", name, "GetId"), BusCallID(rawValue: 1))
      var state = pollfd(fd: watch.descriptor, events: Int16(POLLIN), revents: 0)
      _ = unsafe poll(&state, 1, -1)
      server.end()
      switch message {
      case .call:
        bus.send(BusCall(name, "/org/freedesktop/DBus", name, "GetId"), BusCallID(rawValue: 2))
      case .signal: bus.emit("/ambit", "ambit.Test", "Ended", [])
      }
    }
  }

  @Suite(
    .enabled(if: PrivateBus.isAvailable, "dbus-daemon is not installed"), .timeLimit(.minutes(5)))
  struct MessageBusTests {
    @Test(arguments: EndingBus.Message.allCases)
    fileprivate func `A message to a bus that has ended hides no reply that the bus sent before`(
      message: EndingBus.Message
    ) async throws {
      let (events, event) = AsyncStream.makeStream(of: String.self)
      let bus = EndingBus(try PrivateBus(), message) { new in
        switch new {
        case .reply(let id, let result):
          event.yield("reply \(id.rawValue) \((try? result.get()) != nil)")
        case .closed:
          event.yield("closed")
          event.finish()
        case .opened, .signal, .call, .signalsDelivered: break
        }
      }
      bus.open()
      var found: [String] = []
      for await event in events { found.append(event) }
      #expect(found == ["reply 1 true", "closed"])
    }
  }
#endif
