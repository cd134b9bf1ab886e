import DNSWire
import DiscoveryMachines
import Essentials

/// The registrations of the owner's own process, and the clients that are informed of them, which
/// send goodbyes for them (RFC 6762, §10.1) if the owner is killed.
///
/// Only a few clients are informed, so that the work does not grow with their number. Those look
/// for a new owner sooner than the others.
struct OwnerPublications: Sendable {
  typealias ConnectionID = OwnerMachine.ConnectionID

  enum Limits {
    /// Clients that are informed at once.
    static let informedMax = 16
    /// Those of one user, whose idle programs must not keep the others' from being informed.
    static let informedPerUserMax = 12
    /// When fewer are left, others are informed.
    static let informedMin = 8
    /// What clients are informed of: all of it is written to each of them at once, far below what may
    /// wait for a client. Registrations beyond it are kept from them.
    static let told = OwnerMachine.Load(requestCount: 2_000, byteCount: 2 << 20)
  }

  var registrations: [RegistrationID: TrackedRegistration] = [:]
  /// The registrations that clients are informed of, and what each costs.
  var told: [RegistrationID: OwnerMachine.Load] = [:]
  var toldLoad = OwnerMachine.Load()
  /// The clients that are informed, with their users.
  var users: [ConnectionID: UInt32] = [:]

  /// The clients that are informed.
  var informed: [ConnectionID] { users.keys.sorted() }

  /// Whether a client of this user is to be informed.
  func hasRoom(forUser userID: UInt32) -> Bool {
    users.count < Limits.informedMax
      && users.values.count { $0 == userID } < Limits.informedPerUserMax
  }

  /// Whether a client is informed.
  func isInformed(_ id: ConnectionID) -> Bool { users[id] != nil }

  /// Whether so few are left that others are to be informed.
  var needsMore: Bool { users.count < Limits.informedMin }

  /// Adds a client; returns what it has to know.
  mutating func inform(_ id: ConnectionID, ofUser userID: UInt32) -> [DiscoveryRequest] {
    assert(!isInformed(id) && hasRoom(forUser: userID), "client \(id) is one too many")
    users[id] = userID
    return told.keys.sorted { $0.rawValue < $1.rawValue }
      .flatMap { registrations[$0]?.requests($0) ?? [] }
  }

  /// Removes a client; false if it was not informed.
  mutating func forget(_ id: ConnectionID) -> Bool { users.removeValue(forKey: id) != nil }

  /// Takes a request of the owner's process; returns what the clients have to know. They don't while the
  /// name is not registered.
  mutating func note(_ request: DiscoveryRequest) -> [DiscoveryRequest] {
    guard let id = request.registration else { return [] }
    registrations.note(request)
    guard told[id] != nil else { return [] }
    guard let registration = registrations[id], registration.name != nil, tell(id, registration)
    else { return takeBack(id) }
    return [request]
  }

  /// A registration has this name from now on; returns what the clients have to know.
  mutating func noteRegistered(_ id: RegistrationID, as name: DNSName) -> [DiscoveryRequest] {
    guard registrations[id] != nil else { return [] }
    registrations[existing: id].name = name
    let registration = registrations[existing: id]
    return tell(id, registration) ? registration.requests(id) : takeBack(id)
  }

  /// A registration was refused; returns what the clients have to know.
  mutating func noteRefused(_ id: RegistrationID) -> [DiscoveryRequest] {
    registrations[id] = nil
    return takeBack(id)
  }

  /// Whether there is room to inform clients of a registration as it is now.
  private mutating func tell(_ id: RegistrationID, _ registration: TrackedRegistration) -> Bool {
    let rest = toldLoad - (told[id] ?? OwnerMachine.Load())
    let load = rest + registration.load
    guard load.fits(Limits.told) else { return false }
    (told[id], toldLoad) = (registration.load, load)
    return true
  }

  private mutating func takeBack(_ id: RegistrationID) -> [DiscoveryRequest] {
    guard let load = told.removeValue(forKey: id) else { return [] }
    toldLoad = toldLoad - load
    return [.unregister(id)]
  }
}
