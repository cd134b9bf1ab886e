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
  /// What was known is compared with what there is: the ranges of the services that changed, and
  /// what is known now.
  case compared([HandleRange], RemoteDatabase)
  /// What both sides support is exchanged.
  case features(takesEnhancedBearers: Bool)
  /// It failed.
  case failed(HostError)

  /// What an answer that ends a procedure means if it is none that the procedure can use.
  static func unusable(_ response: ATTPDU) -> GATTStep {
    if case .errorResponse(_, let handle, let error) = response {
      return .failed(.att(error, handle: handle))
    }
    return .failed(.invalidResponse)
  }
}

extension ATTPDU {
  /// Whether this says that a search is over (Part F, §3.4.1.1).
  var isNotFound: Bool {
    if case .errorResponse(_, _, .attributeNotFound) = self { true } else { false }
  }
}

/// A search through handles that ends at `end`: keeps a peer from leading it in circles.
struct HandleSearch: Sendable {
  /// The first handle not yet asked about.
  private(set) var next: UInt16
  let end: UInt16
  private(set) var isOver: Bool
  private(set) var foundCount = 0

  init(_ range: HandleRange) {
    next = max(range.start, 1)
    end = range.end
    isOver = next > range.end
  }

  /// Notes what was found from `start` to `last`; false if it lies before what was asked for,
  /// behind it, or there is too much.
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
