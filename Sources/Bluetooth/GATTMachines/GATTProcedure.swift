import BluetoothInterface
import BluetoothWire
import Essentials

/// A procedure of the GATT client: a sequence of requests, each made of the answer to the one
/// before (Core 5.4, Vol 3, Part G, §4).
///
/// However a peer answers, a procedure ends: discoveries insist on rising handles, values on a
/// bound, and `GATTClient` on an answer within 30 s.
protocol GATTProcedure: Sendable {
  /// The first step.
  mutating func start(mtu: Int) -> GATTStep
  /// The step after a response to the last request, or after the Error Response to it.
  mutating func received(_ response: ATTPDU, mtu: Int) -> GATTStep
}

/// What a procedure wants next.
enum GATTStep: Sendable {
  /// Send a request.
  case request(ATTPDU)
  /// It is done.
  case done(HostReply)
  /// The MTU exchange is done; this is what the peer takes.
  case peerMTU(Int)
  /// Subscribing to Service Changed is done.
  case watching(RemoteDatabase.ServiceChanged, hashHandle: UInt16, hash: [UInt8]?)
  /// The configuration with this handle is written.
  case configured(UInt16)
  /// The cached database was compared with the peer's: the ranges of the services that changed, and
  /// the new database.
  case compared([HandleRange], RemoteDatabase)
  /// The features of both sides were exchanged.
  case features(takesEnhancedBearers: Bool)
  /// It failed.
  case failed(HostError)

  /// The result of a procedure that ends with a response it can't use.
  static func unusable(_ response: ATTPDU) -> GATTStep {
    if case .errorResponse(_, let handle, let error) = response {
      return .failed(.att(error, handle: handle))
    }
    return .failed(.invalidResponse)
  }
}

extension ATTPDU {
  /// Whether this response ends a search (Part F, §3.4.1.1).
  var isNotFound: Bool {
    if case .errorResponse(_, _, .attributeNotFound) = self { true } else { false }
  }
}

/// A search through handles that ends at `end`: keeps a peer from leading it in circles.
struct HandleSearch: Sendable {
  /// The first handle that has not been requested yet.
  private(set) var next: UInt16
  let end: UInt16
  private(set) var isOver: Bool
  private(set) var foundCount = 0

  init(_ range: HandleRange) {
    next = max(range.start, 1)
    end = range.end
    isOver = next > range.end
  }

  /// Records attributes found from `start` to `last`. Returns false if they are outside of the
  /// requested range, or if the limit of attributes is reached.
  mutating func found(_ start: UInt16, through last: UInt16) -> Bool {
    guard !isOver, start >= next, last >= start, start <= end,
      foundCount < GATTLimits.foundMax
    else { return false }
    foundCount += 1
    if last >= end { isOver = true } else { next = last + 1 }
    return true
  }

  /// Why something was not taken.
  var refusal: GATTStep {
    foundCount < GATTLimits.foundMax
      ? .failed(.invalidResponse) : .failed(.limitReached("attributes of a peer"))
  }
}
