import DNSWire
import DiscoveryMachines

/// The registrations of the owner's own process, and the clients that are informed of them: where the
/// owner is killed, nobody else could say goodbye for them (RFC 6762, §10.1).
///
/// Only a few clients are informed, so that the work does not grow with their number. Those look
/// for a new owner sooner than the others.
struct OwnerPublications: Sendable {
  typealias ConnectionID = OwnerMachine.ConnectionID

  enum Limits {
    /// Clients that are informed at once.
    static let informedMax = 16
    /// When fewer are left, others are informed.
    static let informedMin = 8
  }

  private var registrations: [RegistrationID: TrackedRegistration] = [:]
  private(set) var informed: Set<ConnectionID> = []

  /// Whether a client that greets is to be informed.
  var hasRoom: Bool { informed.count < Limits.informedMax }

  /// Whether so few are left that others are to be informed.
  var needsMore: Bool { informed.count < Limits.informedMin }

  /// Adds a client; returns what it has to know.
  mutating func inform(_ id: ConnectionID) -> [DiscoveryRequest] {
    informed.insert(id)
    return registrations.sorted { $0.key.rawValue < $1.key.rawValue }
      .flatMap { id, registration in registration.name == nil ? [] : registration.requests(id) }
  }

  /// Removes a client; false if it was not informed.
  mutating func forget(_ id: ConnectionID) -> Bool { informed.remove(id) != nil }

  /// Takes a request of the owner's process; returns whether clients have to know of it. They don't
  /// while the name is not registered.
  mutating func note(_ request: DiscoveryRequest) -> Bool {
    guard let id = request.registration else { return false }
    let wasRegistered = registrations[id]?.name != nil
    registrations.note(request)
    return wasRegistered
  }

  /// A registration has this name from now on; returns what the clients have to know.
  mutating func noteRegistered(_ id: RegistrationID, as name: DNSName) -> [DiscoveryRequest] {
    guard registrations[id] != nil else { return [] }
    registrations[id]?.name = name
    return registrations[id]?.requests(id) ?? []
  }

  /// A registration was refused; returns whether clients have to know that it has ended.
  mutating func noteRefused(_ id: RegistrationID) -> Bool {
    registrations.removeValue(forKey: id)?.name != nil
  }

  /// Ends all registrations; returns what the clients have to know.
  mutating func endAll() -> [DiscoveryRequest] {
    let registered = registrations.filter { $0.value.name != nil }
    registrations = [:]
    return registered.keys.sorted { $0.rawValue < $1.rawValue }.map { .unregister($0) }
  }
}
