import Essentials
import EventLoop
import PortSharing

extension BonjourEngine {
  /// How the host takes part at present, with what belongs to that.
  enum State {
    /// It looks for an owner.
    case searching(Contact)
    /// Another process runs the machines.
    case following(OwnerConnection)
    /// The owner has too many clients.
    case refused
    /// The machines run here, for this process only.
    case alone(BonjourDriver)
    /// The machines run here, for other processes too.
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

    /// Another process that is the owner, as far as is known.
    var otherOwner: OwnerConnection? {
      switch self {
      case .searching(.greeting(let owner)), .following(let owner): owner
      case .searching(.nothing), .searching(.connected), .searching(.listening), .refused, .alone,
        .owning, .stopping, .ended:
        nil
      }
    }
  }

  /// What a search for an owner has led to so far.
  enum Contact {
    case nothing
    /// A socket that is connected to an owner.
    case connected(Int32, processID: Int32)
    /// The owner was greeted.
    case greeting(OwnerConnection)
    /// A socket that is bound to the address of owners.
    case listening(Int32)
  }

  /// A connection to another process.
  struct OwnerConnection {
    let connection: Connection
    let processID: Int32
  }

  /// What an owner has.
  final class Ownership {
    let driver: BonjourDriver
    let server: OwnerServer
    var machine: OwnerMachine
    /// The socket that listens, until clients are accepted.
    var listener: Int32?
    let timer: any LoopTimer
    var timerSetFor: Instant?

    init(
      driver: BonjourDriver, server: OwnerServer, machine: OwnerMachine, listener: Int32,
      timer: any LoopTimer
    ) {
      self.driver = driver
      self.server = server
      self.machine = machine
      self.listener = listener
      self.timer = timer
    }
  }
}
