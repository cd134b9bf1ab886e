import Essentials
import EventLoop
import PortSharing

extension BonjourEngine {
  /// How the host takes part at present, with what belongs to that.
  enum State {
    /// It looks for a hub.
    case searching(Contact)
    /// A hub runs the machines.
    case following(OwnerConnection)
    /// The hub has too many clients.
    case refused
    /// The machines run here, for this process.
    case alone(BonjourDriver)
    /// The machines run here, for other processes.
    case owning(Ownership)
    /// Closed. The machines, if they ran here, are sending what is left.
    case stopping(BonjourDriver?)
    case ended

    /// Nil while it is not clear.
    var role: Role? {
      switch self {
      case .searching: nil
      case .following: .client
      case .refused: .refused
      case .alone: .alone
      case .owning: .owner
      case .stopping, .ended: .closed
      }
    }

    /// The machines, where they run here.
    var driver: BonjourDriver? {
      switch self {
      case .alone(let driver): driver
      case .owning(let ownership): ownership.driver
      case .searching, .following, .refused, .stopping, .ended: nil
      }
    }

    /// The hub, as far as is known.
    var otherOwner: OwnerConnection? {
      switch self {
      case .searching(.greeting(let owner)), .following(let owner): owner
      case .searching(.nothing), .searching(.connected), .refused, .alone, .owning, .stopping,
        .ended:
        nil
      }
    }

    /// An owner that was greeted has chosen this version of the protocol.
    mutating func noteVersion(_ version: UInt16) {
      guard case .searching(.greeting(var owner)) = self else { return }
      owner.version = version
      self = .searching(.greeting(owner))
    }
  }

  /// What a search for a hub has led to so far.
  enum Contact {
    case nothing
    /// A socket that is connected to a hub.
    case connected(Int32)
    /// The hub was greeted.
    case greeting(OwnerConnection)
  }

  /// A connection to a hub.
  struct OwnerConnection {
    let connection: Connection
    /// The version of the protocol that the owner has chosen; 0 before.
    var version: UInt16 = 0
  }

  /// What a hub has.
  final class Ownership {
    let driver: BonjourDriver
    let server: OwnerServer
    var machine: OwnerMachine
    /// The sockets that listen, until clients are accepted.
    var sockets: [BonjourSocket]?
    let timer: any LoopTimer
    var timerSetFor: Instant?
    /// What clients sent while this process was stopped, until all of it is read; nil otherwise.
    var unread: [OwnerMachine.Event]?
    /// Whether events are being handled.
    var isHandling = false

    init(
      driver: BonjourDriver, server: OwnerServer, machine: OwnerMachine,
      sockets: [BonjourSocket], timer: any LoopTimer
    ) {
      self.driver = driver
      self.server = server
      self.machine = machine
      self.sockets = sockets
      self.timer = timer
    }

    /// The events, followed by those of all messages that wait if the process was stopped.
    func withUnread(_ events: [OwnerMachine.Event]) -> [OwnerMachine.Event] {
      defer { machine.noteRunning(now: .now) }
      guard machine.wasStopped(now: .now) else { return events }
      unread = events
      server.readNow()
      defer { unread = nil }
      return unread ?? events
    }

    /// The time for the machines of this process. If it was stopped while it handles events, no time
    /// passes until they are handled, so that nothing becomes due before all messages are read.
    func time() -> Instant {
      let now = Instant.now
      if machine.wasStopped(now: now) { return isHandling ? machine.ranAt ?? now : now }
      machine.noteRunning(now: now)
      return now
    }
  }
}
